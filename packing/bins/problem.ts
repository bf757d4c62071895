/**
 * Cost-minimal vector bin packing in numbers alone: no Kubernetes here. The compiler of `packing/` reduces a pass to
 * this form once zones are decided: a class of equal pods is an item, an offering with what daemons leave free is an offer.
 */
export interface BinProblem {
  /** How many resources a demand or a capacity has. */
  readonly dimensions: number;
  readonly offers: BinOffers;
  readonly items: Items;
  /** Limits on how many pods of some items may share one bin (hostname spread and self anti-affinity). */
  readonly caps: readonly Cap[];
  /** Pairs of items that may never share a bin (hostname anti-affinity, host ports, labels that exclude each other). */
  readonly conflicts: readonly (readonly [number, number])[];
  /** Totals over all bins of a solution that must not be exceeded (NodePool limits, reservations). */
  readonly limits: readonly Limit[];
  /** Bins that exist already and cost nothing more: nodes, or claims of an earlier tier. Filled before any new bin. */
  readonly openBins: readonly OpenBin[];
}

export interface BinOffers {
  readonly count: number;
  /** Dollars per hour, by offer. */
  readonly price: Float64Array;
  /** Row-major: `capacity[offer * dimensions + d]`. */
  readonly capacity: Float64Array;
}

interface Items {
  readonly count: number;
  /** How many pods, by item. */
  readonly pods: Int32Array;
  /** Row-major: `demand[item * dimensions + d]`. */
  readonly demand: Float64Array;
  /** By item: the offers that may hold it, a bit set over offers (32 a word). Equal sets are one object. */
  readonly allowed: readonly Uint32Array[];
  /** By item: the same offers and those that may hold it beside an item that they are allowed for. Absent: only the allowed ones. */
  readonly riding?: readonly Uint32Array[];
}

export interface Cap {
  readonly items: Int32Array;
  /** Pods of all `items` together in one bin, at most. */
  readonly max: number;
}

export interface Limit {
  /** What one bin of each offer uses; zero where the limit does not apply. */
  readonly use: Float64Array;
  readonly remaining: number;
}

export interface OpenBin {
  /** Free amounts, by dimension. */
  readonly free: Float64Array;
  /** Items that may go here, a bit set over items. */
  readonly allowed: Uint32Array;
  /** What it holds already of each cap's items, by cap. */
  readonly capUse: Int32Array;
  /** Items already inside, for conflicts. */
  readonly holds: readonly number[];
}

export interface Bin {
  /** Index of the offer, the cheapest that fits. */
  readonly offer: number;
  /** Parallel arrays: which items, and how many pods of each. */
  readonly items: Int32Array;
  readonly pods: Int32Array;
}

export interface BinSolution {
  readonly bins: readonly Bin[];
  /** By open bin: what was put there. */
  readonly filled: readonly { readonly items: Int32Array; readonly pods: Int32Array }[];
  /** Pods left over, by item. */
  readonly unplaced: Int32Array;
  /** Sum of the bins' prices. */
  readonly price: number;
}

/** How much work the search may do, in its own units; the clock never ends it, so equal inputs give equal results. */
export interface Effort {
  readonly units: number;
  /** Items and columns that may be visited while contents of whole bins are searched, each less work than a unit; absent: ten for each unit. */
  readonly visits?: number;
  /** What the packing is to cost less than: it is searched only where what is built at first comes near that. */
  readonly most?: number;
}
