import { labels } from '../../api/labels.js';
import type { InstanceType } from '../../core/instance-type.js';
import { isSameList } from '../lists.js';
import { accepts, type Requirement } from '../requirements/requirement.js';
import { canonicalText, join, type Requirements } from '../requirements/requirements.js';
import { satisfies, type KeySpace } from './key-space.js';
import type { Offers } from './offers.js';
import type { Profile, Row, TypeRun, Universe } from './universe.js';

/** An instance type that a NodeClaim with certain requirements may launch. */
export interface Launchable {
  readonly type: InstanceType;
  /** The cheapest allowed offering. */
  readonly cheapest: Row;
  /** Equal lists are mostly one object. */
  readonly capacityTypes: readonly string[];
  /** Overhead of DaemonSets on each of the allowed offerings. Equal lists mostly share one object. */
  readonly overheads: readonly Float64Array[];
  /** The capacity for pods on any of the allowed offerings. */
  readonly capacity: Float64Array;
}

/** The joint requirements of a NodeClaim, and the instance types that they allow, by price. */
export interface Launchables {
  readonly joint: Requirements;
  readonly types: readonly Launchable[];
}

/** Additional conditions on the types of a NodeClaim. */
interface LaunchableOptions {
  /** Keys (by index) for which the offerings must equal the row. */
  readonly alike: readonly number[];
  /** Profiles that are excluded because of their DaemonSets (scheduling/host-ports, topology/daemon-pods). */
  readonly shunned: readonly Profile[];
  /** Reservations that are allowed in addition to that of the row. */
  readonly beside: readonly string[];
}

const noOptions: LaunchableOptions = { alike: [], shunned: [], beside: [] };

/** Maximum number of list entries cached for later passes. */
const mostKept = 200_000;

/** Finds what NodeClaims may launch; cached by requirements. */
export class LaunchableTypes {
  private lists = new Map<string, Launchables>();
  private kept = 0;
  /** By the first row of a type and the set of its allowed rows. */
  private readonly shared = new Map<number, Map<number, Launchable>>();
  private readonly found: number[] = [];
  /** The previous lists: most types have the same capacity types and overheads as the one before. */
  private last: Pick<Launchable, 'capacityTypes' | 'overheads'> = { capacityTypes: [], overheads: [] };

  constructor(
    private readonly universe: Universe,
    private readonly offers: Offers,
  ) {}

  /** What all of the requirements allow. `space` has the keys with which the universe was built. */
  of(
    space: KeySpace,
    requirements: readonly Requirements[],
    like: Row,
    options: LaunchableOptions = noOptions,
  ): Launchables {
    const { pool, reservation } = like.profile;
    const { alike, shunned, beside } = options;
    const texts = requirements.map(textOf).sort().join('|');
    const text = `${pool.index} ${[reservation ?? '', ...beside].join()} ${texts}${alikeText(alike, like.profile)}${shunnedText(shunned)}`;
    let found = this.lists.get(text);
    if (found === undefined) {
      const joint = join(...requirements);
      found = { joint, types: this.build(space, joint, like, options) };
      const { length } = found.types;
      if (this.kept + length > mostKept) this.lists = new Map();
      this.kept = this.lists.size === 0 ? length : this.kept + length;
      this.lists.set(text, found);
    }
    return found;
  }

  private build(
    space: KeySpace,
    joint: Requirements,
    { profile: { pool, reservation, values } }: Row,
    { alike, shunned, beside }: LaunchableOptions,
  ): readonly Launchable[] {
    const isOpen = openRows(space, joint);
    const { profiles, rows, typeRuns, rank } = this.universe;
    const like = profiles.filter(
      (profile) =>
        profile.pool === pool &&
        (profile.reservation === reservation || beside.includes(profile.reservation ?? '')) &&
        isOpen.profile(profile) &&
        alike.every((key) => space.likeness(key, profile.values[key]) === space.likeness(key, values[key])),
    );
    const open = inOrder(like);
    const { found } = this;
    const list: Launchable[] = [];
    let next = 0;
    for (const run of typeRuns[pool.index]!) {
      found.length = 0;
      let runsFree = true;
      for (; next < open.length && open[next]! < run.to; next++) {
        const row = rows[open[next]!]!;
        if (!isOpen.row(row)) continue;
        found.push(row.index);
        if (shunned.includes(row.profile)) runsFree = false;
      }
      if (found.length > 0 && runsFree) list.push(this.launchable(run));
    }
    return list.sort((a, b) => rank[a.cheapest.index]! - rank[b.cheapest.index]!);
  }

  /** A type with its allowed rows; one object for equal rows. */
  private launchable(run: TypeRun): Launchable {
    const { found } = this;
    if (run.to - run.from > 30) return this.make(run.type);
    let byRows = this.shared.get(run.from);
    if (byRows === undefined) this.shared.set(run.from, (byRows = new Map<number, Launchable>()));
    let bits = 0;
    for (const index of found) bits |= 1 << (index - run.from);
    let launchable = byRows.get(bits);
    if (launchable === undefined) byRows.set(bits, (launchable = this.make(run.type)));
    return launchable;
  }

  private make(type: InstanceType): Launchable {
    const { rows, rank } = this.universe;
    const { found, offers } = this;
    const allocatable = offers.allocatable(type);
    const capacity = Float64Array.from(allocatable);
    const overheads: Float64Array[] = [];
    const capacityTypes: string[] = [];
    let cheapest = rows[found[0]!]!;
    for (const index of found) {
      const row = rows[index]!;
      if (rank[index]! < rank[cheapest.index]!) cheapest = row;
      const { overhead } = offers.of(row.profile);
      if (!overheads.includes(overhead)) overheads.push(overhead);
      if (!capacityTypes.includes(row.capacityType)) capacityTypes.push(row.capacityType);
    }
    for (const overhead of overheads) {
      for (let d = 0; d < capacity.length; d++) capacity[d] = Math.min(capacity[d]!, allocatable[d]! - overhead[d]!);
    }
    const { last } = this;
    this.last = {
      capacityTypes: isSameList(last.capacityTypes, capacityTypes) ? last.capacityTypes : capacityTypes,
      overheads: isSameList(last.overheads, overheads) ? last.overheads : overheads,
    };
    return { type, cheapest, capacity, ...this.last };
  }
}

/**
 * The rows that satisfy the requirements. Checked row by row, because profiles distinguish zones and capacity types only if some
 * pod does.
 */
export function openRows(
  space: KeySpace,
  requirements: Requirements,
): { readonly profile: (profile: Profile) => boolean; readonly row: (row: Row) => boolean } {
  const others = new Map(requirements);
  others.delete(labels.zone);
  others.delete(labels.capacityType);
  const inZone = valueTest(requirements.get(labels.zone));
  const ofCapacityType = valueTest(requirements.get(labels.capacityType));
  const constraint = space.probe(others);
  const known: (boolean | undefined)[] = [];
  const isOpen = ({ index, values }: Profile): boolean => (known[index] ??= satisfies(constraint, values));
  return {
    profile: isOpen,
    row: ({ profile, zone, capacityType }) => isOpen(profile) && inZone(zone) && ofCapacityType(capacityType),
  };
}

/** The rows of some profiles, ascending. */
function inOrder(profiles: readonly Profile[]): ArrayLike<number> {
  const [only] = profiles;
  if (profiles.length === 1) return only!.rows;
  return Int32Array.from(profiles.flatMap(({ rows }) => rows)).sort();
}

/** Whether a value is allowed; each value is checked once. */
function valueTest(requirement: Requirement | undefined): (value: string) => boolean {
  if (requirement === undefined) return () => true;
  const known = new Map<string, boolean>([['', true]]);
  return (value) => {
    let allowed = known.get(value);
    if (allowed === undefined) known.set(value, (allowed = accepts(requirement, value)));
    return allowed;
  };
}

const texts = new WeakMap<Requirements, string>();

/** `canonicalText`, once for the requirements of NodePools and pods. */
function textOf(requirements: Requirements): string {
  let text = texts.get(requirements);
  if (text === undefined) texts.set(requirements, (text = canonicalText(requirements)));
  return text;
}

/** A key that is equal for profiles with the same values of these keys. */
function alikeText(keys: readonly number[], { values }: Row['profile']): string {
  let text = '';
  for (const key of keys) text += ` ${key}=${values[key] ?? '\0'}`;
  return text;
}

/** A key that is equal for equal lists of profiles. */
export const shunnedText = (profiles: readonly Profile[]): string => profiles.map(({ index }) => ` !${index}`).join('');
