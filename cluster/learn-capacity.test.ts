import { expect, test } from '@jest/globals';
import { annotations, labels } from '../api/labels.js';
import { createActivityWorld, nodeClaim } from '../test/builders/activity-world.js';
import { learnCapacity } from './learn-capacity.js';

// Rule `instance-types/known-memory`.
test("every resource of a registered node is reported to the cloud with its claim's estimate", async () => {
  const world = await createActivityWorld();
  const capacity = { cpu: '2', memory: '8Gi', 'ephemeral-storage': '20Gi' };
  const conditions = [{ type: 'Registered', status: 'True' as const, lastTransitionTime: '2026-01-05T11:59:00Z' }];
  const base = nodeClaim('c', {
    status: { providerID: 'fake:///a/i', nodeName: 'n', imageID: 'ami', conditions, capacity },
  });
  const metadata = {
    ...base.metadata,
    labels: { [labels.instanceType]: 'm7i.large' },
    annotations: { [annotations.ec2NodeClassHash]: 'h' },
  };
  world.kube.put('NodeClaim', { ...base, metadata });
  const reported = { cpu: '2', memory: '8Gi', 'ephemeral-storage': '20000Mi' };
  world.kube.put('Node', {
    metadata: { name: 'n' },
    spec: { providerID: 'fake:///a/i' },
    status: { capacity: reported },
  });
  await world.synced();
  const learned: object[] = [];
  const cloud = Object.assign(Object.create(world.deps.cloud) as typeof world.deps.cloud, {
    learnCapacity: (observed: object) => void learned.push(observed),
  });

  learnCapacity({ ...world.deps, cloud });

  const gib = 2 ** 30;
  expect(learned).toMatchObject([
    {
      ...{ instanceType: 'm7i.large', imageId: 'ami', nodeClassHash: 'h' },
      capacity: { 'ephemeral-storage': 20000 * 2 ** 20 },
      expected: { 'ephemeral-storage': 20 * gib },
    },
  ]);
  world.stop();
});
