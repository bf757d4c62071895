import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { annotations, labels } from '../api/labels.js';
import { conditionOf } from '../core/conditions.js';
import { createActivityWorld, nodeClaim, nodeClass, nodePool } from '../test/builders/activity-world.js';
import type { ActivityWorld } from '../test/builders/activity-world.js';
import { operatorContext } from '../test/builders/operator-context.js';
import { watchDrift } from './drift.js';

const stamp = (hash: string, version = 'stowage-v1') => ({
  [annotations.nodePoolHash]: hash,
  [annotations.nodePoolHashVersion]: version,
});

describe('condition Drifted', () => {
  let world: ActivityWorld;
  let stop: () => void;
  let signals: number;

  beforeEach(async () => {
    world = await createActivityWorld();
    signals = 0;
    stop = () => undefined;
    world.kube.put('EC2NodeClass', nodeClass('default'));
  });
  afterEach(() => {
    stop();
    world.stop();
  });

  const putPool = (hash: string, requirements: readonly object[] = [], generation = 1): void => {
    const nodeClassRef = { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' };
    const pool = nodePool('default', { template: { spec: { requirements, nodeClassRef } } });
    world.kube.put('NodePool', { ...pool, metadata: { ...pool.metadata, generation, annotations: stamp(hash) } });
  };
  const putClaim = (name: string, more: object = {}, launched = true): void => {
    const claim = nodeClaim(name, {
      status: launched ? { conditions: [{ type: 'Launched', status: 'True' }] } : {},
    });
    const own = { ...claim.metadata.labels, [labels.zone]: 'a', [labels.instanceType]: 'm5.xlarge' };
    const creationTimestamp = new Date(world.clock.now).toISOString();
    world.kube.put('NodeClaim', { ...claim, metadata: { ...claim.metadata, creationTimestamp, labels: own, ...more } });
  };
  const start = async (): Promise<void> => {
    await world.synced();
    stop = watchDrift(operatorContext(world), () => {
      signals += 1;
    });
  };
  const drifted = (name: string) =>
    conditionOf(world.deps.cache.get('NodeClaim', { name })?.status?.conditions, 'Drifted');
  const becomes = (name: string, reason: string | undefined): Promise<void> =>
    world.deps.cache.until(() => drifted(name)?.reason === reason, AbortSignal.timeout(5000));

  // Rule `drift/when-it-is-detected`.
  test("is set when the NodePool's template changes, and removed when it is changed back", async () => {
    putPool('1');
    putClaim('c1', { annotations: stamp('1') });
    putClaim('unlaunched', { annotations: stamp('0') }, false);
    await start();

    putPool('2');
    await becomes('c1', 'NodePoolDrifted');
    expect(drifted('c1')).toMatchObject({ status: 'True', message: 'NodePoolDrifted' });
    expect(drifted('unlaunched')).toBeUndefined();

    putPool('1');
    await becomes('c1', undefined);
    while (signals < 2) await new Promise((resolve) => setTimeout(resolve, 10));
  });

  // Rule `drift/order-of-reasons`.
  test("has the first reason in Karpenter's order", async () => {
    putPool('1');
    putClaim('c1', { annotations: stamp('1') });
    world.cloud.setDrift('c1', 'AMIDrift');
    await start();
    await becomes('c1', 'AMIDrift');

    putPool('1', [{ key: labels.zone, operator: 'NotIn', values: ['a'] }], 2);
    await becomes('c1', 'RequirementsDrifted');
    putPool('2', [{ key: labels.zone, operator: 'NotIn', values: ['a'] }], 3);
    await becomes('c1', 'NodePoolDrifted');
  });

  test('follows a changed status of the node class, though its spec did not change', async () => {
    putPool('1');
    putClaim('c1', { annotations: stamp('1') });
    await start();
    world.cloud.setDrift('c1', 'SubnetDrift');

    world.kube.put('EC2NodeClass', { ...nodeClass('default'), status: { subnets: [] } });

    await becomes('c1', 'SubnetDrift');
  });

  // Rule `node-pools/hash-version`.
  test('is removed while the node class is being deleted', async () => {
    putPool('1');
    putClaim('c1', { annotations: stamp('1') });
    world.cloud.setDrift('c1', 'AMIDrift');
    await start();
    await becomes('c1', 'AMIDrift');

    const of = nodeClass('default');
    const deletionTimestamp = '2026-01-05T12:00:00Z';
    world.kube.put('EC2NodeClass', { ...of, metadata: { ...of.metadata, deletionTimestamp, finalizers: ['held'] } });

    await becomes('c1', undefined);
  });

  test('is not set by hashes of another version, which are written anew', async () => {
    putPool('2');
    putClaim('c1', { annotations: stamp('1', 'v3') });
    await start();

    await world.deps.cache.until(
      () => world.deps.cache.get('NodeClaim', { name: 'c1' })?.metadata.annotations?.[annotations.nodePoolHash] === '2',
      AbortSignal.timeout(5000),
    );
    await world.synced();
    expect(drifted('c1')).toBeUndefined();
  });
});
