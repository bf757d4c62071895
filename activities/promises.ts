import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { Node, Pod } from '../api/kubernetes.js';
import { annotations, taints } from '../api/labels.js';
import { isTrue, transitionOf } from '../core/conditions.js';
import { isPending, isProvisionable, podKey } from '../disruption/pods.js';
import { isManaged } from './cluster.js';
import type { ActivityDeps } from './deps.js';

type Deps = Pick<ActivityDeps, 'cache' | 'cloud' | 'now' | 'nominationMs'>;

/**
 * The node that a pending pod is on its way to: it is nominated to it, by kube-scheduler, which makes room for it there, or by
 * Stowage, which launched the node for it. Undefined once there is nothing to wait for: the node is gone or going, or it is one
 * that Stowage nominated and has been initialized for `nominationMs` without the pod having been bound.
 */
export function promisedNode(deps: Deps, pod: Pod): { readonly node: string; readonly own: boolean } | undefined {
  const name = pod.status?.nominatedNodeName ?? '';
  if (name === '' || !isPending(pod)) return undefined;
  const node = deps.cache.get('Node', { name });
  if (node === undefined || isGoing(node)) return undefined;
  const claim = deps.cache.nodeClaimByProviderId(node.spec?.providerID ?? '');
  if (claim === undefined || !isManaged(deps, claim.spec.nodeClassRef)) return { node: name, own: false };
  if (claim.metadata.deletionTimestamp !== undefined) return undefined;
  if (!isPlannedOn(pod, claim)) return { node: name, own: false };
  const initialized = initializedAt(claim);
  const waits = initialized === undefined || deps.now() < initialized + deps.nominationMs;
  return waits ? { node: name, own: true } : undefined;
}

function isGoing({ metadata, spec }: Node): boolean {
  if (metadata.deletionTimestamp !== undefined) return true;
  return spec?.taints?.some(({ key }) => key === taints.disrupted.key) ?? false;
}

/** Whether nodes are launched for the pod (section 2.1): it pends for lack of one, and is on its way to none. */
export function lacksNode(deps: Deps, pod: Pod): boolean {
  return isProvisionable(pod) || (isPending(pod) && promisedNode(deps, pod) === undefined);
}

/** The pods that Stowage promised a node and that are on their way, `namespace/name`, by node. */
export function promisedPods(deps: Deps): ReadonlyMap<string, readonly string[]> {
  const byNode = new Map<string, string[]>();
  for (const pod of deps.cache.all('Pod')) {
    const promised = promisedNode(deps, pod);
    if (promised?.own !== true) continue;
    const known = byNode.get(promised.node);
    if (known === undefined) byNode.set(promised.node, [podKey(pod)]);
    else known.push(podKey(pod));
  }
  return byNode;
}

/** When the claim's node was initialized, milliseconds of the epoch. */
export function initializedAt({ status }: NodeClaim): number | undefined {
  return isTrue(status?.conditions, 'Initialized') ? transitionOf(status?.conditions, 'Initialized') : undefined;
}

/** A pod that came after the node was initialized is in no plan of it, even if an earlier one of its name was. */
function isPlannedOn(pod: Pod, claim: NodeClaim): boolean {
  const planned = claim.metadata.annotations?.[annotations.plannedPods];
  if (planned === undefined || !`,${planned},`.includes(`,${podKey(pod)},`)) return false;
  const initialized = initializedAt(claim);
  return initialized === undefined || !(Date.parse(pod.metadata.creationTimestamp ?? '') > initialized);
}
