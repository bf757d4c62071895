// Entry point of the commands on a live cluster, including `run`: bundled as one script with a code cache
// (bundles.ts). The code of each command is loaded on use.
import type * as Forecast from './forecast.js';
import type * as Planned from './page/planned.js';
import type * as PlanLive from './plan-live.js';

export { liveCommands } from './live-commands.js';

/** `stowage plan` on a live cluster. */
export const loadPlanLive = (): Promise<typeof PlanLive> => import('./plan-live.js');

/** Plans for files as a page. */
export const loadPlanned = (): Promise<typeof Planned> => import('./page/planned.js');

/** What a change of a cluster leads to. */
export const loadForecast = (): Promise<typeof Forecast> => import('./forecast.js');
