import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { annotations } from '../../api/labels.js';
import { disruptionPolicies } from '../../api/stowage/disruption-policy.js';
import type { PastDisruption, Refused } from '../../workflows/messages.js';
import { createActivityWorld, nodeClass, nodePool, ready } from '../../test/builders/activity-world.js';
import type { ActivityWorld } from '../../test/builders/activity-world.js';
import type { DisruptionsFound } from '../disruption/contract.js';
import type { DisruptionView } from './contract.js';
import { createDisruptionActivities } from '../disruption/disruption.js';

const hour = 3_600_000;
let world: ActivityWorld;

beforeEach(async () => {
  world = await createActivityWorld();
  for (const name of ['a', 'b']) putPool(name);
  world.kube.put('EC2NodeClass', nodeClass('default'));
  await world.synced();
});
afterEach(() => world.stop());

function putPool(name: string, kept: object = {}): void {
  const pool = ready(nodePool(name, { disruption: { consolidateAfter: '0s', budgets: [{ nodes: '100%' }] } }));
  world.kube.put('NodePool', {
    ...pool,
    metadata: { ...pool.metadata, labels: { pool: name }, annotations: { ...kept } },
  });
}

function putPolicy(spec: object): void {
  world.kube.put(
    'DisruptionPolicy',
    disruptionPolicies.mustParse({
      apiVersion: 'stowage.dev/v1alpha1',
      kind: 'DisruptionPolicy',
      metadata: { name: 'slow' },
      spec,
    }),
  );
}

async function find(view: Partial<DisruptionView> = {}): Promise<DisruptionsFound> {
  await world.synced();
  return createDisruptionActivities(world.deps).findDisruptions({ nominations: [], pauses: [], running: [], ...view });
}

async function kept(name: string): Promise<string | undefined> {
  return (await world.kube.get('NodePool', { name }))?.metadata.annotations?.[annotations.disruptionRecords];
}

const gone = (nodePool: string, agoMs: number): PastDisruption => ({
  ...{ nodePool, reason: 'Drifted', nodes: 2 },
  at: world.clock.now - agoMs,
});

const turnedDown = (name: string, pools: readonly string[]): Refused => ({
  reason: 'Underutilized',
  nodes: pools.map((nodePool) => ({ claim: { name, uid: `uid-${name}` }, node: `node-${name}`, nodePool })),
  saves: 0.1,
  why: 'rejected by ann (release)',
  at: world.clock.now,
  until: world.clock.now + 24 * hour,
});

test('a new disrupt is given what the one before had written, and nothing twice', async () => {
  putPolicy({ nodePoolSelector: { matchLabels: { pool: 'a' } }, rates: [{ nodes: '2', per: '2h' }] });
  const pastDisruptions = [gone('a', hour), gone('a', 5 * hour), gone('b', hour)];
  const refused = [turnedDown('x', ['a', 'b']), turnedDown('y', ['b'])];
  await find({ pastDisruptions, refused });

  const found = await find({ isNew: true });

  // Of pool b no rate counts anything, and of pool a none so far back.
  expect(found.recorded).toEqual({ pastDisruptions: [gone('a', hour)], refused });
});

test('what was kept binds before a new disrupt has taken it over', async () => {
  putPolicy({ rates: [{ nodes: '2', per: '2h' }] });
  await find({ pastDisruptions: [gone('a', hour)] });
  const budgets = (await find({ isNew: true })).details?.budgets.filter(({ nodePool }) => nodePool === 'a');
  expect(budgets?.map(({ allowed }) => allowed)).toEqual([0, 0, 0]);
});

test('nothing is written where nothing has to be kept; what is over is taken away', async () => {
  await find({ pastDisruptions: [gone('a', hour)] });
  expect(await kept('a')).toBeUndefined();
  await find({ refused: [turnedDown('x', ['a'])] });
  expect(await kept('a')).toContain('rejected by ann (release)');
  const { recordsVersion } = await find({ refused: [turnedDown('x', ['a'])] });
  await find({ refused: [], recordsVersion: recordsVersion! });
  expect(await kept('a')).toBeUndefined();
});

describe('a disrupt that Temporal restored to an earlier state', () => {
  const rates = [{ nodes: '2', per: '2h' }];

  test('is given what a later state of it wrote, in place of what it knows of that NodePool', async () => {
    putPolicy({ rates });
    const [old, young] = [gone('a', hour), gone('a', hour / 2)];
    const before = await find({ pastDisruptions: [old, gone('b', hour)] });
    const known = { recordsVersion: before.recordsVersion! };
    await find({ ...known, pastDisruptions: [old, young, gone('b', hour)], refused: [turnedDown('x', ['a'])] });

    const found = await find({ ...known, pastDisruptions: [old, gone('b', hour)], refused: [turnedDown('y', ['a'])] });

    expect(found.recorded).toEqual({ pastDisruptions: [old, young], refused: [turnedDown('x', ['a'])], pools: ['a'] });
    expect(found.recordsVersion).toBe(known.recordsVersion + 1);
    expect(await kept('a')).toContain('node-x');
  });

  test('is bound by that before it has taken it over', async () => {
    putPolicy({ rates });
    const { recordsVersion = 0 } = await find({ refused: [turnedDown('x', ['a'])] });
    await find({ recordsVersion, refused: [turnedDown('x', ['a'])], pastDisruptions: [gone('a', hour)] });
    const { details } = await find({ recordsVersion, refused: [turnedDown('x', ['a'])] });
    const budgets = details?.budgets.filter(({ nodePool }) => nodePool === 'a');
    expect(budgets?.map(({ allowed }) => allowed)).toEqual([0, 0, 0]);
  });

  test('is not what a search looks like whose answer was lost, or that comes after the cluster was restored', async () => {
    const view = { refused: [turnedDown('x', ['a'])] };
    const lost = await find(view);
    expect(await find(view)).toMatchObject({ recordsVersion: lost.recordsVersion });
    const later = await find({ ...view, recordsVersion: 7 });
    expect(later).not.toHaveProperty('recorded');
    expect(await find({ refused: [], recordsVersion: 7 })).not.toHaveProperty('recorded');
    expect(await kept('a')).toBeUndefined();
  });
});

test('while a policy is not valid nothing is forgotten', async () => {
  putPolicy({ rates: [{ nodes: '2', per: '2h' }], nodePoolSelector: { matchLabels: { pool: 'a' } } });
  await find({ pastDisruptions: [gone('a', hour)] });
  const policy = (await world.kube.list('DisruptionPolicy'))[0]!;
  world.kube.put('DisruptionPolicy', { ...policy, spec: { ...policy.spec, rates: [{ nodes: '2', per: 'soon' }] } });
  await find({ pastDisruptions: [gone('a', hour)] });
  expect(await kept('a')).toContain('Drifted');
});

test('of very many refusals the youngest are kept: an annotation has its limits', async () => {
  const pools = Array.from({ length: 60 }, () => 'a');
  const refused = Array.from({ length: 200 }, (_, n) => turnedDown(`n${String(n).padStart(3, '0')}`, pools));
  await find({ refused });
  expect((await kept('a'))!.length).toBeLessThan(65_536);
  const found = (await find({ isNew: true })).recorded!.refused;
  expect(found.length).toBeGreaterThan(3);
  expect(found.at(-1)?.nodes[0]?.node).toBe('node-n199');
});

test.each([
  ['no JSON', '{'],
  ['null', 'null'],
  ['a list', '[1]'],
  ['past that is no list', '{"past": {"at": 1}}'],
  ['names of Object.prototype', '{"__proto__": {"past": [1]}, "constructor": 1, "refused": [{"constructor": 1}]}'],
  ['fields that are none', '{"past": [{"reason": "Bored", "at": "x", "nodes": 1}], "refused": [{"nodes": 7}]}'],
])('an annotation that somebody else wrote (%s) is passed over', async (_, text) => {
  putPool('a', { [annotations.disruptionRecords]: text });
  expect((await find({ isNew: true })).recorded).toEqual({ pastDisruptions: [], refused: [] });
});

test('a NodePool that cannot be written holds up nothing', async () => {
  const denied = { value: () => Promise.reject(new Error('an admission policy denied it')) };
  const kube = Object.create(world.kube, { patch: denied }) as typeof world.kube;
  const view = { nominations: [], pauses: [], running: [], refused: [turnedDown('x', ['a'])] };
  const found = await createDisruptionActivities({ ...world.deps, kube }).findDisruptions(view);
  expect(found.details?.budgets).toHaveLength(6);
});
