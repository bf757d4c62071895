import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { nodeOverlays } from '../api/karpenter/node-overlay.js';
import { conditionOf } from '../core/conditions.js';
import { createActivityWorld, nodeClass, nodePool } from '../test/builders/activity-world.js';
import type { ActivityWorld } from '../test/builders/activity-world.js';
import { operatorContext } from '../test/builders/operator-context.js';
import { watchNodeOverlays } from './node-overlays.js';

describe('conditions of NodeOverlays (node-overlays/conditions)', () => {
  let world: ActivityWorld;
  let stop: () => void;

  beforeEach(async () => {
    world = await createActivityWorld();
    world.kube.put('NodePool', nodePool('default'));
    world.kube.put('EC2NodeClass', nodeClass('default'));
    await world.synced();
    stop = watch(true);
  });
  afterEach(() => {
    stop();
    world.stop();
  });

  const watch = (NodeOverlay: boolean) =>
    watchNodeOverlays(operatorContext(world, {}, { gates: { ...world.deps.gates, NodeOverlay } }));
  const put = (name: string, spec: object, generation = 1): void => {
    const raw = { apiVersion: 'karpenter.sh/v1alpha1', kind: 'NodeOverlay', metadata: { name, uid: name } };
    const overlay = nodeOverlays.mustParse({ ...raw, spec: { requirements: [], ...spec } });
    world.kube.put('NodeOverlay', { ...overlay, metadata: { ...overlay.metadata, generation } });
  };
  const condition = (name: string, type = 'ValidationSucceeded') =>
    conditionOf(world.deps.cache.get('NodeOverlay', { name })?.status?.conditions, type);
  const becomes = (name: string, reason: string): Promise<void> =>
    world.deps.cache.until(() => condition(name)?.reason === reason, AbortSignal.timeout(5000));

  test('a valid NodeOverlay is ready', async () => {
    put('good', { price: '0.1' });
    await becomes('good', 'ValidationSucceeded');
    expect(condition('good', 'Ready')).toMatchObject({ status: 'True', observedGeneration: 1 });
  });

  test('a NodeOverlay that the provider refuses names the field', async () => {
    put('bad', { capacity: { 'habana.ai/gaudi': '1' } });
    await becomes('bad', 'RuntimeValidation');
    expect(condition('bad')).toMatchObject({ status: 'False', message: expect.stringContaining('habana.ai/gaudi') });
    expect(condition('bad', 'Ready')).toMatchObject({ status: 'False' });
  });

  test('of two with equal weight for the same the later names the earlier, until one is changed', async () => {
    put('zzz', { price: '0.1' });
    put('aaa', { price: '0.2' });
    await becomes('aaa', 'Conflict');
    await becomes('zzz', 'ValidationSucceeded');
    expect(condition('aaa')?.message).toContain('zzz of equal weight');
    put('aaa', { price: '0.2', weight: 5 }, 2);
    await becomes('aaa', 'ValidationSucceeded');
  });

  test('without the feature gate it says so (settings/feature-gates)', async () => {
    stop();
    stop = watch(false);
    put('good', { price: '0.1' });
    await becomes('good', 'FeatureGateOff');
    expect(condition('good')?.message).toContain('set FEATURE_GATES=NodeOverlay=true');
    expect(condition('good', 'Ready')).toMatchObject({ status: 'False' });

    stop();
    stop = watch(true);
    await becomes('good', 'ValidationSucceeded');
  });
});
