import type { PodMove } from '../../disruption/command.js';
import type { Candidate } from '../../workflows/messages.js';
import type { NodeView } from '../../disruption/candidates/candidates.js';
import type { ConsolidationCommand } from '../../disruption/consolidation/types.js';
import type { PlannedClaim } from '../../packing/types.js';
import { whyNotCandidate } from '../../disruption/candidates/candidates.js';
import { consolidatableAt } from '../../disruption/consolidation/consolidatable.js';
import { isEmpty } from '../../disruption/consolidation/emptiness.js';
import { nodeViews, nodeNameOf } from '../../cluster/cluster.js';
import type { DisruptionActivities } from './contract.js';
import type { ActivityDeps } from '../deps.js';
import type { DisruptionContext } from '../disruption-context/disruption-context.js';
import {
  allowedFor,
  disruptionContext,
  isInScope,
  poolNameOf,
  rulesByPool,
} from '../disruption-context/disruption-context.js';
import { identityOf } from '../../cluster/node-labels.js';
import { waitsForEmptyNodes } from '../consolidation/waits-for-empty-nodes.js';
import { packingInput } from '../../cluster/packing-input.js';
import { counted } from '../../core/plurals.js';

type Input = Parameters<DisruptionActivities['validateCandidates']>[0];
type Validated = Awaited<ReturnType<DisruptionActivities['validateCandidates']>>;
type ValidatedDecision = NonNullable<Input['decision']>;

const emptiness: ValidatedDecision = { method: 'empty', replacements: [], typeLists: [], alongside: [] };

/**
 * Validates a command (commands/validation). Of empty nodes those go on that are still empty, disruptable and within budget. A
 * drifted node must still be disruptable. A consolidation must still hold as a whole: all candidates, the number of replacements,
 * and types that can still be launched.
 */
export async function validateCandidates(deps: ActivityDeps, input: Input): Promise<Validated> {
  const { candidates, created = [] } = input;
  const decision = input.decision ?? emptiness;
  const context = await contextAfter(deps, decision.alongside, candidates);
  const { valid, dropped } = validateEach(candidates, decision.method, context);
  const lost = decision.method === 'drift' ? await lostReplacement(deps, created) : undefined;
  if (lost !== undefined) {
    return { valid: [], dropped: candidates.map(({ node }) => ({ node, why: `its replacement ${lost} is gone` })) };
  }
  if (decision.method === 'empty' || decision.method === 'drift') return { valid, dropped };
  if (dropped.length > 0) return { valid: [], dropped };
  const why = await whyResultDiffers(deps, context, { candidates, decision, created });
  if (why === undefined) return { valid, dropped };
  deps.metrics.count('voluntary_disruption_failed_validations_total', { consolidation_type: decision.method });
  return { valid: [], dropped: candidates.map(({ node }) => ({ node, why })) };
}

/** After a hold the replacement may be gone: a static NodePool removes surplus nodes. */
async function lostReplacement(deps: ActivityDeps, created: readonly string[]): Promise<string | undefined> {
  for (const name of created) {
    const claim = await deps.kube.get('NodeClaim', { name });
    if (claim === undefined || claim.metadata.deletionTimestamp !== undefined) return name;
  }
  return undefined;
}

/** The cluster now, with the nodes of earlier decisions counted as deleting. */
async function contextAfter(
  deps: ActivityDeps,
  alongside: readonly string[],
  candidates: readonly Candidate[],
): Promise<DisruptionContext> {
  const others = new Set(alongside);
  const views = others.size === 0 ? [] : await nodeViews(deps);
  const going = views
    .filter((view) => others.has(nodeNameOf(view)))
    .map((view) => ({ claim: identityOf(view.claim), node: nodeNameOf(view), nodePool: '' }));
  const running = going.length === 0 ? [] : [{ workflowId: '', reason: 'Empty' as const, candidates: going, since: 0 }];
  // After a hold they may have been tainted again by this command.
  const judged = new Set(candidates.map(({ claim }) => claim.uid));
  return disruptionContext(deps, { nominations: [], pauses: [], running }, judged);
}

function validateEach(
  candidates: readonly Candidate[],
  method: ValidatedDecision['method'],
  context: DisruptionContext,
): Validated {
  const byUid = new Map(context.views.map((view) => [view.claim.metadata.uid, view]));
  const reason = method === 'empty' ? 'Empty' : method === 'drift' ? 'Drifted' : 'Underutilized';
  const left = new Map<string, number>();
  const valid: Candidate[] = [];
  const dropped: { node: string; why: string }[] = [];
  for (const candidate of candidates) {
    const view = byUid.get(candidate.claim.uid);
    const why = view === undefined ? 'it is gone' : whyNoLonger(view, method, context);
    if (why !== undefined) {
      dropped.push({ node: candidate.node, why });
      continue;
    }
    const { nodePool } = candidate;
    const allowed = left.get(nodePool) ?? allowedFor(context, nodePool, reason).allowed;
    left.set(nodePool, allowed - 1);
    if (allowed > 0) valid.push(candidate);
    else dropped.push({ node: candidate.node, why: 'no budget is left' });
  }
  return { valid, dropped };
}

function whyNoLonger(
  view: NodeView,
  method: ValidatedDecision['method'],
  context: DisruptionContext,
): string | undefined {
  if (!isInScope(context, poolNameOf(view))) return 'the DisruptionPolicy of its pool has mode Recommend now';
  if (method === 'drift') return whyNotCandidate(view, context, 'eventual');
  if (method === 'empty' && !isEmpty(view)) return 'pods were bound to it';
  if (consolidatableAt(view) > context.now) return 'its pods changed a moment ago';
  return whyNotCandidate(view, context);
}

/** Searches again for exactly these nodes: why the result would differ now. */
async function whyResultDiffers(
  deps: ActivityDeps,
  context: DisruptionContext,
  {
    candidates,
    decision,
    created,
  }: { candidates: readonly Candidate[]; decision: ValidatedDecision; created: readonly string[] },
): Promise<string | undefined> {
  const rules = rulesByPool(context);
  const leastSavings = new Map(
    [...context.pools.keys()].map((pool) => {
      const { leastShare: share, leastDollarsPerHour: dollarsPerHour } = rules(pool);
      return [pool, { share, dollarsPerHour }] as const;
    }),
  );
  // The replacements are launched already: no further one may be needed.
  const most = created.length > 0 ? 0 : decision.replacements.length;
  const input = {
    ...(await packingInput(deps, [...context.pools.values()], context.disrupting)),
    claimed: context.claimed,
    spotToSpot: deps.gates.SpotToSpotConsolidation,
    leastSavings,
    mostReplacements: most,
    launched: new Set(created),
  };
  const names = candidates.map(({ node }) => node);
  // The best command for these nodes alone may differ from that within a plan: the decided one may still be valid.
  const decided = created.length === 0 ? plannedOf(decision) : [];
  const same = await deps.packer.reconsider({ ...input, decided, decidedMoves: movesOf(decision, created) }, names);
  if (same !== undefined && (created.length > 0 || !waitsForEmptyNodes(same, context))) return undefined;
  const now = await deps.packer.reconsider(input, names);
  if (now === undefined) return 'removing it no longer saves anything, or there is no place for its pods';
  if (created.length === 0 && waitsForEmptyNodes(now, context))
    return 'its pods would move to an empty node that may be removed itself';
  return whyOtherReplacements(now, { decision, most, isCreated: created.length > 0 });
}

/** Why the replacements that were decided would not do for what the search finds now. */
function whyOtherReplacements(
  now: ConsolidationCommand,
  { decision, most, isCreated }: { decision: ValidatedDecision; most: number; isCreated: boolean },
): string | undefined {
  if (now.replacements.length > most)
    return `it would need ${counted(now.replacements.length, 'new node')} now, not ${most}`;
  if (isCreated || now.replacements.length < decision.replacements.length) return undefined;
  if (fits(decision, now)) return undefined;
  return 'prices or offerings have changed: not every instance type planned would still do';
}

/** Where the decision has pods go, to the NodeClaims that were created in place of its replacements. */
function movesOf({ moves = [] }: ValidatedDecision, created: readonly string[]): readonly PodMove[] {
  const names = new Map(created.map((name, index) => [`replacement-0-${index}`, name]));
  return moves.map(({ pod, to }) => ({ pod, to: names.get(to) ?? to }));
}

const plannedOf = ({ replacements, typeLists }: ValidatedDecision): PlannedClaim[] =>
  replacements.map(({ types, ...claim }) => ({ ...claim, instanceTypes: typeLists[types] ?? [] }));

/** Whether all planned types are still among those of the new command. */
function fits({ replacements, typeLists }: ValidatedDecision, now: ConsolidationCommand): boolean {
  return replacements.every(({ nodePool, types }) =>
    now.replacements.some(
      (other) =>
        other.nodePool === nodePool && (typeLists[types] ?? []).every((name) => other.instanceTypes.includes(name)),
    ),
  );
}
