import type { DisruptionDetails, DisruptionsFound } from '../../activities/disruption/contract.js';
import { cutText } from '../../core/text.js';
import { compareText } from '../../core/text.js';
import { longestName } from '../../core/names.js';
import { workflowNow } from '../clock.js';
import type {
  BudgetView,
  Candidate,
  Decision,
  DecisionSummary,
  DisruptionPlan,
  NextWindow,
  NodeVerdict,
  RunningDisruption,
  Undecided,
} from '../messages.js';

/** Why a node is not disrupted, from the last findings; `at`: their time. */
export function verdictOf(
  node: string,
  {
    running,
    stays,
    waits = [],
    at = new Date(workflowNow()).toISOString(),
  }: {
    readonly running: readonly RunningDisruption[];
    readonly stays: DisruptionDetails['stays'];
    readonly waits?: DisruptionDetails['waits'];
    readonly at: string | undefined;
  },
): NodeVerdict {
  const isAbout = ({ candidates }: RunningDisruption): boolean => candidates.some((one) => one.node === node);
  const verdict = (is: NodeVerdict['verdict'], why: string): NodeVerdict => ({
    ...{ node: cutText(node, longestName), at, verdict: is, why },
  });
  const going = running.find(isAbout);
  if (going !== undefined) return verdict('going', `${going.reason}: ${going.workflowId}`);
  const kept = stays.find(({ nodes }) => nodes.includes(node));
  if (kept !== undefined) return verdict('stays', kept.why);
  const waited = waits.find(({ nodes }) => nodes.includes(node));
  if (waited !== undefined) return verdict(waited.verdict, waited.why);
  return verdict('unknown', 'the last search recorded nothing about this node; the update whyNot checks it now');
}

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
