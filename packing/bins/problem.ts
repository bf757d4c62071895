/**
 * Cost-minimal vector bin packing with numbers only, without Kubernetes. Packing reduces a pass to this form once zones
 * are decided: a class of equal pods becomes an item, an offering minus daemon overhead becomes an offer.
 */
export interface BinProblem {
  /** Number of resources of a demand or a capacity. */
  readonly dimensions: number;
  readonly offers: BinOffers;
  readonly items: Items;
  /** Limits on how many pods of some items may share one bin (hostname spread and self anti-affinity). */
  readonly caps: readonly Cap[];
  /** Pairs of items that may never share a bin (hostname anti-affinity, host ports, labels that exclude each other). */
  readonly conflicts: readonly (readonly [number, number])[];
  /** Totals over all bins of a solution that must not be exceeded (NodePool limits, reservations). */
  readonly limits: readonly Limit[];
  /** Bins that exist already and cost nothing more. They lower the bound alone: packings do not fill them. Absent: none. */
  readonly openBins?: readonly OpenBin[];
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
  /** By item: the number of pods. */
  readonly pods: Int32Array;
  /** Row-major: `demand[item * dimensions + d]`. */
  readonly demand: Float64Array;
  /** By item: the offers that may hold it, a bit set over offers (32 a word). Equal sets are one object. */
  readonly allowed: readonly Uint32Array[];
  /**
   * By item: the allowed offers plus those on which it may ride, beside an item that can open the bin. Absent: only the
   * allowed ones.
   */
  readonly riding?: readonly Uint32Array[];
}

export interface Cap {
  readonly items: Int32Array;
  /** Maximum number of pods of all `items` together in one bin. */
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
  /** Pods left over, by item. */
  readonly unplaced: Int32Array;
  /** Sum of the bins' prices. */
  readonly price: number;
}

/** Limits of the search, never in time, so that equal inputs give equal results. */
export interface Effort {
  /** While contents of whole bins are searched, so many times ten items and columns are visited; 0: no search. */
  readonly units: number;
  /** The packing should cost less than this: search continues only if the first packing comes near it. */
  readonly most?: number;
}
