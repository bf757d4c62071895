import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { annotations } from '../api/labels.js';
import { conditionOf } from '../core/conditions.js';
import { createActivityWorld, nodeClaim } from '../test/builders/activity-world.js';
import type { ActivityWorld } from '../test/builders/activity-world.js';
import { operatorContext } from '../test/builders/operator-context.js';
import type { OperatorContext } from './context.js';
import { watchHealth } from './health.js';
import { watchUndrainable } from './undrainable.js';

const initialized = ['Launched', 'Registered', 'Initialized'].map((type) => ({ type, status: 'True' as const }));
const minute = 60_000;

describe('nodes that cannot be drained or are unhealthy', () => {
  let world: ActivityWorld;
  let stops: (() => void)[];
  let calls: string[];

  beforeEach(async () => {
    world = await createActivityWorld();
    stops = [];
    calls = [];
    world.kube.put('NodeClaim', nodeClaim('c1', { status: { providerID: 'fake:///a/i-1', conditions: initialized } }));
    node('True');
    await world.synced();
  });
  afterEach(() => {
    for (const stop of stops) stop();
    world.stop();
  });

  const node = (ready: 'True' | 'False'): void =>
    void world.kube.put('Node', {
      metadata: { name: 'n1' },
      spec: { providerID: 'fake:///a/i-1' },
      status: {
        conditions: [
          { type: 'Ready', status: ready, lastTransitionTime: new Date(world.clock.now - minute).toISOString() },
        ],
      },
    });
  const context = (more: Partial<OperatorContext> = {}): OperatorContext =>
    operatorContext(
      world,
      {
        repair: ({ name }: { name: string }) => Promise.resolve(void calls.push(`repair ${name}`)),
        recovered: (uid: string) => Promise.resolve(void calls.push(`recovered ${uid}`)),
      },
      more,
    );
  const blocked = () => {
    const claim = world.deps.cache.get('NodeClaim', { name: 'c1' });
    return conditionOf(claim?.status?.conditions, 'DisruptionBlocked');
  };
  const until = (holds: () => boolean): Promise<void> => world.deps.cache.until(holds, AbortSignal.timeout(20_000));

  function putProtectedPod(): void {
    world.kube.put('PodDisruptionBudget', {
      metadata: { name: 'web', namespace: 'shop', generation: 1 },
      spec: { maxUnavailable: 0, selector: { matchLabels: { app: 'web' } } },
    });
    world.kube.put('Pod', {
      metadata: { name: 'web-0', namespace: 'shop', labels: { app: 'web' } },
      spec: { nodeName: 'n1', containers: [] },
      status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
    });
  }

  test('a pod that was bound before its node was initialized is reported', async () => {
    world.kube.put('NodeClaim', nodeClaim('c1', { status: { providerID: 'fake:///a/i-1', conditions: [] } }));
    putProtectedPod();
    await world.synced();
    const checked = jest.spyOn(world.deps.cache, 'get');
    stops.push(watchUndrainable(context()));
    const isChecked = (): boolean => checked.mock.calls.some(([kind]) => kind === 'NodeClaim');
    while (!isChecked()) await new Promise((resolve) => setImmediate(resolve));

    world.kube.put('NodeClaim', nodeClaim('c1', { status: { providerID: 'fake:///a/i-1', conditions: initialized } }));
    await until(() => blocked()?.status === 'True');
  });

  test('a pod that can never be evicted is an event on claim and node before any disruption, and withdrawn later', async () => {
    putProtectedPod();
    await world.synced();
    stops.push(watchUndrainable(context()));

    await until(() => blocked()?.status === 'True');

    expect(blocked()?.message).toBe(
      'pod shop/web-0 can never be evicted: PodDisruptionBudget shop/web: maxUnavailable is 0',
    );
    expect(world.events.map(({ reason, regarding }) => `${reason} ${regarding.kind}`)).toEqual([
      'DisruptionBlocked NodeClaim',
      'DisruptionBlocked Node',
    ]);
    world.kube.put('PodDisruptionBudget', {
      metadata: { name: 'web', namespace: 'shop', generation: 2 },
      spec: { maxUnavailable: 1, selector: { matchLabels: { app: 'web' } } },
    });
    await until(() => blocked() === undefined);
  });

  test("with its gate repairNode is started once for each change of the node's health", async () => {
    stops.push(watchHealth(context({ gates: { ...world.deps.gates, NodeRepair: true } })));
    node('False');
    await world.synced();
    await until(() => calls.length === 1);
    node('False');
    await world.synced();
    world.clock.now += minute;
    node('True');
    await world.synced();
    await until(() => calls.length === 2);

    expect(calls).toEqual(['repair c1', 'recovered uid-c1']);
  });

  test('no repair is started for a node that is not Ready for less than a minute, as while it joins (repair/policies)', async () => {
    stops.push(watchHealth(context({ gates: { ...world.deps.gates, NodeRepair: true } })));
    world.clock.now += minute;
    node('False');
    world.clock.now -= minute / 60;
    await world.synced();
    node('True');
    await world.synced();
    node('False');
    await world.synced();
    await until(() => calls.length === 1);

    expect(calls).toEqual(['repair c1']);
  });

  test('a declined repair is started once when the rejection is removed (repair/declined)', async () => {
    const decline = async (why: string | null): Promise<void> => {
      const patch = { metadata: { annotations: { [annotations.repairDeclined]: why } } };
      await world.kube.patch('NodeClaim', { name: 'c1' }, patch);
      await world.synced();
    };
    await decline('Ready=False: rejected by ann');
    stops.push(watchHealth(context({ gates: { ...world.deps.gates, NodeRepair: true } })));
    node('False');
    await world.synced();
    await decline('Ready=False: rejected by ann, for it is known');
    expect(calls).toEqual([]);
    await decline(null);
    await until(() => calls.length === 1);

    expect(calls).toEqual(['repair c1']);
  });

  test('without its gate no node is repaired', async () => {
    stops.push(watchHealth(context()));
    node('False');
    await world.synced();

    expect(calls).toEqual([]);
  });
});
