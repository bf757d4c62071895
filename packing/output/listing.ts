import type { InstanceType } from '../../core/instance-type.js';
import type { Launchable } from '../compile/launchables.js';
import { distinctValues, valuesOf, minValuesRulesOf, type MinValuesRule } from '../compile/min-values.js';
import type { Requirements } from '../requirements/requirements.js';

export interface Listing {
  /** Types that hold the usage, cheapest first. */
  readonly listed: readonly Launchable[];
  /** Keys whose `minValues` the listed types do not meet, with the number of values found. */
  readonly short: ReadonlyMap<string, number>;
}

/**
 * Up to `most` types with room for the usage, cheapest first, which meet the `minValues` of the NodePool if possible.
 */
export function listTypes(
  candidates: readonly Launchable[],
  usage: Float64Array,
  pool: Requirements,
  most: number,
  admits: (candidate: Launchable) => boolean,
): Listing {
  const rules = minValuesRulesOf(pool);
  const fitting: Launchable[] = [];
  // Ends once there are enough types and values: more expensive types would not be listed.
  let wanting = rules.map((rule) => ({ rule, values: new Set<string>() }));
  for (const candidate of candidates) {
    if (fitting.length >= most && wanting.length === 0) break;
    if (!holds(candidate.capacity, usage) || !admits(candidate)) continue;
    fitting.push(candidate);
    if (wanting.length === 0) continue;
    for (const { rule, values } of wanting) for (const value of valuesOf(candidate.type, rule)) values.add(value);
    wanting = wanting.filter(({ rule, values }) => values.size < rule.atLeast);
  }
  if (rules.length === 0) return { listed: fitting, short: noneShort };
  const listed = varied(fitting, rules, most);
  const short = new Map<string, number>();
  for (const rule of rules) {
    const { size } = distinctValues(listed.map(typeOf), rule);
    if (size < rule.atLeast) short.set(rule.key, size);
  }
  return { listed, short };
}

const typeOf = ({ type }: Launchable): InstanceType => type;

const noneShort: ReadonlyMap<string, number> = new Map();

/** Prefers types with a value that the chosen types lack, then the cheapest; the result is sorted by price. */
function varied(fitting: readonly Launchable[], rules: readonly MinValuesRule[], most: number): Launchable[] {
  const chosen = new Set(needed(fitting.slice(0, 1), fitting, rules, most));
  for (const candidate of fitting) if (chosen.size < most) chosen.add(candidate);
  return fitting.filter((candidate) => chosen.has(candidate));
}

/** The fewest types that meet the `minValues` of the NodePool, at the least `cost`. */
export function neededTypes(
  listed: readonly Launchable[],
  pool: Requirements,
  cost: (type: InstanceType) => number,
): InstanceType[] {
  const costs = new Map(listed.map((each) => [each, cost(each.type)]));
  const ordered = [...listed].sort((a, b) => costs.get(a)! - costs.get(b)!);
  return needed([], ordered, minValuesRulesOf(pool), Infinity).map(typeOf);
}

/** The first types, and of the candidates those with a value that a rule still lacks; at most `most`. */
function needed(
  first: readonly Launchable[],
  candidates: readonly Launchable[],
  rules: readonly MinValuesRule[],
  most: number,
): Launchable[] {
  const chosen = new Set(first);
  for (const rule of rules) {
    const values = distinctValues([...chosen].map(typeOf), rule);
    for (const candidate of candidates) {
      if (values.size >= rule.atLeast || chosen.size === most) break;
      const brought = valuesOf(candidate.type, rule).filter((value) => !values.has(value));
      if (brought.length > 0) chosen.add(candidate);
      for (const value of brought) values.add(value);
    }
  }
  return [...chosen];
}

function holds(capacity: Float64Array, usage: Float64Array): boolean {
  for (let d = 0; d < usage.length; d++) if (usage[d]! > capacity[d]!) return false;
  return true;
}
