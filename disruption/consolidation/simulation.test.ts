import { expect, test } from 'vitest';
import { huge, input, large, node, pod } from '../../test/builders/consolidation.js';
import { examineNodes } from './eligibility.js';
import type { Outcome } from './outcome.js';
import { Simulation } from './simulation.js';

test('what is bought for the rest alone is not bought where nothing else takes a pod in', () => {
  const world = input({ nodes: [node('n0', huge), node('n1', large)], pods: [pod('web-0', 'n0', 1)] });
  const attempt = (targets: readonly string[], onlyForRest: boolean): Outcome | undefined => {
    const simulation = new Simulation(world, examineNodes(world));
    const named = (names: readonly string[]) => simulation.nodes.filter(({ name }) => names.includes(name));
    simulation.setTargets(named(targets));
    return simulation.attempts.byPlacing(named(['n0']), { search: { units: 0 }, most: 0.8, onlyForRest });
  };
  expect(attempt([], false)?.launches).toHaveLength(1);
  expect(attempt([], true)).toBeUndefined();
  expect(attempt(['n1'], true)).toMatchObject({
    launches: [],
    placements: [{ pods: [{ metadata: { name: 'web-0' } }] }],
  });
});
