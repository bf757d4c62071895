import { Client, Connection } from '@temporalio/client';
import { isGoing } from '../../cluster/cluster.js';
import type { Pod } from '../../api/kubernetes.js';
import { observe } from '../demo/observe.js';
import type { Stage } from '../stage.js';
import { apps } from './workload.js';

const minutes = 60_000;

interface Inventory {
  readonly pods: readonly Pod[];
  /** Names of nodes that are on their way out. */
  readonly going: readonly string[];
  readonly nodes: number;
  /** Instance ids by claim; of claims without an instance the name. */
  readonly claims: readonly string[];
  readonly instances: readonly string[];
}

async function inventory({ kube, cloud }: Stage): Promise<Inventory> {
  const nodes = await kube.list('Node');
  const claims = await kube.list('NodeClaim');
  return {
    pods: await kube.list('Pod', { namespace: 'default' }),
    going: nodes.filter(isGoing).map(({ metadata }) => metadata.name ?? ''),
    nodes: nodes.length,
    claims: claims.map(({ metadata, status }) => status?.providerID?.split('/').at(-1) ?? metadata.name ?? '').sort(),
    instances: (await cloud.instances())
      .filter(({ state }) => state === 'running' || state === 'pending')
      .map(({ id }) => id)
      .sort(),
  };
}

const settled = ({ metadata, status }: Pod): boolean =>
  status?.phase === 'Running' && metadata.deletionTimestamp === undefined;

/** What keeps the cluster from being at rest; undefined when nothing does. */
function unrest({ pods, going, nodes, claims, instances }: Inventory): string | undefined {
  const wanted = Object.values(apps).reduce((sum, { last }) => sum + last, 0);
  const waiting = pods.filter((pod) => !settled(pod)).map(({ metadata }) => metadata.name ?? '');
  if (pods.length !== wanted || waiting.length > 0) {
    return `${pods.length} pods where ${wanted} are wanted, not at rest: ${waiting.join(', ')}`;
  }
  if (going.length > 0) return `nodes on their way out: ${going.join(', ')}`;
  if (claims.join() !== instances.join() || nodes !== claims.length) {
    return `${nodes} nodes, claims of ${claims.join(', ')}, instances ${instances.join(', ')}`;
  }
  return undefined;
}

/** Every pod runs, nothing is on its way out, and each instance has its one claim and node. */
export async function untilCalm(stage: Stage): Promise<void> {
  await observe(
    'A cluster at rest',
    async () => (unrest(await inventory(stage)) === undefined ? true : undefined),
    { withinMs: 10 * minutes, failure: stage.failure },
    async () => unrest(await inventory(stage)) ?? 'at rest',
  );
}

/** No node, no claim and no instance is left. */
export async function untilEmpty(stage: Stage): Promise<void> {
  await observe(
    'An empty cluster',
    async () => {
      const { nodes, claims, instances } = await inventory(stage);
      return nodes + claims.length + instances.length === 0 ? true : undefined;
    },
    { withinMs: 10 * minutes, failure: stage.failure },
    async () => JSON.stringify({ ...(await inventory(stage)), pods: undefined }),
  );
}

/** Ids of the workflows that ended otherwise than they should: an outcome is a result, never a failure. */
export async function failedWorkflows({ stack }: Stage): Promise<readonly string[]> {
  const connection = await Connection.connect({ address: stack.temporalAddress ?? '' });
  try {
    const failed: string[] = [];
    const query = "ExecutionStatus IN ('Failed', 'TimedOut', 'Terminated')";
    for await (const { workflowId } of new Client({ connection }).workflow.list({ query })) failed.push(workflowId);
    return failed;
  } finally {
    await connection.close();
  }
}
