import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Client } from '@temporalio/client';
import type { PodExplanation } from '../../workflows/messages.js';
import type { KubernetesObject, Pod } from '../../api/kubernetes.js';
import { hostileNamespace, hostileObjects } from '../cases/hostile/index.js';
import { annotations } from '../../api/labels.js';
import { isTrue } from '../../core/conditions.js';
import { Random } from '../cases/random.js';
import { workflowIds } from '../../core/ids.js';
import { observe } from '../../tools/stack/demo/observe.js';
import type { Kind, Kinds, NewObject } from '../../kube/port.js';
import { explainPodUpdate } from '../../workflows/messages.js';
import { createDefaultPool, deploy, startLiveWorld, within, type LiveWorld } from '../live/world.js';

// A thousand legal but nasty objects, and ordinary pods among them that all run. Prints how soon these have their nodes, without and with the others.
let world: LiveWorld;
let client: Client;

const count = 1000;
const objects = hostileObjects(new Random(20_260_101), count);
/** Ordinary workloads, spread over the time in which the others come. Each pod takes a node for itself. */
const workloads = 5;
const replicas = 4;
const ordinary = { cpu: '6', memory: '6Gi' };
/** Of the same workloads alone, so far apart. */
const apartMs = 3000;

beforeAll(async () => {
  world = await startLiveWorld('hostile');
  client = new Client({ connection: world.temporal });
  await createDefaultPool(world);
  await world.kube.create('Namespace', { metadata: { name: hostileNamespace } });
  // What its pods run as; the controller that would make it may not have come to it yet.
  await observe('The namespace', () => world.kube.get('Namespace', { name: hostileNamespace }), within(30));
});

afterAll(async () => {
  await world.stop();
});

/** Whether the API server took it; what it refuses is none of the test. */
async function isTaken({ kind, metadata, ...rest }: KubernetesObject): Promise<boolean> {
  // What the API server itself writes.
  const own = { ...metadata, uid: undefined, creationTimestamp: undefined };
  try {
    const object = { ...rest, apiVersion: undefined, status: undefined, metadata: own } as unknown as NewObject<
      Kinds[Kind]
    >;
    return (await world.kube.create(kind as Kind, object)).outcome === 'created';
  } catch (error) {
    if (/Invalid|Denied|NotFound/.test((error as { type?: string }).type ?? '')) return false;
    throw error;
  }
}

const deployOrdinary = (group: string, n: number): Promise<void> => deploy(world, `${group}-${n}`, ordinary, replicas);

async function notRunning(group: string): Promise<string[]> {
  const pods = (await world.kube.list('Pod', { namespace: 'default' })).filter(({ metadata }) =>
    metadata.name?.startsWith(`${group}-`),
  );
  const running = pods.filter(({ status }) => status?.phase === 'Running').map(({ metadata }) => metadata.name ?? '');
  const others = pods.map(({ metadata }) => metadata.name ?? '').filter((name) => !running.includes(name));
  return running.length === workloads * replicas ? [] : [`${running.length} running`, ...others];
}

const allRun = (group: string): Promise<true> =>
  observe(
    `Every pod of ${group} running`,
    async () => (await notRunning(group)).length === 0,
    within(420),
    async () => [...(await notRunning(group)), ...(await refusedPools()), ...(await unready())].join('\n'),
  );

/** When each pod of namespace default came and got its node, in the order of the API server's watch. */
class Placements {
  private readonly came = new Map<string, number>();
  private readonly took = new Map<string, number>();

  async watch(signal: AbortSignal): Promise<void> {
    const { resourceVersion } = await world.kube.listForWatch('Pod', { namespace: 'default' });
    const options = { namespace: 'default', resourceVersion, signal, timeoutSeconds: 3600 };
    void world.kube.watch('Pod', options, ({ object }) => this.see(object)).catch(() => undefined);
  }

  private see({ metadata: { name = '' }, spec }: Pod): void {
    const now = performance.now();
    if (!this.came.has(name)) this.came.set(name, now);
    if ((spec.nodeName ?? '') !== '' && !this.took.has(name)) this.took.set(name, now - this.came.get(name)!);
  }

  /** Seconds until the pods of the group had their nodes, ascending. */
  of(group: string): number[] {
    const own = [...this.took].filter(([name]) => name.startsWith(`${group}-`));
    return own.map(([, ms]) => ms / 1000).sort((a, b) => a - b);
  }
}

function comparison(alone: readonly number[], beside: readonly number[]): string {
  const text = (seconds: readonly number[]): string =>
    `median ${seconds[seconds.length >> 1]!.toFixed(1)} s, last ${seconds.at(-1)!.toFixed(1)} s`;
  const ratio = (at: (seconds: readonly number[]) => number): string => (at(beside) / at(alone)).toFixed(2);
  const median = ratio((seconds) => seconds[seconds.length >> 1]!);
  return `${alone.length} ordinary pods got their nodes, alone: ${text(alone)}; beside the others: ${text(beside)}; ratio of medians ${median}, of the last ${ratio((seconds) => seconds.at(-1)!)}\n`;
}

/** NodePools that rest because claims of them were refused. */
const refusedPools = async (): Promise<string[]> =>
  (await world.kube.list('NodePool')).flatMap(({ metadata }) => {
    const refused = metadata.annotations?.[annotations.refusals];
    return refused === undefined ? [] : [`NodePool ${metadata.name ?? ''}: ${refused}`];
  });

/** NodeClaims that are no nodes yet, and why the first ordinary pod pends. */
async function unready(): Promise<string[]> {
  const claims = (await world.kube.list('NodeClaim')).filter(
    ({ status }) => !isTrue(status?.conditions, 'Initialized'),
  );
  const pods = await world.kube.list('Pod', { namespace: 'default' });
  const waiting = pods.find(({ status }) => status?.phase !== 'Running');
  const pod = waiting && { conditions: waiting.status?.conditions, nominated: waiting.status?.nominatedNodeName };
  return [
    ...claims.map(({ metadata, status }) => `NodeClaim ${metadata.name ?? ''} ${JSON.stringify(status?.conditions)}`),
    `pod ${JSON.stringify(pod)}`,
    JSON.stringify(waiting && (await explain(waiting.metadata.name ?? '', 'default')).why),
  ];
}

const explain = (name: string, namespace = hostileNamespace): Promise<PodExplanation> =>
  client.workflow
    .getHandle(workflowIds.provision(world.stack.cluster))
    .executeUpdate(explainPodUpdate, { args: [{ namespace, name }] });

async function workflows(status: string): Promise<string[]> {
  const found: string[] = [];
  const query = `StowageCluster = "${world.stack.cluster}" AND ExecutionStatus = "${status}"`;
  for await (const { workflowId } of client.workflow.list({ query })) found.push(workflowId);
  return found;
}

describe("a hostile tenant's objects in a real cluster", () => {
  test('keep no ordinary pod from running, and no workflow fails', async () => {
    const placements = new Placements();
    const over = new AbortController();
    await placements.watch(over.signal);
    for (let n = 0; n < workloads; n++) {
      await deployOrdinary('alone', n);
      await sleep(apartMs);
    }
    await allRun('alone');

    const taken: KubernetesObject[] = [];
    const refused = new Map<string, number>();
    for (const [n, object] of objects.entries()) {
      if (n % (count / workloads) === 0) await deployOrdinary('ordinary', n / (count / workloads));
      if (await isTaken(object)) taken.push(object);
      else refused.set(object.kind, (refused.get(object.kind) ?? 0) + 1);
    }
    process.stdout.write(`the API server took ${taken.length} of ${count}; refused: ${JSON.stringify([...refused])}\n`);
    expect(taken.length).toBeGreaterThan(300);

    await allRun('ordinary');
    over.abort();
    process.stdout.write(comparison(placements.of('alone'), placements.of('ordinary')));

    const pods = taken.filter((each): each is Pod => each.kind === 'Pod');
    for (const { metadata } of pods.slice(0, 5)) {
      const { why, details } = await explain(metadata.name ?? '');
      expect([why, ...details].every((each) => typeof each === 'string' && each !== '')).toBe(true);
    }
    expect(await workflows('Failed')).toEqual([]);
    expect(await workflows('TimedOut')).toEqual([]);
    const { provision, disrupt } = workflowIds;
    expect(await workflows('Running')).toEqual(
      expect.arrayContaining([provision(world.stack.cluster), disrupt(world.stack.cluster)]),
    );
  });
});
