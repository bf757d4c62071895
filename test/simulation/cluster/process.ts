import { setMaxListeners } from 'node:events';
import type { Client } from '@temporalio/client';
import { createActivities } from '../../../activities/index.js';
import type { ActivityDeps } from '../../../activities/deps.js';
import { defaultFeatureGates } from '../../../core/feature-gates.js';
import type { CloudProvider } from '../../../cloud/port.js';
import { createClusterCache } from '../../../kube/cache.js';
import type { Kind, KubeClient } from '../../../kube/port.js';
import { bufferKinds, optionalKinds, snapshotKinds } from '../../../kube/snapshot.js';
import { TemporalEntities } from '../../../process/entities.js';
import { runOperator } from '../../../process/operator.js';
import type { World } from '../../../process/world.js';
import { TemporalOfferingStore } from '../../../worker/offering-store.js';
import type { Random } from '../../cases/random.js';
import { taskQueues } from '../../../workflows/messages.js';
import type { TaskQueue } from '../../../workflows/messages.js';
import { fakeDeps } from '../deps.js';
import type { ActivityWorker } from '../temporal/activity-worker.js';
import { simulatedClient } from '../temporal/client.js';
import type { SimulatedTemporal } from '../temporal/engine.js';
import { Network } from './network.js';
import type { PlacedPerturbation } from './perturbations.js';
import type { Outages } from './network.js';

export const clusterName = 'simulated';

/** What there is outside of a process, and outlives it. */
export interface Outside {
  readonly kube: KubeClient;
  readonly cloud: CloudProvider;
  readonly temporal: SimulatedTemporal;
  readonly random: Random;
  readonly outages: Outages;
  /** Silence of a watch after which it is checked, milliseconds. */
  readonly watchSilentMs: number;
  /** Something was called. */
  readonly onCall: () => void;
  /** Hears of every write and of every event of a watch. */
  readonly placed?: PlacedPerturbation;
  /** Of several processes one leads, by the product's own election; a process that is alone leads without. */
  readonly elects?: boolean;
  /** Receives events and metrics, or has the feature gates; default: events and metrics are dropped. */
  readonly heard?: Partial<Pick<ActivityDeps, 'events' | 'metrics' | 'gates' | 'log'>>;
  /** Hears of what is written, as `PEER CALL KIND`. */
  readonly onWrite?: (what: string) => void;
}

type Activity = (input: unknown) => Promise<unknown>;

const kubeCalls: readonly (keyof KubeClient)[] = ['get', 'list', 'listForWatch', 'create', 'patch', 'delete', 'evict'];
const cloudCalls: readonly (keyof CloudProvider)[] = [
  'instanceTypes',
  'launch',
  'get',
  'list',
  'terminate',
  'tag',
  'resolveNodeClass',
  'cleanUpNodeClass',
  'drift',
];
const kubeWrites: ReadonlySet<keyof KubeClient> = new Set(['create', 'patch', 'delete', 'evict']);
const cloudWrites: ReadonlySet<keyof CloudProvider> = new Set(['launch', 'terminate', 'tag', 'cleanUpNodeClass']);
/** Everything that Stowage can do is in play. */
const gates = {
  ...defaultFeatureGates,
  NodeRepair: true,
  StaticCapacity: true,
  SpotToSpotConsolidation: true,
  NodeOverlay: true,
  CapacityBuffer: true,
};
/** How often a process looks whether it was stopped, milliseconds. */
const ownTimeMs = 5000;

/**
 * Stowage as `stowage run` is: the operator, a worker's activities and its cache, by the product's own code. It ends by `kill`
 * alone, at any moment: what it was about to do is not done.
 */
export class SimulatedProcess implements ActivityWorker {
  readonly network: Network;
  private readonly stopping = new AbortController();
  private isUp = false;
  private isFrozen = false;
  private activities: ReadonlyMap<string, Readonly<Record<string, Activity>>> = new Map();

  constructor(
    private readonly outside: Outside,
    private readonly identity: string,
  ) {
    setMaxListeners(0, this.stopping.signal);
    this.network = new Network(outside.random, outside.outages, outside);
  }

  get isAlive(): boolean {
    return this.network.isAlive;
  }

  activity(taskQueue: string, type: string): Activity | undefined {
    return this.activities.get(taskQueue)?.[type];
  }

  /** Comes up: the cache first, then workers and the operator. */
  async start(): Promise<void> {
    const { signal } = this.stopping;
    const deps = this.deps();
    const client = simulatedClient(this.outside.temporal, {
      carry: () => this.network.carry('Temporal'),
    });
    deps.entities.connect(client);
    deps.offerings.connect(client);
    await deps.cache.start(signal);
    const queues = taskQueues(clusterName);
    this.activities = new Map(
      Object.entries(createActivities(deps)).map(([name, activities]) => [
        queues[name as TaskQueue],
        activities as Record<string, Activity>,
      ]),
    );
    const { outages } = this.outside;
    await outages.until(() => !outages.isAway('Temporal'));
    if (!this.isAlive) return;
    this.isUp = true;
    this.reconnect();
    void this.operate(deps, client);
  }

  /** Temporal is within reach again: the worker polls on. */
  reconnect(): void {
    const { outages, temporal } = this.outside;
    if (this.isUp && this.isAlive && !this.isFrozen && !outages.isAway('Temporal')) temporal.connect(this);
  }

  /** Stops where it is, as by SIGSTOP: Temporal hears nothing of it, and what it was about to do is done after `thaw`. */
  freeze(): void {
    this.isFrozen = true;
    this.network.freeze();
    this.outside.temporal.disconnect(this);
  }

  thaw(): void {
    this.isFrozen = false;
    this.network.thaw();
    this.reconnect();
  }

  kill(): void {
    this.network.cut();
    this.outside.temporal.disconnect(this);
    this.stopping.abort();
  }

  private async operate(deps: ActivityDeps, client: Client): Promise<void> {
    const { signal } = this.stopping;
    // What the operator reads of its process.
    const world = {
      ...deps,
      identity: this.identity,
      settings: {
        DISABLE_LEADER_ELECTION: this.outside.elects !== true,
        LEADER_ELECTION_NAMESPACE: 'stowage',
        LEADER_ELECTION_NAME: 'stowage-leader-election',
        TEMPORAL_ADDRESS: 'simulated',
        BATCH_IDLE_DURATION: 1000,
        BATCH_MAX_DURATION: 10_000,
      },
      karpenter: { whileFree: (free: AbortSignal, work: (free: AbortSignal) => Promise<void>) => work(free) },
    } as unknown as World;
    await runOperator(world, client, signal);
  }

  private deps(): ActivityDeps & { readonly entities: TemporalEntities; readonly offerings: TemporalOfferingStore } {
    const { network, outside } = this;
    const now = (): number => Date.now();
    const kube = {
      ...network.over('Kubernetes', outside.kube, kubeCalls, kubeWrites),
      watch: network.watching(outside.kube.watch.bind(outside.kube)),
    };
    const cloud = network.over('the cloud', outside.cloud, cloudCalls, cloudWrites);
    const cache = createClusterCache({
      client: kube,
      kinds: [
        ...snapshotKinds,
        ...bufferKinds,
        'VolumeAttachment',
        'DisruptionPause',
        cloud.nodeClassKind.kind as Kind,
      ],
      optional: optionalKinds,
      random: () => outside.random.next(),
      probe: { silentMs: outside.watchSilentMs },
      clock: network.clock,
      tickMs: ownTimeMs,
    });
    const entities = new TemporalEntities(clusterName);
    const base = fakeDeps({ cluster: clusterName, kube, cache, cloud, now, entities, gates, ...outside.heard });
    const offerings = new TemporalOfferingStore(clusterName, cloud, base.log, now);
    return { ...base, entities, offerings };
  }
}
