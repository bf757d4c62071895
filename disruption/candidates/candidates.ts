import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import type { Node, Pod, PodDisruptionBudget } from '../../api/kubernetes.js';
import { annotations, labels } from '../../api/labels.js';
import { isTrue } from '../../core/conditions.js';
import { isEvictable, isMirror, isReschedulable } from '../../core/pods.js';
import { isNodeMarkedDoNotDisrupt, podMarkedDoNotDisrupt } from '../../core/do-not-disrupt.js';
import { bindingBudgets } from '../../core/pod-disruption-budgets.js';
import { fullName, isDeleting, nameOf } from '../../core/names.js';

/** A managed node with everything that decisions about it need. */
export interface NodeView {
  readonly claim: NodeClaim;
  readonly node?: Node | undefined;
  readonly pool?: NodePool | undefined;
  readonly pods: readonly Pod[];
  /** Dollars per hour; 0 when unknown. */
  readonly pricePerHour: number;
}

export interface CandidateContext {
  /** Milliseconds of the epoch. */
  readonly now: number;
  /** UIDs of NodeClaims that a running disruption will remove. */
  readonly claimed: ReadonlySet<string>;
  /** Nodes that pods are nominated to (provisioning/nominated-nodes). */
  readonly nominated: ReadonlySet<string>;
  readonly podDisruptionBudgets: readonly PodDisruptionBudget[];
}

/** What keeps a node from a voluntary disruption. `blocker` is a label of metrics (docs/metrics.md). */
export interface Blocked {
  readonly blocker:
    | 'approval'
    | 'budget'
    | 'consolidation_disabled'
    | 'disrupting'
    | 'do_not_disrupt'
    | 'no_nodepool'
    | 'nominated'
    | 'not_consolidatable'
    | 'not_initialized'
    | 'pause'
    | 'pod_disruption_budget'
    | 'recommend_only'
    | 'rollout_stopped'
    | 'unreadable';
  /** In words. */
  readonly why: string;
}

/**
 * Why a node is not a candidate for a voluntary disruption now (candidates/disruptable-nodes), in words; undefined if it is one.
 * `eventual` ignores what its pods ask for, if a terminationGracePeriod bounds the drain (drift).
 */
export const whyNotCandidate = (...asked: Parameters<typeof notCandidate>): string | undefined =>
  notCandidate(...asked)?.why;

/** The same with the kind of the reason. */
export function notCandidate(
  view: NodeView,
  context: CandidateContext,
  method: 'graceful' | 'eventual' = 'graceful',
): Blocked | undefined {
  const { claim, node } = view;
  const found = notDisruptable(view, context);
  if (found !== undefined) return found;
  if (isNodeMarkedDoNotDisrupt(node)) return { blocker: 'do_not_disrupt', why: 'the node is marked do-not-disrupt' };
  if (method === 'graceful' && isKeptFromConsolidation(view))
    return { blocker: 'consolidation_disabled', why: 'the node is marked do-not-consolidate' };
  const noPool = whyNoPool(view);
  if (noPool !== undefined) return { blocker: 'no_nodepool', why: noPool };
  const waived = method === 'eventual' && claim.spec.terminationGracePeriod !== undefined;
  return waived ? undefined : blockingPod(view.pods, context);
}

/** Why the node belongs to no NodePool: a standalone NodeClaim has no label of one. */
export function whyNoPool({ claim, pool }: Pick<NodeView, 'claim' | 'pool'>): string | undefined {
  if (claim.metadata.labels?.[labels.nodePool] === undefined) return 'it has no NodePool label';
  return pool === undefined ? 'its NodePool does not exist' : undefined;
}

/**
 * The older annotation `do-not-consolidate` on nodes forbids only consolidation. Drift is allowed, and so is the removal of empty
 * nodes if the NodePool consolidates only those (the former ttlSecondsAfterEmpty).
 */
function isKeptFromConsolidation({ node, pool }: NodeView): boolean {
  const marked = node?.metadata.annotations?.[annotations.doNotConsolidate] === 'true';
  return marked && pool?.spec.disruption.consolidationPolicy !== 'WhenEmpty';
}

/** Why the state of the NodeClaim or Node forbids a disruption. */
function notDisruptable({ claim, node }: NodeView, context: CandidateContext): Blocked | undefined {
  if (context.claimed.has(claim.metadata.uid ?? ''))
    return { blocker: 'disrupting', why: 'a disruption of it is running' };
  if (isDeleting(claim)) return { blocker: 'disrupting', why: 'its NodeClaim is being deleted' };
  if (node === undefined) return { blocker: 'not_initialized', why: 'it has no Node' };
  if (isDeleting(node)) return { blocker: 'disrupting', why: 'it is being deleted' };
  if (!isTrue(claim.status?.conditions, 'Initialized'))
    return { blocker: 'not_initialized', why: 'it is not initialized' };
  if (context.nominated.has(nameOf(node))) return { blocker: 'nominated', why: 'pods are on their way to it' };
  return undefined;
}

/** The pod or PodDisruptionBudget that forbids draining the node now. */
function blockingPod(pods: readonly Pod[], context: CandidateContext): Blocked | undefined {
  const marked = podMarkedDoNotDisrupt(pods, context.now);
  if (marked !== undefined)
    return { blocker: 'do_not_disrupt', why: `pod ${fullName(marked)} is marked do-not-disrupt` };
  if (context.podDisruptionBudgets.length === 0) return undefined;
  for (const pod of pods) {
    const why = isEvictable(pod) && !isMirror(pod) ? blockingBudgetOf(pod, context) : undefined;
    if (why !== undefined)
      return { blocker: 'pod_disruption_budget', why: `${why} forbids evicting pod ${fullName(pod)}` };
  }
  return undefined;
}

/** `blockingBudget` of pods with equal labels in a context: a cluster has thousands of equal pods. */
const blocking = new WeakMap<CandidateContext, Map<string, string | undefined>>();

function blockingBudgetOf(pod: Pod, context: CandidateContext): string | undefined {
  let known = blocking.get(context);
  if (known === undefined) blocking.set(context, (known = new Map<string, string | undefined>()));
  const { namespace, labels: own } = pod.metadata;
  const key = JSON.stringify([namespace, isTrue(pod.status?.conditions, 'Ready'), own]);
  if (!known.has(key)) known.set(key, blockingBudget(bindingBudgets(pod, context.podDisruptionBudgets)));
  return known.get(key);
}

/** The eviction API refuses pods with two PodDisruptionBudgets, and pods whose budget allows no disruption now. */
function blockingBudget(binding: readonly PodDisruptionBudget[]): string | undefined {
  if (binding.length > 1) return `more than one PodDisruptionBudget (${binding.map(fullName).sort().join(', ')})`;
  const [only] = binding;
  if (only === undefined || (only.status?.disruptionsAllowed ?? 0) > 0) return undefined;
  return `PodDisruptionBudget ${fullName(only)}`;
}

/** What it costs to evict one pod (disruption-cost/of-a-pod): 1 for an ordinary one, between -10 and 10. */
export function evictionCost({ metadata, spec }: Pod): number {
  const deletionCost = Number(metadata.annotations?.[annotations.podDeletionCost] ?? 0);
  const cost = 1 + (Number.isFinite(deletionCost) ? deletionCost : 0) / 2 ** 27 + (spec.priority ?? 0) / 2 ** 25;
  return Math.min(10, Math.max(-10, cost));
}

/** What it costs to disrupt a node (disruption-cost/of-a-node): 1 for an empty one. Pods of negative cost count as nothing. */
export function disruptionCost(pods: readonly Pod[]): number {
  let cost = 1;
  for (const pod of pods) if (isReschedulable(pod)) cost += Math.max(0, evictionCost(pod));
  return cost;
}
