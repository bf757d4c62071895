import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createActivityWorld, nodeClaim } from '../test/builders/activity-world.js';
import type { ActivityWorld } from '../test/builders/activity-world.js';
import { watchObjectTimes } from './object-times.js';

describe('duration metrics (metrics/durations)', () => {
  let world: ActivityWorld;
  let stop: () => void;
  let seen: [string, object, number][];
  beforeEach(async () => {
    world = await createActivityWorld();
    seen = [];
    const metrics = {
      count: (name: string, labels: object, by = 1) => void seen.push([name, labels, by]),
      observe: (name: string, labels: object, value: number) => void seen.push([name, labels, value]),
    };
    stop = watchObjectTimes({ ...world.deps, metrics });
  });
  afterEach(() => {
    stop();
    world.stop();
  });

  const pod = (phase: string, nodeName?: string, ready: 'True' | 'False' = 'False', readyAt = '12:00:30'): void =>
    void world.kube.put('Pod', {
      metadata: { name: 'web', namespace: 'default', uid: 'web', creationTimestamp: '2026-01-05T12:00:00Z' },
      spec: { containers: [{ name: 'app' }], ...(nodeName === undefined ? {} : { nodeName }) },
      status: {
        phase,
        conditions: [
          ...(nodeName === undefined
            ? []
            : [{ type: 'PodScheduled', status: 'True' as const, lastTransitionTime: '2026-01-05T12:00:10Z' }]),
          { type: 'Ready', status: ready, lastTransitionTime: `2026-01-05T${readyAt}Z` },
        ],
      },
    });

  test("a pod's time to its node and to readiness is measured once", async () => {
    pod('Pending');
    await world.synced();
    pod('Pending', 'n1');
    await world.synced();
    expect(seen).toEqual([['pods_bound_duration_seconds', {}, 10]]);
    pod('Running', 'n1', 'True');
    await world.synced();
    pod('Running', 'n1', 'False');
    await world.synced();
    pod('Running', 'n1', 'True', '12:05:00');
    await world.synced();

    expect(seen).toEqual([
      ['pods_bound_duration_seconds', {}, 10],
      ['pods_startup_duration_seconds', {}, 30],
    ]);
  });

  test('a pod that ran before is not measured when it becomes ready again', async () => {
    pod('Running', 'n1', 'False');
    await world.synced();
    pod('Running', 'n1', 'True');
    await world.synced();

    expect(seen).toEqual([]);
  });

  test('a changed condition measures how long the old status lasted; an unchanged one nothing', async () => {
    const claim = (status: 'Unknown' | 'True', at: string): void =>
      void world.kube.put(
        'NodeClaim',
        nodeClaim('c1', {
          status: {
            conditions: [
              { type: 'Launched', status: 'True', reason: 'Launched', lastTransitionTime: '2026-01-05T12:00:00Z' },
              { type: 'Registered', status, reason: 'Registered', lastTransitionTime: `2026-01-05T${at}Z` },
            ],
          },
        }),
      );
    claim('Unknown', '12:00:00');
    await world.synced();
    claim('True', '12:00:45');
    await world.synced();

    expect(seen).toEqual([
      [
        'operator_nodeclaim_status_condition_transitions_total',
        { type: 'Registered', status: 'True', reason: 'Registered' },
        1,
      ],
      [
        'operator_nodeclaim_status_condition_transition_seconds',
        { type: 'Registered', status: 'Unknown', to_status: 'True' },
        45,
      ],
    ]);
  });
});
