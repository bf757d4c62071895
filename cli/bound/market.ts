import type { Contents } from '../../packing/bins/contents.js';

/** Bins that the same items may be in, and that count for the same requirements. */
export interface Market {
  /** Items that may be here, ascending. */
  readonly items: Int32Array;
  /** Requirements that pods in these bins count for. */
  readonly requirements: readonly number[];
  readonly bins: readonly {
    readonly price: number;
    /** As wide as `Contents`. */
    readonly capacity: Float64Array;
    /** Of each limit. */
    readonly use: Float64Array;
  }[];
  /** How many bins there are together; absent: as many as are bought. */
  readonly count?: number;
  /** Each of the bins has some of these items; absent: any. */
  readonly openers?: Int32Array;
}

/** So many pods at least of these items are in bins of the markets that name it. */
interface LeastInBins {
  readonly items: Int32Array;
  readonly least: number;
}

export interface MarketProblem extends Contents {
  readonly markets: readonly Market[];
  readonly requirements: readonly LeastInBins[];
  /** What is left of each limit. */
  readonly limits: readonly number[];
}

/** A content of a bin of a market: how many pods of which items. */
export interface MarketContent {
  readonly market: number;
  /** Of the bins of the market. */
  readonly bin: number;
  readonly items: readonly number[];
  readonly pods: readonly number[];
}

/** Pods that share a bin: how many of which item. */
export type Content = ReadonlyMap<number, number>;
