import type { NodePoolDisruption } from '../../../api/karpenter/node-pool.js';
import { isBalanced } from '../../../disruption/consolidation/balanced.js';
import type { CountedNode } from '../../../disruption/consolidation/fleet.js';
import { nodePool } from '../../builders/activity-world.js';
import { consolidates } from '../consolidations.js';
import { about, gives, notApplicable, same, type Check, type ConformanceCase } from '../conformance-case.js';
import { cheap, dear, fleet, of, on, onDemand } from './fleet.js';

type Policy = NodePoolDisruption['consolidationPolicy'];

function counted(price: number, cost: number, pool = 'a', consolidationPolicy: Policy = 'Balanced'): CountedNode {
  const made = nodePool(pool);
  const disruption = { ...made.spec.disruption, consolidationPolicy };
  const counts = { total: 1, disrupting: 0 } as unknown as CountedNode['counted'];
  return { nodePool: pool, pool: { ...made, spec: { ...made.spec, disruption } }, price, cost, counted: counts };
}
const times = (count: number, price: number, cost: number, pool = 'a', policy: Policy = 'Balanced'): CountedNode[] =>
  Array.from({ length: count }, () => counted(price, cost, pool, policy));

/** Whether a move is worth it that saves and disrupts so much of a pool that costs and would disrupt `total`. */
const moves = (expected: boolean, saving: number, caused: number, total = { price: 58.08, disruption: 90 }): Check =>
  gives(() => {
    const mover = counted(Math.min(saving, total.price), caused);
    const rest = counted(total.price - mover.price, total.disruption - caused);
    return isBalanced([mover, rest], [mover], saving);
  }, expected);
/** Whether the first of each list may go, for what they cost. */
const removes = (expected: boolean, ...pools: readonly (readonly CountedNode[])[]): Check =>
  gives(() => {
    const gone = pools.map(([first]) => first!);
    const saving = gone.reduce((sum, { price }) => sum + price, 0);
    return isBalanced(pools.flat(), gone, saving);
  }, expected);
const uniform = { price: 48.4, disruption: 90 };

/** pkg/controllers/disruption/balanced_test.go */
export const balancedMoveCases: readonly ConformanceCase[] = about('Balanced: is the command worth it', [
  same(38, 'an oversized node is', moves(true, 7.26, 4)),
  same(53, 'an unneeded node is', moves(true, 4.84, 5)),
  same(66, 'a small saving is not', moves(false, 2.42, 9)),
  same(77, 'no saving is not', moves(false, 0, 11)),
  same(88, 'the same saving in a pool of equal nodes', moves(true, 2.42, 9, uniform)),
  same(
    105,
    'removing nodes with few pods is, with many is not',
    gives(
      () => [5, 32].map((caused) => moves(true, 4.84, caused, { price: 58.08, disruption: 117 }).outcome()),
      [true, false],
    ),
  ),
  same(131, 'a larger pool changes nothing', moves(true, 7.26, 4, { price: 580.8, disruption: 900 })),
  same([151, 168], 'a saving without disruption is', moves(true, 4.84, 0)),
  same(157, 'no saving without disruption is not', moves(false, 0, 0)),
  same(162, 'in a pool that costs nothing', moves(false, 4.84, 5, { price: 0, disruption: 90 })),
  same(175, 'a saving below the threshold of one half is not', moves(false, 2.42, 9)),
  notApplicable([180, 185], 'other thresholds', 'the threshold is a half'),
  same(
    192,
    'in pools of other prices',
    gives(
      () => [moves(true, 4.84, 4, uniform).outcome(), moves(true, 1.45, 4, { price: 14.5, disruption: 90 }).outcome()],
      [true, true],
    ),
  ),
  same(207, 'consolidationPolicy Balanced asks for it', removes(false, [counted(1, 98), counted(9, 2)])),
  same(
    211,
    'WhenEmptyOrUnderutilized does not ask',
    removes(true, [counted(1, 98, 'a', 'WhenEmptyOrUnderutilized'), counted(9, 2, 'a', 'WhenEmptyOrUnderutilized')]),
  ),
  same(
    215,
    'WhenEmpty does not ask',
    removes(true, [counted(1, 98, 'a', 'WhenEmpty'), counted(9, 2, 'a', 'WhenEmpty')]),
  ),
]);

/** pkg/controllers/disruption/balanced_scoring_test.go */
export const balancedScoreCases: readonly ConformanceCase[] = about('Balanced: score of a command', [
  same(186, 'counts every node of the pool', removes(true, times(5, 4.84, 2))),
  same(
    209,
    'counts nodes without a price by their disruption',
    removes(true, [counted(4.84, 11.9), counted(0, 12), counted(4.84, 0.1)]),
  ),
  notApplicable(233, 'a command of no node', 'there is none'),
  same(
    244,
    'does not apply to pools of another policy',
    removes(true, times(5, 4.84, 2, 'a', 'WhenEmptyOrUnderutilized')),
  ),
  notApplicable(264, 'a pool that is not known', 'what a pool costs is added up with each move'),
  same(283, 'of one node of ten', removes(true, times(10, 4.84, 2))),
  same(
    310,
    'of one node of each of two pools, one of them Balanced',
    removes(true, times(5, 4.84, 2), times(5, 4.84, 2, 'b', 'WhenEmptyOrUnderutilized')),
  ),
  same(
    343,
    'of one node of each of two pools, one of which is not worth it',
    removes(false, times(10, 4.84, 2), [counted(0.2, 41, 'b'), counted(1, 2, 'b')]),
  ),
  notApplicable([425, 563, 598, 623], 'the order of single nodes', 'all nodes are looked at together'),
  same(465, 'with much saved and little disrupted', moves(true, 30, 5, { price: 100, disruption: 50 })),
  same(466, 'with equal shares', moves(true, 20, 10, { price: 100, disruption: 50 })),
  same(467, 'with little saved and much disrupted', moves(false, 5, 40, { price: 100, disruption: 50 })),
  same(468, 'with nothing disrupted', moves(true, 10, 0, { price: 100, disruption: 50 })),
  same(469, 'with nothing saved', moves(false, 0, 10, { price: 100, disruption: 50 })),
  same(470, 'with a negative saving', moves(false, -5, 10, { price: 100, disruption: 50 })),
  same(
    473,
    'does not count spot prices where the pool launches on-demand',
    consolidates(
      {
        objects: [
          onDemand({ consolidationPolicy: 'Balanced' }),
          of('a'),
          ...['p', 'q', 'r'].map((name) => on('a', name)),
        ],
        catalogue: fleet,
      },
      { gone: [] },
    ),
  ),
  same(
    [537, 549],
    'of nodes of Balanced and other pools',
    consolidates(
      {
        objects: [
          onDemand({ consolidationPolicy: 'Balanced' }, 'default'),
          of('a', dear),
          of('b', dear),
          on('a', 'p'),
          on('b', 'q'),
        ],
        catalogue: fleet,
      },
      { gone: ['a', 'b'], launched: ['cheap'] },
    ),
  ),
]);

/** pkg/controllers/disruption/balanced_adversarial_test.go */
export const balancedAdversarialCases: readonly ConformanceCase[] = about('Balanced: extreme prices and pools', [
  notApplicable(34, 'a price that is no number', 'prices are read as numbers, or not at all'),
  notApplicable(70, 'the scores of each pool', 'a verdict for each pool is all that there is'),
  same(117, 'nodes without a price', removes(true, [counted(4.84, 2), counted(0, 2), counted(4.84, 2)])),
  same(173, 'the only node', removes(true, [counted(4.84, 2)])),
]);

const balanced = onDemand({ consolidationPolicy: 'Balanced' });
const filled = (name: string, count: number) => Array.from({ length: count }, (_, i) => on(name, `${name}-${i}`));

/** pkg/controllers/disruption/balanced_integration_test.go */
export const balancedFleetCases: readonly ConformanceCase[] = about('Balanced: consolidating a fleet', [
  same(
    56,
    'an oversized node is replaced',
    consolidates(
      { objects: [balanced, of('a', dear), ...filled('a', 2)], catalogue: fleet },
      { gone: ['a'], launched: ['cheap'] },
    ),
  ),
  same(
    126,
    'a full node is not replaced',
    consolidates({ objects: [balanced, of('a', dear), ...filled('a', 30)], catalogue: fleet }, { gone: [] }),
  ),
  same(
    183,
    'several oversized nodes become one',
    consolidates(
      {
        objects: [
          balanced,
          of('a', dear),
          of('b', dear),
          of('c', dear),
          ...['a', 'b', 'c'].map((n) => on(n, `p-${n}`)),
        ],
        catalogue: fleet,
      },
      { gone: ['a', 'b', 'c'], launched: ['cheap'] },
    ),
  ),
  same(
    248,
    'a budget of 0 keeps all nodes',
    consolidates(
      {
        objects: [
          onDemand({ consolidationPolicy: 'Balanced', budgets: [{ nodes: '0%' }] }),
          of('a', dear),
          on('a', 'p'),
        ],
        catalogue: fleet,
      },
      { gone: [] },
    ),
  ),
  same(
    310,
    'empty nodes go first, where a budget allows one',
    consolidates(
      {
        objects: [
          onDemand({ consolidationPolicy: 'Balanced', budgets: [{ nodes: '1' }] }),
          of('a', dear),
          of('b', dear),
          on('a', 'p'),
        ],
        catalogue: fleet,
        more: { mostCommands: 1 },
      },
      { gone: ['b'] },
    ),
  ),
  same(
    391,
    'a node whose pods fit elsewhere is deleted',
    consolidates(
      { objects: [balanced, of('a'), of('b'), on('a', 'p'), on('b', 'q')], catalogue: fleet },
      { count: 1, launched: [] },
    ),
  ),
  same(
    491,
    'a node whose pods need a smaller one is replaced',
    consolidates(
      { objects: [balanced, of('a', dear), ...filled('a', 3)], catalogue: [cheap, dear] },
      { gone: ['a'], launched: ['cheap'] },
    ),
  ),
  same(
    555,
    'the dearest nodes with the fewest pods go',
    consolidates(
      {
        objects: [
          onDemand({ consolidationPolicy: 'Balanced', budgets: [{ nodes: '2' }] }),
          of('a', dear),
          of('b', dear),
          of('c'),
          on('a', 'p'),
          on('b', 'q'),
          ...filled('c', 3),
        ],
        catalogue: fleet,
        more: { mostCommands: 1 },
      },
      { gone: ['a', 'b'], cheaper: true },
    ),
  ),
  same(
    697,
    'pools of both policies',
    consolidates(
      {
        objects: [
          balanced,
          onDemand({}, 'other'),
          of('a', dear),
          of('b', dear, { pool: 'other' }),
          on('a', 'p'),
          on('b', 'q'),
        ],
        catalogue: fleet,
      },
      { gone: ['a', 'b'], cheaper: true },
    ),
  ),
]);
