import { compareText } from '../../core/text.js';
import type { InstanceType, Offering } from '../../core/instance-type.js';

/** An offering of an instance type. */
interface Row {
  readonly type: Pick<InstanceType, 'name'>;
  readonly offering: Pick<Offering, 'price'>;
  readonly zone: string;
  readonly capacityType: string;
}

/**
 * The rank of each row by price, then by name, then by position. Rows of one offering, of which every NodePool with the
 * catalogue has one, are compared with others once for all of them.
 */
export function rankRows(rows: readonly Row[]): Int32Array {
  const { sort, examples } = sortsOf(rows);
  const place = placesOf(examples);
  const next = new Int32Array(examples.length + 1);
  for (const each of sort) next[place[each]! + 1]! += 1;
  for (let k = 1; k < next.length; k++) next[k]! += next[k - 1]!;
  const rank = new Int32Array(rows.length);
  for (let i = 0; i < rows.length; i++) rank[i] = next[place[sort[i]!]!]!++;
  return rank;
}

/**
 * Groups rows by offering and type: the group of each row, and an example of each group. Equal rows may be in different
 * groups.
 */
function sortsOf(rows: readonly Row[]): { readonly sort: Int32Array; readonly examples: readonly Row[] } {
  const sort = new Int32Array(rows.length);
  const examples: Row[] = [];
  const byOffering = new Map<Row['offering'], number>();
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i]!;
    let known = byOffering.get(row.offering);
    if (known === undefined || examples[known]!.type !== row.type) {
      known = examples.push(row) - 1;
      byOffering.set(row.offering, known);
    }
    sort[i] = known;
  }
  return { sort, examples };
}

/** The position of each row in the order, with equal rows sharing one. */
function placesOf(rows: readonly Row[]): Int32Array {
  const prices = Float64Array.from(rows, ({ offering }) => offering.price);
  const order = Int32Array.from(rows, (_, i) => i);
  order.sort((a, b) => prices[a]! - prices[b]! || compareNames(rows[a]!, rows[b]!));
  const place = new Int32Array(rows.length);
  let last = -1;
  order.forEach((row, k) => {
    const before = k === 0 ? undefined : rows[order[k - 1]!]!;
    const isEqual =
      before !== undefined &&
      before.offering.price === rows[row]!.offering.price &&
      compareNames(before, rows[row]!) === 0;
    if (!isEqual) last += 1;
    place[row] = last;
  });
  return place;
}

function compareNames(a: Row, b: Row): number {
  return (
    compareText(a.type.name, b.type.name) || compareText(a.zone, b.zone) || compareText(a.capacityType, b.capacityType)
  );
}
