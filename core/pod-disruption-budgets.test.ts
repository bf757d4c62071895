import { describe, expect, test } from '@jest/globals';
import type { Pod, PodDisruptionBudget } from '../api/kubernetes.js';
import { taints } from '../api/labels.js';
import { neverEvictable, undrainablePods } from './pod-disruption-budgets.js';

type Spec = Omit<PodDisruptionBudget['spec'], 'selector'>;

const budget = (
  name: string,
  spec: Spec,
  status: PodDisruptionBudget['status'] = {},
  generation = 1,
): PodDisruptionBudget => ({
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name, namespace: 'shop', generation },
  spec: { selector: { matchLabels: { app: 'web' } }, ...spec },
  status: { observedGeneration: 1, ...status },
});
const pod = (name: string, more: Partial<Pod> = {}): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'shop', labels: { app: 'web' } },
  spec: { containers: [] },
  status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
  ...more,
});

describe('PodDisruptionBudgets that can never allow an eviction', () => {
  const never: [string, Spec, PodDisruptionBudget['status'], string][] = [
    ['maxUnavailable 0', { maxUnavailable: 0 }, {}, 'maxUnavailable is 0'],
    ['maxUnavailable 0%', { maxUnavailable: '0%' }, {}, 'maxUnavailable is 0%'],
    ['minAvailable 100%', { minAvailable: '100%' }, {}, 'minAvailable is 100%'],
    [
      'minAvailable equal to the replicas',
      { minAvailable: 3 },
      { expectedPods: 3, desiredHealthy: 3 },
      'minAvailable 3 asks that 3 of 3 stay healthy',
    ],
    [
      'minAvailable above the replicas',
      { minAvailable: 5 },
      { expectedPods: 3, desiredHealthy: 5 },
      'minAvailable 5 asks that 5 of 3 stay healthy',
    ],
    [
      'a share that rounds up to all',
      { minAvailable: '51%' },
      { expectedPods: 1, desiredHealthy: 1 },
      'minAvailable 51% asks that 1 of 1 stay healthy',
    ],
  ];
  test.each(never)('%s', (_name, spec, status, why) => {
    expect(neverEvictable([budget('pdb', spec, status)])).toEqual({ kind: 'never', budgets: ['shop/pdb'], why });
  });

  const someDay: [string, Spec, PodDisruptionBudget['status']][] = [
    ['nothing allowed only now', { minAvailable: 2 }, { expectedPods: 3, desiredHealthy: 2, disruptionsAllowed: 0 }],
    ['maxUnavailable 1', { maxUnavailable: 1 }, { expectedPods: 1, desiredHealthy: 0 }],
    ['a budget that selects nothing', { minAvailable: 1 }, { expectedPods: 0, desiredHealthy: 1 }],
    ['a budget not yet looked at by its controller', { minAvailable: 1 }, {}],
  ];
  test.each(someDay)('do not include: %s', (_name, spec, status) => {
    expect(neverEvictable([budget('pdb', spec, status)])).toBeUndefined();
  });

  test('a budget whose status is older than its spec may still allow an eviction', () => {
    const status = { expectedPods: 3, desiredHealthy: 3 };
    expect(neverEvictable([budget('pdb', { minAvailable: 1 }, status, 2)])).toBeUndefined();
  });

  // Rule `candidates/pod-disruption-budgets`.
  test('a pod that two budgets select can never be evicted', () => {
    const two = [budget('a', { maxUnavailable: 1 }), budget('b', { maxUnavailable: 1 })];
    expect(neverEvictable(two)).toMatchObject({ kind: 'several', budgets: ['shop/a', 'shop/b'] });
  });
});

describe('pods that would block a drain for ever', () => {
  const budgets = [budget('pdb', { maxUnavailable: 0 })];

  test('a pod that would block a drain for ever is named with its budget', () => {
    const others = pod('other', { metadata: { name: 'other', namespace: 'shop', labels: { app: 'db' } } });
    const elsewhere = pod('web-1', { metadata: { name: 'web-1', namespace: 'bank', labels: { app: 'web' } } });
    expect(undrainablePods([pod('web-0'), others, elsewhere], budgets)).toEqual([
      { pod: 'shop/web-0', kind: 'never', budgets: ['shop/pdb'], why: 'maxUnavailable is 0' },
    ]);
  });

  // Rule `candidates/evictable-pods`.
  test('a pod that no drain waits for blocks none', () => {
    const tolerations = [{ key: taints.disrupted.key, operator: 'Exists' as const }];
    const going = { metadata: { ...pod('b').metadata, deletionTimestamp: '2026-01-05T12:00:00Z' } };
    const ended = pod('c', { status: { phase: 'Succeeded' } });
    expect(
      undrainablePods([pod('a', { spec: { containers: [], tolerations } }), pod('b', going), ended], budgets),
    ).toEqual([]);
  });

  test('with AlwaysAllow a pod that is not Ready does not block a drain', () => {
    const unready = pod('web-0', { status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'False' }] } });
    const lenient = [budget('pdb', { maxUnavailable: 0, unhealthyPodEvictionPolicy: 'AlwaysAllow' })];
    expect(undrainablePods([unready], lenient)).toEqual([]);
    expect(undrainablePods([pod('web-0')], lenient)).toHaveLength(1);
  });
});
