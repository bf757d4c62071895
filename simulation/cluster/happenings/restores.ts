import type { Stage } from '../stage.js';
import { listed, pickOr } from './happening.js';

/** What comes back as it was some time ago. */
export const restoreHappenings = listed([
  {
    name: 'the cluster is restored as it was some minutes ago',
    weight: 1,
    happens: (stage) => restoreCluster(stage, () => undefined),
  },
  {
    name: 'a process stops while the cluster is restored',
    weight: 1,
    happens: (stage) =>
      restoreCluster(stage, (awayMs) => stage.processes.freeze(stage.random, awayMs + stage.random.int(1, 120) * 1000)),
  },
  {
    name: 'the cluster and Temporal are restored as they were, each at another time',
    weight: 2,
    happens: (stage) => restoreBoth(stage),
  },
  {
    name: 'Temporal loses every workflow',
    weight: 1,
    happens: ({ temporal, invariants }) => {
      temporal.lose();
      invariants.forgetReasons();
    },
  },
  {
    name: 'Temporal is restored as it was some minutes ago',
    weight: 1,
    happens: ({ random, later, temporal, invariants }) => {
      const bringBack = temporal.backup();
      later(random.int(1, 15 * 60) * 1000, () => {
        bringBack();
        invariants.forgetReasons();
      });
    },
  },
  {
    name: 'a workflow is reset to where it was some minutes ago',
    weight: 2,
    happens: ({ random, later, temporal }) => {
      const run = pickOr(
        random,
        [...temporal.all].filter(({ isOpen }) => isOpen),
      );
      if (run !== undefined) later(random.int(1, 5 * 60) * 1000, temporal.checkpoint(run));
    },
  },
]);

/** Backups of both, seconds to minutes apart; some minutes later both come back, in either order. */
function restoreBoth(stage: Stage): void {
  const { random, later, temporal, invariants } = stage;
  const restoreTemporal = (afterMs: number): void => {
    const bringBack = temporal.backup();
    later(afterMs, () => {
      bringBack();
      invariants.forgetReasons();
    });
  };
  const apartMs = random.int(1, 300) * 1000;
  const isTemporalFirst = random.chance(0.5);
  const first = isTemporalFirst ? restoreTemporal : (): void => restoreCluster(stage, () => undefined);
  const second = isTemporalFirst ? (): void => restoreCluster(stage, () => undefined) : restoreTemporal;
  const afterMs = random.int(1, 10 * 60) * 1000;
  first(apartMs + afterMs);
  setTimeout(() => second(afterMs), apartMs);
}

/** After some minutes the API server is away for a while and comes back as it is now; `begun` hears when, and for how long. */
function restoreCluster(
  { random, later, outages, sets, ruled, cluster, invariants }: Stage,
  begun: (awayMs: number) => void,
): void {
  const bringBack = cluster.backup();
  later(random.int(1, 15 * 60) * 1000, () => {
    const awayMs = random.int(5, 60) * 1000;
    begun(awayMs);
    const end = outages.begin('Kubernetes');
    bringBack();
    invariants.budgets.excuse();
    invariants.rules.excuse();
    invariants.forgetReasons();
    for (const set of [...sets, ...ruled]) later(5000, () => void set.resume());
    later(awayMs, end);
  });
}
