import type { InstanceType } from '../../core/instance-type.js';
import { labels } from '../../api/labels.js';
import type { Compiled } from '../compiled.js';
import { compareRows } from '../compile/offers.js';
import { satisfies } from '../compile/key-space.js';
import { valuesOf, varietiesOf, type Variety } from '../compile/min-values.js';
import type { Row } from '../compile/universe.js';
import { accepts, type Requirement } from '../requirements/requirement.js';
import type { Requirements } from '../requirements/requirements.js';

/** An instance type as claims with certain requirements may launch it. */
export interface Launchable {
  readonly type: InstanceType;
  /** Every offering that the requirements allow, by price. */
  readonly rows: readonly Row[];
  readonly capacityTypes: readonly string[];
  /** What each of them leaves for pods at least. */
  readonly capacity: Float64Array;
}

/** What claims of one pool with these requirements may launch, by price. */
export function launchables(compiled: Compiled, joint: Requirements, like: Row): Launchable[] {
  const { pool, reservation } = like.profile;
  // Profiles tell zones and capacity types apart only where some pod does, so these are looked up row by row.
  const others = new Map(joint);
  const zone = joint.get(labels.zone);
  const capacityType = joint.get(labels.capacityType);
  others.delete(labels.zone);
  others.delete(labels.capacityType);
  const constraint = compiled.space.probe(others);
  const rows: Row[] = [];
  for (const profile of compiled.universe.profiles) {
    if (profile.pool !== pool || profile.reservation !== reservation) continue;
    if (!satisfies(constraint, profile.values)) continue;
    for (const index of profile.rows) {
      const row = compiled.universe.rows[index]!;
      if (allowsValue(zone, row.zone) && allowsValue(capacityType, row.capacityType)) rows.push(row);
    }
  }
  rows.sort(compareRows);
  const byType = new Map<InstanceType, { rows: Row[]; capacity: Float64Array }>();
  for (const row of rows) {
    const { overhead } = compiled.offers.of(row.profile);
    const allocatable = compiled.offers.allocatable(row.type);
    const known = byType.get(row.type);
    if (known === undefined) {
      byType.set(row.type, { rows: [row], capacity: allocatable.map((amount, d) => amount - overhead[d]!) });
      continue;
    }
    known.rows.push(row);
    const { capacity } = known;
    for (let d = 0; d < capacity.length; d++) capacity[d] = Math.min(capacity[d]!, allocatable[d]! - overhead[d]!);
  }
  return [...byType].map(([type, entry]) => {
    const capacityTypes = [...new Set(entry.rows.map((row) => row.capacityType))];
    return { type, ...entry, capacityTypes };
  });
}

const allowsValue = (requirement: Requirement | undefined, value: string): boolean =>
  requirement === undefined || value === '' || accepts(requirement, value);

export interface Listing {
  /** Types that hold the usage, cheapest first. */
  readonly listed: readonly Launchable[];
  /** By key: how many values they come to where that is fewer than the pool asks for. */
  readonly short: ReadonlyMap<string, number>;
}

/** Up to `most` types that hold the usage, cheapest first, with enough different values where the pool asks for them. */
export function listTypes(
  candidates: readonly Launchable[],
  usage: Float64Array,
  pool: Requirements,
  most: number,
  admits: (type: InstanceType) => boolean,
): Listing {
  const varieties = varietiesOf(pool);
  const fitting: Launchable[] = [];
  for (const candidate of candidates) {
    if (fitting.length === most && varieties.length === 0) break;
    if (holds(candidate.capacity, usage) && admits(candidate.type)) fitting.push(candidate);
  }
  if (varieties.length === 0) return { listed: fitting, short: noneShort };
  const listed = varied(fitting, varieties, most);
  const short = new Map<string, number>();
  for (const variety of varieties) {
    const values = new Set(listed.flatMap(({ type }) => valuesOf(type, variety)));
    if (values.size < variety.atLeast) short.set(variety.key, values.size);
  }
  return { listed, short };
}

const noneShort: ReadonlyMap<string, number> = new Map();

/** First whoever brings a new value, then the cheapest of the others; by price in the end. */
function varied(fitting: readonly Launchable[], varieties: readonly Variety[], most: number): Launchable[] {
  const chosen = new Set<Launchable>(fitting.slice(0, 1));
  for (const variety of varieties) {
    const values = new Set([...chosen].flatMap(({ type }) => valuesOf(type, variety)));
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

function holds(capacity: Float64Array, usage: Float64Array): boolean {
  for (let d = 0; d < usage.length; d++) if (usage[d]! > capacity[d]!) return false;
  return true;
}
