import type { Run, RunStatus } from './run.js';

const clause = /^\s*(\w+)\s*(=|!=|>|IN|NOT IN|IS NOT NULL|IS NULL|STARTS_WITH)\s*(.*?)\s*$/i;

type Test = (run: Run) => boolean;

/** Most of them are asked over and over; those that name a time are not. */
const known = new Map<string, Test>();
const mostKnown = 1000;

/** The runs that a visibility query selects. It knows conjunctions of comparisons; anything else is an error. */
export function selectedBy(query: string): Test {
  const tests = query
    .split(/\s+AND\s+/i)
    .filter((text) => text.trim() !== '')
    .sort((a, b) => selectivity(b) - selectivity(a))
    .map(knownTestOf);
  return (run) => tests.every((test) => test(run));
}

/** What is quick to read and most runs do not have is asked first: most are closed, and all of one cluster. */
const selectivity = (text: string): number =>
  text.includes('StowageCluster') ? 0 : text.includes('ExecutionStatus') ? 2 : 1;

function knownTestOf(text: string): Test {
  let test = known.get(text);
  if (test === undefined) {
    if (known.size >= mostKnown) known.clear();
    known.set(text, (test = testOf(text)));
  }
  return test;
}

function testOf(text: string): Test {
  const [, name = '', operator = '', operand = ''] = clause.exec(text) ?? [];
  const values = [...operand.matchAll(/'((?:[^']|'')*)'|(\btrue\b|\bfalse\b)/g)].map(
    ([, quoted, word]) => quoted?.replaceAll("''", "'") ?? word ?? '',
  );
  const [first = ''] = values;
  const present = reader(name);
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
    // As SQL has it: a value that is missing is in no list and not outside one.
    case 'NOT IN':
      return (run) => present(run) !== undefined && !values.includes(present(run)!);
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

/** Reads what visibility knows by a name. */
function reader(name: string): (run: Run) => string | undefined {
  switch (name) {
    case 'ExecutionStatus':
      return (run) => statusNames[run.status];
    case 'CloseTime':
      return (run) => (run.closedAt === undefined ? undefined : new Date(run.closedAt).toISOString());
    case 'WorkflowType':
      return (run) => run.start.workflowType;
    case 'WorkflowId':
      return (run) => run.id;
    default:
      return (run) => textOf(run.attributes.get(name));
  }
}

function textOf(value: unknown): string | undefined {
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
