import { describe, expect, test } from '@jest/globals';
import { labels } from '../../api/labels.js';
import type { Pod, PodSpec } from '../../api/kubernetes.js';
import { instanceType, packingInput, podsOf, pool } from '../../test/builders/packing-fixtures.js';
import { plan } from '../plan.js';
import { withProvenBounds } from '../../cli/bound/prove.js';

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
])('a plan far above its lower bound says what the bound ignores: %s', (_, spec, objects, expected) => {
  const { boundLeavesOut, pricePerHour, lowerBoundPerHour } = planned(spec, objects);
  expect(pricePerHour).toBeGreaterThan(lowerBoundPerHour * 1.03);
  expect(boundLeavesOut).toEqual(expected);
});

describe('the lower bound and preferences', () => {
  /** Dollars per hour of the type. */
  const spot = 0.16;
  const preferred = (kind: 'podAffinity' | 'podAntiAffinity', topologyKey: string): Partial<PodSpec> => ({
    affinity: {
      [kind]: {
        preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm: { ...app, topologyKey } }],
      },
    },
  });
  const inZone = (zone: string): Partial<PodSpec> => ({
    affinity: {
      nodeAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [
          { weight: 1, preference: { matchExpressions: [{ key: labels.zone, operator: 'In', values: [zone] }] } },
        ],
      },
    },
  });
  const proven = (pods: readonly Pod[]) => {
    const input = packingInput({ pods: [...pods] }, { types });
    return withProvenBounds(input, plan(input));
  };
  const five = (spec: Partial<PodSpec>): Pod[] => podsOf(5, 'p', { cpu: '1', labels: { app: 'p' }, ...spec });

  test('is, for preferences that are kept, the same as if they were required', () => {
    const kept = proven(five(preferred('podAntiAffinity', labels.hostname)));
    const ruled = proven(five(near('podAntiAffinity', labels.hostname)));
    expect(kept.pricePerHour).toBeCloseTo(5 * spot, 9);
    expect(kept.lowerBoundPerHour).toBeLessThan(3 * spot);
    expect(kept.comparableLowerBoundPerHour).toBeCloseTo(ruled.lowerBoundPerHour, 9);
    expect(kept.comparableLowerBoundPerHour).toBeCloseTo(kept.pricePerHour, 6);
    expect(kept.relaxed).toBeUndefined();
    // The plan is the cheapest that keeps them: the bound leaves nothing out.
    expect(kept.boundLeavesOut).toBeUndefined();
  });

  test('does not count preferences that are relaxed', () => {
    const names = (pods: readonly Pod[]): string[] => pods.map(({ metadata }) => `default/${metadata.name ?? ''}`);
    const pods = five(inZone('nowhere'));
    const { relaxed, comparableLowerBoundPerHour } = proven(pods);
    expect(relaxed).toEqual(names(pods).map((pod) => ({ pod, level: 1, preferences: 1, relaxed: 1 })));
    expect(comparableLowerBoundPerHour).toBeUndefined();
  });

  test("counts a pod's preferences as far as the plan keeps them", () => {
    const both: Partial<PodSpec> = {
      affinity: {
        ...preferred('podAntiAffinity', labels.hostname).affinity,
        podAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            {
              weight: 1,
              podAffinityTerm: { labelSelector: { matchLabels: { app: 'absent' } }, topologyKey: labels.zone },
            },
          ],
        },
      },
    };
    const { relaxed, pricePerHour, comparableLowerBoundPerHour } = proven(five(both));
    expect(relaxed?.map((each) => [each.preferences, each.relaxed])).toEqual(Array(5).fill([2, 1]));
    expect(pricePerHour).toBeCloseTo(5 * spot, 9);
    expect(comparableLowerBoundPerHour).toBeCloseTo(pricePerHour, 6);
  });

  test('counts no preference where only a PreferNoSchedule taint is accepted', () => {
    const taints = [{ key: 'spare', effect: 'PreferNoSchedule' as const }];
    const input = packingInput({ pods: five({}), nodePools: [pool('spare', { taints })] }, { types });
    const { relaxed } = withProvenBounds(input, plan(input));
    expect(relaxed?.map((each) => [each.level, each.preferences, each.relaxed])).toEqual(Array(5).fill([1, 0, 0]));
  });

  test('counts no preferences of unplaced pods', () => {
    const pods = podsOf(2, 'large', { cpu: '64', ...inZone('a') });
    expect(proven(pods)).not.toHaveProperty('comparableLowerBoundPerHour');
  });
});
