import { nodeNameOf } from '../../cluster/cluster.js';
import type { NodeView } from '../../disruption/candidates/candidates.js';
import { settlesAt } from '../../disruption/consolidation/consolidatable.js';
import type { ConsolidationCommand } from '../../disruption/consolidation/types.js';
import type { ActivityDeps } from '../deps.js';
import type { DisruptionContext } from '../disruption-context/disruption-context.js';
import type { StableSince } from '../disruption-context/stable-since.js';
import type { ConcurrentCommands } from './concurrent-commands.js';
import { whyResultDiffers } from './why-result-differs.js';

/**
 * Delays commands that would move pods to nodes within their consolidateAfter, and that are not valid without these
 * nodes, because their validation would abandon them (consolidation/consolidate-after). They wait like commands whose
 * own nodes are not consolidatable yet.
 */
export async function withoutUnready(
  deps: ActivityDeps,
  context: DisruptionContext,
  chosen: ConcurrentCommands,
  stableSince: StableSince,
): Promise<ConcurrentCommands> {
  const unready: ConsolidationCommand[] = [];
  for (const command of chosen.commands) {
    const validatedAt = context.now + stableSince.restOf(command.candidates, context.now);
    if (targetsNotReady(command, context, validatedAt).length === 0) continue;
    const decided = { ...command, created: [] };
    if ((await whyResultDiffers(deps, context, decided, validatedAt)) !== undefined) unready.push(command);
  }
  if (unready.length === 0) return chosen;
  return {
    ...chosen,
    commands: chosen.commands.filter((command) => !unready.includes(command)),
    notYetConsolidatable: [...chosen.notYetConsolidatable, ...unready],
  };
}

/** The nodes that are to take pods of the command, and that are within their consolidateAfter at this time. */
export function targetsNotReady(
  { moves }: ConsolidationCommand,
  { views }: Pick<DisruptionContext, 'views'>,
  at: number,
): readonly NodeView[] {
  const targets = new Set(moves.map(({ to }) => to));
  return views.filter((view) => targets.has(nodeNameOf(view)) && settlesAt(view) > at);
}
