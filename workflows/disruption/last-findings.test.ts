import { expect, test } from '@jest/globals';
import type { NodeVerdict, NodeWaits } from '../messages.js';
import { LastFindings } from './last-findings.js';

const findings = new LastFindings(undefined);
const waits: NodeWaits = [
  { verdict: 'may go', why: 'it waits for node-b to go first', nodes: ['node-a'] },
  { verdict: 'stays', why: 'it has drifted: pod default/a-0 would have no place', nodes: ['node-c'] },
];
findings.note({
  ...{ commands: [], held: [] },
  details: { hash: 'h', budgets: [], decisions: [], stays: [], waits },
});
const outcome = (node: string, verdict: NodeVerdict['verdict']): [string, string] => {
  const { verdict: is, why } = findings.withWait({ node, verdict, why: 'in its turn', at: '' });
  return [is, why];
};

// Rule `surfaces/one-reason`.
test('the answer for a candidate is what it waits for; for others what the last look found', () => {
  expect(outcome('node-a', 'may go')).toEqual(['may go', waits[0]?.why]);
  expect(outcome('node-c', 'may go')).toEqual(['stays', waits[1]?.why]);
  expect(outcome('node-d', 'may go')).toEqual(['may go', 'in its turn']);
  expect(outcome('node-a', 'stays')).toEqual(['stays', 'in its turn']);
});
