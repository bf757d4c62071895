import Table from 'cli-table3';
import type { CrashPoint } from './deaths.js';
import type { MatrixResult } from './matrix.js';

type Where = 'event' | 'activity' | 'operator';

function whereOf({ of, place }: CrashPoint): Where {
  if (of === 'operator') return 'operator';
  return place.startsWith('after event') ? 'event' : 'activity';
}

/** Points after an event, in an activity, of the operator, and all. */
function counts(points: readonly CrashPoint[]): number[] {
  const of = (where: Where): number => points.filter((point) => whereOf(point) === where).length;
  return [of('event'), of('activity'), of('operator'), points.length];
}

/** The points of each scenario by who died, and what it was about. */
export function matrixTable({ points, rounds }: MatrixResult): string {
  const table = new Table({
    head: ['scenario', 'rounds', 'worker after an event', 'in an activity', 'operator', 'points', 'workflows'],
    style: { head: [], border: [] },
  });
  const names = [...new Set(points.map(({ scenario }) => scenario))].sort();
  for (const name of names) {
    const own = points.filter(({ scenario }) => scenario === name);
    const types = [...new Set(own.map(({ of }) => of))].filter((type) => type !== 'operator').sort();
    table.push([name, rounds.get(name) ?? '', ...counts(own), types.join(', ')]);
  }
  table.push(['all', '', ...counts(points), '']);
  return table.toString();
}
