import type { InstanceType } from '../../core/instance-type.js';
import { accepts, type Requirement } from '../requirements/requirement.js';
import { normaliseKey, type Requirements } from '../requirements/requirements.js';

/** A NodePool's wish for variety: so many different values of a key among the types that a claim lists (section 2.5). */
export interface Variety {
  readonly key: string;
  readonly atLeast: number;
  readonly requirement: Requirement;
}

export function varietiesOf(requirements: Requirements): Variety[] {
  const varieties: Variety[] = [];
  for (const [key, requirement] of requirements) {
    if (requirement.minValues !== undefined) varieties.push({ key, atLeast: requirement.minValues, requirement });
  }
  return varieties;
}

/** The values of the key that a type counts for, within the requirement. */
export function valuesOf(type: InstanceType, { key, requirement }: Variety): readonly string[] {
  for (const each of type.requirements) {
    if (normaliseKey(each.key) === key && each.operator === 'In') {
      return (each.values ?? []).filter((value) => accepts(requirement, value));
    }
  }
  return [];
}

export interface Sized {
  readonly type: InstanceType;
  readonly capacity: Float64Array;
}

/**
 * How much of `own` a claim may use so that enough other types hold as much too: one answer for each resource that may matter
 * most, none when there are not enough values, whatever the size.
 */
export function sharedCapacities(own: Sized, types: readonly Sized[], variety: Variety): Float64Array[] {
  const mine = new Set(valuesOf(own.type, variety));
  const missing = variety.atLeast - mine.size;
  if (missing <= 0) return [own.capacity];
  const shared: Float64Array[] = [];
  for (const emphasis of emphases) {
    const best = new Map<string, { score: number; capacity: Float64Array }>();
    for (const other of types) {
      const score = coverage(other.capacity, own.capacity, emphasis);
      for (const value of valuesOf(other.type, variety)) {
        if (!mine.has(value) && score > (best.get(value)?.score ?? -1))
          best.set(value, { score, capacity: other.capacity });
      }
    }
    if (best.size < missing) return [];
    const chosen = [...best.values()].sort((a, b) => b.score - a.score).slice(0, missing);
    const capacity = own.capacity.map((amount, d) => Math.min(amount, ...chosen.map((each) => each.capacity[d]!)));
    if (!shared.some((known) => known.every((amount, d) => amount === capacity[d]))) shared.push(capacity);
  }
  return shared;
}

/** Weights of cpu, memory and pods; other resources weigh as much as cpu. */
const emphases: readonly (readonly number[])[] = [
  [1, 1, 0.1],
  [100, 1, 0.1],
  [1, 100, 0.1],
  [100, 100, 10],
];

function coverage(other: Float64Array, own: Float64Array, emphasis: readonly number[]): number {
  let score = 0;
  for (let d = 0; d < own.length; d++) {
    if (own[d]! > 0) score += (emphasis[d] ?? emphasis[0]!) * Math.min(1, Math.max(0, other[d]!) / own[d]!);
  }
  return score;
}
