const macros = ['@annually', '@yearly', '@monthly', '@weekly', '@daily', '@midnight', '@hourly'];

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const weekdays = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

interface CronField {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  /** Names for the numbers from `min` on. */
  readonly names?: readonly string[];
}

const fields: readonly CronField[] = [
  { name: 'minute', min: 0, max: 59 },
  { name: 'hour', min: 0, max: 23 },
  { name: 'day of month', min: 1, max: 31 },
  { name: 'month', min: 1, max: 12, names: months },
  { name: 'day of week', min: 0, max: 6, names: weekdays },
];

function numberOf(text: string, { min, names }: CronField): number | undefined {
  const named = names?.indexOf(text.toLowerCase()) ?? -1;
  if (named >= 0) return min + named;
  return /^[0-9]+$/.test(text) ? Number(text) : undefined;
}

function rangeProblem(range: string, field: CronField): string | undefined {
  if (range === '*' || range === '?') return undefined;
  const ends = range.split('-');
  if (ends.length > 2) return `${field.name} "${range}" is not a range`;
  const numbers = ends.map((end) => numberOf(end, field));
  for (const number of numbers) {
    if (number === undefined || number < field.min || number > field.max) {
      return `${field.name} "${range}" is not within ${field.min} to ${field.max}`;
    }
  }
  const [first, last] = numbers;
  return last !== undefined && first! > last ? `${field.name} "${range}" ends before it begins` : undefined;
}

function fieldProblem(text: string, field: CronField): string | undefined {
  for (const part of text.split(',')) {
    const [range = '', step, ...rest] = part.split('/');
    if (rest.length > 0) return `${field.name} "${part}" has two steps`;
    const problem = rangeProblem(range, field);
    if (problem !== undefined) return problem;
    if (step !== undefined && !/^[1-9][0-9]*$/.test(step))
      return `${field.name} "${part}" needs a whole number above 0 as step`;
  }
  return undefined;
}

/**
 * What is wrong with a cron expression by Karpenter's rules: five fields (minute, hour, day of month, month, day of
 * week 0 to 6) or one of the macros (budgets/cron-expressions); undefined if it is valid. Time zone prefixes are not
 * allowed.
 */
export function cronProblem(expression: string): string | undefined {
  const text = expression.trim();
  if (text.startsWith('@')) return macros.includes(text) ? undefined : `"${text}" is none of ${macros.join(', ')}`;
  const parts = text.split(/\s+/);
  if (parts.length !== fields.length) return `${parts.length} fields instead of ${fields.length}`;
  return parts.map((part, at) => fieldProblem(part, fields[at]!)).find((problem) => problem !== undefined);
}
