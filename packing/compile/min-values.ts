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

/** A size of instance types, and the values that they have together, by rule. */
interface Size {
  readonly capacity: Float64Array;
  readonly values: readonly Set<string>[];
}

/**
 * How much of a type the pods of a NodeClaim may use, so that enough other types have the same room for every
 * `minValues` of the NodePool.
 */
export class SharedSizes {
  private readonly sizes = new Map<string, Size>();
  /** By size and weights of resources: all sizes, those that replace it best first. */
  private readonly ranked = new Map<string, readonly Size[]>();

  constructor(
    types: readonly Sized[],
    private readonly rules: readonly MinValuesRule[],
  ) {
    for (const { type, capacity } of types) {
      const text = capacity.join();
      const size = this.sizes.get(text) ?? { capacity, values: rules.map(() => new Set<string>()) };
      this.sizes.set(text, size);
      rules.forEach((rule, r) => {
        for (const value of valuesOf(type, rule)) size.values[r]!.add(value);
      });
    }
  }

  /** Several sizes if different resources may be scarce; none if there are not enough values. */
  of(own: Sized): readonly Float64Array[] {
    let sizes = [own.capacity];
    this.rules.forEach((rule, r) => {
      const mine = valuesOf(own.type, rule);
      if (mine.length >= rule.atLeast) return;
      const shared = emphases.flatMap((emphasis) => this.shared(own.capacity, emphasis, { mine, r }) ?? []);
      sizes = sizes.flatMap((one) => shared.map((other) => least(one, other)));
    });
    return sizes;
  }

  /** What of `own` the best replacements have too, until there are enough values; undefined if there are not. */
  private shared(
    own: Float64Array,
    emphasis: readonly number[],
    { mine, r }: { readonly mine: readonly string[]; readonly r: number },
  ): Float64Array | undefined {
    const found = new Set(mine);
    let capacity = own;
    for (const other of this.rank(own, emphasis)) {
      for (const value of other.values[r]!) {
        if (found.size >= this.rules[r]!.atLeast) return capacity;
        if (!found.has(value)) capacity = least(capacity, other.capacity);
        found.add(value);
      }
    }
    return found.size >= this.rules[r]!.atLeast ? capacity : undefined;
  }

  private rank(own: Float64Array, emphasis: readonly number[]): readonly Size[] {
    const text = `${emphasis.join()} ${own.join()}`;
    let ranked = this.ranked.get(text);
    if (ranked === undefined) {
      const scores = new Map([...this.sizes.values()].map((size) => [size, coverage(size.capacity, own, emphasis)]));
      ranked = [...scores.keys()].sort((a, b) => scores.get(b)! - scores.get(a)!);
      this.ranked.set(text, ranked);
    }
    return ranked;
  }
}

const least = (a: Float64Array, b: Float64Array): Float64Array => a.map((amount, d) => Math.min(amount, b[d]!));

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
