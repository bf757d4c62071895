import { labels } from '../../api/labels.js';
import type { InstanceType, Offering } from '../../core/instance-type.js';
import { requirementOf, type Requirement } from '../requirements/requirement.js';
import { requireAlike } from './catalogue-order.js';

/** Requirements on labels, by key of the key space. */
export type Tests = ReadonlyMap<number, Requirement>;

/** The label requirements of an offering; offerings with equal ones share one object. */
export interface Terms {
  readonly zone: string;
  readonly capacityType: string;
  readonly reservation: string | undefined;
  readonly tests: Tests;
}

interface Entry {
  readonly offering: Offering;
  readonly terms: Terms;
}

export interface TypeEntry {
  readonly type: InstanceType;
  readonly tests: Tests;
  readonly entries: readonly Entry[];
}

export interface Catalogue {
  readonly types: readonly TypeEntry[];
  /** Keys with a requirement in some offering. */
  readonly offeringKeys: readonly number[];
  /** Keys with a requirement in some instance type. */
  readonly named: ReadonlySet<number>;
}

/** A trie of offerings by their requirements, cheaper than a text of all requirements as a key. */
interface TermsNode {
  readonly next: Map<string, TermsNode>;
  terms?: Terms;
}

function branch({ next }: TermsNode, text: string): TermsNode {
  let node = next.get(text);
  if (node === undefined) next.set(text, (node = { next: new Map() }));
  return node;
}

/** Reads the label requirements of types and offerings, for keys that nodes may have. Equal ones are one object. */
export class CatalogueReader {
  private readonly catalogues = new Map<readonly InstanceType[], Catalogue>();
  private readonly interned = new Map<string, Requirement>();
  private readonly last: Entry[] = [];
  private readonly termsTree: TermsNode = { next: new Map() };

  constructor(private readonly keyIndex: ReadonlyMap<string, number>) {}

  /** Reads each catalogue once. */
  read(types: readonly InstanceType[]): Catalogue {
    let catalogue = this.catalogues.get(types);
    if (catalogue === undefined) {
      const decided = new Set<number>();
      const named = new Set<number>();
      const entries = types.map((type) => this.typeEntry(type, decided, named));
      const offeringKeys = [...decided].sort((a, b) => a - b);
      catalogue = { types: entries, offeringKeys, named };
      this.catalogues.set(types, catalogue);
    }
    return catalogue;
  }

  private typeEntry(type: InstanceType, decided: Set<number>, named: Set<number>): TypeEntry {
    const tests = new Map<number, Requirement>();
    for (const { key, operator, values } of type.requirements) {
      const index = this.keyIndex.get(key);
      if (index === undefined) continue;
      tests.set(index, this.test(operator, values));
      named.add(index);
    }
    const entries: Entry[] = [];
    const { offerings } = type;
    for (let i = 0; i < offerings.length; i++) {
      const offering = offerings[i]!;
      if (!offering.available) continue;
      const terms = this.termsLike(i, offering) ?? this.termsOf(type, offering);
      const entry = { offering, terms };
      this.last[i] = entry;
      // The same terms may come from another catalogue: record their keys for this one too.
      for (const key of terms.tests.keys()) decided.add(key);
      entries.push(entry);
    }
    return { type, tests, entries };
  }

  /** The terms of the offering at the same position in the previous type, if they are equal, as in most cases. */
  private termsLike(place: number, { requirements, reservationCapacity, commitment }: Offering): Terms | undefined {
    const last = this.last[place];
    if (last === undefined || reservationCapacity !== undefined || commitment !== undefined) return undefined;
    if (last.terms.reservation !== undefined) return undefined;
    return requireAlike(last.offering.requirements, requirements) ? last.terms : undefined;
  }

  private termsOf(type: InstanceType, offering: Offering): Terms {
    const { requirements } = offering;
    let node = isReserved(offering) ? branch(this.termsTree, type.name) : this.termsTree;
    if (offering.commitment !== undefined) node = branch(node, commitmentId(offering.commitment.name));
    for (let i = 0; i < requirements.length; i++) {
      const { key, operator, values } = requirements[i]!;
      const simple = operator === 'In' && values?.length === 1;
      node = branch(branch(node, key), simple ? values[0]! : JSON.stringify(requirements[i]));
    }
    return (node.terms ??= this.readTerms(type, offering));
  }

  private readTerms(type: InstanceType, offering: Offering): Terms {
    const tests = new Map<number, Requirement>();
    let zone = '';
    let capacityType = '';
    let reservation: string | undefined;
    for (const { key, operator, values } of offering.requirements) {
      const index = this.keyIndex.get(key);
      if (index !== undefined) tests.set(index, this.test(operator, values));
      if (index === this.keyIndex.get(labels.zone)) zone = values?.[0] ?? '';
      else if (index === this.keyIndex.get(labels.capacityType)) capacityType = values?.[0] ?? '';
      else if (operator === 'In' && key.endsWith(reservationSuffix)) reservation = values?.[0];
    }
    const own = isReserved(offering) ? (reservation ?? `${type.name}/${zone}`) : undefined;
    const limited = offering.commitment === undefined ? own : commitmentId(offering.commitment.name);
    return { zone, capacityType, reservation: limited, tests };
  }

  /** A requirement; equal ones are one object. */
  test(operator: Parameters<typeof requirementOf>[0], values: readonly string[] | undefined): Requirement {
    if (operator !== 'In' || values === undefined) return requirementOf(operator, values);
    const text = values.length === 1 ? values[0]! : values.join('\u0001');
    let test = this.interned.get(text);
    if (test === undefined) this.interned.set(text, (test = requirementOf('In', values)));
    return test;
  }
}

/** Whether the offering has a limited number of instances. */
const isReserved = ({ reservationCapacity, requirements }: Offering): boolean =>
  reservationCapacity !== undefined ||
  requirements.some(({ key, values }) => key === labels.capacityType && values?.includes('reserved') === true);

/** The id of a commitment, in place of a reservation id. */
export const commitmentId = (name: string): string => `commitment ${name}`;

const reservationSuffix = 'capacity-reservation-id';
