import { verb } from '../../core/text.js';

/** How many types a replacement needs if a single spot node is replaced by spot (consolidation/spot-to-spot). */
const leastTypes = 15;

/** Why spot nodes are not replaced by spot, in words. */
export const spotToSpotIsOff = 'a spot node is replaced by spot only with feature gate SpotToSpotConsolidation';

/** Why a single spot node is not replaced by spot of these types, in words; undefined if there are enough of them. */
export function whyNoSpotToSpot(types: number): string | undefined {
  if (types >= leastTypes) return undefined;
  return `a spot node is replaced by spot only if at least ${leastTypes} cheaper instance types can be used, and there ${verb(types, 'is', 'are')} ${types}`;
}

/**
 * How many of the cheapest types the replacement lists: so few that the new spot node is not a candidate again at once,
 * and so many that `minValues` is met. `missesMinValues`: whether this number of types does not meet it.
 */
export function typesOfSpotToSpot(available: number, missesMinValues: (types: number) => boolean): number {
  let types = leastTypes;
  while (types < available && missesMinValues(types)) types++;
  return types;
}
