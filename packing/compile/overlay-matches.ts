import type { InstanceType } from '../../core/instance-type.js';
import { intersect, isImpossible, type Requirement } from '../requirements/requirement.js';
import { canonicalText, readRequirements, type Requirements } from '../requirements/requirements.js';

/** What a NodeOverlay selects in a catalogue: indexes of types, and of offerings counted over all types, ascending. */
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
  readonly offeringCount: number;
  private readonly read: readonly ReadType[];
  /** By the NodePool's requirements on the keys of the overlay: few NodePools differ in these. */
  private asked: Requirements | undefined;
  private readonly byPool = new Map<string, Match>();
  private readonly byPlaces = new Map<string, Match>();

  constructor(readonly types: readonly InstanceType[]) {
    let from = 0;
    this.read = types.map(({ requirements, offerings }) => {
      const first = from;
      from += offerings.length;
      return {
        requirements: readRequirements(requirements),
        offerings: offerings.map((offering) => readRequirements(offering.requirements)),
        from: first,
      };
    });
    this.offeringCount = from;
  }

  /** Index of the first offering of a type. */
  from(type: number): number {
    return this.read[type]!.from;
  }

  /**
   * What an overlay with the requirements `asked` selects in a NodePool with the requirements `pool`; equal matches are one
   * object.
   */
  match(asked: Requirements, pool: Requirements): Match {
    if (asked !== this.asked) {
      this.asked = asked;
      this.byPool.clear();
      this.byPlaces.clear();
    }
    const own = new Map([...pool].filter(([key]) => asked.has(key)));
    const text = canonicalText(own);
    let found = this.byPool.get(text);
    if (found === undefined) this.byPool.set(text, (found = this.intern(this.find(asked, own))));
    return found;
  }

  private find(asked: Requirements, pool: Requirements): Match {
    const types: number[] = [];
    const offerings: number[] = [];
    this.read.forEach((type, t) => {
      if (!compatible(asked, [pool, type.requirements])) return;
      types.push(t);
      type.offerings.forEach((offering, o) => {
        if (compatible(asked, [pool, type.requirements, offering])) offerings.push(type.from + o);
      });
    });
    return { types, offerings };
  }

  private intern(match: Match): Match {
    const text = `${match.types.join()}|${match.offerings.join()}`;
    const known = this.byPlaces.get(text);
    if (known === undefined) this.byPlaces.set(text, match);
    return known ?? match;
  }
}

/** Whether all of `layers` together are compatible with what is asked for. */
function compatible(asked: Requirements, layers: readonly Requirements[]): boolean {
  for (const [key, requirement] of asked) {
    let own: Requirement | undefined;
    for (const layer of layers) {
      const more = layer.get(key);
      if (more !== undefined) own = own === undefined ? more : intersect(own, more);
    }
    if (own === undefined ? !requirement.absent : isImpossible(intersect(requirement, own))) return false;
  }
  return true;
}
