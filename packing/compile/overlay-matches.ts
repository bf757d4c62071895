import type { InstanceType, Offering } from '../../core/instance-type.js';
import { describeRequirement, intersect, isImpossible, type Requirement } from '../requirements/requirement.js';
import { canonicalText, noRequirements, readRequirements, type Requirements } from '../requirements/requirements.js';

/** What a NodeOverlay selects in a catalogue: indices of types, and of offerings over all types, ascending. */
export interface Match {
  readonly types: readonly number[];
  readonly offerings: readonly number[];
}

interface ReadType {
  readonly requirements: Requirements;
  readonly offerings: readonly Requirements[];
  /** Index of its first offering. */
  readonly from: number;
}

/** Matches overlays with a catalogue, which is read once for all overlays and NodePools. */
export class OverlayMatcher {
  /** Offerings of all types. */
  readonly offerings: readonly Offering[];
  private readonly read: readonly ReadType[];
  /** Keys for which some type or offering has a requirement. */
  private readonly keys = new Set<string>();
  private readonly interned = new Map<string, Requirement>();
  /** The current overlay's requirements. Few NodePools differ in its keys. */
  private asked: Requirements | undefined;
  private readonly byPool = new Map<string, Match>();
  private readonly byPlaces = new Map<string, Match>();
  /** The requirements that only the NodePool determines; `rest` has the others. */
  private elsewhere: Requirements = noRequirements;
  private rest: Requirements = noRequirements;

  constructor(readonly types: readonly InstanceType[]) {
    let from = 0;
    this.read = types.map(({ requirements, offerings }) => {
      const first = from;
      from += offerings.length;
      return {
        requirements: this.readOnce(requirements),
        offerings: offerings.map((offering) => this.readOnce(offering.requirements)),
        from: first,
      };
    });
    this.offerings = types.flatMap(({ offerings }) => offerings);
  }

  /** Equal requirements are one object, so that results can be cached by identity. */
  private readOnce(list: InstanceType['requirements']): Requirements {
    const read = new Map<string, Requirement>();
    for (const [key, requirement] of readRequirements(list)) {
      this.keys.add(key);
      const text = describeRequirement(requirement);
      let known = this.interned.get(text);
      if (known === undefined) this.interned.set(text, (known = requirement));
      read.set(key, known);
    }
    return read;
  }

  /** Index of the first offering of a type. */
  from(type: number): number {
    return this.read[type]!.from;
  }

  /**
   * Whether an overlay with these requirements may select anything in some NodePool: open requirements count as
   * satisfied.
   */
  mayMatch(asked: Requirements): boolean {
    if (asked !== this.asked) this.begin(asked);
    const tests = [...this.rest].map(([key, requirement]) => new KeyTest(key, requirement, undefined));
    return this.read.some(({ requirements }) => tests.every((test) => test.mayHold(requirements)));
  }

  /**
   * What an overlay with requirements `asked` selects in a NodePool with requirements `pool`; equal matches are one
   * object.
   */
  match(asked: Requirements, pool: Requirements): Match {
    if (asked !== this.asked) this.begin(asked);
    if (!isCompatible(this.elsewhere, pool)) return nothing;
    const own = new Map([...this.rest.keys()].flatMap((key) => (pool.has(key) ? [[key, pool.get(key)!]] : [])));
    const text = canonicalText(own);
    let found = this.byPool.get(text);
    if (found === undefined) this.byPool.set(text, (found = this.intern(this.find(own))));
    return found;
  }

  private begin(asked: Requirements): void {
    this.asked = asked;
    this.elsewhere = new Map([...asked].filter(([key]) => !this.keys.has(key)));
    this.rest = new Map([...asked].filter(([key]) => this.keys.has(key)));
    this.byPool.clear();
    this.byPlaces.clear();
  }

  private find(pool: Requirements): Match {
    const types: number[] = [];
    const offerings: number[] = [];
    const tests = [...this.rest].map(([key, requirement]) => new KeyTest(key, requirement, pool.get(key)));
    this.read.forEach((type, t) => {
      if (!tests.every((test) => test.holds(type.requirements))) return;
      types.push(t);
      type.offerings.forEach((offering, o) => {
        if (tests.every((test) => test.holds(type.requirements, offering))) offerings.push(type.from + o);
      });
    });
    return { types, offerings };
  }

  private intern(match: Match): Match {
    if (match.types.length === 0) return nothing;
    const text = `${match.types.join()}|${match.offerings.join()}`;
    const known = this.byPlaces.get(text);
    if (known === undefined) this.byPlaces.set(text, match);
    return known ?? match;
  }
}

const nothing: Match = { types: [], offerings: [] };

type KnownResults = Map<Requirement | undefined, boolean>;

/**
 * An overlay's requirement on one key in a NodePool, evaluated once for types and offerings with equal requirements on
 * it.
 */
class KeyTest {
  private readonly results = new Map<Requirement | undefined, KnownResults>();

  constructor(
    private readonly key: string,
    private readonly asked: Requirement,
    private readonly pool: Requirement | undefined,
  ) {}

  /** Whether it may be satisfied in some NodePool. */
  mayHold(ofType: Requirements): boolean {
    return !ofType.has(this.key) || this.holds(ofType);
  }

  holds(ofType: Requirements, ofOffering = noRequirements): boolean {
    const type = ofType.get(this.key);
    const offering = ofOffering.get(this.key);
    let known = this.results.get(type);
    if (known === undefined) this.results.set(type, (known = new Map<Requirement | undefined, boolean>()));
    let verdict = known.get(offering);
    if (verdict === undefined) {
      verdict = meets(this.asked, both(both(this.pool, type), offering));
      known.set(offering, verdict);
    }
    return verdict;
  }
}

const both = (a: Requirement | undefined, b: Requirement | undefined): Requirement | undefined =>
  a === undefined ? b : b === undefined ? a : intersect(a, b);

const meets = (asked: Requirement, own: Requirement | undefined): boolean =>
  own === undefined ? asked.absent : !isImpossible(intersect(asked, own));

/** Whether a node with labels `own` satisfies the requirements. */
function isCompatible(asked: Requirements, own: Requirements): boolean {
  for (const [key, requirement] of asked) if (!meets(requirement, own.get(key))) return false;
  return true;
}
