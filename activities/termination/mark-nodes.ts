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

/** Takes a node off load balancers. */
const offLoadBalancers = { [labels.excludeFromLoadBalancers]: 'karpenter' } as const;

/**
 * Taints the Nodes of an instance, takes them off load balancers, and deletes them; gives those that are the instance's. A Node of
 * another instance that came up under one of the names is left as it is. A mark that is refused is thrown, unless `otherwise` goes on.
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
    if (node.metadata.deletionTimestamp === undefined) {
      await deps.kube.delete('Node', { name }, { uid: identityOf(node).uid });
    }
    nodes.push(node);
  }
  return nodes;
}

/** The Node as it is, which our finalizer holds: without that it would be gone before its pods are. */
export async function heldNode(
  { kube }: Pick<ActivityDeps, 'kube'>,
  name: string,
  refusal: Error,
): Promise<Node | undefined> {
  const node = await kube.get('Node', { name });
  if (node !== undefined && node.metadata.finalizers?.includes(finalizers.termination) !== true) throw refusal;
  return node;
}

/** Keeps new pods off a Node that may not be tainted: those that are evicted would come back to it, since it has the most room. */
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
 * Marks anew what a termination marked when it began, as every pass of it does (termination/marks-are-restored): others may take the taint
 * off, and a kubelet that comes up again makes a Node without it. Where that is refused, the drain goes on and the next pass tries
 * again.
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
    deps.log.warn({ nodes: unmarked }, 'marked nodes anew that are being drained');
  } catch (error) {
    deps.log.warn({ nodes: unmarked, error: messageOf(error) }, 'could not mark nodes anew that are being drained');
  }
}

/** Names of the Nodes that are drained: the one that registered, and any other of the claim's instance. */
export const nodesOfDrain = (deps: Pick<ActivityDeps, 'cache'>, input: DrainInput): readonly string[] =>
  nodesOfInstance(deps.cache, input.nodeName, providerIdOf(deps, input));

/** By the NodeClaim, for its Node may be gone; undefined where it does not say. */
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
 * Puts `karpenter.sh/disrupted` on a node; harmless when it is there. Undefined when the node is gone. With a `providerID` a
 * node of another instance that came up under the same name is left as it is.
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
        // Without it the Node would be gone before its pods are.
        ...(metadata.deletionTimestamp === undefined
          ? { finalizers: [...new Set([...(metadata.finalizers ?? []), finalizers.termination])] }
          : {}),
      },
      spec: { taints: tainted ? present : [...present, taints.disrupted] },
    };
  });
}
