import { messageOf } from '../core/error-message.js';
import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { NodePool } from '../api/karpenter/node-pool.js';
import type { Node } from '../api/kubernetes.js';
import { finalizers, labels, taints } from '../api/labels.js';
import type { InstanceType } from '../core/instance-type.js';
import { parseResources, type Resources } from '../core/quantities.js';
import { hasTaint, hasUnregisteredTaint } from '../core/taints.js';
import type { NodeClass } from '../cloud/port.js';
import type { NodeView } from '../disruption/candidates/candidates.js';
import { pricesIn, type NodePrices } from '../disruption/candidates/node-prices.js';
import type { ClusterCache, Kind } from '../kube/port.js';
import type { Candidate } from '../workflows/messages.js';
import type { ClusterDeps } from './deps.js';
import { identityOf, labelsOf } from './node-labels.js';
import { overlaysInEffect } from './overlays.js';

type ClassRef = NodeClaim['spec']['nodeClassRef'];

/** Claims and pools of another provider's node class are none of ours (node-claims/managed). */
export function isManaged(deps: Pick<ClusterDeps, 'cloud'>, ref: ClassRef): boolean {
  const { group, kind } = deps.cloud.nodeClassKind;
  return ref.group === group && ref.kind === kind;
}

export function managedClaims(deps: Pick<ClusterDeps, 'cloud' | 'cache'>): readonly NodeClaim[] {
  return deps.cache.all('NodeClaim').filter(({ spec }) => isManaged(deps, spec.nodeClassRef));
}

/** Claims that have no instance yet, and may become more than one type: what they will hold is not known. */
export function unlaunchedClaims(deps: Pick<ClusterDeps, 'cloud' | 'cache'>): readonly NodeClaim[] {
  return managedClaims(deps).filter((claim) => {
    const { metadata, status } = claim;
    if (metadata.deletionTimestamp !== undefined || (status?.providerID ?? '') !== '') return false;
    return instanceTypesOf(claim).length !== 1;
  });
}

/** The instance types that the claim may become, where it names them. */
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

/** NodePools that are gone, with how many NodeClaims they left: `kubectl delete nodepool --cascade=orphan` keeps those. */
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

/** What to do about these. */
export const lostPoolRemedy = (name: string): string =>
  `create NodePool ${name} again, and its nodes are managed; or kubectl delete nodeclaims -l ${labels.nodePool}=${name} drains and ends them`;

/** Whether the node is on its way out. */
export function isDeletingNode(node: Node): boolean {
  return node.metadata.deletionTimestamp !== undefined || hasTaint(node, taints.disrupted);
}

/** What finds Nodes in a cache. */
export interface NodeLookUps extends Pick<ClusterCache, 'nodeByProviderId'> {
  get(kind: 'Node', ref: { readonly name: string }): Node | undefined;
}

/** The Node of a claim's instance: where several have its providerID, the one that registered (registration/second-node). */
export function nodeOf(cache: NodeLookUps, claim: NodeClaim): Node | undefined {
  const { providerID = '', nodeName = '' } = claim.status ?? {};
  if (providerID === '') return undefined;
  const registered = nodeName === '' ? undefined : cache.get('Node', { name: nodeName });
  return registered?.spec?.providerID === providerID ? registered : cache.nodeByProviderId(providerID);
}

/**
 * Whether the Node of a claim's instance has to be registered, for the first time or anew: it was removed by force, and the kubelet that came up
 * again made one that has nothing of the claim (registration/registered-anew). Another Node beside it is none of these.
 */
export function isUnregistered({ metadata, spec }: Node, claim: NodeClaim): boolean {
  if (metadata.deletionTimestamp !== undefined) return false;
  if (metadata.name !== (claim.status?.nodeName ?? metadata.name)) return false;
  if (hasUnregisteredTaint({ spec })) return true;
  const isOwned = metadata.ownerReferences?.some(({ uid }) => uid === claim.metadata.uid) === true;
  return !isOwned && metadata.labels?.[labels.registered] === undefined;
}

/** A Node of an EC2NodeClass that is being deleted, is held by Karpenter's finalizer, and has no claim whose termination would take that off. Its claim need not have had a NodePool. */
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
 * Names of every Node of that Node's instance, its own first (termination/several-nodes): a kubelet that comes up again under another name registers a Node
 * beside the one that it had.
 */
export function nodesOfInstance(
  cache: Pick<ClusterCache, 'get' | 'all'>,
  nodeName: string,
  providerId = cache.get('Node', { name: nodeName })?.spec?.providerID ?? '',
): readonly string[] {
  if (providerId === '') return [nodeName];
  const own = cache.all('Node').filter(({ spec }) => spec?.providerID === providerId);
  return [...new Set([nodeName, ...own.map(({ metadata }) => metadata.name ?? '')])];
}

/** What a node has by its own status, and until it says so by its claim (limits/counted-capacity). */
export function countedCapacity(claim: Pick<NodeClaim, 'status'>, node: Pick<Node, 'status'> | undefined): Resources {
  const reported = Object.entries(parseResources(node?.status?.capacity)).filter(([, amount]) => amount > 0);
  return { ...parseResources(claim.status?.capacity), ...Object.fromEntries(reported) };
}

/** Instance types by pool. A pool whose types cannot be had is left out, and harms no other (it is logged). */
export async function cataloguesOf(
  deps: Pick<ClusterDeps, 'cloud' | 'cache' | 'log'>,
  pools: readonly NodePool[],
): Promise<Map<string, readonly InstanceType[]>> {
  const catalogues = new Map<string, readonly InstanceType[]>();
  for (const pool of pools) {
    const name = pool.metadata.name ?? '';
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

/** Every managed node as decisions about it read it. */
export async function nodeViews(deps: ClusterDeps): Promise<readonly NodeView[]> {
  return viewsWith(deps, (await nodePrices(deps)).prices);
}

/** What nodes cost (disruption-cost/price-of-a-node), and what is left out of that; `catalogues` are the cloud's, by NodePool. */
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

/** The same with prices that are at hand. */
export function viewsWith(deps: Pick<ClusterDeps, 'cloud' | 'cache'>, prices: NodePrices): readonly NodeView[] {
  return managedClaims(deps).map((claim) => {
    const node = nodeOf(deps.cache, claim);
    const pool = poolOf(deps.cache, claim);
    return {
      claim,
      node,
      pool,
      pods: node === undefined ? [] : deps.cache.podsOnNode(node.metadata.name ?? ''),
      pricePerHour: prices.of(claim.metadata.labels ?? {}, nodeNameOf({ claim, node })) ?? 0,
    };
  });
}

/** The Node's name, and before there is one its claim's. */
export function nodeNameOf({ claim, node }: Pick<NodeView, 'claim' | 'node'>): string {
  return node?.metadata.name ?? claim.metadata.name ?? '';
}

/** The node as decisions and their records name it. */
export function candidateOf(view: Pick<NodeView, 'claim' | 'node' | 'pricePerHour'>): Candidate {
  const { claim, pricePerHour } = view;
  return { claim: identityOf(claim), node: nodeNameOf(view), ...labelsOf(claim), pricePerHour };
}
