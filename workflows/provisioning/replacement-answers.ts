import type { CreatedClaim, PlanNodesResult } from '../../activities/provisioning/contract.js';
import { counted, verb } from '../../core/text.js';
import type { ClaimRef, ReplacementRequest, ReplacementsPlanned } from '../messages.js';

type Planned = Extract<PlanNodesResult, { state: 'planned' }>;

/** One plan of a batch and the NodeClaims created from it. */
export interface PlanRound {
  readonly plan: Planned;
  readonly created: readonly CreatedClaim[];
}

/**
 * Ids of the workflows that wait for NodeClaim `index` of the plan, because pods of their nodes are planned onto it.
 */
export function waitersOf(plan: Planned, index: number, requests: readonly ReplacementRequest[]): readonly string[] {
  const { deleting } = plan;
  const awaiting =
    deleting === undefined
      ? requests
      : requests.filter(({ nodes }) =>
          deleting.some(({ node, claims }) => nodes.includes(node) && claims.includes(index)),
        );
  return [...new Set(awaiting.map(({ replyTo }) => replyTo))];
}

/**
 * The answer to a request for replacements: the NodeClaims that pods of its nodes are planned onto, over all rounds,
 * and how many pods have no place.
 */
export function answerTo({ id, nodes }: ReplacementRequest, rounds: readonly PlanRound[]): ReplacementsPlanned {
  const last = rounds.at(-1)!;
  if (last.plan.deleting === undefined) {
    const { unplacedOfDeletingNodes, firstReason } = last.plan;
    const created = rounds.flatMap((round) => round.created.map(refOf));
    return { id, claims: created, unplaced: unplacedOfDeletingNodes, ...reasonOf(firstReason) };
  }
  const own = ({ deleting = [] }: Planned): typeof deleting => deleting.filter(({ node }) => nodes.includes(node));
  const claims = new Map<string, ClaimRef>();
  for (const { plan, created } of rounds) {
    const wanted = own(plan);
    for (const claim of created) {
      if (wanted.some(({ claims: indices }) => indices.includes(claim.index))) claims.set(claim.uid, refOf(claim));
    }
    for (const claim of wanted.flatMap(({ coming }) => coming)) claims.set(claim.uid, claim);
  }
  const ofLast = own(last.plan);
  const made = new Set(last.created.map(({ index }) => index));
  const refused = ofLast.flatMap(({ claims: indices }) => indices.filter((index) => !made.has(index))).length;
  const unplaced = ofLast.reduce((sum, plan) => sum + plan.unplaced, 0) + refused;
  const why = ofLast.find(({ firstReason }) => firstReason !== undefined)?.firstReason;
  return {
    id,
    claims: [...claims.values()],
    unplaced,
    ...reasonOf(
      why ??
        (refused > 0
          ? `${counted(refused, 'NodeClaim')} for its pods ${verb(refused, 'was', 'were')} not created`
          : undefined),
    ),
  };
}

const refOf = ({ name, uid }: CreatedClaim): ClaimRef => ({ name, uid });

const reasonOf = (firstReason: string | undefined): { firstReason?: string } =>
  firstReason === undefined ? {} : { firstReason };
