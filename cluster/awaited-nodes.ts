import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { Pod } from '../api/kubernetes.js';
import { annotations } from '../api/labels.js';
import { isTrue, transitionOf } from '../core/conditions.js';
import { isPending, isReschedulable, isUnassigned, podKey } from '../core/pods.js';
import { isDeletingNode, isManaged, nodeOf } from './cluster.js';
import type { ClusterDeps } from './deps.js';

type Deps = Pick<ClusterDeps, 'cache' | 'cloud' | 'now' | 'nominationMs'>;

/** A node that does not come to be initialized is waited for so long, from its claim's creation. */
const longestWaitMs = 30 * 60_000;

export interface AwaitedNode {
  /** Or the claim's name, while there is no node. */
  readonly node: string;
  /** By Stowage, which launched the node for the pod; else by kube-scheduler or whoever nominated it. */
  readonly own: boolean;
}

/**
 * The node that a pending pod is on its way to: it is nominated to it, or a plan put it on one that is still to be initialized, or has
 * been for less than `nominationMs`.
 * It has its room there: planning it anew together with others could place it where they were to go, and launch for them once
 * more. Undefined once there is nothing to wait for.
 */
export function awaitedNode(deps: Deps, pod: Pod): AwaitedNode | undefined {
  return isPending(pod) ? (nominatedNode(deps, pod) ?? launchedFor(deps, pod)) : undefined;
}

/**
 * The node that a pending pod is nominated to: by kube-scheduler, which makes room for it there, or by Stowage. Undefined when
 * the node is gone or going, or it is one that Stowage nominated and has been initialized for `nominationMs` without the pod
 * having been bound.
 */
export function nominatedNode(deps: Deps, pod: Pod): AwaitedNode | undefined {
  const name = pod.status?.nominatedNodeName ?? '';
  const node = name === '' ? undefined : deps.cache.get('Node', { name });
  if (node === undefined || isDeletingNode(node)) return undefined;
  const claim = deps.cache.nodeClaimByProviderId(node.spec?.providerID ?? '');
  if (claim === undefined || !isManaged(deps, claim.spec.nodeClassRef)) return { node: name, own: false };
  if (claim.metadata.deletionTimestamp !== undefined) return undefined;
  if (!isPlannedOn(pod, claim)) return { node: name, own: false };
  return isAwaited(deps, claim) ? { node: name, own: true } : undefined;
}

function launchedFor(deps: Deps, pod: Pod): AwaitedNode | undefined {
  const claim = claimsByPod(deps, deps.cache.all('NodeClaim')).get(podKey(pod));
  if (claim === undefined || !isManaged(deps, claim.spec.nodeClassRef) || !isAwaited(deps, claim)) return undefined;
  if (!isPlannedOn(pod, claim)) return undefined;
  const node = nodeOf(deps.cache, claim);
  if (node !== undefined && isDeletingNode(node)) return undefined;
  return { node: node?.metadata.name ?? claim.metadata.name ?? '', own: true };
}

function isAwaited({ now, nominationMs }: Deps, claim: NodeClaim): boolean {
  const initialized = initializedAt(claim);
  if (initialized !== undefined) return now() < initialized + nominationMs;
  return !(now() >= Date.parse(claim.metadata.creationTimestamp ?? '') + longestWaitMs);
}

/** Awaited claims by the pods that are planned there, those still to be initialized before others; worked out once for each state of them. */
function claimsByPod(deps: Deps, claims: readonly NodeClaim[]): ReadonlyMap<string, NodeClaim> {
  let byPod = known.get(claims);
  if (byPod === undefined) {
    byPod = new Map();
    for (const claim of claims) {
      if (claim.metadata.deletionTimestamp !== undefined || !isAwaited(deps, claim)) continue;
      const initialized = initializedAt(claim) ?? Infinity;
      for (const pod of plannedPodKeys(claim)) {
        const known = byPod.get(pod);
        if (known === undefined || initialized > (initializedAt(known) ?? Infinity)) byPod.set(pod, claim);
      }
    }
    known.set(claims, byPod);
  }
  return byPod;
}

const plannedPodKeys = ({ metadata }: NodeClaim): readonly string[] =>
  metadata.annotations?.[annotations.plannedPods]?.split(',') ?? [];

const known = new WeakMap<readonly NodeClaim[], Map<string, NodeClaim>>();

/** Whether nodes are launched for the pod (provisioning/pending-pods): it pends for lack of one, and is on its way to none. */
export function lacksNode(deps: Deps, pod: Pod): boolean {
  return isPending(pod) && awaitedNode(deps, pod) === undefined;
}

/** Whether the pod needs a node and is on its way to none, whether kube-scheduler has looked at it or not. */
export function waitsForRoom(deps: Deps, pod: Pod): boolean {
  return isUnassigned(pod) && awaitedNode(deps, pod) === undefined;
}

/** The pods that Stowage launched a node for and that are on their way, `namespace/name`, by node. */
export function podsAwaitingNodes(deps: Deps): ReadonlyMap<string, readonly string[]> {
  const byNode = new Map<string, string[]>();
  for (const pod of deps.cache.all('Pod')) {
    const awaited = awaitedNode(deps, pod);
    if (awaited?.own !== true) continue;
    const known = byNode.get(awaited.node);
    if (known === undefined) byNode.set(awaited.node, [podKey(pod)]);
    else known.push(podKey(pod));
  }
  return byNode;
}

/**
 * Nodes that were launched for pods which are still on a node that goes, by name: a drain that is blocked keeps them empty until it
 * lets the pods go, or their node stays. `judged`: nodes that are being decided about, and may be tainted for that.
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

/** The node that the pod is on, if that drains and the pod has to go elsewhere. */
function drainingNodeOf(cache: Deps['cache'], key: string): string | undefined {
  const [namespace = '', name = ''] = key.split('/');
  const pod = cache.get('Pod', { namespace, name });
  const from = pod?.spec.nodeName ?? '';
  if (pod === undefined || from === '' || !isReschedulable(pod)) return undefined;
  const node = cache.get('Node', { name: from });
  return node !== undefined && isDeletingNode(node) ? from : undefined;
}

/** When the claim's node was initialized, milliseconds of the epoch. */
export function initializedAt({ status }: NodeClaim): number | undefined {
  return isTrue(status?.conditions, 'Initialized') ? transitionOf(status?.conditions, 'Initialized') : undefined;
}

/** A pod that came after the node was initialized is in no plan of it, even if an earlier one of its name was. */
export function isPlannedOn(pod: Pod, claim: NodeClaim): boolean {
  const planned = claim.metadata.annotations?.[annotations.plannedPods];
  if (planned === undefined || !`,${planned},`.includes(`,${podKey(pod)},`)) return false;
  const initialized = initializedAt(claim);
  return initialized === undefined || !(Date.parse(pod.metadata.creationTimestamp ?? '') > initialized);
}
