import { compareText } from '../../core/text.js';
import type { InstanceType, Offering } from '../../core/instance-type.js';

type Catalogue = readonly InstanceType[];

const ordered = new WeakMap<Catalogue, Catalogue>();

/**
 * Sorts the catalogue by name and the offerings of each type by their requirements, so that the order of the input does not
 * change the plan. Returns the same array for the same catalogue; catalogues are never modified.
 */
export function inCanonicalOrder(types: Catalogue): Catalogue {
  let result = ordered.get(types);
  if (result === undefined) {
    const sorter = new OfferingSorter();
    const all = types.map((type) => sorter.withOfferingsInOrder(type));
    if (!isByName(all)) all.sort((a, b) => compareText(a.name, b.name));
    result = all.every((type, i) => type === types[i]) ? types : all;
    ordered.set(types, result);
    ordered.set(result, result);
  }
  return result;
}

function isByName(types: Catalogue): boolean {
  for (let i = 1; i < types.length; i++) if (compareText(types[i - 1]!.name, types[i]!.name) > 0) return false;
  return true;
}

/**
 * Sorts offerings. Caches the order of the previous type, since most types have the same zones and capacity types in
 * the same order.
 */
class OfferingSorter {
  private before: readonly Offering[] = [];
  private texts: readonly string[] = [];
  /** The position of each offering; undefined if they are in order, or if equal offerings have to be ordered by price. */
  private places: readonly number[] | undefined;
  private isTied = true;

  withOfferingsInOrder(type: InstanceType): InstanceType {
    if (!this.isLikeBefore(type.offerings)) this.read(type.offerings);
    const { offerings } = type;
    if (this.isTied) return this.sorted(type);
    return this.places === undefined ? type : { ...type, offerings: this.places.map((place) => offerings[place]!) };
  }

  private isLikeBefore(offerings: readonly Offering[]): boolean {
    const { before } = this;
    if (offerings.length !== before.length) return false;
    for (let i = 0; i < offerings.length; i++) {
      if (!requireAlike(offerings[i]!.requirements, before[i]!.requirements)) return false;
    }
    return true;
  }

  private read(offerings: readonly Offering[]): void {
    this.before = offerings;
    const texts = offerings.map(textOf);
    this.texts = texts;
    this.isTied = new Set(texts).size < texts.length;
    const places = texts.map((_, i) => i).sort((a, b) => compareText(texts[a]!, texts[b]!));
    this.places = places.every((place, i) => place === i) ? undefined : places;
  }

  private sorted(type: InstanceType): InstanceType {
    const { texts } = this;
    const places = texts
      .map((_, i) => i)
      .sort((a, b) => compareText(texts[a]!, texts[b]!) || type.offerings[a]!.price - type.offerings[b]!.price);
    return places.every((place, i) => place === i)
      ? type
      : { ...type, offerings: places.map((place) => type.offerings[place]!) };
  }
}

type Requirements = Offering['requirements'];

/** Whether both have the same requirements in the same order. A quick check, which may return false for equal ones. */
export function requireAlike(a: Requirements, b: Requirements): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) {
    const one = a[i]!;
    const other = b[i]!;
    if (one.key !== other.key || one.operator !== other.operator) return false;
    if (one.values?.length !== 1 || other.values?.length !== 1 || one.values[0] !== other.values[0]) return false;
  }
  return true;
}

function textOf({ requirements }: Offering): string {
  const parts = requirements.map(({ key, operator, values = [] }) => `${key} ${operator} ${[...values].sort().join()}`);
  return parts.sort().join(';');
}
