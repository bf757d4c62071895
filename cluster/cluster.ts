import { messageOf } from '../core/error-message.js';
import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { NodePool } from '../api/karpenter/node-pool.js';
import type { Node, Pod, PodSpec } from '../api/kubernetes.js';
import { finalizers, labels, taints } from '../api/labels.js';
import type { InstanceType } from '../core/instance-type.js';
import { parseResources, type Resources } from '../core/quantities.js';
import { isTerminal } from '../core/pods.js';
import { hasTaint, hasUnregisteredTaint } from '../core/taints.js';
import type { NodeClass } from '../cloud/port.js';
import type { NodeView } from '../disruption/candidates/candidates.js';
import { pricesIn, type NodePrices } from '../disruption/candidates/node-prices.js';
import type { ClusterCache, Kind } from '../kube/port.js';
import { QuantityReader, readableRequests } from '../packing/compile/pod-requests.js';
import type { Candidate } from '../workflows/messages.js';
import type { ClusterDeps } from './deps.js';
import { identityOf, labelsOf } from './node-labels.js';
import { overlaysInEffect } from './overlays.js';
import { nameOf, isDeleting } from '../core/names.js';

type ClassRef = NodeClaim['spec']['nodeClassRef'];

/** Claims and pools of another provider's node class are not managed (node-claims/managed). */
export function isManaged(deps: Pick<ClusterDeps, 'cloud'>, ref: ClassRef): boolean {
  const { group, kind } = deps.cloud.nodeClassKind;
  return ref.group === group && ref.kind === kind;
}

export function managedClaims(deps: Pick<ClusterDeps, 'cloud' | 'cache'>): readonly NodeClaim[] {
  return deps.cache.all('NodeClaim').filter(({ spec }) => isManaged(deps, spec.nodeClassRef));
}

/** Claims that have no instance yet and may become one of several types: their capacity is unknown. */
export function unlaunchedClaims(deps: Pick<ClusterDeps, 'cloud' | 'cache'>): readonly NodeClaim[] {
  return managedClaims(deps).filter((claim) => {
    const { metadata, status } = claim;
    if (metadata.deletionTimestamp !== undefined || (status?.providerID ?? '') !== '') return false;
    return instanceTypesOf(claim).length !== 1;
  });
}

/** The instance types that the claim lists, if any. */
export function instanceTypesOf({ spec }: NodeClaim): readonly string[] {
  return spec.requirements.find(({ key, operator }) => key === labels.instanceType && operator === 'In')?.values ?? [];
}

export function managedPools(deps: Pick<ClusterDeps, 'cloud' | 'cache'>): readonly NodePool[] {
  return deps.cache.all('NodePool').filter(({ spec }) => isManaged(deps, spec.template.spec.nodeClassRef));
}

export function nodeClassOf(deps: Pick<ClusterDeps, 'cloud' | 'cache'>, ref: ClassRef): NodeClass | undefined {
  if (!isManaged(deps, ref)) return undefined;
  return deps.cache.get(ref.kind as Kind, { name: ref.name }) as NodeClass | undefined;
}

export function poolOf(cache: ClusterCache, claim: NodeClaim): NodePool | undefined {
  const name = claim.metadata.labels?.[labels.nodePool];
  return name === undefined ? undefined : cache.get('NodePool', { name });
}

/**
 * NodePools that no longer exist, with the number of their NodeClaims: `kubectl delete nodepool --cascade=orphan` keeps
 * those.
 */
export function lostPools(pools: readonly NodePool[], claims: readonly NodeClaim[]): ReadonlyMap<string, number> {
  const known = new Set(pools.map(({ metadata }) => metadata.name));
  const lost = new Map<string, number>();
  for (const { metadata } of claims) {
    const name = metadata.labels?.[labels.nodePool];
    if (name === undefined || known.has(name) || metadata.deletionTimestamp !== undefined) continue;
    lost.set(name, (lost.get(name) ?? 0) + 1);
  }
  return lost;
}

/** How to fix this. */
export const lostPoolRemedy = (name: string): string =>
  `create NodePool ${name} again, to manage its nodes, or run kubectl delete nodeclaims -l ${labels.nodePool}=${name} drains and ends them`;

/** Whether the node is being deleted. */
export function isDeletingNode(node: Node): boolean {
  return isDeleting(node) || hasTaint(node, taints.disrupted);
}

/** Look-up of Nodes in a cache. */
export interface NodeLookUps extends Pick<ClusterCache, 'nodeByProviderId'> {
  get(kind: 'Node', ref: { readonly name: string }): Node | undefined;
}

/** The Node of a claim's instance. If several have its providerID, the registered one (registration/second-node). */
export function nodeOf(cache: NodeLookUps, claim: NodeClaim): Node | undefined {
  const { providerID = '', nodeName = '' } = claim.status ?? {};
  if (providerID === '') return undefined;
  const registered = nodeName === '' ? undefined : cache.get('Node', { name: nodeName });
  return registered?.spec?.providerID === providerID ? registered : cache.nodeByProviderId(providerID);
}

/**
 * Whether the Node of a claim's instance must be registered, for the first time or again: it was removed by force, and
 * kubelet created it again without the claim's labels (registration/registered-anew). False for additional Nodes of the
 * instance.
 */
export function isUnregistered({ metadata, spec }: Node, claim: NodeClaim): boolean {
  if (metadata.deletionTimestamp !== undefined) return false;
  if (metadata.name !== (claim.status?.nodeName ?? metadata.name)) return false;
  if (hasUnregisteredTaint({ spec })) return true;
  const isOwned = metadata.ownerReferences?.some(({ uid }) => uid === claim.metadata.uid) === true;
  return !isOwned && metadata.labels?.[labels.registered] === undefined;
}

/**
 * Whether a Node has Karpenter's finalizer and no claim whose termination would remove it, while its EC2NodeClass is
 * being deleted. Its claim may have had no NodePool.
 */
export function isOrphanedNode({ metadata, spec }: Node, claims: readonly NodeClaim[]): boolean {
  const { nodePool, ec2NodeClass } = labels;
  if (metadata.deletionTimestamp === undefined) return false;
  if (metadata.labels?.[nodePool] === undefined && metadata.labels?.[ec2NodeClass] === undefined) return false;
  if (metadata.finalizers?.includes(finalizers.termination) !== true) return false;
  return !claims.some(
    ({ status }) =>
      status?.nodeName === metadata.name ||
      ((status?.providerID ?? '') !== '' && status?.providerID === spec?.providerID),
  );
}

/**
 * Names of every Node of that Node's instance, its own first (termination/several-nodes): a kubelet that restarts with
 * another name registers an additional Node.
 */
export function nodesOfInstance(
  cache: Pick<ClusterCache, 'get' | 'all'>,
  nodeName: string,
  providerId = cache.get('Node', { name: nodeName })?.spec?.providerID ?? '',
): readonly string[] {
  if (providerId === '') return [nodeName];
  const own = cache.all('Node').filter(({ spec }) => spec?.providerID === providerId);
  return [...new Set([nodeName, ...own.map(nameOf)])];
}

/** Capacity from the node's status; from the claim until the node reports it (limits/counted-capacity). */
export function countedCapacity(claim: Pick<NodeClaim, 'status'>, node: Pick<Node, 'status'> | undefined): Resources {
  const reported = Object.entries(parseResources(node?.status?.capacity)).filter(([, amount]) => amount > 0);
  return { ...parseResources(claim.status?.capacity), ...Object.fromEntries(reported) };
}

/** Instance types by pool. A pool whose types cannot be read is left out and logged; others are not affected. */
export async function cataloguesOf(
  deps: Pick<ClusterDeps, 'cloud' | 'cache' | 'log'>,
  pools: readonly NodePool[],
): Promise<Map<string, readonly InstanceType[]>> {
  const catalogues = new Map<string, readonly InstanceType[]>();
  for (const pool of pools) {
    const name = nameOf(pool);
    const nodeClass = nodeClassOf(deps, pool.spec.template.spec.nodeClassRef);
    if (nodeClass === undefined) continue;
    try {
      catalogues.set(name, await deps.cloud.instanceTypes(pool, nodeClass));
    } catch (error) {
      deps.log.warn({ nodePool: name, error: messageOf(error) }, 'no instance types for a NodePool');
    }
  }
  return catalogues;
}

/** Every managed node, as input for decisions. */
export async function nodeViews(deps: ClusterDeps): Promise<readonly NodeView[]> {
  return viewsWith(deps, (await nodePrices(deps)).prices);
}

/** Prices of nodes (disruption-cost/price-of-a-node), and what they omit; `catalogues`: from the cloud, by NodePool. */
export async function nodePrices(
  deps: Pick<ClusterDeps, 'cloud' | 'cache' | 'log' | 'gates' | 'packing' | 'now'>,
  catalogues?: ReadonlyMap<string, readonly InstanceType[]>,
): Promise<ReturnType<typeof pricesIn>> {
  const { cache, packing, now } = deps;
  const nodePools = managedPools(deps);
  const objects = {
    pods: cache.all('Pod'),
    nodes: cache.all('Node'),
    nodeClaims: managedClaims(deps),
    nodePools,
    nodeOverlays: overlaysInEffect(deps),
    disruptionPolicies: cache.all('DisruptionPolicy'),
  };
  const known = catalogues ?? (await cataloguesOf(deps, nodePools));
  return pricesIn({ objects, catalogues: known, settings: packing, now: now() });
}

/** The same with given prices. */
export function viewsWith(deps: Pick<ClusterDeps, 'cloud' | 'cache'>, prices: NodePrices): readonly NodeView[] {
  return managedClaims(deps).map((claim) => {
    const view = unpricedView(deps.cache, claim);
    return { ...view, pricePerHour: prices.of(claim.metadata.labels ?? {}, nodeNameOf(view)) ?? 0 };
  });
}

/** A node whose price does not matter. */
export function unpricedView(cache: ClusterCache, claim: NodeClaim): NodeView {
  const node = nodeOf(cache, claim);
  const pods = node === undefined ? [] : cache.podsOnNode(nameOf(node));
  return { claim, node, pool: poolOf(cache, claim), pods, pricePerHour: 0 };
}

const quantities = new QuantityReader();

/** Computes once for pods with equal specs, which share their containers in the cache (kube/slim.ts). */
export function oncePerSpec<T>(compute: (spec: PodSpec) => T): (pod: Pod) => T {
  const known = new WeakMap<object, { readonly value: T }>();
  return ({ spec }) => {
    let found = known.get(spec.containers);
    if (found === undefined) known.set(spec.containers, (found = { value: compute(spec) }));
    return found.value;
  };
}

/** What a pod requests; nothing if its quantities cannot be read. */
export const requestsOf = oncePerSpec((spec): ReadonlyMap<string, number> => readableRequests(spec, quantities));

/** What the node's pods leave of its allocatable resources; computed once until a pod or the node changes. */
export function unrequestedOf(
  cache: Pick<ClusterCache, 'all' | 'podsOnNode'>,
  node: Node,
): Readonly<Record<string, number>> {
  const pods = cache.all('Pod');
  const byNode = unrequested.get(pods) ?? new WeakMap<Node, Readonly<Record<string, number>>>();
  unrequested.set(pods, byNode);
  let left = byNode.get(node);
  if (left === undefined) byNode.set(node, (left = leftOf(cache.podsOnNode(nameOf(node)), node)));
  return left;
}

const unrequested = new WeakMap<readonly Pod[], WeakMap<Node, Readonly<Record<string, number>>>>();

function leftOf(pods: readonly Pod[], { status }: Node): Readonly<Record<string, number>> {
  const requests = pods.filter((pod) => !isTerminal(pod)).map(requestsOf);
  const used = (resource: string): number => requests.reduce((sum, each) => sum + (each.get(resource) ?? 0), 0);
  const allocatable = Object.entries(status?.allocatable ?? {});
  return Object.fromEntries(
    allocatable.map(([resource, amount]) => [resource, quantities.read(resource, amount) - used(resource)]),
  );
}

/** The Node's name; the claim's while there is no Node. */
export function nodeNameOf({ claim, node }: Pick<NodeView, 'claim' | 'node'>): string {
  return node?.metadata.name ?? nameOf(claim);
}

/** The node as named in decisions and their records. */
export function candidateOf(view: Pick<NodeView, 'claim' | 'node' | 'pricePerHour'>): Candidate {
  const { claim, pricePerHour } = view;
  return { claim: identityOf(claim), node: nodeNameOf(view), ...labelsOf(claim), pricePerHour };
}
