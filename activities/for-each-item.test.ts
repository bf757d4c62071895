import { MockActivityEnvironment } from '@temporalio/testing';
import { describe, expect, test } from '@jest/globals';
import { DomainError } from '../core/failures.js';
import { silentLog } from '../test/simulation/silent.js';
import type { ActivityDeps } from './deps.js';
import { forEachItem } from './for-each-item.js';
import { quiet } from '../test/builders/activity-world.js';

const unanswered = new DomainError('Unavailable', 'failed calling webhook', { status: 503 });
const refused = new DomainError('Unavailable', 'connection refused');

/** In attempt `number`, of items none of which is answered. */
const inAttempt = async (number: number, items: readonly string[], asked: Error | undefined): Promise<unknown> => {
  const get = (() => (asked === undefined ? Promise.resolve(undefined) : Promise.reject(asked))) as never;
  const deps = { log: silentLog, kube: { get } as unknown as ActivityDeps['kube'] };
  const work = (): Promise<void> => Promise.reject(unanswered);
  const what = { what: 'a write', nameOf: (item: string) => item };
  const run = async (): Promise<unknown> => forEachItem(deps, items, work, what);
  return new MockActivityEnvironment({ attempt: number }, quiet).run(run);
};

// Rule `provisioning/refused-claims`.
describe.each([1, 2])('where none of %d items succeeds', (count) => {
  const items = ['a', 'b'].slice(0, count);

  test('it counts as an outage at first', async () => {
    await expect(inAttempt(2, items, undefined)).rejects.toThrow('failed calling webhook');
  });

  test('it counts as failures of the items from the third attempt on, if the API server answers another call', async () => {
    await expect(inAttempt(3, items, undefined)).resolves.toEqual(
      items.map((item) => ({ item, why: unanswered.message })),
    );
  });

  test('a refusal of that call is an answer too', async () => {
    await expect(inAttempt(3, items, new DomainError('Denied', 'no', { status: 403 }))).resolves.toHaveLength(count);
  });

  test('it stays an outage while nothing answers, whatever the attempt', async () => {
    await expect(inAttempt(100, items, refused)).rejects.toThrow('failed calling webhook');
  });
});
