import Table from 'cli-table3';
import { bare } from './report.js';
import type { SimulatedScaleDown } from '../../test/simulation/scale-down/scale-down.js';

/** A line each, then what they come to: the mean, and the worst. `bound` is in dollars an hour. */
export function simulationTable(results: readonly SimulatedScaleDown[], bound: number): string {
  const head = [
    'seed',
    'before',
    'after',
    'over bound',
    'nodes',
    'seconds',
    'pods moved',
    'moves',
    'abandoned',
    'launched',
  ];
  const table = new Table({ ...bare, head, colAligns: new Array<'right'>(head.length).fill('right') });
  const over = ({ priceAfter }: SimulatedScaleDown): number => (priceAfter / bound - 1) * 100;
  for (const each of results) {
    table.push([
      each.seed,
      each.priceBefore.toFixed(2),
      each.priceAfter.toFixed(2),
      `${over(each).toFixed(1)}%`,
      `${each.nodesBefore} to ${each.nodesAfter}`,
      each.seconds.toFixed(0),
      each.podsMoved,
      each.movesDone,
      each.abandoned,
      each.launchedForPods,
    ]);
  }
  const row = (name: string, of: (values: readonly number[]) => number): string[] => {
    const value = (get: (each: SimulatedScaleDown) => number): string => of(results.map(get)).toFixed(1);
    const middle = [value(over), '', value(({ seconds }) => seconds), value(({ podsMoved }) => podsMoved)];
    const last = [value(({ movesDone }) => movesDone), value(({ abandoned }) => abandoned)];
    return [name, '', '', ...middle, ...last, value(({ launchedForPods }) => launchedForPods)];
  };
  table.push(row('mean', (values) => values.reduce((a, b) => a + b, 0) / Math.max(1, values.length)));
  table.push(row('worst', (values) => Math.max(...values)));
  return table.toString();
}
