import { expect, test } from '@jest/globals';
import { packingInput, pod, pool } from '../../test/builders/packing-fixtures.js';
import { plan } from '../plan.js';
import type { PackingInput } from '../types.js';

const nodePools = Array.from({ length: 20 }, (_, n) => pool(`pool-${n}`));

/** Pods of so many kinds that no node takes. */
function stuck(kinds: number, more: Partial<PackingInput> = {}) {
  const pods = Array.from({ length: kinds }, (_, n) =>
    pod(`p-${String(n).padStart(4, '0')}`, { nodeSelector: { [`example.com/rack-${n}`]: 'a' } }),
  );
  return plan({ ...packingInput({ pods, nodePools }, { settings: { explainTypes: true } }), ...more });
}

test('explanations are made for a limited number of pod classes and NodePools; the others say how to ask', () => {
  const { unschedulable } = stuck(600);
  expect(unschedulable).toHaveLength(600);
  const outcome = unschedulable.filter(({ blockers }) => blockers.length === nodePools.length);
  expect(outcome).toHaveLength(500);
  const others = unschedulable.filter(({ blockers }) => blockers.length === 1);
  expect(others).toHaveLength(100);
  expect(others[0]).toMatchObject({ pod: 'default/p-0500', blockers: [{ reason: 'NotExplained' }] });
  expect(others[0]!.reason).toContain('`stowage why`');
  expect(others[0]).not.toHaveProperty('explanation');
});

test('the pod that somebody asks about is explained whatever other pods there are', () => {
  const { unschedulable, explanations } = stuck(600, { about: new Set(['default/p-0599']) });
  const asked = unschedulable.find(({ pod: name }) => name === 'default/p-0599')!;
  expect(asked.blockers).toHaveLength(nodePools.length);
  expect(asked.explanation).toBe(0);
  expect(explanations).toHaveLength(1);
});
