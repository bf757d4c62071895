// What the commands on a live cluster run, `run` among them: bundled as one script with its compiled code beside it (online-code.ts).
// The code of each is loaded when it is asked for.
import type * as PlanLive from './plan-live.js';

export { liveCommands } from './live-commands.js';

/** `stowage plan` of a live cluster. */
export const loadPlanLive = (): Promise<typeof PlanLive> => import('./plan-live.js');
