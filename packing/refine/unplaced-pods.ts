import type { Pod } from '../../api/kubernetes.js';
import type { Compiled } from '../compile/compiled.js';
import type { PodClass } from '../compile/classes.js';
import { hasPodAffinity } from '../compile/relaxation-levels.js';

/** A pod that is to be placed, and the last level that it may fall to. */
export interface UnplacedPod {
  readonly podClass: PodClass;
  readonly pod: Pod;
  readonly lastLevel: number;
}

/** Gives those that found no place; once one of a class has none, no other of it is tried. */
export function insertAll(unplaced: readonly UnplacedPod[], insert: (each: UnplacedPod) => boolean): UnplacedPod[] {
  const failed = new Set<PodClass>();
  return unplaced.filter((each) => {
    if (!failed.has(each.podClass) && insert(each)) return false;
    failed.add(each.podClass);
    return true;
  });
}

interface OrderOptions {
  /** How often pods of a class were left out before; they go first. */
  readonly complaints?: ReadonlyMap<PodClass, number>;
  /** Classes that come after all others. */
  readonly last?: ReadonlySet<PodClass>;
  /** What takes the place of a class's rank, which is 0 for the largest. */
  readonly key?: (rank: number) => number;
}

/** In which order pods are placed one by one. */
export class PlacingOrder {
  private readonly ranks: ReadonlyMap<PodClass, number>;

  constructor(private readonly compiled: Compiled) {
    this.ranks = new Map(compiled.queue.map((podClass, i) => [podClass, i]));
  }

  /** Largest first, those with pod affinity after all others. */
  of(unplaced: readonly UnplacedPod[], { complaints, last, key = (rank) => rank }: OrderOptions = {}): UnplacedPod[] {
    const later = ({ podClass }: UnplacedPod): number => {
      if (last?.has(podClass) === true) return 2;
      return this.compiled.levelsByShape[podClass.shape.index]!.some(hasPodAffinity) ? 1 : 0;
    };
    return unplaced
      .map((each, i) => ({
        each,
        i,
        complaints: complaints?.get(each.podClass) ?? 0,
        later: later(each),
        key: key(this.ranks.get(each.podClass)!),
      }))
      .sort((a, b) => b.complaints - a.complaints || a.later - b.later || a.key - b.key || a.i - b.i)
      .map(({ each }) => each);
  }
}
