import { Exchanges } from './exchanges.js';
import type { Incumbent } from './incumbent.js';
import { Search } from './search.js';

const searchUnits = 600_000;
/** Of search for pods left over, whatever the size of the plan, and for nodes that may as well be one. */
const roomUnits = 50_000;
/** With so many rules that select a pod, on average, moves cost no more than the units of search count for. */
const rulesOfMove = 48;
/** With so many, what a search could find is not worth what its few moves cost. */
const rulesWithoutSearch = 20 * rulesOfMove;

/** Where the price is this much above the least possible, as a share, search is done in full; where less can be gained there is less of it. */
const gapInFull = 0.2;
const leastShare = 0.05;
/** Of search for a lower price with the nodes that are left, once there are fewer. */
const fewerUnits = 60_000;

/** How much of the margin for fewer nodes may be spent, step by step. */
const sharesForFewer = [0.1, 0.3, 0.6, 1];

export interface Aim {
  /** The price that is near enough to the least possible; undefined where only pods left over are searched for. */
  readonly target: number | undefined;
  /** How many rules select a pod, on average: a move is as much work as that. */
  readonly rulesOfPod: number;
  /** What every node counts as more than its price, dollars per hour: that is no part of what the gap is a share of. */
  readonly nodeCost: number;
  /** How many times the cheapest price a plan with fewer nodes may cost. */
  readonly fewest: number;
}

/** Searches for places for pods left over; where there is a target, for a better plan too. */
export function searchWhole(best: Incumbent, { target, rulesOfPod, nodeCost, fewest }: Aim): void {
  const search = new Search(best);
  search.addLeft();
  if (rulesOfPod > rulesWithoutSearch) return;
  const share = Math.min(1, rulesOfMove / Math.max(1, rulesOfPod));
  const units = Math.floor(searchUnits * share);
  const room = Math.floor(roomUnits * share);
  const exchanges = new Exchanges(best);
  const run = (): void => {
    if (target !== undefined)
      search.run({ units: Math.floor(units * hopeOf(best, target, nodeCost)), most: units, target });
  };
  run();
  if (exchanges.makeRoom(room)) run();
  if (target === undefined) return;
  if (!best.isEnough(target)) exchanges.exchange(room);
  exchanges.join(room);
  // What becomes least dearer first.
  const { price } = best;
  for (const share of fewest > 1 ? sharesForFewer : []) {
    best.preferFewer(price * (1 + (fewest - 1) * share));
    exchanges.join(room);
  }
  if (best.price > price) search.lookAround({ units: Math.floor(fewerUnits * share), target });
}

/** How much of the search the gap to the bound is worth; pods that are left out are worth all of it. */
function hopeOf(best: Incumbent, target: number, nodeCost: number): number {
  const whole = best.price - nodeCost * best.board.tentativeNodes.length;
  if (best.left.length > 0 || target <= 0 || whole <= 0) return 1;
  return Math.max(leastShare, Math.min(1, (best.price - target) / whole / gapInFull));
}
