import { strictest } from '../../disruption/policies/pool-rules.js';
import type { PoolRules } from '../../disruption/policies/pool-rules.js';
import type { PlannedClaim } from '../../packing/types.js';
import type { Decision, DecisionSummary, QuestionToWithdraw } from '../../workflows/messages.js';
import { nodeNameOf } from '../../cluster/cluster.js';
import { claimPlans } from '../provisioning/claim-plans.js';
import { alongsideKept, type DisruptionCommand } from '../../disruption/command.js';
import type { DisruptionContext } from './disruption-context.js';
import { poolNameOf } from './disruption-context.js';

/** A record goes into a payload, which is to stay below 64 KiB with its candidates. */
const movesKept = 60;
const podNamesKept = 100;
const targetsKept = 100;
const alternativesKept = 5;

/** A command as a method found it, before it is recorded in compact form. */
export interface Proposal
  extends
    Pick<DisruptionCommand, 'reason' | 'candidates' | 'validationMs'>,
    Pick<Decision, 'method' | 'moves' | 'alternatives' | 'steers'> {
  readonly replacements: readonly PlannedClaim[];
}

/** The results of one method, why NodePools keep nodes, and when to search again (milliseconds of the epoch). */
export interface Proposals {
  readonly proposals: readonly Proposal[];
  readonly held: readonly { readonly nodePool: string; readonly why: string }[];
  readonly checks: readonly number[];
  /** NodePools whose consolidation is to be paused automatically. */
  readonly chains?: readonly { readonly nodePool: string; readonly why: string }[];
  /** Open questions that a better command replaces. */
  readonly moot?: readonly QuestionToWithdraw[];
}

export interface RecordedCommand {
  readonly command: DisruptionCommand;
  readonly summary: DecisionSummary;
  readonly recommendOnly: boolean;
}

/** The decision as it is written to histories, with the requirements of the NodePools' policies. */
export function record(
  proposal: Proposal,
  context: Pick<DisruptionContext, 'views'>,
  rules: (nodePool: string) => PoolRules,
  alongside: readonly string[],
): RecordedCommand {
  const { reason, method, candidates, replacements, moves, validationMs } = proposal;
  const pools = [...new Set(candidates.map(({ nodePool }) => nodePool))];
  const asked = strictest(pools.map(rules), reason);
  // If there are more targets than the record can name, steering would keep pods away from the others.
  const steers = proposal.steers === true && moves.length > 0 && targetCount(moves) <= targetsKept;
  const { claims, typeLists } = claimPlans(replacements, podNamesKept);
  const priceBefore = candidates.reduce((sum, { pricePerHour }) => sum + pricePerHour, 0);
  const priceAfter = replacements.reduce((sum, { cheapest }) => sum + cheapest.pricePerHour, 0);
  const decision: Decision = {
    method,
    decision: replacements.length === 0 ? 'delete' : 'replace',
    replacements: claims,
    typeLists,
    moves: moves.slice(0, movesKept),
    podCount: moves.length,
    priceBefore: rounded(priceBefore),
    priceAfter: rounded(priceAfter),
    alternatives: proposal.alternatives.slice(0, alternativesKept),
    alongside: alongside.slice(-alongsideKept),
    targets: targetsOf(moves, context.views),
    ...(asked.policy === undefined ? {} : { policy: asked.policy }),
    ...(asked.approval === undefined ? {} : { approval: asked.approval }),
    ...(steers ? { steers } : {}),
  };
  return {
    command: { reason, candidates, decision, ...(validationMs === undefined ? {} : { validationMs }) },
    summary: summaryOf(proposal, rounded(priceBefore - priceAfter), thenText(asked)),
    recommendOnly: asked.recommendOnly,
  };
}

function thenText({ recommendOnly, policy = '', approval }: ReturnType<typeof strictest>): string {
  if (recommendOnly) return `only recommended: DisruptionPolicy ${policy} has mode Recommend`;
  return approval === undefined ? 'carried out' : `waits for approval, as DisruptionPolicy ${policy} asks`;
}

function summaryOf(
  { reason, method, candidates, replacements, moves }: Proposal,
  saves: number,
  then: string,
): DecisionSummary {
  return {
    reason,
    method,
    nodes: candidates.slice(0, 10).map(({ node }) => node),
    replacements: replacements
      .slice(0, 10)
      .map(({ nodePool, cheapest }) => `${cheapest.instanceType} ${cheapest.capacityType} of ${nodePool}`),
    pods: moves.length,
    saves,
    then,
  };
}

const targetCount = (moves: Proposal['moves']): number => new Set(moves.map(({ to }) => to)).size;

/** Existing nodes that receive pods. */
function targetsOf(moves: Proposal['moves'], views: DisruptionContext['views']): Decision['targets'] {
  const wanted = new Set(moves.map(({ to }) => to));
  return views
    .filter((view) => wanted.has(nodeNameOf(view)))
    .slice(0, targetsKept)
    .map((view) => ({ node: nodeNameOf(view), nodePool: poolNameOf(view) }));
}

export function rounded(dollars: number): number {
  return Math.round(dollars * 1e6) / 1e6;
}
