import { Random } from '../../cases/random.js';
import { ReplicaSet } from '../scale-down/workloads.js';
import { SimulatedTemporal } from '../temporal/engine.js';
import type { SandboxFactory } from '../temporal/sandbox.js';
import { Outages } from './network.js';
import { SimulatedProcess } from './process.js';
import { VirtualTime } from './virtual-time.js';
import { addPool, createCluster } from './world.js';
import type { SimulatedCluster } from './world.js';

const startMs = Date.parse('2026-01-05T12:00:00Z');
const minute = 60_000;

export interface CalmCluster {
  readonly cluster: SimulatedCluster;
  /** One pod a node. */
  readonly set: ReplicaSet;
  /** Lets so much time pass. */
  readonly pass: (milliseconds: number) => Promise<void>;
}

interface Options {
  readonly sandboxes: SandboxFactory;
  /** Of the NodePool `default`. */
  readonly pool: object;
  readonly onAction?: ConstructorParameters<typeof SimulatedTemporal>[0]['onAction'];
}

/** Runs Stowage on a simulated Kubernetes, cloud and Temporal without faults, in virtual time. */
export async function inCalmCluster<T>(
  { sandboxes, pool, onAction }: Options,
  act: (scene: CalmCluster) => Promise<T>,
): Promise<T> {
  let signs = 0;
  const onCall = (): void => void (signs += 1);
  const time = new VirtualTime(startMs, () => signs);
  const random = new Random(1);
  const cluster = await createCluster(random, { onCall });
  addPool(cluster.kube, 'default', pool);
  const temporal = new SimulatedTemporal({
    ...{ random, sandboxes },
    faults: { latencyMs: () => random.int(1, 20), fateOf: () => 'runs' },
    ...(onAction === undefined ? {} : { onAction }),
  });
  const outages = new Outages();
  const outside = { ...cluster, temporal, random, outages, watchSilentMs: 10 * minute, onCall };
  const stowage = new SimulatedProcess(outside, 'process-1');
  try {
    void stowage.start();
    const clock = {
      get now() {
        return Date.now();
      },
      sleep: (milliseconds: number) => new Promise<void>((resolve) => void setTimeout(resolve, milliseconds)),
    };
    const { kube, cache } = cluster;
    const set = new ReplicaSet(
      { kube, cache, random, clock },
      { app: 'app', requests: { cpu: '12', memory: '8Gi' }, graceSeconds: 30 },
    );
    const pass = (milliseconds: number): Promise<void> => time.advance(time.now + milliseconds);
    await pass(minute);
    return await act({ cluster, set, pass });
  } finally {
    stowage.kill();
    cluster.stop();
    await time.settle();
    await temporal.stop();
    time.restore();
  }
}
