import { Client, WorkflowNotFoundError, type Connection, type WorkflowClient } from '@temporalio/client';
import { parseWorkflowId, workflowIds, type WorkflowKind } from '../../core/ids.js';
import { observe } from '../../tools/stack/demo/observe.js';
import type { KubeClient, Kind } from '../../kube/port.js';
import { openWorkflowsQuery, unavailableOfferingsQuery } from '../../workflows/messages.js';
import { kubectl } from './kubectl.js';
import type { LiveWorld } from './world.js';

// What a test file left in its world goes, so that the next one finds what it would find in a new world.

/** What files create, and what comes of that but for Nodes: those go with their claims. */
const kinds: readonly Kind[] = [
  ...(['Deployment', 'ReplicaSet', 'Pod', 'PodDisruptionBudget'] as const),
  ...(['DisruptionPause', 'DisruptionPolicy', 'NodeOverlay', 'CapacityBuffer'] as const),
  ...(['NodeClaim', 'NodePool', 'EC2NodeClass'] as const),
];
/** Of these all that there are. */
const admission = [
  'validatingadmissionpolicybindings',
  'validatingadmissionpolicies',
  'validatingwebhookconfigurations',
];
/** Of what has no end. */
const standing: readonly string[] = ['provision', 'disrupt'] satisfies WorkflowKind[];
const isStanding = (kind: WorkflowKind | undefined): boolean => kind !== undefined && standing.includes(kind);
/** Nodes that are drained and end take this long on a crowded machine; what is not gone by then is stuck. */
const patience = { withinMs: 150_000 };

/** Resolves once nothing is left and nothing is under way; rejects with what is left, at once where that would outlast every wait. */
export async function cleanWorld({ kube, cloud, temporal, stack }: LiveWorld): Promise<void> {
  await expectOfferings(temporal, stack.cluster, Date.now() + patience.withinMs);
  for (const resource of admission) await removeAll(stack, `apis/admissionregistration.k8s.io/v1/${resource}`);
  // With its faults and delays no node would end.
  await cloud.reset();
  for (const namespace of ['default', 'kube-system'])
    await kube.delete('Lease', { namespace, name: 'karpenter-leader-election' });
  let left: readonly string[] = [];
  await observe(
    'A clean world',
    async () => {
      left = [...(await remove(kube)), ...(await ending(cloud)), ...(await underWay(temporal, stack.cluster))];
      return left.length === 0;
    },
    patience,
    () => Promise.resolve(left.slice(0, 20).join(', ')),
  );
  await cloud.forgetEnded();
  await removeAll(stack, 'api/v1/namespaces/default/events');
}

/** In one request: kubectl asks for each object, and waits for its end. */
const removeAll = (stack: LiveWorld['stack'], path: string): Promise<void> =>
  kubectl(stack, ['delete', '--raw', `/${path}`]);

/** Deletes what is there. Gives what was found, what is on its way out included. */
async function remove(kube: KubeClient): Promise<string[]> {
  const found: string[] = [];
  for (const kind of kinds) {
    for (const { metadata } of await kube.list(kind)) {
      const { name = '', namespace, deletionTimestamp } = metadata;
      found.push(`${kind} ${name}`);
      if (deletionTimestamp !== undefined) continue;
      await kube.delete(kind, { name, ...(namespace !== undefined && { namespace }) }, atOnce(kind));
    }
  }
  const nodes = await kube.list('Node');
  return [...found, ...nodes.map(({ metadata }) => `Node ${metadata.name ?? ''}`)];
}

/** Pods of tests have nothing to do before they end. */
const atOnce = (kind: Kind): { gracePeriodSeconds?: number } => (kind === 'Pod' ? { gracePeriodSeconds: 0 } : {});

/** Instances that are there, ended otherwise: those whose claim was taken away, too. */
async function ending(cloud: LiveWorld['cloud']): Promise<string[]> {
  const there = (await cloud.instances()).filter(({ state }) => state !== 'terminated');
  return there.map(({ id, state }) => `instance ${id} ${state}`);
}

/** Workflows that have an end and are not over, and offerings that no launch would try. */
async function underWay(connection: Connection, cluster: string): Promise<string[]> {
  const { workflow } = new Client({ connection });
  const found: string[] = [];
  for await (const { workflowId } of workflow.list({ query: openWorkflowsQuery(cluster) })) {
    const kind = parseWorkflowId(workflowId)?.kind;
    // It would look for hours at what a move has saved.
    if (kind === 'savings') await end(workflow, workflowId);
    const isAtRest = kind === 'offerings' ? await areAllTried(workflow, workflowId) : isStanding(kind);
    if (!isAtRest) found.push(`workflow ${workflowId}`);
  }
  return found;
}

/** One that ended in between has done so. */
async function end(workflow: WorkflowClient, workflowId: string): Promise<void> {
  await workflow
    .getHandle(workflowId)
    .terminate('the test file is over')
    .catch((error: unknown) => {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    });
}

/** `offerings` goes on to remember how often one was refused. */
async function areAllTried(workflow: WorkflowClient, workflowId: string, by = Date.now()): Promise<boolean> {
  const known = await workflow.getHandle(workflowId).query(unavailableOfferingsQuery);
  return known.every(({ until }) => until <= by);
}

/** Rejects where an offering that was refused is not tried again by then. */
async function expectOfferings(connection: Connection, cluster: string, by: number): Promise<void> {
  const { workflow } = new Client({ connection });
  const areTried = await areAllTried(workflow, workflowIds.offerings(cluster), by).catch(() => true);
  if (!areTried) throw new Error('an offering that an earlier file had refused is not tried again soon');
}
