import { describe, expect, test } from '@jest/globals';
import { disruptionPolicies } from '../../api/stowage/disruption-policy.js';
import { now, pool } from '../../test/builders/consolidation.js';
import { affordable, Budgets } from './command-budgets.js';
import type { FleetNode } from './fleet.js';

type Budget = NonNullable<ReturnType<typeof pool>['spec']['disruption']['budgets']>[number];
const pools = (a: readonly Budget[], b: readonly Budget[] = []) => ({
  a: pool('a', { disruption: { budgets: [...a] } }),
  b: pool('b', { disruption: { budgets: [...b] } }),
});

/** A fleet as `pool state` of each node; empty ones end with `empty`. */
function fleetOf(own: ReturnType<typeof pools>, ...nodes: string[]): FleetNode[] {
  return nodes.map((text, i) => {
    const [name, counted = 'running', cost] = text.split(' ') as ['a' | 'b', FleetNode['counted']?, string?];
    return {
      name: `${name}${i}`,
      nodePool: name,
      pool: own[name],
      price: 1,
      counted,
      cost: cost === 'empty' ? 1 : 2,
      waiting: new Map(),
    } as unknown as FleetNode;
  });
}
const budgetsOf = (more: Partial<ConstructorParameters<typeof Budgets>[0]> = {}) =>
  new Budgets({ now, objects: { pods: [], nodePools: [] }, ...more });
const names = (nodes: readonly FleetNode[]) => nodes.map(({ name }) => name).join();

describe('how many nodes may be removed now', () => {
  test.each<[string, string[], number]>([
    ['50%', ['a', 'a', 'a', 'a'], 2],
    ['50%', ['a', 'a', 'a', 'a disrupting'], 1],
    ['50%', ['a', 'a', 'a no', 'a no'], 1],
    ['50%', ['a', 'a', 'b', 'b'], 1],
    ['1', ['a', 'a disrupting', 'a disrupting'], 0],
    ['1', ['a', 'b disrupting'], 1],
  ])('under a budget of %s in %s', (nodes, fleet, expected) => {
    const all = fleetOf(pools([{ nodes }]), ...fleet);
    expect(budgetsOf().left(all, 'Underutilized')(all[0]!)).toBe(expected);
  });

  test('is counted for each reason separately', () => {
    const all = fleetOf(pools([{ nodes: '0', reasons: ['Empty'] }, { nodes: '2' }]), 'a', 'a', 'a');
    const budgets = budgetsOf();
    expect([budgets.left(all, 'Empty')(all[0]!), budgets.left(all, 'Underutilized')(all[0]!)]).toEqual([0, 2]);
    const both = fleetOf(pools([{ nodes: '1' }], [{ nodes: '2' }]), 'a', 'b', 'b');
    expect(both.map((node) => budgetsOf().left(both, 'Empty')(node))).toEqual([1, 2, 2]);
  });

  test("is the caller's remaining limit, where it gives one", () => {
    const all = fleetOf(pools([{ nodes: '3' }], [{ nodes: '2' }]), 'a', 'a', 'b', 'b');
    const budgets = budgetsOf({ limits: new Map([['a', { Underutilized: 1 }]]) });
    expect(all.map((node) => budgets.left(all, 'Underutilized')(node))).toEqual([1, 1, 2, 2]);
    expect(budgets.left(all, 'Empty')(all[0]!)).toBe(2);
  });

  test('is at most what budgets allow with no node disrupting', () => {
    const all = fleetOf(pools([{ nodes: '50%' }]), 'a', 'a', 'a disrupting', 'a disrupting', 'a no');
    expect(budgetsOf().atMost(all, 'Underutilized')(all[0]!)).toBe(2);
    const limited = budgetsOf({ limits: new Map([['a', { Underutilized: 0 }]]) });
    expect(limited.atMost(all, 'Underutilized')(all[0]!)).toBe(2);
  });

  test("is limited by the NodePool's policy too", () => {
    const policy = disruptionPolicies.mustParse({
      apiVersion: 'stowage.dev/v1alpha1',
      kind: 'DisruptionPolicy',
      metadata: { name: 'p' },
      spec: { maintenanceWindows: [{ name: 'night', schedule: '0 3 * * *', duration: '1h', timeZone: 'Etc/UTC' }] },
    });
    const all = fleetOf(pools([{ nodes: '100%' }]), 'a', 'a');
    const budgets = budgetsOf({ objects: { pods: [], nodePools: [], disruptionPolicies: [policy] } });
    expect(budgets.left(all, 'Underutilized')(all[0]!)).toBe(0);
  });

  test('is that of the budgets for a node whose NodePool is gone', () => {
    const [own] = fleetOf(pools([]), 'a');
    const orphan: FleetNode = { ...own!, pool: undefined };
    const [counted, none] = [[orphan], []].map((fleet) => budgetsOf().left(fleet, 'Empty')(orphan));
    expect(counted).toBeGreaterThanOrEqual(none!);
    expect(none).toBe(0);
  });
});

describe('nodes of one command', () => {
  test('are the first that budgets allow, per NodePool', () => {
    const all = fleetOf(pools([{ nodes: '2' }], [{ nodes: '1' }]), 'a', 'b', 'a', 'a', 'b');
    expect(names(budgetsOf().take(all, all, 'Underutilized', 100))).toBe('a0,b1,a2');
    expect(names(budgetsOf().take(all, all, 'Underutilized', 2))).toBe('a0,b1');
    expect(names(budgetsOf().take(all, all, 'Underutilized', 0))).toBe('');
  });

  test('include no more empty nodes than the budget for Empty', () => {
    const all = fleetOf(
      pools([{ nodes: '1', reasons: ['Empty'] }, { nodes: '5' }]),
      'a running empty',
      'a',
      'a running empty',
      'a',
    );
    expect(names(budgetsOf().take(all, all, 'Underutilized', 100))).toBe('a0,a1,a3');
    expect(names(budgetsOf().take(all, all, 'Empty', 100))).toBe('a0');
  });
});

const nodeOf = (price: number, nodePool = 'default', more: Partial<FleetNode> = {}): FleetNode =>
  ({ price, nodePool, removable: true, onlyEmpty: false, ...more }) as FleetNode;
const upTo =
  (most: Readonly<Record<string, number>>) =>
  ({ nodePool }: { readonly nodePool: string }) =>
    most[nodePool]!;

test.each<[string, readonly FleetNode[], Readonly<Record<string, number>>, number]>([
  ['what all nodes cost where all may go at once', [nodeOf(1), nodeOf(3), nodeOf(2)], { default: 9 }, 6],
  ['four fifths of the dearest that budgets let go', [nodeOf(3), nodeOf(1), nodeOf(2)], { default: 2 }, 0.8 * 5],
  ['of each NodePool by its own budget', [nodeOf(1, 'a'), nodeOf(3, 'a'), nodeOf(2, 'b')], { a: 1, b: 1 }, 0.8 * 5],
  ['the price of a node where one goes alone', [nodeOf(1), nodeOf(3)], { default: 1 }, 3],
  ['nothing where budgets let none go', [nodeOf(1)], { default: 0 }, 0],
  [
    'nothing for nodes that stay',
    [nodeOf(1, 'a', { removable: false }), nodeOf(1, 'a', { onlyEmpty: true })],
    { a: 9 },
    0,
  ],
  ['for a hundred at most', Array.from({ length: 120 }, () => nodeOf(1)), { default: 999 }, 80],
])('a consolidation launch may cost %s', (_, nodes, most, expected) => {
  expect(affordable([...nodes], upTo(most))).toBeCloseTo(expected, 9);
});
