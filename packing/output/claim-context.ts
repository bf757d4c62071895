import type { Compiled } from '../compile/compiled.js';
import type { PoolLimit } from '../compile/pool-limits.js';
import type { Feasibility } from '../place/feasibility.js';
import type { PlannedClaim } from '../types.js';

/** A claim without the names of its pods: equal claims share it. */
export type ClaimDescription = Omit<PlannedClaim, 'pods'>;

/** State shared by the claims of one pass. */
export interface ClaimContext {
  readonly compiled: Compiled;
  readonly feasibility: Feasibility;
  /** Limits that remain after the cheapest type of every claim; listing larger types consumes them. */
  readonly limits: readonly PoolLimit[];
  /** If given, claims that differ only in their pods are described once. */
  readonly described?: Map<string, ClaimDescription | undefined>;
}
