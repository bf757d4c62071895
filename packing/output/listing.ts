import type { InstanceType } from '../../core/instance-type.js';
import type { Launchable } from '../compile/launchables.js';
import { distinctValues, valuesOf, minValuesRulesOf, type MinValuesRule } from '../compile/min-values.js';
import type { Requirements } from '../requirements/requirements.js';

export interface Listing {
  /** Types that hold the usage, cheapest first. */
  readonly listed: readonly Launchable[];
  /** Keys whose `minValues` the listed types do not meet, with the number of values that they have. */
  readonly short: ReadonlyMap<string, number>;
}

/** Up to `most` types with room for the usage, cheapest first, which meet the `minValues` of the NodePool if they can. */
export function listTypes(
  candidates: readonly Launchable[],
  usage: Float64Array,
  pool: Requirements,
  most: number,
  admits: (candidate: Launchable) => boolean,
): Listing {
  const varieties = minValuesRulesOf(pool);
  const fitting: Launchable[] = [];
  // Ends once there are enough types and enough values: dearer types would not be listed.
  let wanting = varieties.map((variety) => ({ variety, values: new Set<string>() }));
  for (const candidate of candidates) {
    if (fitting.length >= most && wanting.length === 0) break;
    if (!holds(candidate.capacity, usage) || !admits(candidate)) continue;
    fitting.push(candidate);
    if (wanting.length === 0) continue;
    for (const { variety, values } of wanting) for (const value of valuesOf(candidate.type, variety)) values.add(value);
    wanting = wanting.filter(({ variety, values }) => values.size < variety.atLeast);
  }
  if (varieties.length === 0) return { listed: fitting, short: noneShort };
  const listed = varied(fitting, varieties, most);
  const short = new Map<string, number>();
  for (const variety of varieties) {
    const { size } = distinctValues(listed.map(typeOf), variety);
    if (size < variety.atLeast) short.set(variety.key, size);
  }
  return { listed, short };
}

const typeOf = ({ type }: Launchable): InstanceType => type;

const noneShort: ReadonlyMap<string, number> = new Map();

/** Prefers types with a value that the chosen ones lack, then the cheapest; the result is sorted by price. */
function varied(fitting: readonly Launchable[], varieties: readonly MinValuesRule[], most: number): Launchable[] {
  const chosen = new Set<Launchable>(fitting.slice(0, 1));
  for (const variety of varieties) {
    const values = distinctValues([...chosen].map(typeOf), variety);
    for (const candidate of fitting) {
      if (values.size >= variety.atLeast || chosen.size === most) break;
      const brings = valuesOf(candidate.type, variety).filter((value) => !values.has(value));
      if (brings.length === 0) continue;
      chosen.add(candidate);
      for (const value of brings) values.add(value);
    }
  }
  for (const candidate of fitting) if (chosen.size < most) chosen.add(candidate);
  return fitting.filter((candidate) => chosen.has(candidate));
}

/** As few of the types as meet the `minValues` of the NodePool, those with the least cost first. */
export function neededTypes(
  listed: readonly Launchable[],
  pool: Requirements,
  cost: (type: InstanceType) => number,
): InstanceType[] {
  const types = listed
    .map(({ type }) => ({ type, cost: cost(type) }))
    .sort((a, b) => a.cost - b.cost)
    .map(({ type }) => type);
  const needed = new Set<InstanceType>();
  for (const variety of minValuesRulesOf(pool)) {
    const values = distinctValues(needed, variety);
    for (const type of types) {
      if (values.size >= variety.atLeast) break;
      const brought = valuesOf(type, variety).filter((value) => !values.has(value));
      if (brought.length > 0) needed.add(type);
      for (const value of brought) values.add(value);
    }
  }
  return [...needed];
}

function holds(capacity: Float64Array, usage: Float64Array): boolean {
  for (let d = 0; d < usage.length; d++) if (usage[d]! > capacity[d]!) return false;
  return true;
}
