import type { BinProblem } from '../bins/problem.js';
import type { Compiled } from '../compile/compiled.js';
import type { Offers } from '../compile/offers.js';
import type { Profile } from '../compile/universe.js';

/** The rows of some profiles, as offers of a bin problem. */
export interface OfferTable {
  /** By offer: its row in the universe. */
  readonly rowOfOffer: readonly number[];
  /** By profile: the range of its offers. */
  readonly range: ReadonlyMap<Profile, { readonly from: number; readonly to: number }>;
  readonly offers: BinProblem['offers'];
  /** Premium on the price of each offer, dollars per hour (see `nodePremium`). */
  readonly perNode: number;
}

/** Number of tables cached per catalogue; the oldest is dropped first. */
const mostKept = 16;

const kept = new WeakMap<Offers, Map<string, OfferTable>>();

/**
 * The table of these profiles, by index. It depends only on the catalogue: problems with the same profiles share it, and
 * everything that is cached with its offers.
 */
export function offerTable({ offers, universe, dimensions }: Compiled, profiles: readonly Profile[]): OfferTable {
  let tables = kept.get(offers);
  if (tables === undefined) kept.set(offers, (tables = new Map<string, OfferTable>()));
  let text = '';
  for (const { index } of profiles) text += `${index},`;
  let table = tables.get(text);
  if (table === undefined) {
    if (tables.size >= mostKept) for (const oldest of tables.keys()) if (tables.delete(oldest)) break;
    table = makeTable({ offers, universe, dimensions }, profiles);
    tables.set(text, table);
  }
  return table;
}

function makeTable(
  { offers, universe, dimensions }: Pick<Compiled, 'offers' | 'universe' | 'dimensions'>,
  profiles: readonly Profile[],
): OfferTable {
  const range = new Map<Profile, { from: number; to: number }>();
  const rowOfOffer: number[] = [];
  const capacities: Float64Array[] = [];
  for (const profile of profiles) {
    const { rows, capacity } = offers.of(profile);
    range.set(profile, { from: rowOfOffer.length, to: rowOfOffer.length + rows.length });
    for (const row of rows) rowOfOffer.push(row);
    capacities.push(capacity);
  }
  const capacity = new Float64Array(rowOfOffer.length * dimensions.count);
  let at = 0;
  for (const vector of capacities) {
    capacity.set(vector, at);
    at += vector.length;
  }
  const price = Float64Array.from(rowOfOffer, (row) => universe.rows[row]!.offering.price);
  const perNode = nodePremium(price);
  for (let offer = 0; offer < price.length; offer++) price[offer] = price[offer]! + perNode;
  return { rowOfOffer, range, offers: { count: rowOfOffer.length, price, capacity }, perNode };
}

/** A small premium per node, so that of plans with the same price the one with fewer nodes is chosen. */
function nodePremium(price: Float64Array): number {
  let least = Infinity;
  for (const each of price) if (each > 0 && each < least) least = each;
  return least === Infinity ? premium : least * premium;
}

const premium = 1e-9;
