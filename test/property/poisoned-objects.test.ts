import { MockActivityEnvironment } from '@temporalio/testing';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createDisruptionActivities } from '../../activities/disruption/disruption.js';
import { createPlanningActivities } from '../../activities/provisioning/planning.js';
import type { PlanNodesResult } from '../../activities/provisioning/contract.js';
import { labels } from '../../api/labels.js';
import { withOverlays } from '../../cluster/overlays.js';
import { cataloguesOf, managedPools } from '../../cluster/cluster.js';
import { defaultFeatureGates } from '../../core/feature-gates.js';
import type { Kind } from '../../kube/port.js';
import { createActivityWorld, nodeClaim, nodeClass, nodePool, ready } from '../builders/activity-world.js';
import type { ActivityWorld } from '../builders/activity-world.js';

// One object of any kind cannot be read at all: everything else is still planned and decided about.
// Rules `invariants/failures-are-contained`, `scheduling/objects-left-out`.
let world: ActivityWorld;

beforeEach(async () => {
  world = await createActivityWorld();
  world.kube.put('EC2NodeClass', nodeClass('default'));
  world.kube.put('NodePool', ready(nodePool('default', { disruption: { consolidateAfter: '0s' } })));
  world.kube.put('Pod', {
    metadata: { name: 'plain', namespace: 'default', uid: 'plain', creationTimestamp: '2026-01-05T11:00:00Z' },
    spec: { containers: [{ name: 'app', resources: { requests: { cpu: '3' } } }] },
    status: { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] },
  });
  putEmptyNode('empty');
});
afterEach(() => world.stop());

function putEmptyNode(name: string): void {
  const lastTransitionTime = new Date(world.clock.now - 600_000).toISOString();
  const initialized = { type: 'Initialized', status: 'True' as const, lastTransitionTime };
  const own = nodeClaim(name, { status: { providerID: `fake:///a/i-${name}`, conditions: [initialized] } });
  const typeLabels = { [labels.instanceType]: 'm5.xlarge', [labels.zone]: 'a', [labels.capacityType]: 'spot' };
  world.kube.put('NodeClaim', {
    ...own,
    metadata: { ...own.metadata, labels: { ...own.metadata.labels, ...typeLabels } },
  });
  world.kube.put('Node', {
    metadata: { name: `node-${name}`, labels: typeLabels },
    spec: { providerID: `fake:///a/i-${name}` },
    // Too small for the pod.
    status: { conditions: [{ type: 'Ready', status: 'True' }], allocatable: { cpu: '1', memory: '1Gi', pods: '10' } },
  });
}

/** An object of which nothing but its name can be read. */
function poisoned(kind: Kind): object {
  const metadata = { name: 'poisoned', namespace: 'default', uid: `poisoned-${kind}`, resourceVersion: '1' };
  return new Proxy(
    { apiVersion: 'v1', kind, metadata },
    {
      get: (target, key) => {
        if (key === 'metadata' || key === 'kind' || key === 'apiVersion') return target[key];
        throw new TypeError(`${kind}.${String(key)} cannot be read`);
      },
    },
  );
}

const kinds: readonly Kind[] = [
  ...(['NodeOverlay', 'CapacityBuffer', 'DisruptionPolicy', 'PodDisruptionBudget', 'StorageClass'] as const),
  ...(['PersistentVolumeClaim', 'PersistentVolume', 'CSINode', 'DaemonSet', 'Deployment', 'PodTemplate'] as const),
  ...(['Service', 'ReplicaSet', 'StatefulSet', 'ReplicationController', 'Namespace'] as const),
];

const aboutPool = expect.objectContaining({ kind: 'NodePool', name: 'default' }) as object;

describe.each(kinds)('an object of kind %s that cannot be parsed', (kind) => {
  const gates = { ...defaultFeatureGates, NodeOverlay: true, CapacityBuffer: true };
  /** With the object in the cache, beside those that are there. */
  const deps = async (): Promise<ActivityWorld['deps']> => {
    await world.synced();
    const { cache } = world.deps;
    const all = [...cache.all(kind), poisoned(kind)];
    const withPoison = new Proxy(cache, {
      get: (target, key) =>
        key === 'all'
          ? (asked: Kind) => (asked === kind ? all : target.all(asked))
          : (Reflect.get(target, key) as unknown),
    });
    return { ...world.deps, cache: withPoison, gates };
  };

  test('is left out, and all pods are still planned', async () => {
    const activities = createPlanningActivities(await deps());

    const result = await new MockActivityEnvironment().run<[], PlanNodesResult, () => Promise<PlanNodesResult>>(() =>
      activities.planNodes({ marks: [], without: [] }),
    );

    expect(result).toMatchObject({ state: 'planned', claims: [{ pods: ['default/plain'] }] });
  });

  test('is left out, and all nodes are still considered for disruption', async () => {
    const activities = createDisruptionActivities(await deps());

    const { commands } = await activities.findDisruptions({ commands: [] });

    if (kind === 'DisruptionPolicy') {
      // It may protect any pool: each is left alone, with an event.
      expect(commands).toEqual([]);
      expect(world.events).toContainEqual(expect.objectContaining({ reason: 'LeftOut', regarding: aboutPool }));
    } else
      expect(commands).toMatchObject([{ reason: 'Empty', candidates: [{ node: 'node-empty', pricePerHour: 0.06 }] }]);
  });

  test('is left out, and launches see the same catalogues', async () => {
    const own = await deps();
    const pools = managedPools(own);

    expect(withOverlays(own, pools, await cataloguesOf(own, pools)).get('default')).toHaveLength(1);
  });
});
