import { MockActivityEnvironment } from '@temporalio/testing';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { nodeOverlays } from '../api/karpenter/node-overlay.js';
import { createActivityWorld, nodeClaim, nodeClass, nodePool } from '../test/builders/activity-world.js';
import type { ActivityWorld } from '../test/builders/activity-world.js';
import { createCloudActivities } from '../activities/launch/cloud.js';
import type { LaunchInstanceResult } from '../activities/launch/contract.js';
import { nodeViews } from './cluster.js';

const fuse = 'smarter-devices/fuse';

describe('launching under NodeOverlays (node-overlays/at-launch)', () => {
  let world: ActivityWorld;

  beforeEach(async () => {
    world = await createActivityWorld();
    world.kube.put('NodePool', nodePool('default'));
    world.kube.put('EC2NodeClass', nodeClass('default'));
    world.kube.put('NodeClaim', nodeClaim('c1', { spec: { resources: { requests: { cpu: '1', [fuse]: '1' } } } }));
    await world.synced();
  });
  afterEach(() => world.stop());

  const deps = (NodeOverlay: boolean) => ({ ...world.deps, gates: { ...world.deps.gates, NodeOverlay } });
  const put = async (name: string, spec: object): Promise<void> => {
    const raw = { apiVersion: 'karpenter.sh/v1alpha1', kind: 'NodeOverlay', metadata: { name, uid: name } };
    world.kube.put('NodeOverlay', nodeOverlays.mustParse({ ...raw, spec: { requirements: [], ...spec } }));
    await world.synced();
  };
  const launch = async (gate = true): Promise<LaunchInstanceResult> =>
    new MockActivityEnvironment().run<[], LaunchInstanceResult, () => Promise<LaunchInstanceResult>>(() =>
      createCloudActivities(deps(gate)).launchInstance({ claim: { name: 'c1', uid: 'uid-c1' } }),
    );

  test('a resource that an overlay adds is launched for, and the claim has it', async () => {
    await put('fuse', { capacity: { [fuse]: '5' } });
    const result = await launch();
    expect(result).toMatchObject({ state: 'launched', instance: { capacity: { [fuse]: 5 } } });
  });

  // Rule `node-overlays/in-effect`.
  test('a resource of an overlay is unavailable without it, without the gate, and if it is invalid', async () => {
    await expect(launch()).resolves.toMatchObject({ state: 'refused' });
    await put('fuse', { capacity: { [fuse]: '5' } });
    await expect(launch(false)).resolves.toMatchObject({ state: 'refused' });
    await put('fuse', { capacity: { [fuse]: '5', 'habana.ai/gaudi': '1' } });
    await expect(launch()).resolves.toMatchObject({ state: 'refused' });
  });

  test('the cheapest type is that of the overlaid prices, which nodes then have', async () => {
    await put('fuse', { capacity: { [fuse]: '5' } });
    await put('dear', {
      requirements: [{ key: 'karpenter.sh/capacity-type', operator: 'In', values: ['spot'] }],
      price: '9',
    });
    const result = await launch();
    if (result.state !== 'launched') throw new Error(result.state);
    expect(result.instance).toMatchObject({ capacityType: 'on-demand' });
    const { instance } = result;
    world.kube.put('NodeClaim', {
      ...nodeClaim('c2', { status: { providerID: instance.providerId } }),
      metadata: {
        name: 'c2',
        uid: 'uid-c2',
        labels: { ...instance.labels, 'karpenter.sh/nodepool': 'default', 'karpenter.sh/capacity-type': 'spot' },
      },
    });
    await world.synced();
    const prices = (await nodeViews(deps(true))).map(({ claim, pricePerHour }) => [claim.metadata.name, pricePerHour]);
    expect(prices).toContainEqual(['c2', 9]);
  });
});
