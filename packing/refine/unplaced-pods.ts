import type { Pod } from '../../api/kubernetes.js';
import type { Compiled } from '../compile/compiled.js';
import type { PodClass } from '../compile/classes.js';
import { hasPodAffinity } from '../compile/relaxation-levels.js';

/** A pod without a node, and the last relaxation level at which it may be placed. */
export interface UnplacedPod {
  readonly podClass: PodClass;
  readonly pod: Pod;
  readonly lastLevel: number;
}

/** Returns the pods that stay unplaced. Once a pod of a class stays unplaced, the others of the class are not tried. */
export function insertAll(unplaced: readonly UnplacedPod[], insert: (each: UnplacedPod) => boolean): UnplacedPod[] {
  const failed = new Set<PodClass>();
  return unplaced.filter((each) => {
    if (!failed.has(each.podClass) && insert(each)) return false;
    failed.add(each.podClass);
    return true;
  });
}

interface OrderOptions {
  /** How often pods of a class were unplaced; most often first. */
  readonly timesUnplaced?: ReadonlyMap<PodClass, number>;
  /** Classes that come before all others. */
  readonly first?: ReadonlySet<PodClass>;
  /** Classes that come after all others. */
  readonly last?: ReadonlySet<PodClass>;
  /** Of pods that are not `first` or `last` and equal in pod affinity, the highest value comes first. */
  readonly early?: (each: UnplacedPod) => number;
  /** Maps the rank of a class (0 for the largest) to its position in the order. */
  readonly key?: (rank: number) => number;
}

/** The order in which pods are placed one by one. */
export class PlacingOrder {
  private readonly ranks: ReadonlyMap<PodClass, number>;

  constructor(private readonly compiled: Compiled) {
    this.ranks = new Map(compiled.queue.map((podClass, i) => [podClass, i]));
  }

  /** Largest first; pods with pod affinity after all others. */
  of(
    unplaced: readonly UnplacedPod[],
    { timesUnplaced, first, last, early = () => 0, key = (rank) => rank }: OrderOptions = {},
  ): UnplacedPod[] {
    const later = ({ podClass }: UnplacedPod): number => {
      if (first?.has(podClass) === true) return -1;
      if (last?.has(podClass) === true) return 2;
      return this.compiled.levelsByShape[podClass.shape.index]!.some(hasPodAffinity) ? 1 : 0;
    };
    return unplaced
      .map((each, i) => ({
        each,
        i,
        timesUnplaced: timesUnplaced?.get(each.podClass) ?? 0,
        later: later(each),
        early: early(each),
        key: key(this.ranks.get(each.podClass)!),
      }))
      .sort(
        (a, b) =>
          b.timesUnplaced - a.timesUnplaced || a.later - b.later || b.early - a.early || a.key - b.key || a.i - b.i,
      )
      .map(({ each }) => each);
  }
}
