import type { Taint } from '../../api/kubernetes.js';
import { labelAliases } from '../../api/labels.js';
import type { InstanceType, Offering } from '../../core/instance-type.js';
import { lookUp } from '../../core/own.js';
import { doesNotExist, intersect, isImpossible, single, type Requirement } from '../requirements/requirement.js';
import { type KeySpace } from './key-space.js';
import { LabelVariants, mostVariantsOf, variantValues, type Variant } from './label-variants.js';
import { newNodeLabels } from './nodes.js';
import type { Pool } from './pools.js';
import { rankRows } from './row-ranks.js';
import { CatalogueReader, type Catalogue, type Terms, type Tests, type TypeEntry } from './catalogue-terms.js';
import { ValueChoices, anyValue } from './value-choices.js';

/** Offerings that no pod, topology rule or DaemonSet can distinguish, regardless of price and size. */
export interface Profile {
  readonly index: number;
  readonly pool: Pool;
  /**
   * Label values by key of the key space; undefined if the node lacks the label. For keys with value classes, one value
   * of the class.
   */
  readonly values: readonly (string | undefined)[];
  /** The limited supply that it uses: a capacity reservation, or a commitment. */
  readonly reservation?: string;
  /** Rows of the universe. */
  readonly rows: number[];
}

export const noProfiles: ReadonlySet<Profile> = new Set();

/**
 * Profiles whose types one NodeClaim may list: those of one NodePool and one capacity reservation, or none
 * (reserved-capacity/pinned).
 */
export function listedTogether(profiles: readonly Profile[]): readonly (readonly Profile[])[] {
  const groups = new Map<string, Profile[]>();
  for (const profile of profiles) {
    const key = `${profile.pool.index} ${profile.reservation ?? ''}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [profile]);
    else group.push(profile);
  }
  return [...groups.values()];
}

/** An instance type in one zone under one capacity type, for one NodePool: a launch option. */
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
  /** Possible nodes of NodePools that no pod of the pass tolerates: they count as topology domains. */
  readonly domains: readonly NodeLike[];
  readonly rows: readonly Row[];
  /** By pool: its types, each with its range of rows. */
  readonly typeRuns: readonly (readonly TypeRun[])[];
  /** By pool: whether any type satisfies the template's requirements, available or not. */
  readonly compatible: readonly boolean[];
  /** Rank of each row by price, then by name, so that results do not depend on the order of a catalogue. */
  readonly rank: Int32Array;
  /** By reservation id: the number of free instances. */
  readonly reservations: ReadonlyMap<string, number>;
}

/** Possible nodes with these labels (by key) and taints. */
interface NodeLike {
  readonly values: readonly (string | undefined)[];
  readonly taints: readonly Taint[];
}

/** A range of rows, from `from` up to `to`, of one type. */
export interface TypeRun {
  readonly type: InstanceType;
  readonly from: number;
  readonly to: number;
}

/**
 * The catalogues of all NodePools, grouped into profiles. All constraints must be interned before. `unused`: pools that
 * no pod of the pass tolerates; their offerings count only as topology domains, and have no rows.
 */
export function buildUniverse(
  pools: readonly Pool[],
  space: KeySpace,
  wellKnown: ReadonlySet<string>,
  unused: ReadonlySet<Pool> = noPools,
): Universe {
  const used = pools.filter((pool) => !unused.has(pool));
  const builder = new Builder(space, wellKnown, mostVariantsOf(used, space, wellKnown));
  for (const pool of pools) builder.addPool(pool, !unused.has(pool));
  const { profiles, domains, rows, compatible, typeRuns } = builder;
  return { profiles, domains, rows, compatible, typeRuns, rank: rankRows(rows), reservations: reservationsOf(rows) };
}

const noPools: ReadonlySet<Pool> = new Set();

function reservationsOf(rows: readonly Row[]): Map<string, number> {
  const reservations = new Map<string, number>();
  for (const { profile, offering } of rows) {
    if (profile.reservation === undefined || offering.commitment !== undefined) continue;
    const free = offering.reservationCapacity ?? 0;
    reservations.set(profile.reservation, Math.min(reservations.get(profile.reservation) ?? free, free));
  }
  return reservations;
}

/** A NodePool while its types are added. */
interface Template {
  readonly pool: Pool;
  /** Whether some pod may use its nodes. */
  readonly isUsed: boolean;
  /** Identifies the pool; only its taints if it is unused. */
  readonly id: number;
  /** Equal for pools with equal `id` whose types and offerings determine the same keys. */
  readonly text: string;
  readonly poolTests: Tests;
  /** Keys for which nodes of the pool may have a label, and those of them that offerings do not determine. */
  readonly keys: readonly number[];
  readonly typeKeys: readonly number[];
}

/** The profiles of offerings by their terms, for types that are equal in the relevant labels. */
type Slot = Map<Terms, readonly Profile[]>;

class Builder {
  readonly profiles: Profile[] = [];
  readonly domains: NodeLike[] = [];
  private readonly domainIds = new Set<number>();
  readonly rows: Row[] = [];
  readonly compatible: boolean[] = [];
  readonly typeRuns: TypeRun[][] = [];
  private readonly profileIndex = new Map<number | string, Profile>();
  private readonly meetings = new Map<Requirement, Map<Requirement, Requirement>>();
  /** By pool and the possible values of labels that types determine. */
  private readonly variants = new Map<string, readonly Variant[]>();
  private readonly slots = new Map<string, Slot>();
  private readonly numbers = new Map<Requirement, number>();
  /** Number of keys that nodes of some pool may have: the first ones of the key space. */
  private readonly keyCount: number;
  private readonly keyIndex = new Map<string, number>();
  private readonly catalogues: CatalogueReader;
  private readonly values: ValueChoices;
  private readonly labelVariants: LabelVariants;
  private readonly defaults: readonly Requirement[];
  /** Keys for which any node may have a label, whatever its NodePool and catalogue. */
  private readonly open: readonly number[];

  constructor(
    private readonly space: KeySpace,
    wellKnown: ReadonlySet<string>,
    mostVariants: number,
  ) {
    const keys = space.newNodeKeys();
    this.keyCount = keys.length;
    keys.forEach((key, i) => this.keyIndex.set(key, i));
    for (const [alias, key] of Object.entries(labelAliases)) {
      const index = this.keyIndex.get(key);
      if (index !== undefined) this.keyIndex.set(alias, index);
    }
    this.defaults = keys.map((key) => {
      const given = lookUp(newNodeLabels, key);
      return given !== undefined ? single(given) : wellKnown.has(key) ? anyValue : doesNotExist;
    });
    this.open = [...keys.keys()].filter((k) => this.defaults[k] !== doesNotExist);
    this.catalogues = new CatalogueReader(this.keyIndex);
    this.values = new ValueChoices(space, this.keyCount);
    this.labelVariants = new LabelVariants(space, this.values, { keyCount: this.keyCount, mostVariants });
  }

  addPool(pool: Pool, isUsed: boolean): void {
    const poolTests = this.testsOf(pool);
    const catalogue = this.catalogues.read(pool.types);
    const keys = this.keysThatCount(poolTests, catalogue, isUsed);
    const id = this.labelVariants.idOf(pool, isUsed);
    const text = `${id}|${keys.typeKeys.join()}|${catalogue.offeringKeys.join()}`;
    let compatible = false;
    const runs: TypeRun[] = [];
    for (const entry of catalogue.types) {
      const from = this.rows.length;
      compatible = this.addType({ pool, isUsed, id, text, poolTests, ...keys }, entry, catalogue) || compatible;
      if (this.rows.length > from) runs.push({ type: entry.type, from, to: this.rows.length });
    }
    this.compatible.push(compatible);
    this.typeRuns.push(runs);
  }

  private testsOf({ requirements }: Pool): Tests {
    const tests = new Map<number, Requirement>();
    for (const [name, requirement] of requirements) {
      const key = this.space.find(name);
      if (key !== undefined) tests.set(key, requirement);
    }
    return tests;
  }

  /**
   * Omits the keys that neither the pool nor its catalogue defines: its nodes have no such label, so these cost nothing
   * however many of them pods use. For an unused pool only domains count.
   */
  private keysThatCount(
    poolTests: Tests,
    { offeringKeys, named }: Catalogue,
    isUsed: boolean,
  ): Pick<Template, 'keys' | 'typeKeys'> {
    const decided = new Set(offeringKeys);
    const own = [...poolTests.keys(), ...this.open].filter((key) => isUsed || this.space.isAsked(key));
    const keys = [...new Set([...own, ...named, ...offeringKeys])].sort((a, b) => a - b);
    return { keys, typeKeys: keys.filter((key) => !decided.has(key) && (isUsed || this.space.isAsked(key))) };
  }

  private addType(template: Template, entry: TypeEntry, { offeringKeys }: Catalogue): boolean {
    const { isUsed, id, poolTests, keys, typeKeys } = template;
    const joint = new Map<number, Requirement>();
    for (const k of keys) {
      const own = entry.tests.get(k);
      const asked = poolTests.get(k);
      const both = own === undefined ? asked : asked === undefined ? own : this.meet(own, asked);
      if (both !== undefined && isImpossible(both)) return false;
      joint.set(k, both ?? this.defaults[k]!);
    }
    const text = `${template.text}|${typeKeys.map((key) => this.values.of(key, joint.get(key)!).number).join()}`;
    let variants = this.variants.get(text);
    if (variants === undefined) {
      variants = isUsed
        ? this.labelVariants.all(id, typeKeys, joint)
        : this.labelVariants.domainsOnly(id, typeKeys, joint);
      this.variants.set(text, variants);
    }
    const slot = this.slotFor(text, joint, offeringKeys);
    for (const { offering, terms } of entry.entries) {
      let profiles = slot.get(terms);
      if (profiles === undefined) {
        profiles = this.profilesFor(template, { joint, variants }, terms, offeringKeys);
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

  /** `text` identifies the pool and the possible values of labels that types determine. */
  private slotFor(text: string, joint: Tests, keys: readonly number[]): Slot {
    const full = `${text}|${keys.map((key) => this.numberOf(joint.get(key)!)).join()}`;
    let slot = this.slots.get(full);
    if (slot === undefined) this.slots.set(full, (slot = new Map<Terms, readonly Profile[]>()));
    return slot;
  }

  private numberOf(requirement: Requirement): number {
    let number = this.numbers.get(requirement);
    if (number === undefined) this.numbers.set(requirement, (number = this.numbers.size));
    return number;
  }

  private profilesFor(
    { pool, isUsed }: Pick<Template, 'pool' | 'isUsed'>,
    { joint, variants }: { joint: Tests; variants: readonly Variant[] },
    { reservation, tests }: Terms,
    offeringKeys: readonly number[],
  ): readonly Profile[] {
    let chosen = variants;
    for (const key of offeringKeys) {
      const own = tests.get(key);
      const had = joint.get(key)!;
      const both = own === undefined ? had : had === anyValue ? own : this.meet(own, had);
      if (isImpossible(both)) return [];
      if (isUsed || this.space.isAsked(key))
        chosen = this.labelVariants.choose(chosen, key, this.values.of(key, both).list);
    }
    if (isUsed) return chosen.map((variant) => this.profile(pool, variant, reservation));
    for (const variant of chosen) this.noteDomain(pool, variant);
    return [];
  }

  private noteDomain({ taints }: Pool, variant: Variant): void {
    if (this.domainIds.has(variant.id)) return;
    this.domainIds.add(variant.id);
    this.domains.push({ values: variantValues(variant, this.keyCount), taints });
  }

  private profile(pool: Pool, variant: Variant, reservation: string | undefined): Profile {
    const key = reservation === undefined ? variant.id : `${variant.id} ${reservation}`;
    let profile = this.profileIndex.get(key);
    if (profile === undefined) {
      const reserved = reservation === undefined ? {} : { reservation };
      const values = variantValues(variant, this.keyCount);
      profile = { index: this.profiles.length, pool, values, ...reserved, rows: [] };
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
      // In most cases a single value is allowed; use the shared object, since look-ups are by identity.
      if (both.values.length === 1 && !both.complement && !both.absent) both = this.catalogues.test('In', both.values);
      known.set(b, both);
    }
    return both;
  }
}
