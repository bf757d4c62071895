import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { Pod } from '../api/kubernetes.js';
import { annotations } from '../api/labels.js';
import { isTrue, transitionOf } from '../core/conditions.js';
import { isPending, isReschedulable, isUnassigned } from '../core/pods.js';
import { isDeletingNode, isManaged, nodeOf, requestsOf, unrequestedOf } from './cluster.js';
import type { ClusterDeps } from './deps.js';
import { lookUp } from '../core/own.js';
import { nameOf, fullName, isDeleting } from '../core/names.js';

type Deps = Pick<ClusterDeps, 'cache' | 'cloud' | 'now' | 'nominationMs'>;

/** A node that is not initialized this long after its claim's creation is no longer awaited. */
const longestWaitMs = 30 * 60_000;

interface AwaitedNode {
  /** The claim's name while there is no node. */
  readonly node: string;
  /** Whether Stowage launched the node for the pod; otherwise kube-scheduler or another component nominated it. */
  readonly own: boolean;
}

/**
 * The node that a pending pod awaits: the pod is nominated to it, or a plan placed it on a node that is not initialized
 * yet, or has been for less than `nominationMs` and still has room. Planning it again with other pods could place it in
 * their room, and launch another node for them. Undefined once there is nothing to wait for.
 */
export function awaitedNode(deps: Deps, pod: Pod): AwaitedNode | undefined {
  return isPending(pod) ? (nominatedNode(deps, pod) ?? launchedFor(deps, pod)) : undefined;
}

/**
 * The node to which a pending pod is nominated, by kube-scheduler (preemption) or by Stowage. Undefined if the node is
 * gone or being deleted, or if Stowage nominated it and it has been initialized for `nominationMs` without the pod
 * being bound, or others took its room.
 */
export function nominatedNode(deps: Deps, pod: Pod): AwaitedNode | undefined {
  const name = pod.status?.nominatedNodeName ?? '';
  const node = name === '' ? undefined : deps.cache.get('Node', { name });
  if (node === undefined || isDeletingNode(node)) return undefined;
  const claim = deps.cache.nodeClaimByProviderId(node.spec?.providerID ?? '');
  if (claim === undefined || !isManaged(deps, claim.spec.nodeClassRef)) return { node: name, own: false };
  if (isDeleting(claim)) return undefined;
  if (!isPlannedOn(pod, claim)) return { node: name, own: false };
  return isAwaited(deps, claim, pod) ? { node: name, own: true } : undefined;
}

function launchedFor(deps: Deps, pod: Pod): AwaitedNode | undefined {
  const claim = awaitedClaim(deps, pod);
  if (claim === undefined || !isManaged(deps, claim.spec.nodeClassRef) || !isPlannedOn(pod, claim)) return undefined;
  const node = nodeOf(deps.cache, claim);
  if (node !== undefined && isDeletingNode(node)) return undefined;
  return { node: node?.metadata.name ?? nameOf(claim), own: true };
}

/** The awaited claim that the pod is planned on; of several an uninitialized one, or the one initialized last. */
function awaitedClaim(deps: Deps, pod: Pod): NodeClaim | undefined {
  let found: NodeClaim | undefined;
  for (const claim of deps.cache.nodeClaimsPlannedFor(fullName(pod))) {
    if (isDeleting(claim) || !isAwaited(deps, claim, pod)) continue;
    const isLater = found === undefined || (initializedAt(claim) ?? Infinity) > (initializedAt(found) ?? Infinity);
    if (isLater) found = claim;
  }
  return found;
}

function isAwaited(deps: Deps, claim: NodeClaim, pod: Pod): boolean {
  const { now, nominationMs } = deps;
  const initialized = initializedAt(claim);
  if (initialized !== undefined) return now() < initialized + nominationMs && !haveOthersItsRoom(deps, claim, pod);
  return !(now() >= Date.parse(claim.metadata.creationTimestamp ?? '') + longestWaitMs);
}

/** kube-scheduler may bind other pods to the node than those that were planned onto it (provisioning/nominated-pods). */
function haveOthersItsRoom({ cache }: Deps, claim: NodeClaim, pod: Pod): boolean {
  const node = nodeOf(cache, claim);
  if (node === undefined || !cache.podsOnNode(nameOf(node)).some(isReschedulable)) return false;
  const left = unrequestedOf(cache, node);
  return [...requestsOf(pod)].some(([resource, amount]) => amount > (lookUp(left, resource) ?? Infinity));
}

const plannedPodKeys = ({ metadata }: NodeClaim): readonly string[] =>
  metadata.annotations?.[annotations.plannedPods]?.split(',') ?? [];

/**
 * Whether nodes are launched for the pod (provisioning/pending-pods): it is pending for lack of a node and awaits none.
 */
export function lacksNode(deps: Deps, pod: Pod): boolean {
  return isPending(pod) && awaitedNode(deps, pod) === undefined;
}

/** Whether the pod needs a node and awaits none, even if kube-scheduler has not tried it yet. */
export function waitsForRoom(deps: Deps, pod: Pod): boolean {
  return isUnassigned(pod) && awaitedNode(deps, pod) === undefined;
}

/** By node: the pods (`namespace/name`) for which Stowage launched it and that are not bound yet. */
export function podsAwaitingNodes(deps: Deps): ReadonlyMap<string, readonly string[]> {
  const byNode = new Map<string, string[]>();
  for (const pod of deps.cache.all('Pod')) {
    const awaited = awaitedNode(deps, pod);
    if (awaited?.own !== true) continue;
    const known = byNode.get(awaited.node);
    if (known === undefined) byNode.set(awaited.node, [fullName(pod)]);
    else known.push(fullName(pod));
  }
  return byNode;
}

/**
 * Nodes launched for pods that are still on a draining node, by name. While the drain is blocked they stay empty, until
 * the pods are evicted or the drain is cancelled. `judged`: nodes under validation, which may be tainted for it.
 */
export function nodesForPodsOfDrainingNodes(
  { cache }: Pick<Deps, 'cache'>,
  judged: ReadonlySet<string> = new Set(),
): readonly string[] {
  const isWaiting = (key: string, to: string): boolean => {
    const from = drainingNodeOf(cache, key);
    return from !== undefined && from !== to && !judged.has(from);
  };
  return cache.all('NodeClaim').flatMap((claim) => {
    const node = claim.metadata.annotations?.[annotations.plannedPods] === undefined ? undefined : nodeOf(cache, claim);
    const name = node?.metadata.name;
    return name !== undefined && plannedPodKeys(claim).some((key) => isWaiting(key, name)) ? [name] : [];
  });
}

/** The pod's node, if it is draining and the pod must move. */
function drainingNodeOf(cache: Deps['cache'], key: string): string | undefined {
  const [namespace = '', name = ''] = key.split('/');
  const pod = cache.get('Pod', { namespace, name });
  const from = pod?.spec.nodeName ?? '';
  if (pod === undefined || from === '' || !isReschedulable(pod)) return undefined;
  const node = cache.get('Node', { name: from });
  return node !== undefined && isDeletingNode(node) ? from : undefined;
}

/** When the claim's node was initialized, milliseconds since the epoch. */
export function initializedAt({ status }: NodeClaim): number | undefined {
  return isTrue(status?.conditions, 'Initialized') ? transitionOf(status?.conditions, 'Initialized') : undefined;
}

/** A pod created after the node was initialized is not in its plan, even if an earlier pod with this name was. */
export function isPlannedOn(pod: Pod, claim: NodeClaim): boolean {
  const planned = claim.metadata.annotations?.[annotations.plannedPods];
  if (planned === undefined || !`,${planned},`.includes(`,${fullName(pod)},`)) return false;
  const initialized = initializedAt(claim);
  return initialized === undefined || !(Date.parse(pod.metadata.creationTimestamp ?? '') > initialized);
}
