import type { Node } from '../../api/kubernetes.js';
import { finalizers, labels, taints } from '../../api/labels.js';
import { nodesOfInstance } from '../../cluster/cluster.js';
import { identityOf } from '../../cluster/node-labels.js';
import { updateNode } from '../../cluster/writes.js';
import { messageOf } from '../../core/error-message.js';
import { lookUp } from '../../core/own.js';
import type { DrainInput } from './contract.js';
import type { ActivityDeps } from '../deps.js';
import { isRefusedWrite } from '../refusals.js';
import { isDeleting } from '../../core/names.js';

/** The label that excludes a node from load balancers. */
const offLoadBalancers = { [labels.excludeFromLoadBalancers]: 'karpenter' } as const;

/**
 * Taints the Nodes of an instance, excludes them from load balancers, and deletes them; returns those that belong to
 * the instance. A Node of another instance with one of the names stays unchanged. A refusal by the API server is
 * thrown, unless `otherwise` handles it.
 */
export async function markNodes(
  deps: Pick<ActivityDeps, 'kube'>,
  names: readonly string[],
  providerID: string | undefined,
  otherwise: (name: string, refusal: Error) => Promise<Node | undefined> = (_, refusal) => Promise.reject(refusal),
): Promise<readonly Node[]> {
  const nodes: Node[] = [];
  for (const name of names) {
    const node = await taintNode(deps, name, { labels: offLoadBalancers, providerID }).catch((error: unknown) => {
      if (!isRefusedWrite(error)) throw error;
      return otherwise(name, error);
    });
    if (node === undefined || node.spec?.providerID !== providerID) continue;
    if (!isDeleting(node)) {
      await deps.kube.delete('Node', { name }, { uid: identityOf(node).uid });
    }
    nodes.push(node);
  }
  return nodes;
}

/**
 * The unchanged Node, if it has Stowage's finalizer. Throws `refusal` otherwise, because the Node would be gone before
 * its pods.
 */
export async function heldNode(
  { kube }: Pick<ActivityDeps, 'kube'>,
  name: string,
  refusal: Error,
): Promise<Node | undefined> {
  const node = await kube.get('Node', { name });
  if (node !== undefined && node.metadata.finalizers?.includes(finalizers.termination) !== true) throw refusal;
  return node;
}

/** Cordons a Node whose taint is refused: otherwise evicted pods would come back to it, since it has the most room. */
export async function cordonHeldNode(
  deps: Pick<ActivityDeps, 'kube'>,
  name: string,
  refusal: Error,
): Promise<Node | undefined> {
  await heldNode(deps, name, refusal);
  try {
    return await updateNode(deps.kube, name, ({ spec }) =>
      spec?.unschedulable === true ? undefined : { spec: { unschedulable: true } },
    );
  } catch (error) {
    throw isRefusedWrite(error) ? refusal : error;
  }
}

/**
 * Restores what the termination marked when it began, in every pass (termination/marks-are-restored): the taint may
 * have been removed, and a restarted kubelet creates a Node without it. If that is refused, the drain continues and the
 * next pass tries again.
 */
export async function ensureMarked(deps: ActivityDeps, input: DrainInput): Promise<void> {
  if (deps.cache.get('NodeClaim', { name: input.claim.name })?.metadata.deletionTimestamp === undefined) return;
  const providerID = providerIdOf(deps, input);
  const unmarked = nodesOfDrain(deps, input).filter((name) => {
    const node = deps.cache.get('Node', { name });
    return node !== undefined && node.spec?.providerID === providerID && !isMarked(node);
  });
  if (unmarked.length === 0) return;
  try {
    await markNodes(deps, unmarked, providerID);
    deps.log.warn({ nodes: unmarked }, 'restored the marks of nodes that are being drained');
  } catch (error) {
    deps.log.warn(
      { nodes: unmarked, error: messageOf(error) },
      'could not restore the marks of nodes that are being drained',
    );
  }
}

/** Names of the Nodes that are drained: the one that registered, and any other of the claim's instance. */
export const nodesOfDrain = (deps: Pick<ActivityDeps, 'cache'>, input: DrainInput): readonly string[] =>
  nodesOfInstance(deps.cache, input.nodeName, providerIdOf(deps, input));

/** From the NodeClaim, because its Node may be gone, or else from the Node; undefined if neither has it. */
function providerIdOf({ cache }: Pick<ActivityDeps, 'cache'>, { claim, nodeName }: DrainInput): string | undefined {
  const known = cache.get('NodeClaim', { name: claim.name });
  const own = known?.metadata.uid === claim.uid ? (known.status?.providerID ?? '') : '';
  return own === '' ? cache.get('Node', { name: nodeName })?.spec?.providerID : own;
}

function isMarked({ metadata, spec }: Node): boolean {
  return metadata.deletionTimestamp !== undefined && hasDisruptedTaint(spec) && hasLabels(metadata, offLoadBalancers);
}

const hasDisruptedTaint = (spec: Node['spec']): boolean =>
  spec?.taints?.some(({ key, effect }) => key === taints.disrupted.key && effect === taints.disrupted.effect) ?? false;

const hasLabels = ({ labels: present }: Node['metadata'], wanted: Readonly<Record<string, string>>): boolean =>
  Object.entries(wanted).every(([key, value]) => lookUp(present, key) === value);

/**
 * Taints a node with `karpenter.sh/disrupted`; changes nothing if it has the taint. Undefined if the node is gone. With
 * a `providerID`, a node of another instance with the same name stays unchanged.
 */
export async function taintNode(
  deps: Pick<ActivityDeps, 'kube'>,
  name: string,
  {
    labels: more = {},
    providerID,
  }: { labels?: Readonly<Record<string, string>>; providerID?: string | undefined } = {},
): Promise<Node | undefined> {
  return updateNode(deps.kube, name, ({ metadata, spec }) => {
    if (providerID !== undefined && spec?.providerID !== providerID) return undefined;
    const present = spec?.taints ?? [];
    const tainted = hasDisruptedTaint(spec);
    const finalized = metadata.finalizers?.includes(finalizers.termination) === true;
    if (tainted && hasLabels(metadata, more) && finalized) return undefined;
    return {
      metadata: {
        ...(Object.keys(more).length === 0 ? {} : { labels: more }),
        // Without the finalizer the Node would be gone before its pods.
        ...(metadata.deletionTimestamp === undefined
          ? { finalizers: [...new Set([...(metadata.finalizers ?? []), finalizers.termination])] }
          : {}),
      },
      spec: { taints: tainted ? present : [...present, taints.disrupted] },
    };
  });
}
