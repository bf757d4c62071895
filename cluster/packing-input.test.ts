import { expect, test } from '@jest/globals';
import { annotations, labels } from '../api/labels.js';
import { createActivityWorld, nodeClaim, nodeClass, nodePool } from '../test/builders/activity-world.js';
import { managedPools } from './cluster.js';
import { packingInput } from './packing-input.js';
import { podShape } from './refused-pods.js';

// Rule `provisioning/cache-is-current`.
test.each([
  ['its one type', ['m5.xlarge'], '3900m'],
  ['the smallest of its types', ['m5.xlarge', 'm5.large'], '1900m'],
  ['nothing, where a type is unknown', ['m5.xlarge', 'm9.large'], undefined],
])('a claim without an instance has the room of %s', async (_, values, cpu) => {
  const world = await createActivityWorld();
  try {
    const [xlarge] = await world.cloud.instanceTypes();
    const large = { ...xlarge!, name: 'm5.large', capacity: { ...xlarge!.capacity, cpu: 2000 } };
    const all = [xlarge!, large];
    Object.assign(world.cloud, { instanceTypes: () => Promise.resolve(all) });
    const requirement = { key: labels.instanceType, operator: 'In' as const, values };
    world.kube.put('NodePool', nodePool('default'));
    world.kube.put('EC2NodeClass', nodeClass('default'));
    world.kube.put('NodeClaim', nodeClaim('c1', { spec: { requirements: [requirement] } }));
    await world.synced();

    const { objects } = await packingInput(world.deps, managedPools(world.deps));
    const again = await packingInput(world.deps, managedPools(world.deps));

    expect(objects.nodeClaims?.[0]?.status?.allocatable?.['cpu']).toBe(cpu);
    expect(again.objects.nodeClaims?.[0]).toBe(objects.nodeClaims?.[0]);
  } finally {
    world.stop();
  }
});

// Rule `provisioning/refused-pods`.
test.each([
  ['without node affinity', undefined, [['kubernetes.io/hostname NotIn h1']]],
  [
    'with two terms, in each',
    [{ matchExpressions: [{ key: 'a', operator: 'Exists' as const }] }, { matchExpressions: [] }],
    [['a Exists ', 'kubernetes.io/hostname NotIn h1'], ['kubernetes.io/hostname NotIn h1']],
  ],
])(
  'a pod %s is planned away from the node on which kube-scheduler refused pods like it',
  async (_, terms, expected) => {
    const world = await createActivityWorld();
    try {
      const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms ?? [] } };
      const pod = {
        metadata: { name: 'p', namespace: 'default' },
        spec: { containers: [], ...(terms === undefined ? {} : { affinity: { nodeAffinity } }) },
        status: { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] },
      };
      world.kube.put('EC2NodeClass', nodeClass('default'));
      world.kube.put('Node', { metadata: { name: 'n1', labels: { 'kubernetes.io/hostname': 'h1' } } });
      world.kube.put('Pod', pod as never);
      await world.synced();
      const [cached] = world.deps.cache.all('Pod');
      const refusal = { shape: podShape(cached!), pod: 'default/p', nodes: ['n1', 'gone'], message: '', times: 1 };
      const times = { at: world.clock.now - 1000, until: world.clock.now - 1 };
      const pool = nodePool('default');
      const annotated = {
        ...pool.metadata,
        annotations: { [annotations.podsRefused]: JSON.stringify([{ ...refusal, ...times }]) },
      };
      world.kube.put('NodePool', { ...pool, metadata: annotated });
      await world.synced();

      const { objects } = await packingInput(world.deps, managedPools(world.deps));
      const again = await packingInput(world.deps, managedPools(world.deps));

      const required = objects.pods[0]?.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
      expect(
        required?.nodeSelectorTerms.map(({ matchExpressions = [] }) =>
          matchExpressions.map(({ key, operator, values = [] }) => `${key} ${operator} ${values.join()}`),
        ),
      ).toEqual(expected);
      expect(again.objects.pods[0]).toBe(objects.pods[0]);
    } finally {
      world.stop();
    }
  },
);
