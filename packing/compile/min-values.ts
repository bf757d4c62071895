import type { InstanceType } from '../../core/instance-type.js';
import { countedValues } from '../../core/min-values.js';
import { accepts, type Requirement } from '../requirements/requirement.js';
import type { Requirements } from '../requirements/requirements.js';

/**
 * `minValues` of a key: how many different values the types of a NodeClaim must have; core/min-values.ts defines what
 * counts.
 */
export interface MinValuesRule {
  readonly key: string;
  readonly atLeast: number;
  readonly requirement: Requirement;
}

const knownRules = new WeakMap<Requirements, readonly MinValuesRule[]>();

/** The keys with `minValues`; cached by object. */
export function minValuesRulesOf(requirements: Requirements): readonly MinValuesRule[] {
  let known = knownRules.get(requirements);
  if (known === undefined) {
    const found: MinValuesRule[] = [];
    for (const [key, requirement] of requirements) {
      if (requirement.minValues !== undefined) found.push({ key, atLeast: requirement.minValues, requirement });
    }
    knownRules.set(requirements, (known = found));
  }
  return known;
}

const counted = new WeakMap<MinValuesRule, Map<InstanceType, readonly string[]>>();

/** The values of the key that a type contributes, within the requirement. */
export function valuesOf(type: InstanceType, rule: MinValuesRule): readonly string[] {
  let byType = counted.get(rule);
  if (byType === undefined) counted.set(rule, (byType = new Map<InstanceType, readonly string[]>()));
  let values = byType.get(type);
  if (values === undefined) {
    const { key, requirement } = rule;
    values = countedValues(type.requirements, key, (value) => accepts(requirement, value));
    byType.set(type, values);
  }
  return values;
}

/** The different values of the key that these types have together, within the requirement. */
export function distinctValues(types: Iterable<InstanceType>, rule: MinValuesRule): Set<string> {
  const values = new Set<string>();
  for (const type of types) for (const value of valuesOf(type, rule)) values.add(value);
  return values;
}

/** Whether the types have enough different values together. */
export function meetsMinValues(types: readonly InstanceType[], rule: MinValuesRule): boolean {
  return distinctValues(types, rule).size >= rule.atLeast;
}

interface Sized {
  readonly type: InstanceType;
  readonly capacity: Float64Array;
}

/**
 * How much of a type the pods of a NodeClaim may use, so that enough other types have the same room for every
 * `minValues` of the NodePool.
 */
export class SharedSizes {
  private readonly bySize = new Map<string, Float64Array>();
  private readonly byType = new Map<InstanceType, readonly Float64Array[]>();
  private readonly ranges: readonly MinValuesRange[];

  constructor(types: readonly Sized[], rules: readonly MinValuesRule[]) {
    this.ranges = rules.map((rule) => new MinValuesRange(types, rule));
  }

  /**
   * Several sizes if different resources may be scarce; none if there are not enough values. Equal sizes are one
   * object.
   */
  of(own: Sized): readonly Float64Array[] {
    let known = this.byType.get(own.type);
    if (known === undefined) {
      let sizes: Float64Array[] = [own.capacity];
      for (const range of this.ranges) {
        const shared = range.shared(own);
        sizes = this.distinct(sizes.flatMap((one) => shared.map((other) => least(one, other))));
      }
      this.byType.set(own.type, (known = this.distinct(sizes)));
    }
    return known;
  }

  private distinct(sizes: readonly Float64Array[]): Float64Array[] {
    const found = new Set<Float64Array>();
    for (const size of sizes) {
      const text = size.join();
      let known = this.bySize.get(text);
      if (known === undefined) this.bySize.set(text, (known = size));
      found.add(known);
    }
    return [...found];
  }
}

const least = (a: Float64Array, b: Float64Array): Float64Array => a.map((amount, d) => Math.min(amount, b[d]!));

/** The size of the type with a value that best replaces another type. */
interface Substitute {
  readonly value: number;
  readonly score: number;
  readonly capacity: Float64Array;
}

/** The types of a NodePool, grouped by the values of one key. */
class MinValuesRange {
  private readonly numbers = new Map<string, number>();
  /** By type: its values, and the index of its size. */
  private readonly values: readonly (readonly number[])[];
  private readonly sizeOf: Int32Array;
  private readonly sizes: Float64Array[] = [];
  private readonly substitutes = new Map<string, readonly (readonly Substitute[])[]>();

  constructor(
    types: readonly Sized[],
    private readonly rule: MinValuesRule,
  ) {
    this.values = types.map(({ type }) => valuesOf(type, rule).map((value) => this.numberOf(value)));
    const known = new Map<string, number>();
    this.sizeOf = Int32Array.from(types, ({ capacity }) => {
      const text = capacity.join();
      let size = known.get(text);
      if (size === undefined) known.set(text, (size = this.sizes.push(capacity) - 1));
      return size;
    });
  }

  private numberOf(value: string): number {
    let number = this.numbers.get(value);
    if (number === undefined) this.numbers.set(value, (number = this.numbers.size));
    return number;
  }

  /**
   * How much of `own` a NodeClaim may use so that enough other types have the same room: one result for each resource
   * that may be scarce; none if there are not enough values.
   */
  shared(own: Sized): Float64Array[] {
    const mine = new Set(valuesOf(own.type, this.rule).map((value) => this.numberOf(value)));
    const missing = this.rule.atLeast - mine.size;
    if (missing <= 0) return [own.capacity];
    const shared: Float64Array[] = [];
    for (const ranked of this.substitutesFor(own.capacity)) {
      const capacity = Float64Array.from(own.capacity);
      let found = 0;
      for (const { value, capacity: other } of ranked) {
        if (mine.has(value)) continue;
        for (let d = 0; d < capacity.length; d++) if (other[d]! < capacity[d]!) capacity[d] = other[d]!;
        if (++found === missing) break;
      }
      if (found < missing) return [];
      shared.push(capacity);
    }
    return shared;
  }

  /** By weights of resources: the best size for each value, largest first. */
  private substitutesFor(own: Float64Array): readonly (readonly Substitute[])[] {
    const text = own.join();
    let known = this.substitutes.get(text);
    if (known === undefined) {
      known = emphases.map((emphasis) => this.rank(own, emphasis));
      this.substitutes.set(text, known);
    }
    return known;
  }

  private rank(own: Float64Array, emphasis: readonly number[]): readonly Substitute[] {
    const scores = this.sizes.map((size) => coverage(size, own, emphasis));
    const best = new Map<number, Substitute>();
    this.values.forEach((values, type) => {
      const size = this.sizeOf[type]!;
      const score = scores[size]!;
      for (const value of values) {
        const known = best.get(value);
        if (known === undefined || score > known.score) best.set(value, { value, score, capacity: this.sizes[size]! });
      }
    });
    return [...best.values()].sort((a, b) => b.score - a.score || a.value - b.value);
  }
}

/** Weights of cpu, memory and pods; other resources have the weight of cpu. */
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
