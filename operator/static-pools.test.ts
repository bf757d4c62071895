import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { labels } from '../api/labels.js';
import { defaultFeatureGates } from '../core/feature-gates.js';
import { createActivityWorld, nodeClaim, nodePool, ready } from '../test/builders/activity-world.js';
import type { ActivityWorld } from '../test/builders/activity-world.js';
import { operatorContext } from '../test/builders/operator-context.js';
import { watchStaticPools } from './static-pools.js';

describe('the operator and static NodePools', () => {
  let world: ActivityWorld;
  let woken: string[];
  let stop: () => void;

  beforeEach(async () => {
    world = await createActivityWorld();
    woken = [];
    stop = () => undefined;
  });
  afterEach(() => {
    stop();
    world.stop();
  });

  function watch(): void {
    const starter = {
      keepReplicas: (name: string, uid: string) => {
        woken.push(`${name} ${uid}`);
        return Promise.resolve();
      },
    };
    stop = watchStaticPools(
      operatorContext(world, starter, { gates: { ...defaultFeatureGates, StaticCapacity: true } }),
    );
  }
  const until = async (holds: () => boolean): Promise<void> => {
    const end = Date.now() + 5000;
    while (!holds()) {
      if (Date.now() > end) throw new Error(`never came: ${woken.join('; ')}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  };
  const claim = (name: string, pool: string) => {
    const base = nodeClaim(name);
    return { ...base, metadata: { ...base.metadata, labels: { [labels.nodePool]: pool } } };
  };

  test('keepReplicas is signalled at the start, when the NodePool changes, and when one of its claims appears or goes', async () => {
    world.kube.put('NodePool', ready(nodePool('static', { replicas: 2 })));
    world.kube.put('NodePool', ready(nodePool('dynamic')));
    await world.synced();
    watch();
    await until(() => woken.length === 1);

    const scaled = ready(nodePool('static', { replicas: 3 }));
    world.kube.put('NodePool', { ...scaled, metadata: { ...scaled.metadata, generation: 2 } });
    await until(() => woken.length === 2);

    world.kube.put('NodeClaim', claim('of-dynamic', 'dynamic'));
    world.kube.put('NodeClaim', claim('of-static', 'static'));
    await until(() => woken.length === 3);
    await world.kube.delete('NodeClaim', { name: 'of-static' });
    await until(() => woken.length === 4);

    expect(new Set(woken)).toEqual(new Set(['static pool-static']));
    expect(world.events).toEqual([]);
  });
});
