import type { Contents } from '../../packing/bins/contents.js';

/** Bins that admit the same items and count to the same requirements. */
export interface Market {
  /** Admitted items, ascending. */
  readonly items: Int32Array;
  /** Requirements to which pods in these bins count. */
  readonly requirements: readonly number[];
  readonly bins: readonly {
    readonly price: number;
    /** With the same width as `Contents`. */
    readonly capacity: Float64Array;
    /** Use of each limit. */
    readonly use: Float64Array;
  }[];
  /** Total number of bins; absent: unlimited, they are bought. */
  readonly count?: number;
  /** Each bin must hold at least one of these items; absent: any. */
  readonly openers?: Int32Array;
}

/** Minimum number of pods of these items in bins of the markets that name the requirement. */
interface LeastInBins {
  readonly items: Int32Array;
  readonly least: number;
}

export interface MarketProblem extends Contents {
  readonly markets: readonly Market[];
  readonly requirements: readonly LeastInBins[];
  /** Remaining amount of each limit. */
  readonly limits: readonly number[];
}

/** A content of a bin in a market: pods by item. */
export interface MarketContent {
  readonly market: number;
  /** Index into the bins of the market. */
  readonly bin: number;
  readonly items: readonly number[];
  readonly pods: readonly number[];
}

/** Pods that share a bin: number by item. */
export type Content = ReadonlyMap<number, number>;
