import { canonicalJson, digestOf } from './hash.js';

/** Fields whose entries count even when their value is empty: a label with no value is a label. */
const maps: ReadonlySet<string> = new Set(['labels', 'annotations', 'tags']);

function isNothing(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  if (Array.isArray(value)) return value.length === 0;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

/** The value with lists as sets and without what says nothing, so that equal meanings have equal texts. */
function normal(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => canonicalJson(normal(item))).sort();
  if (value === null || typeof value !== 'object') return value;
  const entries = Object.entries(value).map(([name, inner]) => [name, maps.has(name) ? inner : normal(inner)] as const);
  return Object.fromEntries(entries.filter(([, inner]) => !isNothing(inner)));
}

/** A hash that only a change of meaning changes: lists are sets, empty values count as absent. */
export function specHash(spec: unknown): string {
  return digestOf(normal(spec));
}

/** A hash annotation and its version annotation, as they stand on an object. */
export interface HashStamp {
  readonly hash: string | undefined;
  readonly version: string | undefined;
}

/** Whether a claim drifted from its pool or node class: both hashes are there, of one version, and differ (drift/hashes). */
export function hashDrifted(claim: HashStamp, current: HashStamp): boolean {
  if (claim.hash === undefined || current.hash === undefined) return false;
  return claim.version !== undefined && claim.version === current.version && claim.hash !== current.hash;
}

/**
 * What a claim's hash annotations must become when `current` is of another version (node-pools/hash-version): the version always,
 * the hash unless the claim already carries a Drifted condition; undefined when the versions agree.
 */
export function migratedStamp(claim: HashStamp, current: HashStamp, drifted: boolean): HashStamp | undefined {
  if (claim.version === current.version) return undefined;
  return { version: current.version, hash: drifted ? claim.hash : current.hash };
}
