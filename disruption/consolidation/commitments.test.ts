import { expect, test } from '@jest/globals';
import { readCommitments } from '../../api/stowage/commitments.js';
import { input, node, od, pod, type } from '../../test/builders/consolidation.js';
import { consolidateFleet } from './search.js';
import type { Consolidation } from './types.js';

const big = type('m5.4xlarge', 16, 64, od(0.8));
const small = type('m5.xlarge', 4, 16, od(0.2));

/** Nodes of 16 CPUs, each with one pod of 3 CPUs, under a Savings Plan of so many dollars an hour. */
function fleet(perHour: number, names: readonly string[]): Consolidation {
  const { commitments } = readCommitments(
    {
      commitments: [{ kind: 'EC2InstanceSavingsPlan', name: 'm5', instanceFamily: 'm5', perHour, discount: 0 }],
    },
    'test',
  );
  const world = input({
    nodes: names.map((name) => node(name, big)),
    pods: names.map((name) => pod(`web-${name}`, name, 13)),
    types: [big, small],
  });
  return consolidateFleet({ ...world, settings: { ...world.settings, commitments } });
}

// Rule `instance-types/commitments`.
test('under commitments removing a covered node saves nothing, removing one beyond the commitment does', () => {
  const names = ['n0', 'n1', 'n2'];
  expect(fleet(10, names).priceBefore).toBeCloseTo(0);
  // Two of three are covered: the third is what can be saved.
  expect(fleet(1.6, names).priceBefore).toBeCloseTo(0.8);
  // In part: a bill covers usage, not nodes.
  expect(fleet(1.2, names).priceBefore).toBeCloseTo(1.2);
});

function oversized(perHour: number): Consolidation {
  const { commitments } = readCommitments(
    { commitments: [{ kind: 'EC2InstanceSavingsPlan', name: 'm5', instanceFamily: 'm5', perHour, discount: 0 }] },
    'test',
  );
  const world = input({ nodes: [node('n0', big)], pods: [pod('web-0', 'n0', 3)], types: [big, small] });
  return consolidateFleet({ ...world, settings: { ...world.settings, commitments } });
}

test('an oversized node is replaced where it costs something, and kept where a commitment covers it', () => {
  expect(oversized(1).commands).toEqual([]);
  // Half of it is on demand: a smaller one is covered whole.
  const [command] = oversized(0.4).commands;
  expect(command).toMatchObject({ decision: 'replace', candidates: ['n0'] });
  expect(command!.replacements[0]!.cheapest).toMatchObject({ instanceType: 'm5.xlarge', commitment: 'm5' });
});
