import { expect, test } from '@jest/globals';
import { UndecidedWatch } from './undecided.js';

const minute = 60_000;
const begin = Date.parse('2026-01-05T12:00:00Z');
const found = { commands: [], held: [{ nodePool: 'a', why: '2 empty, 0 more allowed by budget 0' }], candidates: 2 };
const stays = [
  { why: 'it is needed', nodes: ['n1'] },
  { why: 'it would save nothing', nodes: ['n2', 'n3'] },
];

test('candidates without a decision are reported after ten minutes, with since when and what for', () => {
  const watch = new UndecidedWatch(undefined);
  expect(watch.update(found, stays, begin)).toBeUndefined();
  expect(watch.update(found, stays, begin + 9 * minute)).toBeUndefined();
  const outcome = {
    since: '2026-01-05T12:00:00.000Z',
    candidates: 2,
    waitsFor: 'a: 2 empty, 0 more allowed by budget 0; n2 and all that stay for the same reason: it would save nothing',
  };
  expect(watch.update(found, stays, begin + 10 * minute)).toEqual(outcome);
  expect(watch.current).toEqual(outcome);
  // Over continue-as-new.
  expect(new UndecidedWatch(watch.state).update({ ...found, held: [] }, [], begin + 11 * minute)).toEqual({
    ...{ ...outcome, waitsFor: 'a change that saves something' },
  });
});

test.each([
  ['a decision', { ...found, commands: [{ reason: 'Empty' as const, candidates: [] }] }],
  ['no candidate', { ...found, candidates: 0 }],
])('%s restarts that time', (_, other) => {
  const watch = new UndecidedWatch(begin);
  expect(watch.update(other, stays, begin + 20 * minute)).toBeUndefined();
  expect(watch.state).toBeUndefined();
  expect(watch.update(found, stays, begin + 21 * minute)).toBeUndefined();
});
