import type { InstanceType, Offering } from '../../core/instance-type.js';
import { compareText } from '../compare.js';

type Catalogue = readonly InstanceType[];

const ordered = new WeakMap<Catalogue, Catalogue>();

/**
 * The catalogue by name, and the offerings of each type by what they require, so that the order in which they came has no say
 * in a plan. The same array for the same catalogue; catalogues are never changed in place.
 */
export function inCanonicalOrder(types: Catalogue): Catalogue {
  let result = ordered.get(types);
  if (result === undefined) {
    const all = types.map(withOfferingsInOrder).sort((a, b) => compareText(a.name, b.name));
    result = all.every((type, i) => type === types[i]) ? types : all;
    ordered.set(types, result);
    ordered.set(result, result);
  }
  return result;
}

function withOfferingsInOrder(type: InstanceType): InstanceType {
  const texts = new Map(type.offerings.map((offering) => [offering, textOf(offering)]));
  const offerings = [...type.offerings].sort((a, b) => compareText(texts.get(a)!, texts.get(b)!) || a.price - b.price);
  return offerings.every((offering, i) => offering === type.offerings[i]) ? type : { ...type, offerings };
}

function textOf({ requirements }: Offering): string {
  const parts = requirements.map(({ key, operator, values = [] }) => `${key} ${operator} ${[...values].sort().join()}`);
  return parts.sort().join(';');
}
