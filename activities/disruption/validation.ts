import type { Candidate } from '../../workflows/messages.js';
import type { NodeView } from '../../disruption/candidates/candidates.js';
import type { PlannedClaim } from '../../packing/types.js';
import { whyNotCandidate } from '../../disruption/candidates/candidates.js';
import { consolidatableAt } from '../../disruption/consolidation/consolidatable.js';
import { isEmpty } from '../../disruption/consolidation/emptiness.js';
import { nodeViews, nodeNameOf } from '../../cluster/cluster.js';
import type { DisruptionActivities } from './contract.js';
import type { ActivityDeps } from '../deps.js';
import type { DisruptionContext } from '../disruption-context/disruption-context.js';
import { disruptionContext, isInScope, poolNameOf } from '../disruption-context/disruption-context.js';
import { identityOf } from '../../cluster/node-labels.js';
import { whyResultDiffers, type DecidedCommand } from '../consolidation/why-result-differs.js';
import { isDeleting } from '../../core/names.js';

type Input = Parameters<DisruptionActivities['validateCandidates']>[0];
type Validated = Awaited<ReturnType<DisruptionActivities['validateCandidates']>>;
type ValidatedDecision = NonNullable<Input['decision']>;

const emptiness: ValidatedDecision = { method: 'empty', replacements: [], typeLists: [], alongside: [] };

/**
 * Validates a command (commands/validation); budgets are counted at the taint. Of empty nodes, those that are still
 * empty and disruptable remain. A drifted node must still be disruptable. A consolidation must still be valid as a
 * whole: all candidates, the number of replacements, and types that can still be launched.
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
  const why = await whyResultDiffers(deps, context, decidedOf(candidates, decision, created));
  if (why === undefined) return { valid, dropped };
  deps.metrics.count('voluntary_disruption_failed_validations_total', { consolidation_type: decision.method });
  return { valid: [], dropped: candidates.map(({ node }) => ({ node, why })) };
}

/** While the command was held its replacement may have been removed: a static NodePool removes surplus nodes. */
async function lostReplacement(deps: ActivityDeps, created: readonly string[]): Promise<string | undefined> {
  for (const name of created) {
    const claim = await deps.kube.get('NodeClaim', { name });
    if (claim === undefined || isDeleting(claim)) return name;
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
  const commands =
    going.length === 0 ? [] : [{ workflowId: '', reason: 'Empty' as const, candidates: going, since: 0 }];
  // After a hold this command may have tainted them again.
  const judged = new Set(candidates.map(({ claim }) => claim.uid));
  return disruptionContext(deps, { nominations: [], commands }, { judged });
}

function validateEach(
  candidates: readonly Candidate[],
  method: ValidatedDecision['method'],
  context: DisruptionContext,
): Validated {
  const byUid = new Map(context.views.map((view) => [view.claim.metadata.uid, view]));
  const valid: Candidate[] = [];
  const dropped: { node: string; why: string }[] = [];
  for (const candidate of candidates) {
    const view = byUid.get(candidate.claim.uid);
    const why = view === undefined ? 'it is gone' : whyNoLonger(view, method, context);
    if (why === undefined) valid.push(candidate);
    else dropped.push({ node: candidate.node, why });
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

/**
 * The decision in the form that the search uses; its moves name the NodeClaims that were created for its replacements.
 */
function decidedOf(
  candidates: readonly Candidate[],
  decision: ValidatedDecision,
  created: readonly string[],
): DecidedCommand {
  const names = new Map(created.map((name, index) => [`replacement-0-${index}`, name]));
  return {
    candidates: candidates.map(({ node }) => node),
    replacements: plannedOf(decision),
    moves: (decision.moves ?? []).map(({ pod, to }) => ({ pod, to: names.get(to) ?? to })),
    created,
  };
}

const plannedOf = ({ replacements, typeLists }: ValidatedDecision): PlannedClaim[] =>
  replacements.map(({ types, ...claim }) => ({ ...claim, instanceTypes: typeLists[types] ?? [] }));
