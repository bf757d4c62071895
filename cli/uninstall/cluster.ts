import { setTimeout as delay } from 'node:timers/promises';
import { labels } from '../../api/labels.js';
import { isDomainError } from '../../core/failures.js';
import type { Kind, Kinds, KubeClient, ListOptions } from '../../kube/port.js';
import { UsageError } from '../exit.js';
import { claimRelease, nodeClassRelease, nodeRelease, type Release } from './releases.js';

const pollMs = 500;
const tries = 5;

/** The result for the objects of a cluster. */
export interface Released {
  /** By kind: number of objects whose taints or finalizers were removed. */
  readonly released: Readonly<Record<string, number>>;
  /** Objects that keep theirs, each with the reason. */
  readonly kept: readonly string[];
  /** Nodes that keep running. */
  readonly nodes: readonly string[];
}

/** Removes Stowage's taints, annotations and finalizers from nodes, NodeClaims and node classes. */
export async function releaseObjects(kube: KubeClient): Promise<Released> {
  const released: Record<string, number> = {};
  const kept: string[] = [];
  const each = async <K extends Kind>(
    kind: K,
    of: (object: Kinds[K]) => Release,
    objects: readonly Kinds[K][],
  ): Promise<void> => {
    for (const { metadata } of objects) {
      const outcome = await release(kube, kind, metadata.name ?? '', of);
      if (outcome === 'released') released[kind] = (released[kind] ?? 0) + 1;
      else if (outcome !== undefined) kept.push(`${kind} ${metadata.name ?? ''} ${outcome.kept}`);
    }
  };
  await each('Node', nodeRelease, await managedNodes(kube));
  await each('NodeClaim', claimRelease, await listed(kube, 'NodeClaim'));
  await each('EC2NodeClass', nodeClassRelease, await listed(kube, 'EC2NodeClass'));
  const nodes = (await managedNodes(kube)).map(({ metadata }) => metadata.name ?? '');
  return { released, kept, nodes };
}

/** Nodes of NodePools, and of NodeClaims without one (launch/without-node-pool). */
async function managedNodes(kube: KubeClient): Promise<Kinds['Node'][]> {
  const found = new Map<string, Kinds['Node']>();
  for (const labelSelector of [labels.nodePool, labels.ec2NodeClass]) {
    for (const node of await listed(kube, 'Node', { labelSelector })) found.set(node.metadata.name ?? '', node);
  }
  return [...found.values()];
}

/** Empty for kinds that are not installed, or without permission to read them. */
async function listed<K extends Kind>(kube: KubeClient, kind: K, options?: ListOptions): Promise<Kinds[K][]> {
  try {
    return await kube.list(kind, options);
  } catch (error) {
    if (isDomainError(error, 'NotFound') || isDomainError(error, 'Denied')) return [];
    throw error;
  }
}

async function release<K extends Kind>(
  kube: KubeClient,
  kind: K,
  name: string,
  of: (object: Kinds[K]) => Release,
): Promise<'released' | { readonly kept: string } | undefined> {
  for (let attempt = 0; attempt < tries; attempt++) {
    const object = await kube.get(kind, { name });
    const change = object === undefined ? undefined : of(object);
    if (change === undefined) return undefined;
    if ('kept' in change) return change;
    const { outcome } = await kube.patch(kind, { name }, change.patch);
    if (outcome === 'patched') return 'released';
  }
  return { kept: 'changes all the time: try again' };
}

/** Scales Deployments (`namespace/name`) to zero and waits until their pods are gone. */
export async function stopDeployments(kube: KubeClient, refs: readonly string[], withinMs: number): Promise<void> {
  const deadline = Date.now() + withinMs;
  for (const ref of refs) {
    const [namespace = '', name = ''] = ref.split('/');
    if (namespace === '' || name === '') throw new UsageError(`--stop "${ref}": found no NAMESPACE/NAME`);
    const answer = await kube.patch('Deployment', { namespace, name }, { spec: { replicas: 0 } });
    if (answer.outcome !== 'patched') continue;
    const labelSelector = selectorOf(answer.object.spec.selector?.matchLabels ?? {});
    while ((await kube.list('Pod', { namespace, labelSelector })).length > 0) {
      if (Date.now() > deadline)
        throw new UsageError(`pods of Deployment ${ref} still run after ${withinMs / 1000} seconds`);
      await delay(pollMs);
    }
  }
}

const selectorOf = (matchLabels: Readonly<Record<string, string>>): string =>
  Object.entries(matchLabels)
    .map(([key, value]) => `${key}=${value}`)
    .join(',');
