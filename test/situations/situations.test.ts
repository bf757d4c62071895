import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { observe } from '../../tools/stack/demo/observe.js';
import { createNodeClass, startLiveWorld, within } from '../live/world.js';
import { badOrders } from './bad-orders.js';
import { drains } from './drains.js';
import { pageWithoutTemporal } from './page.js';
import { patience, People, type Surfaces } from './people.js';
import { questions } from './questions.js';
import { startReceiver, type Receiver } from './receiver.js';
import { allowCheaper, createSituations, others, staying, unplaced } from './situations.js';
import { notifications, surfaces } from './surfaces.js';

// Rule `surfaces/one-reason`: twelve situations that people ask about, made for real: `why`, `status` and the event say the same of each.
// After that questions to people, their orders, the page and reports.
const people = new People();
let receiver: Receiver;
let folder: string;

interface Seen {
  readonly found: Surfaces;
  /** What `why` answers, where it is what is awaited. */
  readonly said: string | undefined;
  /** The event about it. */
  readonly event: string;
}

/** Waits until all of them say the same, and gives that. */
function agreed(what: string, look: () => Promise<Seen>): Promise<string> {
  let last: Seen | undefined;
  return observe(
    `${what}: why, status and the event say the same`,
    async () => {
      last = await look();
      const { found, said, event } = last;
      if (said === undefined || !found.status.includes(said)) return undefined;
      return found.events.some((text) => text.includes(event)) ? said : undefined;
    },
    within(300),
    () => Promise.resolve(JSON.stringify(last, null, 1)),
  );
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'situations-'));
  receiver = await startReceiver(folder);
  Object.assign(process.env, receiver.settings);
  const world = await startLiveWorld('situations');
  people.world = world;
  await createNodeClass(world, 'default');
  await createSituations(world);
  await people.orders('pause', '--nodepool', 'held', '--because', 'release day', '--as', 'ann');
  await Promise.all(
    [...staying, ...others].map(({ name }) =>
      people.until(`The pod of ${name}`, async () => (await people.node(name)) !== ''),
    ),
  );
  await Promise.all(['moved', 'asked'].map((name) => allowCheaper(world, name)));
  await world.kube.patch('NodePool', { name: 'escalated' }, { metadata: { labels: { policy: 'escalated' } } });
});

afterAll(async () => {
  await people.world.stop();
  await receiver.stop();
  rmSync(folder, { recursive: true });
});

describe('a pod without a place', () => {
  test.each(unplaced)(
    '$name',
    async ({ name, says: expected }) => {
      const said = await agreed(name, async () => {
        const pod = await people.podName(name);
        const found = await people.surfaces(`pod/${pod}`, 'Pod', pod);
        return { found, said: expected.exec(found.why)?.[0], event: expected.exec(found.why)?.[0] ?? '' };
      });
      expect(said).toMatch(expected);
    },
    patience,
  );
});

describe('a node that stays', () => {
  test.each(staying)(
    '$name',
    async ({ name, says: expected }) => {
      const said = await agreed(name, async () => {
        const node = await people.node(name);
        const found = await people.surfaces(`node/${node}`, 'Node', node);
        const why = /^stays: (.*)$/.exec(found.why)?.[1] ?? '';
        return { found, said: expected.test(why) ? why : undefined, event: `Not disrupted: ${why}` };
      });
      expect(said).toMatch(expected);
    },
    patience,
  );
});

badOrders(people);
questions(people);
drains(people);
surfaces(people);
notifications(people, () => receiver);

test(
  'with Temporal down each command exits with status 1 and names its address, and events of pods and the page say so',
  async () => {
    const pod = await people.podName('typo');
    await people.world.stack.stopComponent('temporal');
    for (const args of [['why', `pod/${pod}`], ['status'], ['approve', 'x'], ['report']]) {
      const { stderr, code } = await people.stowage(...args);
      expect([args[0], code]).toEqual([args[0], 1]);
      expect(stderr).toMatch(/^stowage: Temporal cannot be reached at /);
    }
    await pageWithoutTemporal(people);
    await observe(
      'The event of the pod',
      async () => (await people.events('Pod', pod)).some((text) => text.includes('Temporal: it cannot be reached')),
      within(300),
      async () => JSON.stringify(await people.events('Pod', pod)),
    );
  },
  patience,
);
