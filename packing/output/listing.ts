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
  /** The cheapest of the offerings that the requirements allow. */
  readonly cheapest: Row;
  readonly capacityTypes: readonly string[];
  /** What DaemonSets take, in one or the other of them. */
  readonly overheads: readonly Float64Array[];
  /** What each of these leaves for pods at least. */
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
  const { profiles, rows, typeRuns } = compiled.universe;
  const allowed = profiles.map(
    (profile) => profile.pool === pool && profile.reservation === reservation && satisfies(constraint, profile.values),
  );
  const found: Launchable[] = [];
  for (const { type, from, to } of typeRuns[pool.index]!) {
    const own: Row[] = [];
    for (let index = from; index < to; index++) {
      const row = rows[index]!;
      if (!allowed[row.profile.index]) continue;
      if (allowsValue(zone, row.zone) && allowsValue(capacityType, row.capacityType)) own.push(row);
    }
    if (own.length > 0) found.push(launchable(compiled, type, own));
  }
  return found.sort((a, b) => compareRows(a.cheapest, b.cheapest));
}

function launchable({ offers }: Compiled, type: InstanceType, rows: readonly Row[]): Launchable {
  const allocatable = offers.allocatable(type);
  const capacity = Float64Array.from(allocatable);
  const overheads: Float64Array[] = [];
  const capacityTypes: string[] = [];
  let cheapest = rows[0]!;
  for (const row of rows) {
    if (compareRows(row, cheapest) < 0) cheapest = row;
    const { overhead } = offers.of(row.profile);
    if (!overheads.includes(overhead)) overheads.push(overhead);
    if (!capacityTypes.includes(row.capacityType)) capacityTypes.push(row.capacityType);
  }
  for (const overhead of overheads) {
    for (let d = 0; d < capacity.length; d++) capacity[d] = Math.min(capacity[d]!, allocatable[d]! - overhead[d]!);
  }
  return { type, cheapest, capacity, capacityTypes, overheads };
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
