import type { Run, RunStatus } from './run.js';

const clause = /^\s*(\w+)\s*(=|!=|>|IN|IS NOT NULL|IS NULL|STARTS_WITH)\s*(.*?)\s*$/i;

/** The runs that a visibility query selects. It knows conjunctions of comparisons; anything else is an error. */
export function selectedBy(query: string): (run: Run) => boolean {
  const tests = query
    .split(/\s+AND\s+/i)
    .filter((text) => text.trim() !== '')
    .map(testOf);
  return (run) => tests.every((test) => test(run));
}

function testOf(text: string): (run: Run) => boolean {
  const [, name = '', operator = '', operand = ''] = clause.exec(text) ?? [];
  const values = [...operand.matchAll(/'((?:[^']|'')*)'|(\btrue\b|\bfalse\b)/g)].map(
    ([, quoted, word]) => quoted?.replaceAll("''", "'") ?? word ?? '',
  );
  const [first = ''] = values;
  const present = (run: Run): string | undefined => attributeOf(run, name);
  switch (operator.toUpperCase()) {
    case '=':
      return (run) => present(run) === first;
    case '!=':
      return (run) => present(run) !== first;
    // Of times alone, which are written alike.
    case '>':
      return (run) => (present(run) ?? '') > first;
    case 'IN':
      return (run) => values.includes(present(run) ?? '');
    case 'STARTS_WITH':
      return (run) => present(run)?.startsWith(first) === true;
    case 'IS NOT NULL':
      return (run) => present(run) !== undefined;
    case 'IS NULL':
      return (run) => present(run) === undefined;
    default:
      throw new Error(`a visibility query that the simulation does not know: ${text}`);
  }
}

function attributeOf(run: Run, name: string): string | undefined {
  if (name === 'ExecutionStatus') return statusNames[run.status];
  if (name === 'CloseTime') return run.closedAt === undefined ? undefined : new Date(run.closedAt).toISOString();
  if (name === 'WorkflowType') return run.start.workflowType;
  if (name === 'WorkflowId') return run.id;
  const value = run.attributes.get(name);
  if (value === undefined || value === null) return undefined;
  const [only] = Array.isArray(value) ? (value as unknown[]) : [value];
  return String(only);
}

/** As visibility names them. */
const statusNames: Readonly<Record<RunStatus, string>> = {
  RUNNING: 'Running',
  COMPLETED: 'Completed',
  FAILED: 'Failed',
  CANCELLED: 'Canceled',
  TERMINATED: 'Terminated',
  CONTINUED_AS_NEW: 'ContinuedAsNew',
};
