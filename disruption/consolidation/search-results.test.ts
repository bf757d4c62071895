import { describe, expect, test } from '@jest/globals';
import { annotations } from '../../api/labels.js';
import { huge, input, large, node, od, pod, pool, small, type, type World } from '../../test/builders/consolidation.js';
import { consolidateFleet, reconsiderNodes, whyStays } from './search.js';
import type { Consolidation, ConsolidationInput } from './types.js';

const run = (world: World, more: Partial<ConsolidationInput> = {}): Consolidation =>
  consolidateFleet({ ...input(world), ...more });
const kept = { annotations: { [annotations.doNotDisrupt]: 'true' } };
const nothingCheaper = 'there is no cheaper place for its pods';

describe("a search's result for nodes that stay", () => {
  const full = (...names: string[]) => names.map((name) => pod(`web-${name}`, name, 4));

  test('has the blocker of each, or why it is not removed', () => {
    const result = run({ nodes: [node('n0', large), node('n1', large, kept)], pods: full('n0', 'n1'), types: [large] });
    expect(result.held).toEqual([{ node: 'n1', why: expect.stringContaining('do-not-disrupt') }]);
    expect(result.notTaken).toEqual([{ node: 'n0', why: nothingCheaper }]);
  });

  test('leaves out nodes that are gone, and replacements', () => {
    const result = run({ nodes: [node('n0', huge)], pods: [pod('web-0', 'n0', 1)] });
    expect(result.commands).toHaveLength(1);
    expect([result.held, result.notTaken]).toEqual([[], []]);
  });

  // Rule `budgets/reasons`.
  test.each<[string, readonly { nodes: string; reasons?: ('Empty' | 'Underutilized')[] }[], boolean]>([
    ['nothing goes', [{ nodes: '0' }], true],
    ['none goes as underutilized', [{ nodes: '100%' }, { nodes: '0', reasons: ['Underutilized'] }], false],
    ['none goes as either', [{ nodes: '100%' }, { nodes: '0', reasons: ['Empty', 'Underutilized'] }], true],
    ['none goes as empty', [{ nodes: '100%' }, { nodes: '0', reasons: ['Empty'] }], false],
  ])('names budgets where they block for every reason: %s', (_, budgets, isHeld) => {
    const pools = [pool('default', { disruption: { budgets: [...budgets] } })];
    const { held, notTaken } = run({ pools, nodes: [node('n0', large)], pods: full('n0'), types: [large] });
    const why = 'no node of its NodePool may be disrupted now (budgets, windows or rates)';
    expect(held).toEqual(isHeld ? [{ node: 'n0', why }] : []);
    expect(notTaken).toEqual(isHeld ? [] : [{ node: 'n0', why: nothingCheaper }]);
  });

  test('names budgets for no other node', () => {
    const pools = [pool('default'), pool('held', { disruption: { budgets: [{ nodes: '0' }] } })];
    const nodes = [
      node('n0', large),
      node('n1', large, { pool: 'held' }),
      node('n2', large, { pool: 'held', ...kept }),
    ];
    const { held } = run({ pools, nodes, pods: full('n0', 'n1', 'n2'), types: [large] });
    expect(held.map((each) => each.node).sort()).toEqual(['n1', 'n2']);
  });

  test('has the best rejected command with its saving', () => {
    const leaner = type('leaner', 4, 16, od(0.199));
    const result = run({ nodes: [node('n0', large)], pods: full('n0'), types: [large, leaner] });
    expect(result.commands).toEqual([]);
    expect(result.rejected).toEqual([
      {
        candidates: ['n0'],
        saving: expect.closeTo(0.001, 9),
        why: expect.stringContaining('must save'),
      },
    ]);
    expect(result.notTaken).toEqual([{ node: 'n0', why: result.rejected[0]!.why }]);
  });

  test('has no reasons where the search was stopped', () => {
    const world = { nodes: [node('n0', large)], pods: full('n0'), types: [large] };
    const stopped = consolidateFleet(input(world), () => true);
    expect([stopped.notTaken, stopped.cutShort]).toEqual([[], true]);
  });
});

describe('unparsable objects in a search are left out by name', () => {
  const world: World = { nodes: [node('n0', large), node('n1', small)] };

  test('and none is reported where all can be parsed', () => {
    expect(run(world)).not.toHaveProperty('setAside');
  });

  test('and commands for the rest are found', () => {
    const bad = { ...pool('bad'), spec: undefined as never };
    const result = run({ ...world, pools: [pool('default'), bad], pods: [] });
    expect(result.setAside).toEqual([expect.objectContaining({ name: 'bad' })]);
    expect(result.commands.flatMap(({ candidates }) => candidates).sort()).toEqual(['n0', 'n1']);
  });
});

test('a single validated node is removed, or stays with a reason', () => {
  const world: World = { nodes: [node('n0', huge), node('n1', large, kept)], pods: [pod('web-0', 'n0', 1)] };
  expect(reconsiderNodes(input(world), ['n0'])).toMatchObject({ decision: 'delete', moves: [{ to: 'n1' }] });
  expect(whyStays(input(world), 'n0')).toBeUndefined();
  expect(whyStays(input(world), 'n1')).toContain('do-not-disrupt');
});
