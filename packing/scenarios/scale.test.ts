import { expect, test } from '@jest/globals';
import type { InstanceType } from '../../core/instance-type.js';
import { instanceType, node, packingInput, pod, pool } from '../../test/builders/packing-fixtures.js';
import { compile } from '../compile/compiled.js';
import { plan } from '../plan.js';
import type { Plan } from '../types.js';

/** Plans `count` pods that nothing can hold, and counts how often the catalogue is read and how often the spec of a pod. */
function unschedulable(count: number): { result: Plan; catalogueReads: number; specReads: number } {
  let catalogueReads = 0;
  let specReads = 0;
  const types = [1, 2, 4].map((cpu) => {
    const type = instanceType(`m${cpu}`, { cpu, price: cpu / 10 });
    const counted = (_: InstanceType, key: string | symbol): unknown => {
      catalogueReads++;
      return type[key as keyof InstanceType];
    };
    return new Proxy(type, { get: counted });
  });
  const spec = new Proxy(pod('p', { cpu: '64' }).spec, {
    get: (target, key) => {
      specReads++;
      return target[key as keyof typeof target];
    },
  });
  const pods = Array.from({ length: count }, (_, n) => ({ ...pod(`p-${n}`), spec }));
  const result = plan(packingInput({ pods }, { types, settings: { explainTypes: true } }));
  return { result, catalogueReads, specReads };
}

test('many unschedulable pods of one class cost the search and explanation of one', () => {
  const few = unschedulable(10);
  const many = unschedulable(100_000);
  expect(many.result.unschedulable).toHaveLength(100_000);
  // The catalogue is searched and explained as often for all of them as for ten.
  expect(many.catalogueReads).toBe(few.catalogueReads);
  // A pod is read once, for its class.
  expect(many.specReads / 100_000).toBeLessThanOrEqual(few.specReads / 10);
  expect(many.specReads / 100_000).toBeLessThan(40);
  const [first] = many.result.unschedulable;
  expect(many.result.unschedulable.every(({ blockers }) => blockers === first!.blockers)).toBe(true);
  expect(many.result.unschedulable.every(({ explanation }) => explanation === 0)).toBe(true);
  expect(many.result.explanations).toEqual(few.result.explanations);
  expect(many.result.explanations).toHaveLength(1);
});

test('equal pods are one class however many there are', () => {
  const pods = Array.from({ length: 5000 }, (_, n) => pod(`p-${n % 7}-${n}`, { cpu: n % 2 === 0 ? '100m' : '200m' }));
  expect(compile(packingInput({ pods })).classes.all).toHaveLength(2);
});

test('free room of nodes of many kinds does not lower the bound for pods that none of them admits', () => {
  const teams = Array.from({ length: 120 }, (_, n) => `t${n}`);
  const nodes = teams.map((team) => node(team, { labels: { team }, cpu: '16', memory: '64Gi' }));
  const own = teams.map((team) => pod(`of-${team}`, { cpu: '1', nodeSelector: { team } }));
  const stranded = Array.from({ length: 4 }, (_, n) => pod(`critical-${n}`, { cpu: '1', nodeSelector: { tier: 'critical' } })); // prettier-ignore
  const anyTeam = pool('teams', { requirements: [{ key: 'team', operator: 'Exists' }] });
  const nodePools = [anyTeam, pool('critical', { labels: { tier: 'critical' } })];
  const { existingNodes, newNodeClaims, lowerBoundPerHour, pricePerHour } = plan(
    packingInput({ pods: [...own, ...stranded], nodes, nodePools }),
  );
  expect(existingNodes).toHaveLength(teams.length);
  expect(newNodeClaims.flatMap(({ pods }) => pods)).toHaveLength(stranded.length);
  expect(lowerBoundPerHour).toBeGreaterThan(0.8 * pricePerHour);
});
