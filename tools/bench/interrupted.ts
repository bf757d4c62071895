import { Client, Connection } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { setTimeout as delay } from 'node:timers/promises';
import { fakeDeps } from '../../test/simulation/deps.js';
import { taskQueues } from '../../workflows/messages.js';
import { silentLog, silentMetrics } from '../../test/simulation/silent.js';
import { taints } from '../../api/labels.js';
import { FakeCloud } from '../../test/simulation/cloud/fake.js';
import { createClusterCache } from '../../kube/cache.js';
import { createFakeKube } from '../../test/simulation/kube/fake.js';
import type { FakeKube } from '../../test/simulation/kube/fake.js';
import { createRateLimiter, limiterClock } from '../../kube/limiter.js';
import type { Kind, KubeClient } from '../../kube/port.js';
import { bufferKinds, snapshotKinds } from '../../kube/snapshot.js';
import { interruptionHandler } from '../../operator/interruptions.js';
import { Starter } from '../../operator/starter.js';
import { catalogue, fill, nameOf } from './interrupted-cluster.js';
import { TemporalEntities } from '../../process/entities.js';
import { PackingPool } from '../../worker/packing-pool.js';
import { registerSearchAttributes } from '../../process/search-attributes.js';
import { isUrgent, urgently } from '../../worker/urgency.js';
import { WorkerConnections } from '../../worker/connections.js';
import { runWorkers } from '../../worker/workers.js';

const cluster = 'interrupted';
/** As many as the queue is read with at a time. */
const noticesAtOnce = 1000;

export interface InterruptedResult {
  readonly notices: number;
  readonly ending: number;
  /** From the flood's begin until each node was tainted, milliseconds, ascending. */
  readonly tainted: readonly number[];
  /** Of the workers and of who sends the notices. */
  readonly cpuSeconds: number;
}

const kinds: readonly Kind[] = [...snapshotKinds, ...bufferKinds, 'VolumeAttachment', 'EC2NodeClass'];
const workerSettings = {
  TEMPORAL_NAMESPACE: 'default',
  CLOUD_CALLS_PER_SECOND: 20,
};

/**
 * Interrupts `notices` nodes at the same time while the instances of `ending` others take their time to end: the workers, their
 * queues and Temporal are real, the API server and the cloud are in memory, behind the limit that requests to a real one have.
 */
export async function interruptAll(
  temporalAddress: string,
  notices: number,
  ending: number,
): Promise<InterruptedResult> {
  const stopping = new AbortController();
  const [connection, native] = await connect(temporalAddress);
  await registerSearchAttributes(connection, 'default');
  const client = new Client({ connection });
  const taintedAt = new Map<string, number>();
  const kube = createFakeKube({ podsTerminate: 'at-once' });
  const cloud = new FakeCloud({ types: catalogue, now: Date.now, terminatesAtOnce: false });
  fill(kube, cloud, notices + ending);
  const cache = createClusterCache({ client: kube, kinds: [...kinds] });
  await cache.start(stopping.signal);
  const packer = new PackingPool(1, silentLog, silentMetrics);
  const entities = new TemporalEntities(cluster);
  entities.connect(client);
  const world = {
    ...fakeDeps({ cluster, kube: limited(kube, taintedAt), cache, cloud, now: Date.now, packer, entities }),
    settings: workerSettings,
    identity: 'bench',
  };
  const starter = new Starter(client, cluster);
  const handle = interruptionHandler({ ...world, starter, urgently, metrics: silentMetrics, log: silentLog });
  const { running, runs } = allQueuesRun();
  const workers = runWorkers(world, new WorkerConnections(native), stopping.signal, { runs, fails: () => undefined });
  try {
    await Promise.race([running, workers]);
    for (let i = 0; i < ending; i++) {
      await starter.terminate({ name: nameOf(i), uid: `uid-${nameOf(i)}` }, 'default', 'deleted');
    }
    await until(async () => (await cloud.list()).filter(({ state }) => state === 'shutting-down').length >= ending);
    return await measured({ notices, ending, taintedAt, handle });
  } finally {
    stopping.abort();
    await workers;
    await packer.close();
    await native.close();
    await connection.close();
  }
}

/** Requests wait as a client of a real API server has them wait; notes when a node is tainted. */
function limited(kube: FakeKube, taintedAt: Map<string, number>): KubeClient {
  const limiter = createRateLimiter(200, 300, limiterClock, isUrgent);
  const calls = new Set<PropertyKey>(['get', 'list', 'create', 'patch', 'delete', 'evict']);
  return new Proxy<KubeClient>(kube, {
    get: (target, property) => {
      const own: unknown = Reflect.get(target, property);
      if (typeof own !== 'function' || !calls.has(property)) return own;
      const call = own as (...args: unknown[]) => Promise<unknown>;
      return async (...args: unknown[]): Promise<unknown> => {
        await limiter.take();
        const answer = await call(...args);
        if (property === 'patch' && args[0] === 'Node') note(args, taintedAt);
        return answer;
      };
    },
  });
}

function note([, ref, change]: readonly unknown[], taintedAt: Map<string, number>): void {
  const { name } = ref as { name: string };
  const { spec } = change as { spec?: { taints?: readonly { key: string }[] } };
  const isTainted = spec?.taints?.some(({ key }) => key === taints.disrupted.key) === true;
  if (isTainted && !taintedAt.has(name)) taintedAt.set(name, Date.now());
}

async function inTurns(count: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: Math.min(noticesAtOnce, count) }, worker));
}

async function until(holds: () => Promise<boolean>, withinMs = 300_000): Promise<void> {
  for (const end = Date.now() + withinMs; Date.now() < end && !(await holds());) await delay(100);
}

/** `running` resolves once `runs` was called for every task queue. */
function allQueuesRun(): { readonly running: Promise<void>; readonly runs: (queue: string) => void } {
  let isRunning = (): void => undefined;
  const running = new Promise<void>((resolve) => (isRunning = resolve));
  const waiting = new Set<string>(Object.keys(taskQueues(cluster)));
  const runs = (queue: string): void => {
    if (waiting.delete(queue) && waiting.size === 0) isRunning();
  };
  return { running, runs };
}

/** Hands over the notices, and waits until every node has its taint. */
async function measured({
  notices,
  ending,
  taintedAt,
  handle,
}: {
  readonly notices: number;
  readonly ending: number;
  readonly taintedAt: ReadonlyMap<string, number>;
  readonly handle: ReturnType<typeof interruptionHandler>;
}): Promise<InterruptedResult> {
  const cpu = process.cpuUsage();
  const began = Date.now();
  await inTurns(notices, async (i) => {
    const instanceId = `i-${nameOf(ending + i)}`;
    await handle({ kind: 'spot_interrupted', instanceId, at: began, messageId: instanceId });
  });
  await until(() => Promise.resolve(taintedAt.size >= notices + ending), 120_000);
  const { user, system } = process.cpuUsage(cpu);
  const tainted = [...taintedAt.values()].map((at) => at - began).filter((ms) => ms >= 0);
  return { notices, ending, tainted: tainted.sort((a, b) => a - b), cpuSeconds: (user + system) / 1e6 };
}

async function connect(address: string): Promise<[Connection, NativeConnection]> {
  return [await Connection.connect({ address }), await NativeConnection.connect({ address })];
}
