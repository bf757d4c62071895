import type { Budget, NodePool } from '../../api/karpenter/node-pool.js';
import { formatPath } from '../../api/schema/issues.js';
import { readSchedule } from './limits/schedule.js';
import { budgetReasons } from '../../api/disruption-reasons.js';

/**
 * Budgets of a NodePool that can have no effect, each as a sentence that names the field (budgets/without-effect): a
 * schedule whose dates never come, and a budget next to another that is always open and allows fewer nodes for the same
 * reasons. Of all open budgets the strictest applies, so the second one cannot open a window.
 */
export function budgetProblems({ spec }: Pick<NodePool, 'spec'>, now: number): readonly string[] {
  const { budgets } = spec.disruption;
  return budgets.flatMap((budget, index) => {
    const at = (field: string): string => formatPath(['spec', 'disruption', 'budgets', index, field]);
    const { schedule, nodes } = budget;
    if (schedule !== undefined && readSchedule(schedule)?.next(now) === undefined) {
      return [
        `${at('schedule')}: the window never opens (found "${schedule}"), allowed: a schedule with dates that come`,
      ];
    }
    const stricter = budgets.findIndex((other, i) => i !== index && isAlwaysStricter(other, budget));
    if (stricter < 0) return [];
    const other = formatPath(['spec', 'disruption', 'budgets', stricter]);
    return [
      `${at('nodes')}: it has no effect (found "${nodes}"): ${other} lets ${budgets[stricter]!.nodes} go at any time, ` +
        'allowed: budgets of which the least is the one meant; give the stricter one a schedule',
    ];
  });
}

function isAlwaysStricter(other: Budget, budget: Budget): boolean {
  return other.schedule === undefined && covers(other, budget) && isLess(other.nodes, budget.nodes);
}

function covers({ reasons }: Budget, budget: Budget): boolean {
  const wanted: readonly string[] = budget.reasons ?? budgetReasons;
  return reasons === undefined || wanted.every((reason) => reasons.some((one) => one === reason));
}

/** Whether the first is stricter for every size of the NodePool. */
function isLess(one: string, other: string): boolean {
  const [a, b] = [Number.parseInt(one), Number.parseInt(other)];
  if (a === 0) return b > 0;
  return one.endsWith('%') === other.endsWith('%') && a < b;
}
