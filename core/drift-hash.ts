import { canonicalJson, digestOf } from './hash.js';

/** Fields whose entries count even if their value is empty: a label without a value is a label. */
const maps: ReadonlySet<string> = new Set(['labels', 'annotations', 'tags']);

function isNothing(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  if (Array.isArray(value)) return value.length === 0;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

/** The value with lists as sets and without empty values, so that equivalent values have equal texts. */
function normal(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => canonicalJson(normal(item))).sort();
  if (value === null || typeof value !== 'object') return value;
  const entries = Object.entries(value).map(([name, inner]) => [name, maps.has(name) ? inner : normal(inner)] as const);
  return Object.fromEntries(entries.filter(([, inner]) => !isNothing(inner)));
}

/** A hash that is equal for equivalent specs: lists are sets, empty values count as absent. */
export function specHash(spec: unknown): string {
  return digestOf(normal(spec));
}

/** A hash annotation and its version annotation. */
export interface HashStamp {
  readonly hash: string | undefined;
  readonly version: string | undefined;
}

/**
 * Whether a claim drifted from its pool or node class: both hashes exist, have the same version, and differ
 * (drift/hashes).
 */
export function hashDrifted(claim: HashStamp, current: HashStamp): boolean {
  if (claim.hash === undefined || current.hash === undefined) return false;
  return claim.version !== undefined && claim.version === current.version && claim.hash !== current.hash;
}

/**
 * New hash annotations of a claim when `current` has another version (node-pools/hash-version): always the version, and
 * the hash unless the claim already has a Drifted condition; undefined if the versions are equal.
 */
export function migratedStamp(claim: HashStamp, current: HashStamp, drifted: boolean): HashStamp | undefined {
  if (claim.version === current.version) return undefined;
  return { version: current.version, hash: drifted ? claim.hash : current.hash };
}
