import { expect, test } from '@jest/globals';
import { labels } from '../api/labels.js';
import { createActivityWorld, nodeClaim, nodeClass, nodePool } from '../test/builders/activity-world.js';
import { managedPools } from './cluster.js';
import { packingInput } from './packing-input.js';

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
