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
import { activePauses, whyPaused } from '../../cluster/pauses.js';
import type { Pod } from '../../api/kubernetes.js';
import { compareText } from '../../core/text.js';
import type { DisruptionMethod } from '../../workflows/messages.js';
import { podMarkedDoNotDisrupt } from '../../core/do-not-disrupt.js';
import { forEachItem } from '../for-each-item.js';
import { fullName, isDeleting } from '../../core/names.js';

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
  return disruptionContext(deps, { commands }, { judged });
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

type Confirmed = Awaited<ReturnType<DisruptionActivities['confirmCandidates']>>;
type Tainted = Pick<Candidate, 'claim' | 'node'>;

/** Checks tainted nodes once more, when their replacements are up. */
export async function confirmCandidates(
  deps: ActivityDeps,
  { method, reason, candidates }: Parameters<DisruptionActivities['confirmCandidates']>[0],
): Promise<Confirmed> {
  const blocked = (await blockedByPods(deps, method, candidates)).map(({ node, why }) => ({ node, why }));
  const pauses = await activePauses(deps);
  const paused = candidates.map((candidate) => whyPaused(pauses, reason, candidate)).find((why) => why !== undefined);
  return { blocked, ...(paused === undefined ? {} : { paused }) };
}

/**
 * The tainted nodes whose pods in the API server prevent their disruption (commands/checked-after-the-taint): before the
 * taint pods may have landed that the watch cache had not seen. A drain cannot be undone, and would wait for a
 * do-not-disrupt pod as long as that runs.
 */
export async function blockedByPods(
  deps: ActivityDeps,
  method: DisruptionMethod,
  candidates: readonly Tainted[],
): Promise<readonly { readonly uid: string; readonly node: string; readonly why: string }[]> {
  const blocked = new Map<Tainted, string>();
  const check = async (candidate: Tainted): Promise<void> => {
    const pods = await deps.kube.list('Pod', { fieldSelector: `spec.nodeName=${candidate.node}` });
    const why = whyPodsPrevent(deps, pods, { method, candidate });
    if (why !== undefined) blocked.set(candidate, why);
  };
  const nameOf = ({ node }: Tainted): string => `Node ${node}`;
  const unread = await forEachItem(deps, candidates, check, { what: 'the list of its pods', nameOf });
  for (const { item, why } of unread) blocked.set(item, `its pods cannot be listed: ${why}`);
  return [...blocked]
    .map(([{ claim, node }, why]) => ({ uid: claim.uid, node, why }))
    .sort((a, b) => compareText(a.node, b.node));
}

function whyPodsPrevent(
  deps: Pick<ActivityDeps, 'cache' | 'now'>,
  pods: readonly Pod[],
  { method, candidate: { claim } }: { readonly method: DisruptionMethod; readonly candidate: Tainted },
): string | undefined {
  if (method === 'empty' && !isEmpty({ pods })) return 'pods were bound to it';
  // A terminationGracePeriod limits the drain of a drifted node, even if its pods are marked do-not-disrupt
  // (candidates/drift-waives).
  const grace = deps.cache.get('NodeClaim', { name: claim.name })?.spec.terminationGracePeriod;
  if (method === 'drift' && grace !== undefined) return undefined;
  const marked = podMarkedDoNotDisrupt(pods, deps.now());
  return marked === undefined ? undefined : `pod ${fullName(marked)} was bound to it and is marked do-not-disrupt`;
}
