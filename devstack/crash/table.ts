import Table from 'cli-table3';
import type { CrashPoint } from './crash-points.js';
import type { MatrixResult } from './matrix.js';

const isEvent = ({ place }: CrashPoint): boolean => place.startsWith('after event');

/** The points of each scenario by what the worker was about. */
export function matrixTable({ points, rounds }: MatrixResult): string {
  const table = new Table({
    head: ['scenario', 'rounds', 'after an event', 'in an activity', 'points', 'workflows'],
    style: { head: [], border: [] },
  });
  const names = [...new Set(points.map(({ scenario }) => scenario))].sort();
  for (const name of names) {
    const own = points.filter(({ scenario }) => scenario === name);
    const events = own.filter(isEvent).length;
    const types = [...new Set(own.map(({ workflowType }) => workflowType))].sort();
    table.push([name, rounds.get(name) ?? '', events, own.length - events, own.length, types.join(', ')]);
  }
  const events = points.filter(isEvent).length;
  table.push(['all', '', events, points.length - events, points.length, '']);
  return table.toString();
}
