import { expect, test } from 'vitest';
import { labels } from '../../api/labels.js';
import type { PodSpec } from '../../api/kubernetes.js';
import { instanceType, packingInput, podsOf, pool } from '../../test/builders/packing-fixtures.js';
import { plan } from '../plan.js';

const app = { labelSelector: { matchLabels: { app: 'p' } } };
const spread: Partial<PodSpec> = {
  topologySpreadConstraints: [
    { ...app, maxSkew: 1, topologyKey: labels.zone, whenUnsatisfiable: 'DoNotSchedule' as const },
  ],
};
const near = (kind: 'podAffinity' | 'podAntiAffinity', topologyKey: string): Partial<PodSpec> => ({
  affinity: { [kind]: { requiredDuringSchedulingIgnoredDuringExecution: [{ ...app, topologyKey }] } },
});
const types = [instanceType('m', { cpu: 4, price: 0.4 })];
const whole = 'how pods fit into whole nodes';

const planned = (spec: Partial<PodSpec>, objects: Partial<Parameters<typeof packingInput>[0]> = {}) =>
  plan(packingInput({ pods: podsOf(5, 'p', { cpu: '1500m', labels: { app: 'p' }, ...spec }), ...objects }, { types }));

// Rule `provisioning/least-possible`.
test.each<[string, Partial<PodSpec>, Partial<Parameters<typeof packingInput>[0]>, string[] | undefined]>([
  ['spread', spread, {}, [`spread over ${labels.zone} (5 pods)`, whole]],
  ['anti-affinity', near('podAntiAffinity', labels.zone), {}, [`anti-affinity within ${labels.zone} (3 pods)`, whole]],
  ['nothing but whole nodes', {}, {}, [whole]],
  ['limits', {}, { nodePools: [pool('small', { limits: { cpu: '12' } })] }, ['limits of NodePool small', whole]],
])('a plan far above its bound says what that leaves out: %s', (_, spec, objects, expected) => {
  const { boundLeavesOut, pricePerHour, lowerBoundPerHour } = planned(spec, objects);
  expect(pricePerHour).toBeGreaterThan(lowerBoundPerHour * 1.03);
  expect(boundLeavesOut).toEqual(expected);
});
