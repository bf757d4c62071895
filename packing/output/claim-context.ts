import type { Compiled } from '../compile/compiled.js';
import type { Launchable } from '../compile/launchables.js';
import type { PoolLimit } from '../compile/pool-limits.js';
import type { Feasibility } from '../place/feasibility.js';
import type { Requirements } from '../requirements/requirements.js';
import type { PlannedClaim } from '../types.js';
import type { DescriptionCache } from './description-cache.js';

/** A claim without the names of its pods: equal claims share it. */
export type ClaimDescription = Omit<PlannedClaim, 'pods'>;

/** What the claims of one pass share. */
export interface ClaimContext {
  readonly compiled: Compiled;
  readonly feasibility: Feasibility;
  /** What limits leave beyond the cheapest type of every claim; listing larger types uses it up. */
  readonly limits: readonly PoolLimit[];
  /** By the requirements of a claim: what it may launch. */
  readonly candidates: Map<string, ClaimCandidates>;
  /** Where given, claims that are alike but for their pods are described once. */
  readonly described?: DescriptionCache<ClaimDescription | undefined>;
}
/** What is in the lists of the types, in order; most have the list of the one before. */
export function distinct<T>(listed: readonly Launchable[], listOf: (one: Launchable) => readonly T[]): Set<T> {
  const found = new Set<T>();
  let last: readonly T[] | undefined;
  for (const one of listed) {
    const list = listOf(one);
    if (list === last) continue;
    last = list;
    for (const each of list) found.add(each);
  }
  return found;
}
export interface ClaimCandidates {
  readonly joint: Requirements;
  readonly types: readonly Launchable[];
  readonly requirements: Map<string, WrittenRequirements>;
}
/** What a claim carries of its requirements; the same for all claims that may launch alike. */
export interface WrittenRequirements {
  readonly written: PlannedClaim['requirements'];
  readonly chosen: Readonly<Record<string, string>>;
}
