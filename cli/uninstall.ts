import { setTimeout as delay } from 'node:timers/promises';
import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import type { Command } from 'commander';
import { leaseHolder } from '../kube/leases.js';
import { TemporalClusterIdentityStore } from '../process/cluster-identity.js';
import { isOwnCluster } from './authorise.js';
import { UsageError } from './exit.js';
import { type Live, liveSettings, withLive } from './live.js';
import { counted } from '../core/text.js';
import { givenFlags, settingsCommand } from './settings-command.js';
import { annotations, finalizers, labels, taints } from '../api/labels.js';
import { isDomainError } from '../core/failures.js';
import type { Kind, Kinds, KubeClient, ListOptions } from '../kube/port.js';
import type { KubernetesObject, Node } from '../api/kubernetes.js';
import { workflowIds } from '../core/ids.js';
import { nameOf } from '../core/names.js';
import type { NamespacedName } from '../core/refs.js';

const because = 'stowage uninstall';
/** New workflows appear in visibility with a delay. */
const quietPolls = 3;
const lookMs = 1000;

/** Terminates every workflow of the cluster, until several consecutive lists are empty. Returns their number. */
async function terminateWorkflows(client: Client, cluster: string): Promise<number> {
  const ended = new Set<string>();
  const entities = [workflowIds.provision, workflowIds.disrupt, workflowIds.offerings].map((of) => of(cluster));
  for (const id of entities) if (await terminate(client, id)) ended.add(id);
  for (let quiet = 0; quiet < quietPolls;) {
    const running = await runningOf(client, cluster);
    for (const id of running) if (await terminate(client, id)) ended.add(id);
    quiet = running.length === 0 ? quiet + 1 : 0;
    await delay(lookMs);
  }
  return ended.size;
}

async function runningOf(client: Client, cluster: string): Promise<string[]> {
  const query = `WorkflowId STARTS_WITH '${`${cluster}/`.replaceAll("'", "''")}' AND ExecutionStatus = 'Running'`;
  const ids: string[] = [];
  for await (const { workflowId } of client.workflow.list({ query })) ids.push(workflowId);
  return ids;
}

/** False if it is not running any more. */
async function terminate(client: Client, workflowId: string): Promise<boolean> {
  try {
    await client.workflow.getHandle(workflowId).terminate(because);
    return true;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}

/**
 * Which of Stowage's marks to remove from objects of a cluster. Those that prevent the use of nodes are removed: taints
 * of abandoned disruptions, and finalizers without a controller. A deleting object keeps its finalizer: otherwise it
 * would vanish, and its instance would keep running unnoticed.
 */

/** A JSON merge patch for an object, or why it is left unchanged. */
type Release = { readonly patch: object } | { readonly kept: string } | undefined;

const ownTaints: ReadonlySet<string> = new Set([taints.disrupted.key, taints.steer.key]);

/** Removes the taints of disruptions and the finalizer from a managed node. */
export function nodeRelease(node: Node): Release {
  const released = finalizerRelease(node, finalizers.termination);
  const before = node.spec?.taints ?? [];
  const left = before.filter(({ key }) => !ownTaints.has(key));
  if (released !== undefined && 'kept' in released) return released;
  if (left.length === before.length) return released;
  // Other components add taints too.
  const metadata = { resourceVersion: node.metadata.resourceVersion };
  return { patch: { ...(released?.patch ?? { metadata }), spec: { taints: left } } };
}

const withoutOwner = { [annotations.disruptionOwner]: null, [annotations.disruptionOwnerRun]: null };

/** Removes the finalizer and the disruption owner from a NodeClaim. */
export function claimRelease(claim: KubernetesObject): Release {
  const released = finalizerRelease(claim, finalizers.termination);
  if (released !== undefined && 'kept' in released) return released;
  if (claim.metadata.annotations?.[annotations.disruptionOwner] === undefined) return released;
  const metadata = (released?.patch as { metadata?: object } | undefined)?.metadata;
  return { patch: { metadata: { ...metadata, annotations: withoutOwner } } };
}

/** Removes the finalizer for the instance profile from an EC2NodeClass. */
export function nodeClassRelease(nodeClass: KubernetesObject): Release {
  return finalizerRelease(nodeClass, finalizers.ec2NodeClass);
}

function finalizerRelease({ metadata }: KubernetesObject, finalizer: string): Release {
  const present = metadata.finalizers ?? [];
  if (!present.includes(finalizer)) return undefined;
  if (metadata.deletionTimestamp !== undefined) {
    return { kept: `is being deleted and keeps the finalizer ${finalizer}: its instance still runs` };
  }
  return {
    patch: {
      // A finalizer may have been added or removed since it was read.
      metadata: {
        resourceVersion: metadata.resourceVersion,
        finalizers: present.filter((each) => each !== finalizer),
      },
    },
  };
}

const replicaPollMs = 500;
const tries = 5;

/** The result for the objects of a cluster. */
interface Released {
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
  const nodes = (await managedNodes(kube)).map(nameOf);
  return { released, kept, nodes };
}

/** Nodes of NodePools, and of NodeClaims without one (launch/without-node-pool). */
async function managedNodes(kube: KubeClient): Promise<Kinds['Node'][]> {
  const found = new Map<string, Kinds['Node']>();
  for (const labelSelector of [labels.nodePool, labels.ec2NodeClass]) {
    for (const node of await listed(kube, 'Node', { labelSelector })) found.set(nameOf(node), node);
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
      await delay(replicaPollMs);
    }
  }
}

const selectorOf = (matchLabels: Readonly<Record<string, string>>): string =>
  Object.entries(matchLabels)
    .map(([key, value]) => `${key}=${value}`)
    .join(',');

const stopMs = 90_000;
const leaseMs = 60_000;
const pollMs = 1000;
const needed = /^(CLUSTER_NAME|KUBECONFIG|TEMPORAL_\w+|LEADER_ELECTION_\w+)$/;

export function uninstallCommand(): Command {
  return settingsCommand('uninstall', { only: needed })
    .option('--stop <deployments>', 'Deployments to scale to none first, as NAMESPACE/NAME, separated by commas')
    .addHelpText('after', '\nNodes, NodeClaims, NodePools, node classes and their definitions stay.');
}

/**
 * `stowage uninstall`: removes from Temporal and the cluster what needs a running Stowage, and lists what stays.
 * Refused while an operator leads, which would create it again. Idempotent.
 */
export async function uninstall(args: readonly string[]): Promise<string> {
  const command = uninstallCommand();
  command.parse(args, { from: 'user' });
  const { stop, ...flags } = givenFlags(command);
  const settings = liveSettings(flags);
  return withLive(settings, 'uninstall', async (live) => {
    const { kube, client, cluster } = live;
    const register = new TemporalClusterIdentityStore(client, cluster);
    // The name may be recorded for another cluster in this Temporal namespace, which must not be changed.
    await isOwnCluster(kube, { cluster, register });
    await stopDeployments(
      kube,
      (stop ?? '').split(',').filter((each) => each !== ''),
      stopMs,
    );
    const { LEADER_ELECTION_NAMESPACE: namespace, LEADER_ELECTION_NAME: name } = settings;
    // A stopped operator may leave a lease that has to expire.
    await untilNobodyLeads(kube, { namespace, name }, stop === undefined ? 0 : leaseMs);
    const workflows = await terminateWorkflows(client, cluster);
    const released = await releaseObjects(kube);
    await kube.delete('Lease', { namespace, name });
    // Last: as long as it exists, the uninstallation is incomplete.
    await register.remove();
    return summary({ cluster, workflows, ...released });
  });
}

async function untilNobodyLeads(kube: Live['kube'], lease: NamespacedName, withinMs: number): Promise<void> {
  const deadline = Date.now() + withinMs;
  for (;;) {
    const holder = await leaseHolder({ client: kube, ...lease });
    if (holder === undefined) return;
    if (Date.now() >= deadline) {
      throw new UsageError(
        `operator ${holder} holds the lease ${lease.namespace}/${lease.name}: stop it first (--stop NAMESPACE/NAME)`,
      );
    }
    await delay(pollMs);
  }
}

type Done = Released & { readonly cluster: string; readonly workflows: number };

function summary({ cluster, workflows, released, kept, nodes }: Done): string {
  const objects = Object.entries(released).map(([kind, count]) => counted(count, kind));
  const marks = objects.length === 0 ? 'there were none' : objects.join(', ');
  return [
    `Stowage is gone from ${cluster}.`,
    `Ended in Temporal: ${counted(workflows, 'workflow')}, 1 Schedule.`,
    `Taints and finalizers taken off: ${marks}.`,
    ...(kept.length === 0 ? [] : ['', 'Left to do by hand, or by Stowage or Karpenter once one is installed again:']),
    ...kept.map((line) => `  ${line}`),
    '',
    `Left on purpose: ${counted(nodes.length, 'node')} with NodeClaims and instances${nodes.length === 0 ? '' : ` (${someOf(nodes)})`},`,
    'NodePools, node classes, DisruptionPolicies and DisruptionPauses, the CustomResourceDefinitions, launch templates and instance profiles,',
    'and the search attributes of the Temporal namespace. A node ends with its instance: drain it, delete its NodeClaim and terminate that.',
    '',
  ].join('\n');
}

const someOf = (names: readonly string[]): string =>
  names.length <= 5 ? names.join(', ') : `${names.slice(0, 5).join(', ')} and ${names.length - 5} more`;
