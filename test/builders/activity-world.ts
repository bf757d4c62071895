import { DefaultLogger } from '@temporalio/worker';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import { nodePools } from '../../api/karpenter/node-pool.js';
import type { Kinds } from '../../kube/port.js';
import { labels } from '../../api/labels.js';
import type { ActivityDeps } from '../../activities/deps.js';
import { fakeDeps } from '../simulation/deps.js';
import { FakeCloud } from '../simulation/cloud/fake.js';
import type { InstanceType } from '../../core/instance-type.js';
import { createClusterCache } from '../../kube/cache.js';
import { createFakeKube } from '../simulation/kube/fake.js';
import type { FakeKube } from '../simulation/kube/fake.js';
import type { ClusterCache, EventToPublish, Kind } from '../../kube/port.js';
import { bufferKinds, snapshotKinds } from '../../kube/snapshot.js';

const gi = 2 ** 30;

/** A catalogue of one size: 4 CPUs, 16 GiB, spot and on-demand in two zones. */
export const catalogue: readonly InstanceType[] = [
  {
    name: 'm5.xlarge',
    requirements: [
      { key: labels.instanceType, operator: 'In', values: ['m5.xlarge'] },
      { key: labels.arch, operator: 'In', values: ['amd64'] },
      { key: labels.os, operator: 'In', values: ['linux'] },
      { key: labels.zone, operator: 'In', values: ['a', 'b'] },
      { key: labels.capacityType, operator: 'In', values: ['spot', 'on-demand'] },
    ],
    offerings: ['a', 'b'].flatMap((zone) =>
      (['spot', 'on-demand'] as const).map((capacityType) => ({
        requirements: [
          { key: labels.zone, operator: 'In' as const, values: [zone] },
          { key: labels.capacityType, operator: 'In' as const, values: [capacityType] },
        ],
        price: (capacityType === 'spot' ? 0.06 : 0.2) + (zone === 'a' ? 0 : 0.01),
        available: true,
      })),
    ),
    capacity: { cpu: 4000, memory: 16 * gi, pods: 58, 'ephemeral-storage': 20 * gi },
    overhead: { cpu: 100, memory: gi },
  },
];

export interface ActivityWorld {
  readonly deps: ActivityDeps;
  readonly kube: FakeKube;
  readonly cloud: FakeCloud;
  readonly events: EventToPublish[];
  readonly clock: { now: number };
  /** Resolves once the cache has what the API server has. */
  synced(): Promise<void>;
  stop(): void;
}

/** What activities need, with a cloud and an API server in memory and a clock that a test moves. */
export async function createActivityWorld(): Promise<ActivityWorld> {
  const clock = { now: Date.parse('2026-01-05T12:00:00Z') };
  const now = (): number => clock.now;
  const kube = createFakeKube({ now, podsTerminate: 'at-once' });
  const cloud = new FakeCloud({ types: catalogue, now });
  const kinds: Kind[] = [...snapshotKinds, ...bufferKinds, 'VolumeAttachment', 'EC2NodeClass', 'DisruptionPause'];
  const cache = createClusterCache({ client: kube, kinds });
  const stopping = new AbortController();
  await cache.start(stopping.signal);
  const events: EventToPublish[] = [];
  const isCopied = copiedTo(cache, kube, kinds);
  return {
    kube,
    cloud,
    events,
    clock,
    deps: fakeDeps({ kube, cache, cloud, now, events: { publish: (event) => void events.push(event) } }),
    synced: () => cache.until(isCopied, AbortSignal.timeout(5000)),
    stop: () => stopping.abort(),
  };
}

/** Whether a cache has all objects as the API server has them now. */
function copiedTo(cache: ClusterCache, kube: FakeKube, kinds: readonly Kind[]): () => boolean {
  const versionsOf = (kind: Kind) => kube.objects(kind).map(({ metadata }) => metadata);
  let version = '';
  let versions: (readonly [Kind, ReturnType<typeof versionsOf>])[] = [];
  return () => {
    // Copied once for each state of the server: this is asked at every event of a watch.
    if (kube.version() !== version) {
      version = kube.version();
      versions = kinds.map((kind) => [kind, versionsOf(kind)]);
    }
    return versions.every(
      ([kind, live]) =>
        live.length === cache.all(kind).length &&
        live.every(
          ({ name = '', namespace, resourceVersion }) =>
            cache.get(kind, { name, namespace })?.metadata.resourceVersion === resourceVersion,
        ),
    );
  };
}

export function nodePool(name: string, spec: object = {}): NodePool {
  return nodePools.mustParse({
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodePool',
    metadata: { name, uid: `pool-${name}`, generation: 1 },
    spec: {
      template: {
        spec: { requirements: [], nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' } },
      },
      ...spec,
    },
  });
}

export function ready(pool: NodePool): NodePool {
  return { ...pool, status: { conditions: [{ type: 'Ready', status: 'True' }] } };
}

export function nodeClass(name: string): Kinds['EC2NodeClass'] {
  return { metadata: { name }, spec: {} } as unknown as Kinds['EC2NodeClass'];
}

export function nodeClaim(name: string, more: { status?: NodeClaim['status']; spec?: object } = {}): NodeClaim {
  return {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodeClaim',
    metadata: { name, uid: `uid-${name}`, labels: { [labels.nodePool]: 'default' } },
    spec: {
      requirements: [],
      nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
      expireAfter: '720h',
      ...more.spec,
    },
    ...(more.status === undefined ? {} : { status: more.status }),
  };
}

/** For activities that are to fail: what the SDK logs about that is not printed. */
export const quiet = { logger: new DefaultLogger('ERROR', () => undefined) };
