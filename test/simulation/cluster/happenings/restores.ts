import type { Stage } from '../stage.js';
import { listed, pickOr } from './happening.js';

const dayMs = 24 * 60 * 60_000;

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
      invariants.reasons.forget();
    },
  },
  {
    name: 'Temporal is restored as it was some minutes ago',
    weight: 1,
    happens: (stage) => restoreTemporal(stage, stage.random.int(1, 15 * 60) * 1000),
  },
  // Rare: such a run has a day more than others.
  {
    name: 'Temporal is restored as it was yesterday',
    weight: 0.05,
    happens: (stage) => restoreTemporal(stage, dayMs),
  },
  {
    name: 'the cluster is restored as it was yesterday',
    weight: 0.05,
    happens: (stage) => restoreCluster(stage, () => undefined, dayMs),
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
  const { random } = stage;
  const apartMs = random.int(1, 300) * 1000;
  const isTemporalFirst = random.chance(0.5);
  const ofTemporal = (afterMs: number): void => restoreTemporal(stage, afterMs);
  const ofCluster = (): void => restoreCluster(stage, () => undefined);
  const [first, second] = isTemporalFirst ? [ofTemporal, ofCluster] : [ofCluster, ofTemporal];
  const afterMs = random.int(1, 10 * 60) * 1000;
  first(apartMs + afterMs);
  setTimeout(() => second(afterMs), apartMs);
}

/** After so long Temporal is as it is now. */
function restoreTemporal({ later, temporal, invariants }: Stage, afterMs: number): void {
  const bringBack = temporal.backup();
  later(afterMs, () => {
    bringBack();
    invariants.reasons.forget();
  });
}

/** After so long the API server is away for a while and comes back as it is now; `begun` hears when, and for how long. */
function restoreCluster(
  { random, later, outages, sets, ruled, cluster, invariants }: Stage,
  begun: (awayMs: number) => void,
  afterMs = random.int(1, 15 * 60) * 1000,
): void {
  const bringBack = cluster.backup();
  later(afterMs, () => {
    const awayMs = random.int(5, 60) * 1000;
    begun(awayMs);
    const end = outages.begin('Kubernetes');
    bringBack();
    invariants.budgets.excuse();
    invariants.rules.excuse();
    invariants.reasons.forget();
    for (const set of [...sets, ...ruled]) later(5000, () => void set.resume());
    later(awayMs, end);
  });
}
