import type { Pod, PodDisruptionBudget } from '../../api/kubernetes.js';
import { annotations } from '../../api/labels.js';
import { doNotDisruptUntil, isInvalidDoNotDisrupt } from '../../core/do-not-disrupt.js';
import { bindingBudgets, neverEvictable } from '../../core/pod-disruption-budgets.js';
import { about, gives, notApplicable, same, type Check, type ConformanceCase } from './conformance-case.js';
import { candidateWith } from './disruption/candidates.js';

const now = Date.parse('2026-01-02T00:00:00Z');
const ago = (minutes: number): string => new Date(now - minutes * 60_000).toISOString();

function pod(mark?: string, more: { minutes?: number; ready?: boolean; phase?: string; app?: string } = {}): Pod {
  const { minutes = 10, ready = true, phase = 'Running', app = 'x' } = more;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'p',
      namespace: 'default',
      labels: { app },
      ...(mark !== undefined && { annotations: { [annotations.doNotDisrupt]: mark } }),
    },
    spec: { nodeName: 'n', containers: [] },
    status: {
      phase,
      ...(minutes >= 0 && { startTime: ago(minutes) }),
      conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
    },
  };
}

const budget = (spec: object, name = 'b'): PodDisruptionBudget => ({
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name, namespace: 'default' },
  spec: { selector: { matchLabels: { app: 'x' } }, ...spec },
});
const all = { minAvailable: '100%' };
const blocks = {
  '100% available': [budget(all)],
  '0% unavailable': [budget({ maxUnavailable: '0%' })],
  '0 unavailable': [budget({ maxUnavailable: 0 })],
  'two budgets': [budget(all, 'a'), budget(all)],
};
/** Whether every pod can ever be evicted. */
const evictable = (pods: readonly Pod[], budgets: readonly PodDisruptionBudget[], expected: boolean): Check =>
  gives(() => pods.every((each) => neverEvictable(bindingBudgets(each, budgets)) === undefined), expected);
const each = (at: readonly number[], title: string, pods: readonly Pod[]): ConformanceCase[] =>
  Object.entries(blocks).map(([name, budgets], i) =>
    same(at[i]!, `${title}: ${name}`, evictable(pods, budgets, false)),
  );
const unready = pod(undefined, { ready: false });
const free = { ...all, unhealthyPodEvictionPolicy: 'AlwaysAllow' };

export const podBudgetCases: readonly ConformanceCase[] = about('eviction under PodDisruptionBudgets', [
  same([69, 228], 'allows an unready pod under AlwaysAllow', evictable([unready], [budget(free)], true)),
  same([92, 249], 'blocks an unready pod without a policy', evictable([unready], [budget(all)], false)),
  same(
    [112, 266],
    'allows a pod without a PodDisruptionBudget',
    evictable([pod(undefined, { app: 'other' })], [budget(all)], true),
  ),
  ...each([154, 158, 162, 166], 'blocks two pods of one PodDisruptionBudget', [pod(), pod()]),
  ...each([200, 204, 208, 212], 'blocks one of two pods', [pod(), pod(undefined, { app: 'other' })]),
  ...each([296, 300, 304, 308], 'blocks a pod that the PodDisruptionBudget protects', [pod()]),
  same(
    321,
    'of a do-not-disrupt pod',
    gives(() => doNotDisruptUntil(pod('true'), now) !== undefined, true),
  ),
]);

const kept = (marked: Pod, expected: boolean): Check =>
  gives(() => doNotDisruptUntil(marked, now) !== undefined, expected);
/** Not kept, and reported as invalid. */
const wrong = (mark: string): Check =>
  gives(() => [doNotDisruptUntil(pod(mark), now) !== undefined, isInvalidDoNotDisrupt(pod(mark))], [false, true]);

export const podCases: readonly ConformanceCase[] = about('do-not-disrupt of a pod', [
  same(51, 'absent', kept(pod(), false)),
  same([60, 162], 'true', kept(pod('true'), true)),
  same(72, 'invalid value', wrong('invalid')),
  same(87, 'zero duration', wrong('0s')),
  same(102, 'negative duration', wrong('-5m')),
  same(117, 'duration that is not over', kept(pod('15m'), true)),
  same(134, 'duration that is over', kept(pod('5m'), false)),
  same(150, 'duration of a pod that has not started', kept(pod('5m', { minutes: -1 }), true)),
  same(179, 'does not block a node without such pods', candidateWith(pod(), true)),
  same(189, 'blocks its node', candidateWith(pod('true'), false)),
  same(205, 'does not block its node once the duration is over', candidateWith(pod('5m'), true)),
  same(221, 'blocks its node until the duration is over', candidateWith(pod('15m'), false)),
  same(
    234,
    'does not block its node once the pod has finished',
    candidateWith(pod('true', { phase: 'Succeeded' }), true),
  ),
  notApplicable([249, 258, 268, 282], 'resource claims', 'dynamic resource allocation is not modelled'),
]);
