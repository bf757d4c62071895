import { labelAliases, labels } from '../../api/labels.js';
import { compareText } from '../../core/compare-text.js';
import type { InstanceType, Offering } from '../../core/instance-type.js';
import {
  accepts,
  doesNotExist,
  intersect,
  isEmpty,
  isImpossible,
  requirementOf,
  type Requirement,
} from '../requirements/requirement.js';
import { requireAlike } from './catalogue-order.js';
import type { KeySpace } from './key-space.js';
import type { Pool } from './pools.js';

/** Offerings that no pod, topology or DaemonSet can tell apart, price and size aside. */
export interface Profile {
  readonly index: number;
  readonly pool: Pool;
  /** Label values by key of the key space, undefined where the node lacks the label; one of its class where classes count. */
  readonly values: readonly (string | undefined)[];
  readonly reservation?: string;
  /** Rows of the universe. */
  readonly rows: number[];
}

export const noProfiles: ReadonlySet<Profile> = new Set();

/** An instance type in one zone under one capacity type, for one NodePool: what can be launched. */
export interface Row {
  readonly index: number;
  readonly type: InstanceType;
  readonly offering: Offering;
  readonly zone: string;
  readonly capacityType: string;
  readonly profile: Profile;
}

export interface Universe {
  readonly profiles: readonly Profile[];
  readonly rows: readonly Row[];
  /** By pool: its types, each with the run of rows that it has. */
  readonly typeRuns: readonly (readonly TypeRun[])[];
  /** By pool: whether any type survives the template's requirements, available or not. */
  readonly compatible: readonly boolean[];
  /** Place of each row when they are sorted by price, then by name, so that the order of a catalogue decides nothing. */
  readonly rank: Int32Array;
  /** Instances free in each reservation, by its id. */
  readonly reservations: ReadonlyMap<string, number>;
}

/** The rows `from` up to `to` are of one type. */
export interface TypeRun {
  readonly type: InstanceType;
  readonly from: number;
  readonly to: number;
}

const anything: Requirement = { complement: true, values: [], absent: true };

/** The catalogue seen through every NodePool, sorted into profiles. Constraints must all be interned before. */
export function buildUniverse(pools: readonly Pool[], space: KeySpace, wellKnown: ReadonlySet<string>): Universe {
  const builder = new Builder(space, wellKnown);
  for (const pool of pools) builder.addPool(pool);
  const { profiles, rows, compatible, typeRuns } = builder;
  return { profiles, rows, compatible, typeRuns, rank: rankRows(rows), reservations: reservationsOf(rows) };
}

function reservationsOf(rows: readonly Row[]): Map<string, number> {
  const reservations = new Map<string, number>();
  for (const { profile, offering } of rows) {
    if (profile.reservation === undefined) continue;
    const free = offering.reservationCapacity ?? 0;
    reservations.set(profile.reservation, Math.min(reservations.get(profile.reservation) ?? free, free));
  }
  return reservations;
}

/** Prices are sorted natively; most ties are settled among a few. */
function rankRows(rows: readonly Row[]): Int32Array {
  const prices = Float64Array.from(rows, ({ offering }) => offering.price).sort();
  const start = new Map<number, number>();
  for (let k = 0; k < prices.length; k++) if (k === 0 || prices[k] !== prices[k - 1]) start.set(prices[k]!, k);
  const order = new Int32Array(rows.length);
  const next = new Map(start);
  for (let i = 0; i < rows.length; i++) {
    const { price } = rows[i]!.offering;
    const at = next.get(price)!;
    order[at] = i;
    next.set(price, at + 1);
  }
  for (const [price, from] of start) {
    const to = next.get(price)!;
    if (to - from > 1) order.subarray(from, to).sort((a, b) => compareNames(rows[a]!, rows[b]!) || a - b);
  }
  const rank = new Int32Array(rows.length);
  order.forEach((row, place) => (rank[row] = place));
  return rank;
}

function compareNames(a: Row, b: Row): number {
  return (
    compareText(a.type.name, b.type.name) || compareText(a.zone, b.zone) || compareText(a.capacityType, b.capacityType)
  );
}

/** What the labels of an offering say; offerings alike in these share one object. */
interface Terms {
  readonly zone: string;
  readonly capacityType: string;
  readonly reservation: string | undefined;
  /** By key of the key space, where the offering decides it. */
  readonly tests: readonly (Requirement | undefined)[];
  /** The keys that have a test. */
  readonly decides: readonly number[];
}

interface Entry {
  readonly offering: Offering;
  readonly terms: Terms;
}

interface TypeEntry {
  readonly type: InstanceType;
  readonly byKey: readonly (Requirement | undefined)[];
  readonly entries: readonly Entry[];
}

interface Catalogue {
  readonly types: readonly TypeEntry[];
  /** Keys that offerings decide, and those that types do. */
  readonly offeringKeys: readonly number[];
  readonly typeKeys: readonly number[];
}

/** Offerings by their requirements, one after the other: cheaper than a text of them all. */
interface TermsNode {
  readonly next: Map<string, TermsNode>;
  terms?: Terms;
}

function branch({ next }: TermsNode, text: string): TermsNode {
  let node = next.get(text);
  if (node === undefined) next.set(text, (node = { next: new Map() }));
  return node;
}

/** Where offerings of equal terms lead, for types that are alike in what matters. */
type Slot = Map<Terms, readonly Profile[]>;

/** A choice of values for some keys, with the number that stands for their classes. */
interface Variant {
  readonly id: number;
  readonly values: (string | undefined)[];
}

class Builder {
  readonly profiles: Profile[] = [];
  readonly rows: Row[] = [];
  readonly compatible: boolean[] = [];
  readonly typeRuns: TypeRun[][] = [];
  private readonly profileIndex = new Map<number | string, Profile>();
  private readonly catalogues = new Map<readonly InstanceType[], Catalogue>();
  private readonly interned = new Map<string, Requirement>();
  private readonly candidateLists: Map<Requirement, readonly Candidate[]>[] = [];
  private readonly meetings = new Map<Requirement, Map<Requirement, Requirement>>();
  /** Numbers for sequences of value classes: what follows a number in the next key. */
  private readonly folds = new Map<number, number>();
  private readonly last: Entry[] = [];
  private readonly termsTree: TermsNode = { next: new Map() };
  private readonly slots = new Map<string, Slot>();
  private readonly numbers = new Map<Requirement, number>();
  private readonly keyCount: number;
  private readonly keyIndex = new Map<string, number>();
  private readonly defaults: readonly Requirement[];

  constructor(
    private readonly space: KeySpace,
    wellKnown: ReadonlySet<string>,
  ) {
    this.keyCount = space.keys.length;
    space.keys.forEach((key, i) => this.keyIndex.set(key, i));
    for (const [alias, key] of Object.entries(labelAliases)) {
      const index = this.keyIndex.get(key);
      if (index !== undefined) this.keyIndex.set(alias, index);
    }
    this.defaults = space.keys.map((key) => (wellKnown.has(key) ? anything : doesNotExist));
    for (let k = 0; k < this.keyCount; k++) this.candidateLists.push(new Map());
  }

  addPool(pool: Pool): void {
    const poolTests = this.space.keys.map((key) => pool.requirements.get(key));
    const catalogue = this.catalogue(pool.types);
    let compatible = false;
    const runs: TypeRun[] = [];
    for (const entry of catalogue.types) {
      const from = this.rows.length;
      compatible = this.addType(pool, poolTests, entry, catalogue) || compatible;
      if (this.rows.length > from) runs.push({ type: entry.type, from, to: this.rows.length });
    }
    this.compatible.push(compatible);
    this.typeRuns.push(runs);
  }

  private addType(
    pool: Pool,
    poolTests: readonly (Requirement | undefined)[],
    entry: TypeEntry,
    { typeKeys, offeringKeys }: Catalogue,
  ): boolean {
    const joint: Requirement[] = [];
    for (let k = 0; k < this.keyCount; k++) {
      const own = entry.byKey[k];
      const asked = poolTests[k];
      const both = own === undefined ? asked : asked === undefined ? own : this.meet(own, asked);
      if (both !== undefined && isImpossible(both)) return false;
      joint.push(both ?? this.defaults[k]!);
    }
    let variants: Variant[] = [{ id: pool.index + 1, values: [] }];
    for (const key of typeKeys) variants = this.choose(variants, key, this.candidates(key, joint[key]!));
    const slot = this.slotFor(variants, joint, offeringKeys);
    for (const { offering, terms } of entry.entries) {
      let profiles = slot.get(terms);
      if (profiles === undefined) {
        profiles = this.profilesFor(pool, { joint, variants }, terms, offeringKeys);
        slot.set(terms, profiles);
      }
      for (const profile of profiles) {
        profile.rows.push(this.rows.length);
        const { zone, capacityType } = terms;
        this.rows.push({ index: this.rows.length, type: entry.type, offering, zone, capacityType, profile });
      }
    }
    return true;
  }

  private slotFor(variants: readonly Variant[], joint: readonly Requirement[], keys: readonly number[]): Slot {
    let text = '';
    for (const { id } of variants) text += `${id},`;
    for (const key of keys) text += `|${this.numberOf(joint[key]!)}`;
    let slot = this.slots.get(text);
    if (slot === undefined) this.slots.set(text, (slot = new Map<Terms, readonly Profile[]>()));
    return slot;
  }

  private numberOf(requirement: Requirement): number {
    let number = this.numbers.get(requirement);
    if (number === undefined) this.numbers.set(requirement, (number = this.numbers.size));
    return number;
  }

  private profilesFor(
    pool: Pool,
    { joint, variants }: { joint: readonly Requirement[]; variants: readonly Variant[] },
    { reservation, tests }: Terms,
    offeringKeys: readonly number[],
  ): readonly Profile[] {
    let chosen = variants;
    for (const key of offeringKeys) {
      const own = tests[key];
      const had = joint[key]!;
      const both = own === undefined ? had : had === anything ? own : this.meet(own, had);
      if (isImpossible(both)) return [];
      chosen = this.choose(chosen, key, this.candidates(key, both));
    }
    return chosen.map((variant) => this.profile(pool, variant, reservation));
  }

  /** Each variant with each candidate for one more key. */
  private choose(variants: readonly Variant[], key: number, candidates: readonly Candidate[]): Variant[] {
    const chosen: Variant[] = [];
    for (const { id, values } of variants) {
      for (const candidate of candidates) {
        const fold = (id * this.keyCount + key) * 65536 + candidate.valueClass;
        let next = this.folds.get(fold);
        if (next === undefined) this.folds.set(fold, (next = this.folds.size + 1000));
        const more = [...values];
        more[key] = candidate.value;
        chosen.push({ id: next, values: more });
      }
    }
    return chosen;
  }

  /** One value for each class of values that the requirement allows. */
  private candidates(key: number, requirement: Requirement): readonly Candidate[] {
    const known = this.candidateLists[key]!.get(requirement);
    if (known !== undefined) return known;
    const offered: (string | undefined)[] = [];
    if (!requirement.complement) offered.push(...requirement.values);
    else {
      const mentioned = this.space.mentioned(key);
      if (requirement === anything) offered.push(undefined);
      else offered.push(freshValue(requirement, mentioned));
      for (const value of [...mentioned].sort()) if (accepts(requirement, value)) offered.push(value);
    }
    if (requirement.absent && (requirement.complement || isEmpty(requirement))) offered.push(undefined);
    const seen = new Set<number>();
    const candidates: Candidate[] = [];
    for (const value of offered) {
      const valueClass = this.space.classOf(key, value);
      if (seen.has(valueClass)) continue;
      seen.add(valueClass);
      candidates.push({ value, valueClass });
    }
    this.candidateLists[key]!.set(requirement, candidates);
    return candidates;
  }

  private profile(pool: Pool, { id, values }: Variant, reservation: string | undefined): Profile {
    const key = reservation === undefined ? id : `${id} ${reservation}`;
    let profile = this.profileIndex.get(key);
    if (profile === undefined) {
      const reserved = reservation === undefined ? {} : { reservation };
      const full = Array.from({ length: this.keyCount }, (_, k) => values[k]);
      profile = { index: this.profiles.length, pool, values: full, ...reserved, rows: [] };
      this.profiles.push(profile);
      this.profileIndex.set(key, profile);
    }
    return profile;
  }

  private meet(a: Requirement, b: Requirement): Requirement {
    let known = this.meetings.get(a);
    if (known === undefined) this.meetings.set(a, (known = new Map<Requirement, Requirement>()));
    let both = known.get(b);
    if (both === undefined) {
      both = intersect(a, b);
      // Nearly always one value meets a set that has it: keep the one object, since look-ups go by object.
      if (both.values.length === 1 && !both.complement && !both.absent) both = this.test('In', both.values);
      known.set(b, both);
    }
    return both;
  }

  private catalogue(types: readonly InstanceType[]): Catalogue {
    let catalogue = this.catalogues.get(types);
    if (catalogue === undefined) {
      const decided = new Set<number>();
      const entries = types.map((type) => this.typeEntry(type, decided));
      const offeringKeys = [...decided].sort((a, b) => a - b);
      const typeKeys = this.space.keys.map((_, k) => k).filter((k) => !decided.has(k));
      catalogue = { types: entries, offeringKeys, typeKeys };
      this.catalogues.set(types, catalogue);
    }
    return catalogue;
  }

  private typeEntry(type: InstanceType, decided: Set<number>): TypeEntry {
    const byKey = new Array<Requirement | undefined>(this.keyCount).fill(undefined);
    for (const { key, operator, values } of type.requirements) {
      const index = this.keyIndex.get(key);
      if (index !== undefined) byKey[index] = this.test(operator, values);
    }
    const entries: Entry[] = [];
    const { offerings } = type;
    for (let i = 0; i < offerings.length; i++) {
      const offering = offerings[i]!;
      if (!offering.available) continue;
      const terms = this.termsLike(i, offering) ?? this.termsOf(type, offering);
      const entry = { offering, terms };
      this.last[i] = entry;
      // Another catalogue may have brought the same terms before: what they decide is decided in this one too.
      for (const key of terms.decides) decided.add(key);
      entries.push(entry);
    }
    return { type, byKey, entries };
  }

  /** The terms of the offering at the same place of a type before, where they are plainly the same: nearly always. */
  private termsLike(place: number, { requirements, reservationCapacity }: Offering): Terms | undefined {
    const last = this.last[place];
    if (last === undefined || reservationCapacity !== undefined) return undefined;
    if (last.offering.reservationCapacity !== undefined) return undefined;
    return requireAlike(last.offering.requirements, requirements) ? last.terms : undefined;
  }

  private termsOf(type: InstanceType, offering: Offering): Terms {
    const { requirements, reservationCapacity } = offering;
    let node = reservationCapacity === undefined ? this.termsTree : branch(this.termsTree, type.name);
    for (let i = 0; i < requirements.length; i++) {
      const { key, operator, values } = requirements[i]!;
      const simple = operator === 'In' && values?.length === 1;
      node = branch(branch(node, key), simple ? values[0]! : JSON.stringify(requirements[i]));
    }
    return (node.terms ??= this.readTerms(type, offering));
  }

  private readTerms(type: InstanceType, offering: Offering): Terms {
    const tests = new Array<Requirement | undefined>(this.keyCount).fill(undefined);
    const decides: number[] = [];
    let zone = '';
    let capacityType = '';
    let reservation: string | undefined;
    for (const { key, operator, values } of offering.requirements) {
      const index = this.keyIndex.get(key);
      if (index !== undefined) {
        tests[index] = this.test(operator, values);
        decides.push(index);
      }
      if (index === this.keyIndex.get(labels.zone)) zone = values?.[0] ?? '';
      else if (index === this.keyIndex.get(labels.capacityType)) capacityType = values?.[0] ?? '';
      else if (operator === 'In' && key.endsWith(reservationSuffix)) reservation = values?.[0];
    }
    const limited = offering.reservationCapacity === undefined ? undefined : (reservation ?? `${type.name}/${zone}`);
    return { zone, capacityType, reservation: limited, tests, decides };
  }

  private test(operator: Parameters<typeof requirementOf>[0], values: readonly string[] | undefined): Requirement {
    if (operator !== 'In' || values === undefined) return requirementOf(operator, values);
    const text = values.length === 1 ? values[0]! : values.join('\u0001');
    let test = this.interned.get(text);
    if (test === undefined) this.interned.set(text, (test = requirementOf('In', values)));
    return test;
  }
}

interface Candidate {
  readonly value: string | undefined;
  readonly valueClass: number;
}

const reservationSuffix = 'capacity-reservation-id';

/** A value within the requirement that nothing mentions: the least whole number that serves. */
export function freshValue(requirement: Requirement, taken: ReadonlySet<string>): string | undefined {
  const from = requirement.gte ?? 0;
  const last = requirement.lte ?? from + requirement.values.length + taken.size;
  for (let n = from; n <= last; n++) {
    const value = String(n);
    if (!taken.has(value) && accepts(requirement, value)) return value;
  }
  for (const value of [...taken].sort()) if (accepts(requirement, value)) return value;
  return requirement.absent ? undefined : String(from);
}
