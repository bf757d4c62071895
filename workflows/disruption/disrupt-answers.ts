import type { DisruptionsFound } from '../../activities/disruption/contract.js';
import { compareText } from '../../core/text.js';
import type {
  BudgetView,
  Candidate,
  Decision,
  DecisionSummary,
  DisruptionPlan,
  NextWindow,
  Undecided,
} from '../messages.js';

/** When the next budget or window opens, and for which pools. */
export function nextWindowOf(budgets: readonly BudgetView[]): NextWindow {
  const next = budgets
    .filter(({ allowed, changesAt }) => allowed === 0 && changesAt !== undefined)
    .sort((a, b) => compareText(a.changesAt!, b.changesAt!))
    .at(0);
  if (next === undefined) return { why: 'no closed budget or window opens by itself' };
  const { nodePool, reason, changesAt, ruledBy } = next;
  return { at: changesAt!, nodePool, reason, why: `${ruledBy ?? 'a budget'} changes then` };
}

/** The last findings as the answer to a query; undefined before the first. */
export function planOf(
  found: (DisruptionsFound & { readonly at: string }) | undefined,
  decisions: readonly DecisionSummary[],
  undecided: Undecided | undefined,
): DisruptionPlan | undefined {
  if (found === undefined) return undefined;
  return { at: found.at, decisions, held: found.held, ...(undecided === undefined ? {} : { undecided }) };
}

/** The memo of a `consolidate`, which lists of workflows show. */
export function memoOf(candidates: readonly Candidate[], decision: Decision): Record<string, unknown> {
  const { method, priceBefore, priceAfter, podCount, replacements } = decision;
  return {
    method,
    nodes: candidates.slice(0, 20).map(({ node }) => node),
    replacements: replacements.slice(0, 20).map(({ cheapest }) => cheapest.instanceType),
    podsMoved: podCount,
    pricePerHourBefore: priceBefore,
    pricePerHourAfter: priceAfter,
  };
}
