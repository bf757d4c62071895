import FakeTimers, { type Clock } from '@sinonjs/fake-timers';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { annotations, finalizers } from '../api/labels.js';
import { createActivityWorld, nodeClaim, nodeClass, nodePool } from '../test/builders/activity-world.js';
import type { ActivityWorld } from '../test/builders/activity-world.js';
import { operatorContext } from '../test/builders/operator-context.js';
import type { OperatorContext } from './context.js';
import { watchNodeClasses } from './node-classes.js';
import { watchNodePools } from './node-pools.js';
import { watchPendingPods } from './pending-pods.js';

describe('the operator in a cluster in which nothing happens', () => {
  let clock: Clock;
  let world: ActivityWorld;
  let signals: number[];
  let stop: () => void;

  beforeEach(async () => {
    world = await createActivityWorld();
    [signals, stop] = [[], () => undefined];
    clock = FakeTimers.install({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  });
  afterEach(() => {
    stop();
    clock.uninstall();
    world.stop();
  });

  const context = (): OperatorContext =>
    operatorContext(
      world,
      {
        podsPending: () => {
          signals.push(world.clock.now);
          return Promise.resolve();
        },
      },
      { nominationMs: 20_000 },
    );
  const putPod = (nodeName?: string, name = 'web'): void => {
    const pending = { conditions: [{ type: 'PodScheduled', status: 'False' as const, reason: 'Unschedulable' }] };
    const spec = { containers: [], ...(nodeName === undefined ? {} : { nodeName }) };
    const status = nodeName === undefined ? pending : { phase: 'Running' };
    world.kube.put('Pod', { metadata: { name, namespace: 'shop', uid: name }, spec, status });
  };

  const pass = async (seconds: number): Promise<void> => {
    for (let second = 0; second < seconds; second++) {
      world.clock.now += 1000;
      await clock.tickAsync(1000);
    }
  };

  // Rule `provisioning/signalled-again`.
  test('does not poll for pending pods; while one pends it signals provision at growing intervals', async () => {
    const reads = jest.spyOn(world.deps.cache, 'all');
    const idleHour = async (): Promise<void> => {
      reads.mockClear();
      await pass(3600);
      expect(reads).not.toHaveBeenCalled();
    };
    stop = watchPendingPods(context());
    await world.synced();
    await pass(1);
    await idleHour();

    putPod();
    await world.synced();
    await pass(20);
    expect(signals).toHaveLength(3);
    await pass(3600);
    expect(signals.length).toBeLessThan(15);

    const before = signals.length;
    world.kube.put('NodePool', nodePool('default'));
    await world.synced();
    await pass(10);
    expect(signals).toHaveLength(before + 1);

    putPod('node-a');
    await world.synced();
    await pass(10);
    await idleHour();
    expect(signals).toHaveLength(before + 1);
  });

  test('pending pods are signalled again after the clock was set back', async () => {
    stop = watchPendingPods(context());
    putPod();
    await world.synced();
    await pass(100);
    const before = signals.length;
    world.clock.now -= 24 * 3_600_000;
    await pass(10);
    expect(signals).toHaveLength(before + 1);
  });

  test('pods are signalled once, a second after the last new one and at most ten after the first (provisioning/batch-window)', async () => {
    stop = watchPendingPods(context());
    let pods = 0;
    const pend = async (everyMs: number, forMs: number): Promise<number[]> => {
      const [began, before] = [world.clock.now, signals.length];
      for (let ms = 0; ms < forMs; ms += everyMs) {
        putPod(undefined, `pod-${pods++}`);
        await world.synced();
        for (let passed = 0; passed < everyMs; passed += 100) {
          world.clock.now += 100;
          await clock.tickAsync(100);
        }
      }
      return signals.slice(before).map((at) => at - began);
    };
    expect(await pend(400, 800)).toEqual([]);
    await pass(1);
    expect(signals).toHaveLength(1);

    await pass(2);
    const [first] = await pend(400, 12_000);
    expect(first).toBeGreaterThanOrEqual(9900);
    expect(first).toBeLessThanOrEqual(10_100);
  });

  // Rule `provisioning/nominated-pods`.
  test.each([
    ['another pod has filled is signalled within a second', undefined, 1],
    ['a pod has filled that a node was launched for, too, is not', 'shop/other', 0],
  ])('a pod whose planned node %s', async (_, alsoPlanned, expected) => {
    const initialized = { type: 'Initialized', status: 'True' as const, lastTransitionTime: '2026-01-05T12:00:00Z' };
    const put = (name: string, planned: string): void => {
      const status = { providerID: `fake:///a/${name}`, nodeName: `node-${name}`, conditions: [initialized] };
      const claim = nodeClaim(name, { status });
      const metadata = { ...claim.metadata, annotations: { [annotations.plannedPods]: planned } };
      world.kube.put('NodeClaim', { ...claim, metadata });
      world.kube.put('Node', {
        metadata: { name: `node-${name}` },
        spec: { providerID: `fake:///a/${name}` },
        status: { allocatable: { cpu: '4', pods: '1' } },
      });
    };
    put('a', 'shop/web');
    if (alsoPlanned !== undefined) put('b', alsoPlanned);
    putPod();
    const untried = { metadata: { name: 'other', namespace: 'shop', uid: 'other' }, spec: { containers: [] } };
    world.kube.put('Pod', untried);
    await world.synced();
    stop = watchPendingPods(context());
    await pass(3);
    expect(signals).toEqual([]);

    world.kube.put('Pod', { ...untried, spec: { ...untried.spec, nodeName: 'node-a' } });
    await world.synced();
    await pass(2);
    expect(signals).toHaveLength(expected);
  });

  // Rule `node-pools/status`.
  test('reconciles NodePools once a minute, and within five seconds of a change of their nodes', async () => {
    const status = { conditions: [{ type: 'Ready', status: 'True' as const }] };
    world.kube.put('EC2NodeClass', { ...nodeClass('default'), status });
    world.kube.put('NodePool', nodePool('default'));
    await world.synced();
    const counted = (): number | undefined => world.deps.cache.get('NodePool', { name: 'default' })?.status?.nodes;
    const own = context();
    const { cloud } = own;
    let looks = 0;
    const instanceTypes: typeof cloud.instanceTypes = async (...args) => {
      looks += 1;
      return cloud.instanceTypes(...args);
    };
    const counting = new Proxy(cloud, {
      get: (target, name) => (name === 'instanceTypes' ? instanceTypes : Reflect.get(target, name)),
    });
    stop = watchNodePools({ ...own, cloud: counting });
    await world.deps.cache.until(() => counted() === 0, AbortSignal.timeout(5000));
    await clock.tickAsync(60_000);
    const before = looks;
    await clock.tickAsync(600_000);
    expect(looks - before).toBe(10);

    const get = jest.spyOn(world.kube, 'get');
    const capacity = { cpu: '4', memory: '16Gi' };
    world.kube.put('NodeClaim', nodeClaim('a', { status: { providerID: 'fake:///a/i-1', capacity } }));
    await world.synced();
    await clock.tickAsync(5000);
    await world.synced();
    expect(counted()).toBe(1);
    expect(get).not.toHaveBeenCalled();
  });

  // Rule `node-classes/deletion`.
  test('reads its node class when a claim is gone only while the class is being deleted', async () => {
    const reads: string[] = [];
    const get = world.kube.get.bind(world.kube);
    jest.spyOn(world.kube, 'get').mockImplementation((kind, ref) => {
      reads.push(kind);
      return get(kind, ref);
    });
    const put = (metadata: object): void => {
      const made = nodeClass('default');
      world.kube.put('EC2NodeClass', { ...made, metadata: { ...made.metadata, ...metadata } });
    };
    const goes = async (name: string): Promise<void> => {
      reads.length = 0;
      world.kube.remove('NodeClaim', { name });
      await world.synced();
      await clock.tickAsync(100);
    };
    put({});
    for (const name of ['a', 'b']) world.kube.put('NodeClaim', nodeClaim(name));
    await world.synced();
    stop = watchNodeClasses(context());
    await clock.tickAsync(100);
    await goes('a');
    expect(reads).toEqual([]);

    put({ deletionTimestamp: '2026-01-05T12:00:00Z', finalizers: [finalizers.ec2NodeClass] });
    await world.synced();
    await clock.tickAsync(100);
    await goes('b');
    expect(reads).toContain('EC2NodeClass');
  });
});
