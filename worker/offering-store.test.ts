import { expect, test } from '@jest/globals';
import type { Client } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/client';
import { silentLog } from '../test/simulation/silent.js';
import type { UnavailableOffering } from '../cloud/port.js';
import type { RefusedOffering, RememberedRefusal } from '../core/unavailable-offerings.js';
import { TemporalOfferingStore } from './offering-store.js';

const offering = { instanceType: 'm5.large', zone: 'a', capacityType: 'spot' };
const refusal: RefusedOffering = { ...offering, reason: 'InsufficientInstanceCapacity' };

function ledger(remembered: () => readonly RememberedRefusal[] | Error) {
  let now = 1_000_000;
  const sent: { signal: string; count: number }[] = [];
  const marked: UnavailableOffering[] = [];
  let queries = 0;
  const handle = {
    query: () => {
      queries += 1;
      const answer = remembered();
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
    },
    signal: ({ name }: { name: string }) => Promise.resolve(void sent.push({ signal: name, count: 1 })),
  };
  const client = {
    options: { namespace: 'test' },
    connection: { withDeadline: (_: number, action: () => unknown) => action() },
    workflow: {
      getHandle: () => handle,
      signalWithStart: (type: string, { signalArgs }: { signalArgs: [readonly unknown[]] }) =>
        Promise.resolve(void sent.push({ signal: type, count: signalArgs[0].length })),
    },
  } as unknown as Client;
  const subject = new TemporalOfferingStore(
    'test',
    { markUnavailable: (offerings) => void marked.push(...offerings) },
    silentLog,
    () => now,
  );
  subject.connect(client);
  return { subject, sent, marked, queries: () => queries, pass: (ms: number) => (now += ms), now: () => now };
}

test('unavailable offerings are sent in parts that a signal can carry', async () => {
  const { subject, sent } = ledger(() => []);
  await subject.refused(Array.from({ length: 450 }, (_, i) => ({ ...refusal, instanceType: `t${i}` })));
  expect(sent).toEqual([200, 200, 50].map((count) => ({ signal: 'offerings', count })));
});

test('unavailable offerings of other workers reach the provider, which asks at most once in three seconds', async () => {
  const known = { ...refusal, until: 1_060_000, forMs: 180_000 };
  const past = { ...refusal, zone: 'b', until: 1000, forMs: 180_000 };
  const { subject, marked, queries, pass } = ledger(() => [known, past]);
  await Promise.all([subject.refresh(), subject.refresh()]);
  await subject.refresh();
  expect(queries()).toBe(1);
  expect(marked).toEqual([known]);
  pass(3001);
  await subject.refresh();
  expect(queries()).toBe(2);
});

test('unavailable offerings are read again after the clock was set back', async () => {
  const { subject, queries, pass } = ledger(() => []);
  await subject.refresh();
  pass(-3_600_000);
  await subject.refresh();
  await subject.refresh();
  expect(queries()).toBe(2);
});

test('a success is sent only for offerings that are unavailable', async () => {
  const { subject, sent } = ledger(() => [{ ...refusal, until: 1_060_000, forMs: 180_000 }]);
  await subject.succeeded(offering);
  expect(sent).toEqual([]);
  await subject.refresh();
  await subject.succeeded({ ...offering, zone: 'z' });
  await subject.succeeded(offering);
  expect(sent).toEqual([{ signal: 'offeringSucceeded', count: 1 }]);
});

test('a missing offerings workflow means no unavailable offering, and an unreachable server changes nothing', async () => {
  let answer: Error = new WorkflowNotFoundError('none', 'test/offerings', undefined);
  const { subject, marked, pass } = ledger(() => answer);
  await subject.refresh();
  answer = new Error('unreachable');
  pass(10_000);
  await subject.refresh();
  expect(marked).toEqual([]);
});
