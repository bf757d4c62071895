import { describe, expect, test } from '@jest/globals';
import type { Launch, NodeState, PodClass } from '../../packing/trial.js';
import { pod } from '../../test/builders/consolidation.js';
import type { FleetNode } from './fleet.js';
import { candidateGroupsOf } from './parts.js';

const podClass = {} as PodClass;
const existing = {} as NodeState;

/** Groups as `names saving`. `route`: which pods, by node and number, go to which launch; others go to an existing node. */
function groups(
  nodes: Readonly<Record<string, { price: number; cost?: number; pods: number }>>,
  prices: readonly number[],
  route: readonly (readonly [to: number | undefined, ...pods: string[]])[],
): string[] {
  const pods = new Map<string, ReturnType<typeof pod>>();
  const candidates = Object.entries(nodes).map(([name, { price, cost = 1, pods: count }]) => {
    const own = Array.from({ length: count }, (_, i) => pod(`${name}${i}`, name, 1));
    for (const each of own) pods.set(each.metadata.name!, each);
    return { name, price, cost, loads: new Map([[podClass, own]]) } as unknown as FleetNode;
  });
  const launches = prices.map((price) => ({ price }) as Launch);
  const steps = route.map(([to, ...names]) => ({
    podClass,
    pods: names.map((name) => pods.get(name)!),
    to: to ?? existing,
  }));
  return candidateGroupsOf({ candidates, launches, placements: [], route: steps }).map(
    ({ nodes: of, saving }) => `${of.map(({ name }) => name).join('+')} ${saving}`,
  );
}

describe('groups of candidates in a fleet plan', () => {
  test('without launches are single nodes, the highest saving per disruption cost first', () => {
    expect(
      groups(
        { a: { price: 1, cost: 2, pods: 1 }, b: { price: 2, cost: 8, pods: 1 }, c: { price: 3, pods: 0 } },
        [],
        [[undefined, 'a0', 'b0']],
      ),
    ).toEqual(['c 3', 'a 1', 'b 2']);
  });

  test('are nodes whose pods share a launch, less its price', () => {
    const nodes = { a: { price: 2, pods: 2 }, b: { price: 3, pods: 1 }, c: { price: 1, pods: 1 } };
    expect(
      groups(
        nodes,
        [4, 0.5],
        [
          [7, 'a0', 'b0'],
          [undefined, 'a1'],
          [3, 'c0'],
        ],
      ),
    ).toEqual(['a+b 1', 'c 0.5'].sort((x, y) => (x > y ? 1 : -1)));
  });

  test('may be connected by several launches', () => {
    const nodes = {
      a: { price: 2, pods: 1 },
      b: { price: 3, pods: 2 },
      c: { price: 4, pods: 2 },
      d: { price: 5, pods: 1 },
    };
    expect(
      groups(
        nodes,
        [1, 1, 1],
        [
          [0, 'a0', 'b0'],
          [1, 'c0', 'd0'],
          [2, 'b1', 'c1'],
        ],
      ),
    ).toEqual(['a+b+c+d 11']);
    expect(
      groups(
        nodes,
        [1, 1],
        [
          [1, 'c0', 'd0'],
          [0, 'a0'],
          [0, 'b0'],
          [1, 'd0'],
        ],
      ),
    ).toEqual(['c+d 8', 'a+b 4']);
  });

  test('without a route are single nodes', () => {
    const candidates = [{ name: 'a', price: 1, cost: 1, loads: new Map() } as unknown as FleetNode];
    expect(candidateGroupsOf({ candidates, launches: [], placements: [] })).toEqual([{ nodes: candidates, saving: 1 }]);
  });

  test('pay for all of their launches', () => {
    expect(
      groups(
        { a: { price: 9, pods: 3 } },
        [1, 2],
        [
          [0, 'a0', 'a1'],
          [1, 'a2'],
        ],
      ),
    ).toEqual(['a 6']);
  });
});
