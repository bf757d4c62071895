import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { conditionOf } from '../../core/conditions.js';
import { createActivityWorld, nodeClass, nodePool } from '../../test/builders/activity-world.js';
import type { ActivityWorld } from '../../test/builders/activity-world.js';
import { operatorContext } from '../../test/builders/operator-context.js';
import { watchNodePools } from '../node-pools.js';
import type { ObservedEngine } from './observed.js';
import { StuckWatch } from './watch-stuck.js';

const healthy: ObservedEngine = { workflows: [], missing: [], foreign: [], queues: [], failed: [] };

describe('reporting stuck findings', () => {
  let world: ActivityWorld;
  let engine: () => Promise<ObservedEngine>;
  let watch: StuckWatch;
  let said: string[];
  let terminated: string[];
  let measured: Map<string, number>;
  let stop: () => void;

  beforeEach(async () => {
    world = await createActivityWorld();
    [said, measured, stop] = [[], new Map(), () => undefined];
    const say = (facts: object, message: string): void =>
      void said.push(`${message}: ${(facts as { kind?: string }).kind}`);
    const log = { debug: say, info: say, warn: say, error: say };
    const set = (name: string, labels: object, value: number): void =>
      void measured.set(`${name} ${Object.values(labels).join()}`, value);
    const metrics = { ...world.deps.metrics, set };
    engine = () => Promise.resolve(healthy);
    terminated = [];
    const terminate = (id: string): Promise<void> => Promise.resolve(void terminated.push(id));
    watch = new StuckWatch({ ...world.deps, log, metrics }, () => engine(), { all: [] }, terminate);
    world.kube.put('EC2NodeClass', nodeClass('default'));
    world.kube.put('NodePool', nodePool('default'));
    world.kube.put('Pod', {
      metadata: { name: 'web', namespace: 'shop', uid: 'u' },
      spec: { containers: [] },
      status: { conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] },
    });
    await world.synced();
  });
  afterEach(() => {
    stop();
    world.stop();
  });

  const failingEngine = (): Promise<ObservedEngine> => {
    const workflow = {
      workflowId: 'test/provision',
      type: 'provision',
      historyEvents: 10,
      historyBytes: 10,
      activities: [],
      failing: { since: world.clock.now, why: 'no instance types' },
    };
    return Promise.resolve({ ...healthy, workflows: [workflow] });
  };
  const gauges = () => [measured.get('stowage_stuck failing'), measured.get('stowage_stuck_oldest_seconds failing')];

  test('a finding is logged once, and is in the metrics as long as it lasts', async () => {
    const stuck = await failingEngine();
    engine = () => Promise.resolve(stuck);
    await watch.check();
    world.clock.now += 40_000;
    await watch.check();
    expect([said, gauges()]).toEqual([['stuck: failing'], [1, 40]]);

    engine = () => Promise.resolve(healthy);
    await watch.check();
    expect([said.at(-1), gauges()]).toEqual(['no longer stuck: failing', [0, 0]]);
  });

  // Rule `invariants/rebuilt`.
  test('a workflow that cannot go on from its history is terminated after a minute, one that fails otherwise is not', async () => {
    const failingSince = world.clock.now;
    const task = { attempt: 9, isStarted: false, scheduledAt: failingSince, failingSince, failure: 'a reason' };
    const [failing] = (await failingEngine()).workflows;
    const diverged = { ...failing!, workflowId: 'test/disrupt', task: { ...task, isDiverged: true } };
    engine = () => Promise.resolve({ ...healthy, workflows: [{ ...failing!, task }, diverged] });
    world.clock.now += 59_000;
    await watch.check();
    expect(terminated).toEqual([]);
    world.clock.now += 1000;
    await watch.check();
    expect(terminated).toEqual(['test/disrupt']);
  });

  test('a queue whose workers start together with the operator is not reported', async () => {
    const unpolled = { name: 'test/control', tasks: 'workflow', backlog: 0, backlogAgeMs: 0 } as const;
    engine = () => Promise.resolve({ ...healthy, queues: [unpolled] });
    await watch.check();
    expect(said).toEqual([]);
    engine = () => Promise.resolve({ ...healthy, queues: [{ ...unpolled, polledAt: world.clock.now }] });
    await watch.check();
    expect(said).toEqual([]);

    engine = () => Promise.resolve({ ...healthy, queues: [unpolled] });
    await watch.check();
    await watch.check();
    expect(said).toEqual(['stuck: queue']);
  });

  test('stuck planning sets events on waiting pods and NodePools after half a minute', async () => {
    const stuck = await failingEngine();
    engine = () => Promise.resolve(stuck);
    await watch.check();
    expect([watch.planning, world.events]).toEqual([undefined, []]);
    world.clock.now += 30_000;
    await watch.check();
    expect(world.events).toMatchObject([
      {
        regarding: { kind: 'Pod', namespace: 'shop', name: 'web', uid: 'u' },
        reason: 'FailedScheduling',
        message: 'Stowage cannot plan a node for the pod now: test/provision: no instance types',
      },
    ]);

    stop = watchNodePools(operatorContext(world, { podsPending: () => Promise.resolve() }, { stuck: watch }));
    const planned = () =>
      conditionOf(world.deps.cache.get('NodePool', { name: 'default' })?.status?.conditions, 'PodsPlanned');
    await world.deps.cache.until(() => planned() !== undefined, AbortSignal.timeout(5000));
    expect(planned()).toMatchObject({ status: 'False', message: 'test/provision: no instance types' });
  });

  test('an unreachable Temporal is reported; nothing is reported after the end', async () => {
    engine = () => Promise.reject(new Error('connection refused'));
    await watch.check();
    expect([said, measured.get('stowage_stuck temporal')]).toEqual([['stuck: temporal'], 1]);
    const looking = watch.check();
    watch.end();
    await looking;
    expect([said, measured.get('stowage_stuck temporal')]).toEqual([['stuck: temporal'], 0]);
  });
});
