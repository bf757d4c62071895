import { expect, test } from '@jest/globals';
import type { NodeState, PodClass } from '../../packing/trial.js';
import { pod, pool } from '../../test/builders/consolidation.js';
import {
  addLoad,
  allOf,
  byPricePerCost,
  copyOf,
  type FleetNode,
  isEmptied,
  isOnlyEmpty,
  loadsOf,
  priceOfAll,
  statesOf,
  takeOut,
  waitingOn,
} from './fleet.js';

const [web, db] = [{ index: 0 } as PodClass, { index: 1 } as PodClass];
const [a, b, c] = ['a', 'b', 'c'].map((name) => pod(name, 'n', 1));
const loads = (): FleetNode['loads'] =>
  new Map([
    [web, [a!, b!]],
    [db, [c!]],
  ]);
const nodeOf = (more: Partial<FleetNode>): FleetNode =>
  ({ loads: new Map(), waiting: new Map(), ...more }) as FleetNode;

test('loads of nodes add up by class, and leave the added ones unchanged', () => {
  const nodes = [
    nodeOf({ loads: new Map([[web, [a!]]]) }),
    nodeOf({
      loads: new Map([
        [web, [b!]],
        [db, [c!]],
      ]),
    }),
  ];
  expect(loadsOf(nodes)).toEqual(loads());
  loadsOf(nodes).get(web)!.push(c!);
  expect(nodes.map(({ loads: own }) => own.get(web))).toEqual([[a], [b]]);
  expect(allOf(nodes.map(({ loads: own }) => own))).toEqual(loads());
});

test('a copied load is separate from the original', () => {
  const own = loads();
  const copy = copyOf(own);
  expect(copy).toEqual(own);
  copy.get(web)!.pop();
  copy.delete(db);
  expect(own).toEqual(loads());
});

test('named pods are removed from a load', () => {
  const own = loads();
  expect(takeOut(own, new Set(['default/b', 'default/c', 'other/a']))).toEqual(
    new Map([
      [web, [b]],
      [db, [c]],
    ]),
  );
  expect(own).toEqual(new Map([[web, [a]]]));
  expect(takeOut(own, new Set(['default/c']))).toEqual(new Map());
  expect(own).toEqual(new Map([[web, [a]]]));
});

test('nodes of a load: their states, and the pods that wait for room there', () => {
  const [first, second] = [{ index: 0 } as NodeState, { index: 1 } as NodeState];
  const waiting = new Map([[web, [a!]]]);
  const nodes = [nodeOf({ state: first, waiting }), nodeOf({ state: second })];
  expect(statesOf(nodes)).toEqual([first, second]);
  expect(waitingOn(nodes)).toEqual([waiting, new Map()]);
});

test('pods added to a load come after those of their class', () => {
  const own = new Map([[web, [a!]]]);
  const more = [b!];
  addLoad(own, web, [c!, b!]);
  addLoad(own, db, more);
  expect([own.get(web), own.get(db)]).toEqual([[a, c, b], [b]]);
  expect(own.get(db)).not.toBe(more);
});

// Rule `disruption-cost/order`.
test('candidates are sorted by price per disruption cost, the highest first, then by name', () => {
  const all = [
    { name: 'b', price: 2, cost: 2 },
    { name: 'a', price: 2, cost: 2 },
    { name: 'c', price: 3, cost: 2 },
    { name: 'd', price: 9, cost: 18 },
  ];
  const inOrder = (some: typeof all): string =>
    [...some]
      .sort(byPricePerCost)
      .map(({ name }) => name)
      .join('');
  expect([inOrder(all), inOrder([...all].reverse())]).toEqual(['cabd', 'cabd']);
});

test('prices of nodes add up', () => {
  expect(priceOfAll([])).toBe(0);
  expect(priceOfAll([{ price: 1 }, { price: 2 }])).toBe(3);
});

const buffer = pod('buffer', '', 1, {
  virtual: true,
});
test.each<[string, number, readonly (typeof buffer)[], boolean]>([
  ['nothing', 1, [], true],
  ['a pending pod', 1, [a!], true],
  ['pods to evict', 2, [], false],
  ['the room of a capacity buffer', 1, [a!, buffer], false],
])(
  'a node counts as emptied with %s (consolidation/empty-nodes, capacity-buffers/nodes-are-not-empty)',
  (_, cost, waiting, expected) => {
    expect(
      isEmptied(nodeOf({ cost, waiting: waiting.length === 0 ? new Map() : new Map([[web, [...waiting]]]) })),
    ).toBe(expected);
  },
);

test("WhenEmpty allows removal of a NodePool's nodes only while empty", () => {
  const policy = (consolidationPolicy: 'WhenEmpty' | 'WhenEmptyOrUnderutilized') =>
    pool('p', { disruption: { consolidationPolicy } });
  expect(isOnlyEmpty(policy('WhenEmpty'))).toBe(true);
  expect(isOnlyEmpty(policy('WhenEmptyOrUnderutilized'))).toBe(false);
  expect(isOnlyEmpty(undefined)).toBe(false);
});
