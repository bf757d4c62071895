import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { NodeClaim } from '../api/karpenter/node-claim.js';
import { isTrue, timestamp, transitionOf } from '../core/conditions.js';
import { labels } from '../api/labels.js';
import { createActivityWorld, nodeClaim, nodeClass, nodePool } from '../test/builders/activity-world.js';
import type { ActivityWorld } from '../test/builders/activity-world.js';
import { operatorContext } from '../test/builders/operator-context.js';
import { silentLog } from '../test/simulation/silent.js';
import { watchClaimConditions } from './claim-conditions.js';
import { DisruptSignals } from './disruption-inputs.js';

describe('pod events and consolidateAfter', () => {
  let world: ActivityWorld;
  let stop: () => void;
  let received: number;
  let failures: number;
  let signals: DisruptSignals;
  const hearers = new Set<() => void>();

  beforeEach(async () => {
    world = await createActivityWorld();
    stop = () => undefined;
    received = 0;
    failures = 0;
    signals = new DisruptSignals({ starter: { disrupt }, log: silentLog });
    world.kube.put('EC2NodeClass', nodeClass('default'));
  });
  afterEach(() => {
    stop();
    signals.stop();
    world.stop();
  });

  const disrupt = (): Promise<void> => {
    if (failures > 0) {
      failures -= 1;
      return Promise.reject(new Error('DEADLINE_EXCEEDED'));
    }
    received += 1;
    for (const hear of hearers) hear();
    return Promise.resolve();
  };
  const signalsReceived = (times: number): Promise<void> =>
    new Promise((resolve) => {
      const hear = (): void => {
        if (received < times) return;
        hearers.delete(hear);
        resolve();
      };
      hearers.add(hear);
      hear();
    });

  /** A node of a pool with this consolidateAfter, with one pod, that has been idle for an hour. */
  async function start(consolidateAfter: string): Promise<void> {
    world.kube.put('NodePool', nodePool('default', { disruption: { consolidateAfter } }));
    const at = new Date(world.clock.now - 3_600_000).toISOString();
    const conditions = ['Launched', 'Registered', 'Initialized', 'Consolidatable'].map((type) => ({
      type,
      status: 'True' as const,
      lastTransitionTime: at,
    }));
    world.kube.put('NodeClaim', nodeClaim('c1', { status: { providerID: 'fake:///a/i-1', conditions } }));
    world.kube.put('Node', {
      metadata: { name: 'n1', labels: { [labels.nodePool]: 'default' } },
      spec: { providerID: 'fake:///a/i-1' },
    });
    world.kube.put('Pod', {
      metadata: { name: 'p1', namespace: 'default' },
      spec: { nodeName: 'n1', containers: [] },
      status: { phase: 'Running' },
    });
    await world.synced();
    stop = watchClaimConditions(operatorContext(world), () => signals.signal());
    // The state at the start is signalled.
    await signalsReceived(1);
  }

  const isConsolidatable = (): boolean =>
    isTrue(world.deps.cache.get('NodeClaim', { name: 'c1' })?.status?.conditions, 'Consolidatable');

  // The condition is true before and after: only the signal says that the node is empty by now.
  test('pod events are signalled to disrupt though the node stays Consolidatable', async () => {
    await start('0s');
    await world.kube.delete('Pod', { name: 'p1', namespace: 'default' });
    await signalsReceived(2);
    expect(isConsolidatable()).toBe(true);
  });

  test('a node that becomes Consolidatable is signalled to disrupt again where Temporal could not be reached', async () => {
    await start('30s');
    await world.kube.delete('Pod', { name: 'p1', namespace: 'default' });
    await world.deps.cache.until(() => !isConsolidatable(), AbortSignal.timeout(5000));
    failures = 1;
    world.clock.now += 31_000;
    // Any change of the pool has every claim looked at again.
    const pool = nodePool('default', { disruption: { consolidateAfter: '30s' } });
    world.kube.put('NodePool', { ...pool, metadata: { ...pool.metadata, generation: 2 } });
    await signalsReceived(2);
    expect(isConsolidatable()).toBe(true);
  });

  // Rule `consolidation/rolling-updates`.
  test('pods that keep restarting consolidateAfter set the condition Unsettled with its first time', async () => {
    await start('30s');
    const { cache } = world.deps;
    const claim = (): NodeClaim => cache.get('NodeClaim', { name: 'c1' })!;
    const since = (): number | undefined => transitionOf(claim().status?.conditions, 'Unsettled');
    const begin = world.clock.now;
    const update = async (name: string): Promise<void> => {
      const at = claim().status?.lastPodEventTime;
      await world.kube.delete('Pod', { name, namespace: 'default' });
      await cache.until(() => claim().status?.lastPodEventTime !== at, AbortSignal.timeout(5000));
    };
    world.kube.put('Pod', {
      metadata: { name: 'p2', namespace: 'default' },
      spec: { nodeName: 'n1', containers: [] },
      status: { phase: 'Running' },
    });
    await update('p1');
    await cache.until(() => since() !== undefined && !isConsolidatable(), AbortSignal.timeout(5000));
    world.clock.now += 20_000;
    await update('p2');
    expect([timestamp(since()!), isConsolidatable()]).toEqual([timestamp(begin), false]);
    world.clock.now += 31_000;
    const pool = nodePool('default', { disruption: { consolidateAfter: '30s' } });
    world.kube.put('NodePool', { ...pool, metadata: { ...pool.metadata, generation: 2 } });
    await cache.until(() => since() === undefined && isConsolidatable(), AbortSignal.timeout(5000));
  });

  test('a pod event is one write with the conditions that it ends, and another that changes none has no resourceVersion (consolidation/last-pod-event)', async () => {
    await start('30s');
    const writes: unknown[] = [];
    const patch = world.kube.patch.bind(world.kube);
    jest.spyOn(world.kube, 'patch').mockImplementation((...args) => {
      writes.push(args[2]);
      return patch(...args);
    });
    const { cache } = world.deps;
    const claim = (): NodeClaim => cache.get('NodeClaim', { name: 'c1' })!;
    const podEnds = async (name: string): Promise<void> => {
      world.kube.put('Pod', { metadata: { name, namespace: 'default' }, spec: { nodeName: 'n1', containers: [] } });
      await world.synced();
      await world.kube.delete('Pod', { name, namespace: 'default' });
      const now = timestamp(world.clock.now);
      await cache.until(() => claim().status?.lastPodEventTime === now, AbortSignal.timeout(5000));
    };
    await podEnds('p2');
    const { conditions } = claim().status!;
    expect([isConsolidatable(), isTrue(conditions, 'Unsettled')]).toEqual([false, true]);
    expect(writes).toHaveLength(1);

    world.clock.now += 11_000;
    await podEnds('p3');
    const { uid } = claim().metadata;
    const later = { metadata: { uid }, status: { lastPodEventTime: timestamp(world.clock.now) } };
    expect(writes.slice(1)).toEqual([later]);
  });

  // Rule `consolidation/last-pod-event`.
  test.each([
    ['two minutes ahead is replaced by the present', 120_000, 0],
    ['slightly ahead is kept', 30_000, 30_000],
  ])('a lastPodEventTime that is %s', async (_, ahead, expected) => {
    await start('0s');
    const claim = (await world.kube.get('NodeClaim', { name: 'c1' }))!;
    const timeIn = (ms: number): string => timestamp(world.clock.now + ms);
    world.kube.put('NodeClaim', { ...claim, status: { ...claim.status, lastPodEventTime: timeIn(ahead) } });
    // Until then the node is not consolidatable.
    await world.deps.cache.until(
      () => world.deps.cache.get('NodeClaim', { name: 'c1' })?.status?.lastPodEventTime === timeIn(expected),
      AbortSignal.timeout(5000),
    );
    await world.deps.cache.until(() => isConsolidatable() === (expected === 0), AbortSignal.timeout(5000));
  });
});
