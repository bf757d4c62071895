import { expect, test } from 'vitest';
import type { NodeVerdict, NodeWaits } from '../messages.js';
import { KnownState } from './known-state.js';
import { LastFindings } from './last-findings.js';

const findings = new LastFindings(undefined);
const waits: NodeWaits = [
  { verdict: 'may go', why: 'it waits for node-b to go first', nodes: ['node-a'] },
  { verdict: 'stays', why: 'it has drifted: pod default/a-0 would have no place', nodes: ['node-c'] },
];
findings.note({
  ...{ commands: [], held: [] },
  details: { hash: 'h', budgets: [], decisions: [], stays: [{ why: 'a budget', nodes: ['node-s'] }], waits },
});
const told = (node: string, verdict: NodeVerdict['verdict']): [string, string] => {
  const { verdict: is, why } = findings.withWait({ node, verdict, why: 'in its turn', at: '' });
  return [is, why];
};

// Rule `surfaces/one-reason`.
test('what a node waits for that may go is told; of all others what the look says', () => {
  expect(told('node-a', 'may go')).toEqual(['may go', waits[0]?.why]);
  expect(told('node-c', 'may go')).toEqual(['stays', waits[1]?.why]);
  expect(told('node-d', 'may go')).toEqual(['may go', 'in its turn']);
  expect(told('node-a', 'stays')).toEqual(['stays', 'in its turn']);
});

test('so it is in what is told without another look', () => {
  const none = { running: [], waiting: [] };
  expect(findings.verdict('node-a', none)).toMatchObject({ verdict: 'may go', why: waits[0]?.why });
  expect(findings.verdict('node-s', none)).toMatchObject({ verdict: 'stays', why: 'a budget' });
  expect(findings.verdict('node-d', none)).toMatchObject({ verdict: 'unknown' });
});

test('a node of a command that was approved waits for a slot, not for approval', () => {
  const known = new KnownState(undefined);
  const claim = { name: 'claim-q', uid: 'uid-q' };
  const candidates = [{ node: 'node-q', nodePool: 'default', claim }];
  const command = { workflowId: 'test/consolidate/1', reason: 'Drifted' as const, candidates };
  known.questions.ask({ ...command, since: 0 });
  const told = () => findings.verdict('node-q', { running: [], waiting: known.questionsAsked }).why;
  expect(told()).toBe('Drifted: test/consolidate/1 waits for approval');

  known.slotRequests.take({ ...command, id: 'test/consolidate/1#1' });
  expect(known.questionsAsked).toMatchObject([{ isApproved: true }]);
  expect(told()).toBe('Drifted: test/consolidate/1 waits for a disruption slot after the approval');
});
