import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Pod } from '../api/kubernetes.js';
import { createActivityWorld, nodePool } from '../test/builders/activity-world.js';
import type { ActivityWorld } from '../test/builders/activity-world.js';
import { plan } from '../packing/plan.js';
import { planLive, planNow } from './plan-live.js';

const pending = (name: string, cpu: string): Omit<Pod, 'apiVersion' | 'kind'> => ({
  metadata: { name, namespace: 'default', uid: name },
  spec: { containers: [{ name: 'main', resources: { requests: { cpu } } }] },
  status: {
    phase: 'Pending',
    conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }],
  },
});

describe('stowage plan on a live cluster', () => {
  let world: ActivityWorld;
  beforeEach(async () => {
    world = await createActivityWorld();
  });
  afterEach(() => world.stop());

  function inCluster(): void {
    world.kube.put('EC2NodeClass', {
      metadata: { name: 'default' },
      status: { conditions: [{ type: 'Ready', status: 'True' }] },
    } as never);
    world.kube.put('NodePool', {
      ...nodePool('general'),
      status: { conditions: [{ type: 'Ready', status: 'True' }] },
    } as never);
  }

  test("prints what would be launched now at the cloud's prices, and writes nothing", async () => {
    inCluster();
    for (const name of ['a', 'b', 'c']) world.kube.put('Pod', pending(name, '1500m'));
    await world.synced();

    const { result: made, notes } = await planNow(world.deps, plan);

    expect(made.newNodeClaims.map(({ nodePool: pool, pods, cheapest }) => [pool, pods.length, cheapest])).toEqual([
      ['general', 2, expect.objectContaining({ instanceType: 'm5.xlarge', zone: 'a', capacityType: 'spot' })],
      ['general', 1, expect.objectContaining({ instanceType: 'm5.xlarge', zone: 'a', capacityType: 'spot' })],
    ]);
    expect(made.pricePerHour).toBeCloseTo(0.12, 9);
    expect(notes).toEqual([]);
    expect(world.kube.objects('NodeClaim')).toEqual([]);
    expect(world.events).toEqual([]);
  });

  test('says where a NodePool, or instance types for one, are missing', async () => {
    const { notes } = await planNow(world.deps, plan);
    expect(notes).toEqual(['the cluster has no NodePool whose nodeClassRef is a EC2NodeClass of karpenter.k8s.aws']);

    world.kube.put('NodePool', nodePool('general'));
    await world.synced();
    expect((await planNow(world.deps, plan)).notes).toEqual(['NodePool general has no instance types']);
  });

  test('says what room a node without an instance is given', async () => {
    inCluster();
    world.kube.put('NodeClaim', {
      metadata: { name: 'general-1', labels: { 'karpenter.sh/nodepool': 'general' } },
      spec: {
        nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
        requirements: [],
      },
    } as never);
    await world.synced();

    const { notes } = await planNow(world.deps, plan);
    expect(notes).toEqual([
      'NodeClaim general-1 has no instance yet: it counts as a node with room for what it requests',
    ]);
  });
});

describe('stowage plan: usage errors before anything is read', () => {
  test.each([
    [['--cloud-provider', 'kwok'], /CLUSTER_NAME \(--cluster-name\) is missing/],
    [['--cluster-name', 'c', '--cloud-provider', 'gcp'], /CLOUD_PROVIDER \(--cloud-provider\) "gcp"/],
    [['--cluster-name', 'c', '--cloud-provider', 'kwok', '--kubeconfig', 'nowhere'], /nowhere/],
  ])('of stowage plan %j', async (args, message) => {
    await expect(planLive(args)).rejects.toThrow(message);
  });
});
