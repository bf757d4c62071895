import { expect, test } from '@jest/globals';
import type { PodAffinityTerm, PodSpec } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import { honouredPreferences, ignoredPreferences, withHonouredPreferences } from './preferences.js';

const containers: PodSpec['containers'] = [{ name: 'app' }];
const term = (app: string): PodAffinityTerm => ({ topologyKey: labels.zone, labelSelector: { matchLabels: { app } } });
const near = (weights: readonly number[], name = 'a') =>
  weights.map((weight, n) => ({ weight, podAffinityTerm: term(`${name}${n}`) }));
const on = (weights: readonly number[]) =>
  weights.map((weight, n) => ({
    weight,
    preference: { matchExpressions: [{ key: 'k', operator: 'In' as const, values: [`${n}`] }] },
  }));
const many = (count: number, weight: number): number[] => Array.from({ length: count }, () => weight);

// Rule `scheduling/twenty-preferences`.
test('preferences: a spec with no more than the maximum is kept, the same object', () => {
  const spec: PodSpec = {
    containers,
    affinity: {
      podAffinity: { preferredDuringSchedulingIgnoredDuringExecution: near(many(honouredPreferences - 5, 1)) },
      nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: on(many(5, 1)) },
    },
  };
  expect(withHonouredPreferences(spec)).toBe(spec);
  expect(ignoredPreferences(spec)).toBe(0);
});

test('preferences: of more than the maximum those with the highest weight of all kinds are kept, in order', () => {
  const spec: PodSpec = {
    containers,
    affinity: {
      podAffinity: { preferredDuringSchedulingIgnoredDuringExecution: near([3, 90, ...many(500, 10)]) },
      podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: near([...many(500, 2), 80], 'x') },
      nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: on([1, 70]) },
    },
  };
  const { podAffinity, podAntiAffinity, nodeAffinity } = withHonouredPreferences(spec).affinity!;
  const kept = podAffinity!.preferredDuringSchedulingIgnoredDuringExecution!;
  expect(kept.map(({ weight }) => weight)).toEqual([90, ...many(honouredPreferences - 3, 10)]);
  expect(kept.map(({ podAffinityTerm }) => podAffinityTerm)).toEqual(
    Array.from({ length: honouredPreferences - 2 }, (_, n) => term(`a${n + 1}`)),
  );
  expect(podAntiAffinity!.preferredDuringSchedulingIgnoredDuringExecution).toEqual([
    { weight: 80, podAffinityTerm: term('x500') },
  ]);
  expect(nodeAffinity!.preferredDuringSchedulingIgnoredDuringExecution!.map(({ weight }) => weight)).toEqual([70]);
  expect(ignoredPreferences(spec)).toBe(502 + 501 + 2 - honouredPreferences);
});

test('preferences: required terms are kept, however many there are', () => {
  const hard = Array.from({ length: 50 }, (_, n) => ({
    maxSkew: 1,
    topologyKey: `key-${n}`,
    whenUnsatisfiable: 'DoNotSchedule' as const,
  }));
  const soft = hard.map((each) => ({ ...each, whenUnsatisfiable: 'ScheduleAnyway' as const }));
  const required = hard.map(({ topologyKey }) => ({ ...term('a'), topologyKey }));
  const spec: PodSpec = {
    containers,
    topologySpreadConstraints: [...soft, ...hard],
    affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } },
  };
  const kept = withHonouredPreferences(spec);
  expect(kept.topologySpreadConstraints).toEqual([...soft.slice(0, honouredPreferences), ...hard]);
  expect(kept.affinity!.podAntiAffinity!.requiredDuringSchedulingIgnoredDuringExecution).toEqual(required);
});
