import { beforeAll, describe, expect, test } from '@jest/globals';
import { labels } from '../../api/labels.js';
import { workloads } from '../simulation/cluster/pools.js';
import { simulate } from '../simulation/cluster/simulate.js';
import type { SimulationResult } from '../simulation/cluster/simulate.js';
import type { SimulatedCluster } from '../simulation/cluster/world.js';
import { isUnassigned } from '../../core/pods.js';
import { testBundle } from '../workflow/bundle.js';

const minute = 60_000;

describe('launches for a backlog of pending pods', () => {
  let code = '';
  beforeAll(async () => {
    ({ code } = await testBundle());
  });

  const play = (
    seed: number,
    prepare: (cluster: SimulatedCluster) => void,
    [leastReplicas, replicas] = [20, 30],
  ): Promise<SimulationResult> =>
    simulate(
      {
        ...{ seed, prepare, leastReplicas, replicas, withoutFaults: true },
        ...{ unrestMs: 30 * minute, healMs: 60 * minute, restMs: 10 * minute },
        script: [{ atMs: 30 * minute, draw: 1, name: 'nothing' }],
      },
      code,
    );
  /** Pending pods are replaced by others meanwhile, as by a rollout: the plan has nodes for pods that are gone. */
  const replacesPods =
    (fromMs: number, everyMs: number, times: number) =>
    ({ cache, kube }: SimulatedCluster): void => {
      const replace = (left: number): void => {
        const waiting = cache.all('Pod').filter(isUnassigned);
        for (const { metadata } of waiting.filter((_, i) => i % 2 === 0))
          void kube.delete('Pod', { namespace: metadata.namespace, name: metadata.name ?? '' });
        if (left > 1) setTimeout(() => replace(left - 1), everyMs);
      };
      setTimeout(() => replace(times), fromMs);
    };
  const suspends = (fromMs: number, forMs: number) => (cluster: SimulatedCluster) =>
    void setTimeout(() => cluster.scheduler.suspend(forMs), fromMs);

  // Rule `consolidation/room-of-pending-pods`.
  test.each([1, 2, 4])(
    'nodes launched for it are kept while kube-scheduler does nothing for minutes, seed %i',
    async (seed) => {
      expect((await play(seed, suspends((20 + 15 * seed) * 1000, 9 * minute))).problems).toEqual([]);
    },
  );

  // Rule `consolidation/room-of-pending-pods`.
  test.each([1, 2])('nodes launched for it are kept while its pods are replaced by others, seed %i', async (seed) => {
    const fromMs = (20 + 15 * seed) * 1000;
    const prepare = (cluster: SimulatedCluster): void => {
      suspends(fromMs, 9 * minute)(cluster);
      replacesPods(fromMs + minute, 2 * minute, 3)(cluster);
    };
    expect((await play(seed, prepare)).problems).toEqual([]);
  });

  // Rule `provisioning/refused-pods`.
  test.each([1, 2])(
    'pods that kube-scheduler refuses for reasons of another plugin cause few useless launches, seed %i',
    async (seed) => {
      const refuses = ({ scheduler }: SimulatedCluster): void => {
        const end = scheduler.refuseAll('middle');
        setTimeout(end, 28 * minute);
      };
      expect((await play(seed, refuses)).problems).toEqual([]);
    },
  );

  // Rule `provisioning/refused-pods`.
  test.each([1, 2])(
    'pods that fit on no node of any type cause few useless launches, though each would take another type, seed %i',
    async (seed) => {
      const refuses = ({ scheduler, cloud }: SimulatedCluster): void => {
        const ends = workloads.map(({ app }) => scheduler.refuseAll(app));
        let tried: string[] = [];
        const { onLaunch } = cloud;
        cloud.onLaunch = (instance, request) => {
          tried = [instance.labels[labels.instanceType] ?? '', ...tried].slice(0, 4);
          cloud.sellOnly((name) => !tried.includes(name));
          // Its kubelet keeps nearly all for itself: planning sees no room there.
          onLaunch({ ...instance, allocatable: { ...instance.allocatable, cpu: 0.1 } }, request);
        };
        setTimeout(() => {
          cloud.onLaunch = onLaunch;
          cloud.sellOnly(() => true);
          for (const end of ends) end();
        }, 28 * minute);
      };
      expect((await play(seed, refuses, [1, 1])).problems).toEqual([]);
    },
  );
});
