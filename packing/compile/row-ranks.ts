import { compareText } from '../../core/compare-text.js';
import type { InstanceType, Offering } from '../../core/instance-type.js';

/** An offering of an instance type. */
interface Row {
  readonly type: Pick<InstanceType, 'name'>;
  readonly offering: Pick<Offering, 'price'>;
  readonly zone: string;
  readonly capacityType: string;
}

/** The rank of each row by price, then by name. A native sort of prices comes first, and leaves few ties. */
export function rankRows(rows: readonly Row[]): Int32Array {
  const prices = Float64Array.from(rows, ({ offering }) => offering.price).sort();
  const start = new Map<number, number>();
  for (let k = 0; k < prices.length; k++) if (k === 0 || prices[k] !== prices[k - 1]) start.set(prices[k]!, k);
  const order = new Int32Array(rows.length);
  const next = new Map(start);
  for (let i = 0; i < rows.length; i++) {
    const { price } = rows[i]!.offering;
    const at = next.get(price)!;
    order[at] = i;
    next.set(price, at + 1);
  }
  for (const [price, from] of start) {
    const to = next.get(price)!;
    if (to - from > 1) order.subarray(from, to).sort((a, b) => compareNames(rows[a]!, rows[b]!) || a - b);
  }
  const rank = new Int32Array(rows.length);
  order.forEach((row, place) => (rank[row] = place));
  return rank;
}

function compareNames(a: Row, b: Row): number {
  return (
    compareText(a.type.name, b.type.name) || compareText(a.zone, b.zone) || compareText(a.capacityType, b.capacityType)
  );
}
