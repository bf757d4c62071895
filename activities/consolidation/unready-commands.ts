import { nodeNameOf } from '../../cluster/cluster.js';
import { settlesAt } from '../../disruption/consolidation/consolidatable.js';
import type { ConsolidationCommand } from '../../disruption/consolidation/types.js';
import type { ActivityDeps } from '../deps.js';
import type { DisruptionContext } from '../disruption-context/disruption-context.js';
import type { StableSince } from '../disruption-context/stable-since.js';
import type { ConcurrentCommands } from './concurrent-commands.js';
import { whyResultDiffers } from './why-result-differs.js';

/**
 * Commands that would move pods to nodes within their consolidateAfter, and that do not hold without these nodes, wait like those whose own nodes
 * are not consolidatable yet (consolidation/consolidate-after): their validation would abandon them.
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
    if (!movesToUnsettled(command, context, validatedAt)) continue;
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

function movesToUnsettled({ moves }: ConsolidationCommand, { views }: DisruptionContext, by: number): boolean {
  const unsettled = new Set(views.filter((view) => settlesAt(view) > by).map(nodeNameOf));
  return moves.some(({ to }) => unsettled.has(to));
}
