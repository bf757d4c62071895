import { timeText } from '../../core/time.js';
import { nodeNameOf } from '../../cluster/cluster.js';
import type { NodeView } from '../../disruption/candidates/candidates.js';
import type { PoolRules } from '../../disruption/policies/pool-rules.js';
import type { NodeMemory } from '../../workflows/messages.js';
import { poolNameOf, type DisruptionContext } from './disruption-context.js';
import { nameOf } from '../../core/names.js';

/** The memory of a node. A replacement is remembered by the name of its NodeClaim, because it had no Node yet. */
export function memoryOf({ memory }: DisruptionContext, view: NodeView): NodeMemory | undefined {
  return memory.get(nodeNameOf(view)) ?? memory.get(nameOf(view.claim));
}

/**
 * Why consolidation may not move the pods of the node again yet, in words: a failed command, or `coolDown` after a
 * move.
 */
export function whyNotMovedAgain(context: DisruptionContext, view: NodeView, rules: PoolRules): string | undefined {
  const memory = memoryOf(context, view);
  if (memory === undefined) return undefined;
  const refused = whyBackedOff(context, view, 'Underutilized');
  if (refused !== undefined) return refused;
  if (memory.depth === undefined || memory.at + rules.coolDownMs <= context.now) return undefined;
  return `pods were moved to it a while ago, and coolDown holds until ${timeText(memory.at + rules.coolDownMs)}`;
}

/**
 * Why the node is not disrupted for this reason yet, in words: its last command for the reason failed or was refused.
 */
export function whyBackedOff(
  context: DisruptionContext,
  view: NodeView,
  reason: NonNullable<NodeMemory['reason']>,
): string | undefined {
  const memory = memoryOf(context, view);
  if (memory?.keptUntil === undefined || memory.keptUntil <= context.now) return undefined;
  const { why = 'the last decision about it was not carried out', keptUntil } = memory;
  if (memory.reason !== undefined && memory.reason !== reason) return undefined;
  return `${why}; not tried again before ${timeText(keptUntil)}`;
}

/** When back-offs and cool-downs of nodes end, milliseconds of the epoch. */
export function backOffEnds(context: DisruptionContext, rules: (nodePool: string) => PoolRules): readonly number[] {
  return context.views.flatMap((view) => {
    const memory = memoryOf(context, view);
    if (memory === undefined) return [];
    const cooled = memory.depth === undefined ? 0 : memory.at + rules(poolNameOf(view)).coolDownMs;
    return [memory.keptUntil ?? 0, cooled].filter((at) => at > context.now);
  });
}
