import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import { Auditor } from '../../tools/stack/auditor/auditor.js';
import { CloudProxyControl } from '../../tools/stack/cloud-proxy/control.js';
import { surroundings } from '../../tools/stack/components.js';
import { Lane } from '../../tools/stack/crash/lane.js';
import { observe } from '../../tools/stack/demo/observe.js';
import { Replica } from '../../tools/stack/replica.js';
import { startStack, type Stack } from '../../tools/stack/stack.js';
import { createClusterCache } from '../../kube/cache.js';
import { createKubeClient } from '../../kube/client.js';
import { earlierBuild } from './earlier-build.js';
import { smallRegion } from '../builders/small-region.js';
import { createNodeClass, within } from './world.js';

/*
 * Every kind of disruption is begun by the build of the last release and ends under this one. The earlier build gets as far as it can: no kubelet
 * joins, and PodDisruptionBudgets hold the drains. Then the processes are replaced as a rollout does it, one by one.
 */
const folder = mkdtempSync(join(tmpdir(), 'stowage-upgrade-'));
const settings = {
  FEATURE_GATES: 'StaticCapacity=true,NodeRepair=true',
  WORKER_VERSIONING: 'true',
};
const replicas: Replica[] = [];
const stopping = new AbortController();
let stack: Stack;
let kube: ReturnType<typeof createKubeClient>;
let temporal: Connection;
let client: Client;
let auditor: Auditor;
let earlier: Awaited<ReturnType<typeof earlierBuild>>;
let laneOf: (name: string) => Lane;

/** What is begun in a lane, which has one node with one pod by then, and how many nodes it has in the end. */
interface Story {
  readonly pool: Parameters<Lane['createPool']>[0];
  readonly begin: (lane: Lane) => Promise<unknown>;
  /** A workflow type that it is carried out by. */
  readonly type: string;
  readonly nodes: number;
}

const types = ['c5.large'];
const consolidating = { disruption: { consolidateAfter: '1s', budgets: [{ nodes: '100%' }] } };

const stories: Readonly<Record<string, Story>> = {
  launch: { pool: { types }, type: 'launchNode', begin: (lane) => lane.ask('web', 2), nodes: 2 },
  'consolidate-delete': {
    pool: { types, spec: consolidating },
    type: 'consolidate',
    begin: (lane) => lane.ask('web', 0),
    nodes: 0,
  },
  'consolidate-replace': {
    pool: { types: ['c5.large', 'c5.xlarge'], spec: consolidating },
    type: 'consolidate',
    begin: (lane) => lane.ask('web', 1),
    nodes: 1,
  },
  drift: {
    pool: { types },
    type: 'consolidate',
    begin: (lane) => lane.changePool({ template: { metadata: { labels: { 'example.com/revision': 'next' } } } }),
    nodes: 1,
  },
  expiration: {
    pool: { types, template: { expireAfter: '120s' } },
    type: 'expireNode',
    begin: () => Promise.resolve(),
    nodes: 1,
  },
  interruption: {
    pool: { types, capacityType: 'spot' },
    type: 'handleInterruption',
    begin: async (lane) => {
      for (const id of lane.instanceIds) await lane.cloud.interruptSpot(id, { delayMs: 900_000 });
    },
    nodes: 1,
  },
  repair: { pool: { types }, type: 'terminateNode', begin: (lane) => lane.breakNode(), nodes: 1 },
  replicas: {
    pool: { types, spec: { replicas: 1, limits: { nodes: '4' } } },
    type: 'keepReplicas',
    begin: (lane) => lane.changePool({ replicas: 3 }),
    nodes: 3,
  },
  terminate: { pool: { types }, type: 'terminateNode', begin: (lane) => lane.deleteNode(), nodes: 1 },
};
const names = Object.keys(stories);
/** Whose drains are held up by a PodDisruptionBudget. It would keep others from being disrupted at all: they wait for a replacement that does not join. */
const held = ['interruption', 'repair', 'terminate'];
/** A large node for three pods, of which one is left. */
const podsBefore = (name: string): number => (name === 'consolidate-replace' ? 3 : name === 'replicas' ? 0 : 1);

beforeAll(async () => {
  earlier = await earlierBuild();
  stack = await startStack({
    name: 'upgrade',
    folder: join(folder, 'stack'),
    parts: surroundings,
    moto: process.env.STOWAGE_TEST_MOTO,
    instanceFamilies: smallRegion,
  });
  kube = createKubeClient({ kubeconfig: stack.adminKubeconfig ?? '', userAgent: 'upgrade-test' });
  const cloud = new CloudProxyControl(stack.awsEndpoint ?? '');
  temporal = await Connection.connect({ address: stack.temporalAddress ?? '' });
  client = new Client({ connection: temporal });
  auditor = new Auditor({ stack, kube, cloud });
  await auditor.start();
  const cache = createClusterCache({ client: kube, kinds: ['Pod', 'Node', 'NodeClaim'] });
  await cache.start(stopping.signal);
  await createNodeClass({ kube, stack }, 'default');
  const lanes = new Map(names.map((name) => [name, new Lane({ kube, cloud, cache }, name)]));
  laneOf = (name) => lanes.get(name)!;
});

afterAll(async () => {
  stopping.abort();
  await auditor.stop();
  for (const replica of replicas) await replica.kill();
  await temporal.close();
  kube.close();
  await stack.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function start(build: string, root?: string): Promise<Replica[]> {
  const started: Replica[] = [];
  for (const role of ['worker', 'operator'] as const) {
    const options = { name: `${role}-${build}`, role, settings: { ...settings, WORKER_BUILD_ID: build } };
    started.push(await Replica.start(stack, { ...options, ...(root === undefined ? {} : { root }) }));
    replicas.push(started.at(-1)!);
  }
  return started;
}

interface Begun {
  readonly workflowId: string;
  readonly type: string;
  readonly runId: string;
}

async function open(): Promise<Begun[]> {
  const found: Begun[] = [];
  const query = `StowageCluster = "${stack.cluster}" AND ExecutionStatus = "Running"`;
  for await (const { workflowId, type, runId } of client.workflow.list({ query }))
    found.push({ workflowId, type, runId });
  return found;
}

async function currentBuild(): Promise<string | undefined> {
  const { workerDeploymentInfo } = await client.workflowService.describeWorkerDeployment({
    namespace: 'default',
    deploymentName: `stowage-${stack.cluster}`,
  });
  return workerDeploymentInfo?.routingConfig?.currentDeploymentVersion?.buildId ?? undefined;
}

/** How many events a workflow has, and the build that its last step was taken by. */
async function stepsOf(workflowId: string): Promise<{ readonly events: number; readonly build: string | undefined }> {
  const { raw } = await client.workflow.getHandle(workflowId).describe();
  const { historyLength, versioningInfo } = raw.workflowExecutionInfo ?? {};
  return { events: Number(historyLength ?? 0), build: versioningInfo?.deploymentVersion?.buildId ?? undefined };
}

describe('an upgrade with every kind of disruption in flight', () => {
  let before: Replica[] = [];
  let begun: readonly Begun[] = [];
  /** How many events each had when the earlier build was gone. */
  const eventsBefore = new Map<string, number>();

  test('the earlier build begins each disruption', async () => {
    // Without a history to make one from: this code, as another build.
    before = await start('earlier', earlier?.folder);
    await Promise.all(
      names.map(async (name) => {
        const lane = laneOf(name);
        await lane.createPool(stories[name]!.pool);
        await lane.deploy('web', '1');
        if (podsBefore(name) > 0) await lane.scale('web', podsBefore(name));
        await lane.until('its node', () => lane.has(1));
      }),
    );
    expect(await currentBuild()).toBe('earlier');

    stack.freeze('node-joiner', true);
    for (const name of held) await laneOf(name).hold('web', true);
    await Promise.all(names.map((name) => stories[name]!.begin(laneOf(name))));
    const wanted = new Set(Object.values(stories).map(({ type }) => type));
    begun = await observe(
      'Every kind of disruption under way',
      async () => {
        const found = await open();
        return [...wanted].every((type) => found.some((each) => each.type === type)) ? found : undefined;
      },
      within(240),
      async () => (await open()).map(({ workflowId }) => workflowId).join(', '),
    );
  });

  test('the new build takes the workflows over, and no process has to be killed', async () => {
    await start('this');
    expect(await currentBuild()).toBe('this');
    for (const replica of before.toReversed())
      expect([replica.name, await replica.terminate()]).toEqual([replica.name, true]);
    for (const { workflowId } of begun) eventsBefore.set(workflowId, (await stepsOf(workflowId)).events);
  });

  test('every disruption that the earlier build began ends with its normal result', async () => {
    stack.freeze('node-joiner', false);
    for (const name of held) await laneOf(name).hold('web', false);
    await laneOf('expiration').changePool({ template: { spec: { expireAfter: 'Never' } } });
    await Promise.all(
      names.map(async (name) => {
        const lane = laneOf(name);
        await lane.until('what it comes to', () => lane.has(stories[name]!.nodes));
      }),
    );
    await auditor.untilRest(300_000);
    expect(await auditor.verdict()).toEqual([]);
  });

  test('entity workflows that the earlier build began go on in the new build with their state', async () => {
    const stillOpen = new Set((await open()).map(({ workflowId }) => workflowId));
    const wentOn: string[] = [];
    for (const { workflowId, type } of begun) {
      if (!stillOpen.has(workflowId)) continue;
      const { events, build } = await stepsOf(workflowId);
      // Nothing has come to `offerings` since, so its last step was the earlier build's.
      if (events === eventsBefore.get(workflowId)) continue;
      expect([type, build]).toEqual([type, 'this']);
      wentOn.push(type);
    }
    expect(wentOn).toEqual(expect.arrayContaining(['provision', 'disrupt']));
  });
});
