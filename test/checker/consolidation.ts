import type { ClaimJson } from './types.js';

/** What `stowage consolidate -o json` prints, as far as a judge needs it; the peer prints the same. */
export interface ConsolidationJson {
  readonly engine: string;
  readonly nodesBefore: number;
  readonly nodesAfter: number;
  readonly priceBefore: number;
  readonly priceAfter: number;
  readonly totalMs: number;
  readonly commands: readonly CommandJson[];
}

export interface CommandJson {
  readonly method: string;
  readonly decision: string;
  readonly candidates: readonly string[];
  readonly replacements: readonly ClaimJson[];
  readonly moves: readonly { readonly pod: string; readonly to: string }[];
  readonly priceBefore: number;
  readonly priceAfter: number;
}
