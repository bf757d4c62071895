import { expect, test } from 'vitest';
import { pausesQuery, staysQuery } from '../workflows/messages.js';
import { disruptState, nothingKnown } from './status-disrupt.js';
import { StatusReading } from './status-reading.js';

const pause = { scope: { kind: 'cluster' }, reason: 'a release', actor: 'ann', since: 0 };

function clientOf(answer: (query: string) => unknown) {
  const query = ({ name }: { name: string }): unknown => answer(name);
  return {
    connection: { withDeadline: async (_: number, call: () => unknown) => Promise.resolve(call()) },
    workflow: { getHandle: () => ({ query }) },
  } as unknown as Parameters<typeof disruptState>[0]['client'];
}

test('what `disrupt` answers in time is there, and the rest is named (surfaces/nothing-unread-is-silent)', async () => {
  const reading = new StatusReading();
  const client = clientOf((name) => {
    if (name === pausesQuery.name) return [pause];
    if (name === staysQuery.name) throw new Error('Deadline exceeded');
    return [];
  });
  const { pauses, stays } = await disruptState({ client, cluster: 'c', reading });
  expect(pauses).toEqual([pause]);
  expect(stays).toEqual([]);
  expect(reading.unread).toEqual(['nodes that stay (the workflow disrupt): Deadline exceeded']);
});

test('of a `disrupt` that does not answer nothing is known, and all of it is named', async () => {
  const reading = new StatusReading();
  const client = clientOf(() => {
    throw new Error('Deadline exceeded');
  });
  expect(await disruptState({ client, cluster: 'c', reading })).toEqual({ ...nothingKnown, nextWindow: undefined });
  expect(reading.unread).toEqual([
    'pauses, refusals, prices, nodes that stay, the next window of a budget, the lower bound of prices (the workflow disrupt): Deadline exceeded',
  ]);
});
