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

test('status has what `disrupt` answered in time, and names what is missing (surfaces/nothing-unread-is-silent)', async () => {
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

test('status names everything of a `disrupt` that does not answer', async () => {
  const reading = new StatusReading();
  const client = clientOf(() => {
    throw new Error('Deadline exceeded');
  });
  expect(await disruptState({ client, cluster: 'c', reading })).toEqual({ ...nothingKnown, nextWindow: undefined });
  expect(reading.unread).toEqual([
    'pauses, refusals, prices, nodes that stay, the next window of a budget, the lower bound of prices (the workflow disrupt): Deadline exceeded',
  ]);
});
