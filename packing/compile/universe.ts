import { labels } from '../../api/labels.js';
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
import { normaliseKey } from '../requirements/requirements.js';
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

/** An instance type in one zone under one capacity type, for one NodePool: what can be launched. */
export interface Row {
  readonly type: InstanceType;
  readonly offering: Offering;
  readonly zone: string;
  readonly capacityType: string;
  readonly profile: Profile;
}

export interface Universe {
  readonly profiles: readonly Profile[];
  readonly rows: readonly Row[];
  /** By pool: whether any type survives the template's requirements, available or not. */
  readonly compatible: readonly boolean[];
}

const anything: Requirement = { complement: true, values: [], absent: true };

/** The catalogue seen through every NodePool, sorted into profiles. Constraints must all be interned before. */
export function buildUniverse(pools: readonly Pool[], space: KeySpace, wellKnown: ReadonlySet<string>): Universe {
  const builder = new Builder(space, wellKnown);
  for (const pool of pools) builder.addPool(pool);
  return builder;
}

interface Entry {
  readonly offering: Offering;
  readonly zone: string;
  readonly capacityType: string;
  readonly reservation: string | undefined;
  /** Requirements on referenced keys, in pairs of key and requirement. */
  readonly keys: readonly number[];
  readonly tests: readonly Requirement[];
}

interface TypeEntry {
  readonly type: InstanceType;
  readonly byKey: readonly (Requirement | undefined)[];
  readonly entries: readonly Entry[];
}

class Builder implements Universe {
  readonly profiles: Profile[] = [];
  readonly rows: Row[] = [];
  readonly compatible: boolean[] = [];
  private readonly profileIndex = new Map<string, Profile>();
  private readonly catalogues = new Map<readonly InstanceType[], readonly TypeEntry[]>();
  private readonly singles = new Map<string, Requirement>();
  private readonly candidateLists: Map<Requirement, readonly (string | undefined)[]>[] = [];
  private readonly keyCount: number;
  private readonly defaults: readonly Requirement[];

  constructor(
    private readonly space: KeySpace,
    wellKnown: ReadonlySet<string>,
  ) {
    this.keyCount = space.keys.length;
    this.defaults = space.keys.map((key) => (wellKnown.has(key) ? anything : doesNotExist));
    for (let k = 0; k < this.keyCount; k++) this.candidateLists.push(new Map());
  }

  addPool(pool: Pool): void {
    const poolTests = this.space.keys.map((key) => pool.requirements.get(key));
    let compatible = false;
    for (const entry of this.catalogue(pool.types)) compatible = this.addType(pool, poolTests, entry) || compatible;
    this.compatible.push(compatible);
  }

  private addType(pool: Pool, poolTests: readonly (Requirement | undefined)[], entry: TypeEntry): boolean {
    const joint: Requirement[] = [];
    for (let k = 0; k < this.keyCount; k++) {
      const own = entry.byKey[k];
      const asked = poolTests[k];
      const both = own === undefined ? asked : asked === undefined ? own : this.meet(own, asked);
      if (both !== undefined && isImpossible(both)) return false;
      joint.push(both ?? this.defaults[k]!);
    }
    for (const offer of entry.entries) this.addOffering(pool, entry.type, joint, offer);
    return true;
  }

  private addOffering(pool: Pool, type: InstanceType, joint: readonly Requirement[], offer: Entry): void {
    if (!offer.offering.available) return;
    let tests = joint;
    for (let i = 0; i < offer.keys.length; i++) {
      const key = offer.keys[i]!;
      const both = joint[key] === anything ? offer.tests[i]! : this.meet(joint[key]!, offer.tests[i]!);
      if (isImpossible(both)) return;
      if (tests === joint) tests = [...joint];
      (tests as Requirement[])[key] = both;
    }
    this.expand(tests, 0, '', [], (id, values) => {
      const profile = this.profile(pool, `${pool.index}/${offer.reservation ?? ''}${id}`, values, offer.reservation);
      profile.rows.push(this.rows.length);
      this.rows.push({ type, offering: offer.offering, zone: offer.zone, capacityType: offer.capacityType, profile });
    });
  }

  /** Calls `emit` for each combination of values that some constraint could tell from the others. */
  private expand(
    tests: readonly Requirement[],
    from: number,
    id: string,
    values: readonly (string | undefined)[],
    emit: (id: string, values: readonly (string | undefined)[]) => void,
  ): void {
    const chosen = [...values];
    let text = id;
    for (let k = from; k < this.keyCount; k++) {
      const candidates = this.candidates(k, tests[k]!);
      if (candidates.length !== 1) {
        for (const value of candidates) {
          this.expand(tests, k + 1, `${text},${this.space.classOf(k, value)}`, [...chosen, value], emit);
        }
        return;
      }
      chosen.push(candidates[0]);
      text += `,${this.space.classOf(k, candidates[0])}`;
    }
    emit(text, chosen);
  }

  /** One value for each class of values that the requirement allows. */
  private candidates(key: number, requirement: Requirement): readonly (string | undefined)[] {
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
    const candidates = offered.filter((value) => {
      const valueClass = this.space.classOf(key, value);
      return !seen.has(valueClass) && seen.add(valueClass);
    });
    this.candidateLists[key]!.set(requirement, candidates);
    return candidates;
  }

  private profile(
    pool: Pool,
    id: string,
    values: readonly (string | undefined)[],
    reservation: string | undefined,
  ): Profile {
    let profile = this.profileIndex.get(id);
    if (profile === undefined) {
      const reserved = reservation === undefined ? {} : { reservation };
      profile = { index: this.profiles.length, pool, values, ...reserved, rows: [] };
      this.profiles.push(profile);
      this.profileIndex.set(id, profile);
    }
    return profile;
  }

  private meet(a: Requirement, b: Requirement): Requirement {
    // Nearly always one value meets a set that has it.
    if (!a.complement && a.values.length === 1 && !b.absent && accepts(b, a.values[0]!)) return a;
    if (!b.complement && b.values.length === 1 && !a.absent && accepts(a, b.values[0]!)) return b;
    return intersect(a, b);
  }

  private catalogue(types: readonly InstanceType[]): readonly TypeEntry[] {
    let entries = this.catalogues.get(types);
    if (entries === undefined) {
      entries = types.map((type) => this.typeEntry(type));
      this.catalogues.set(types, entries);
    }
    return entries;
  }

  private typeEntry(type: InstanceType): TypeEntry {
    const byKey = new Array<Requirement | undefined>(this.keyCount).fill(undefined);
    for (const { key, operator, values } of type.requirements) {
      const index = this.space.find(normaliseKey(key));
      if (index !== undefined && index < this.keyCount) byKey[index] = this.test(operator, values);
    }
    return { type, byKey, entries: type.offerings.map((offering) => this.offeringEntry(type, offering)) };
  }

  private offeringEntry(type: InstanceType, offering: Offering): Entry {
    const keys: number[] = [];
    const tests: Requirement[] = [];
    let zone = '';
    let capacityType = '';
    let reservation: string | undefined;
    for (const { key, operator, values } of offering.requirements) {
      const name = normaliseKey(key);
      if (name === labels.zone) zone = values?.[0] ?? '';
      else if (name === labels.capacityType) capacityType = values?.[0] ?? '';
      else if (name.endsWith(reservationSuffix) && operator === 'In') reservation = values?.[0];
      const index = this.space.find(name);
      if (index === undefined) continue;
      keys.push(index);
      tests.push(this.test(operator, values));
    }
    const limited = offering.reservationCapacity === undefined ? undefined : (reservation ?? `${type.name}/${zone}`);
    return { offering, zone, capacityType, reservation: limited, keys, tests };
  }

  private test(operator: Parameters<typeof requirementOf>[0], values: readonly string[] | undefined): Requirement {
    if (operator !== 'In' || values?.length !== 1) return requirementOf(operator, values);
    let test = this.singles.get(values[0]!);
    if (test === undefined) this.singles.set(values[0]!, (test = requirementOf('In', values)));
    return test;
  }
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
