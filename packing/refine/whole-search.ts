import { searchExactly } from './exact-search.js';
import { Exchanges } from './exchanges.js';
import type { Incumbent } from './incumbent.js';
import { Search } from './search.js';

/** Effort of a search while it finds better plans, or while pods are unplaced. */
const searchUnits = 400_000;
/**
 * Share of it after which a search without improvement ends. With the whole effort, plans cost 0.1% less and a pass
 * takes 1.6 times as long.
 */
const firstShare = 0.25;
/** Effort for placing unplaced pods and for joining nodes. */
const roomUnits = 15_000;
/** Up to this many topology rules that select a pod, on average, a move takes no more time than its units stand for. */
const rulesOfMove = 48;
/** With more, the few moves that the effort allows find too little. */
const rulesWithoutSearch = 20 * rulesOfMove;

/** From this gap on between the price and the lower bound, as a share, the whole effort is used; for smaller gaps less. */
const fullSearchGap = 0.2;
const leastShare = 0.05;

interface SearchAim {
  /** A price near enough to the lower bound; undefined where only unplaced pods matter. */
  readonly target: number | undefined;
  /** How many topology rules select a pod, on average: the work of a move grows with it. */
  readonly rulesOfPod: number;
  /** What each node counts more than its price, dollars per hour; the gap does not count it. */
  readonly nodeCost: number;
  /** Whether every place of every pod is tried first, as far as the effort allows. */
  readonly isExact: boolean;
}

/** Places unplaced pods; where there is a target, also searches for a better plan. */
export function searchWhole(best: Incumbent, { target, rulesOfPod, nodeCost, isExact }: SearchAim): void {
  const search = new Search(best);
  search.placeUnplaced();
  if (target !== undefined && (best.isEnough(target) || (isExact && searchExactly(best) && best.unplaced.length === 0)))
    return;
  if (rulesOfPod > rulesWithoutSearch) return;
  const share = Math.min(1, rulesOfMove / Math.max(1, rulesOfPod));
  const units = Math.floor(searchUnits * share);
  const room = Math.floor(roomUnits * share);
  const exchanges = new Exchanges(best);
  const run = (): void => {
    if (target === undefined) return;
    const first = best.unplaced.length > 0 ? 1 : firstShare * shareForGap(best, target, nodeCost);
    search.run({ units: Math.floor(units * first), most: units, target });
  };
  run();
  if (exchanges.makeRoom(room)) run();
  if (target === undefined) return;
  if (!best.isEnough(target)) exchanges.exchange(room);
  exchanges.join(room);
}

/** The share of the effort to use by the gap between the price and the lower bound. */
function shareForGap(best: Incumbent, target: number, nodeCost: number): number {
  const whole = best.price - nodeCost * best.state.tentativeNodes.length;
  if (target <= 0 || whole <= 0) return 1;
  return Math.max(leastShare, Math.min(1, (best.price - target) / whole / fullSearchGap));
}
