import type { Budget, NodePool } from '../../../api/karpenter/node-pool.js';
import { isWindowOpen } from '../cron.js';
import { milliseconds } from '../durations.js';
import type { BudgetReason } from '../../../api/disruption-reasons.js';

/**
 * A command is decided, and validated by the budgets of that moment, before its nodes are marked: a window that opened in
 * between binds it not.
 */
const decidedMs = 5 * 60_000;
const minuteMs = 60_000;

/**
 * How many nodes of a pool of `nodes` may be disrupted when one more goes for `reason`: the least that a budget allows which names
 * the reason, or none, and has no schedule or a window that is open since a while. Infinite without such a budget.
 */
export function allowedDisruptions(
  pool: NodePool | undefined,
  reason: BudgetReason,
  nodes: number,
  now: number,
): number {
  const counts = (pool?.spec.disruption.budgets ?? [])
    .filter(({ reasons }) => reasons?.includes(reason) ?? true)
    .filter((budget) => hasBeenOpen(budget, now))
    .map(({ nodes: text }) =>
      text.endsWith('%') ? Math.ceil((nodes * Number(text.slice(0, -1))) / 100) : Number(text),
    );
  return Math.min(Number.POSITIVE_INFINITY, ...counts);
}

/** Whether a budget has counted all the time since a command that marks its nodes now may have been decided. */
function hasBeenOpen({ schedule, duration }: Budget, now: number): boolean {
  if (schedule === undefined || duration === undefined) return true;
  const length = milliseconds(duration);
  for (let at = now; at >= now - decidedMs; at -= minuteMs) if (!isWindowOpen(schedule, length, at)) return false;
  return true;
}
