import { describe, expect, test } from '@jest/globals';
import type { Pod } from '../api/kubernetes.js';
import { taints } from '../api/labels.js';
import {
  graceOf,
  isDrainable,
  isEvictable,
  isMirror,
  isPending,
  isProvisionable,
  isReschedulable,
  isUnassigned,
} from './pods.js';

interface PodParts {
  readonly metadata?: Pod['metadata'];
  readonly spec?: Partial<Pod['spec']>;
  readonly status?: Pod['status'];
}
const pod = ({ metadata = {}, spec = {}, status = {} }: PodParts): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web', namespace: 'shop', ...metadata },
  spec: { containers: [], ...spec },
  status,
});
const owned = (kind: string, apiVersion = 'apps/v1') => ({
  ownerReferences: [{ apiVersion, kind, name: 'owner', uid: 'owner' }],
});
const unschedulable = { conditions: [{ type: 'PodScheduled', status: 'False' as const, reason: 'Unschedulable' }] };
const ending = { deletionTimestamp: '2026-01-01T00:00:00Z' };

describe('mirrors of static pods (candidates/evictable-pods, provisioning/pending-pods)', () => {
  test.each([
    ['by the annotation of its kubelet', { annotations: { 'kubernetes.io/config.mirror': 'abc' } }],
    ['by its owner', owned('Node', 'v1')],
  ])('are recognised %s, and are not moved, evicted, drained or planned for', (_, metadata) => {
    const mirror = pod({ metadata, status: unschedulable });
    expect(isMirror(mirror)).toBe(true);
    for (const is of [isUnassigned, isPending, isProvisionable, isReschedulable, isEvictable])
      expect({ [is.name]: is(mirror) }).toEqual({ [is.name]: false });
    expect(isDrainable(mirror, 0)).toBe(false);
  });
});

test.each([
  [undefined, 30_000],
  [0, 0],
  [-1, 1000],
  [-9e15, 1000],
  [9e15, 9_223_372_036_854],
])('a grace period of %s seconds is %s ms, so that every pod has an end (termination/deadline)', (seconds, ms) => {
  expect(graceOf(pod({ spec: seconds === undefined ? {} : { terminationGracePeriodSeconds: seconds } }))).toBe(ms);
});

describe('an owner is compared by kind and API group (provisioning/owner-kinds)', () => {
  const foreign = {
    DaemonSet: 'apps.kruise.io/v1alpha1',
    Node: 'longhorn.io/v1beta2',
    StatefulSet: 'apps.kruise.io/v1beta1',
  };

  test.each(['DaemonSet', 'Node'] as const)('a pod of a %s of another group is an ordinary pod', (kind) => {
    const waiting = pod({ metadata: owned(kind, foreign[kind]), status: unschedulable });
    const bound = pod({ metadata: owned(kind, foreign[kind]), spec: { nodeName: 'n' } });
    expect([isUnassigned(waiting), isPending(waiting), isProvisionable(waiting)]).toEqual([true, true, true]);
    expect([isReschedulable(bound), isEvictable(bound), isDrainable(bound, 0)]).toEqual([true, true, true]);
  });

  test('a terminating pod of a StatefulSet of another group is not planned for', () => {
    expect(isReschedulable(pod({ metadata: { ...ending, ...owned('StatefulSet') } }))).toBe(true);
    expect(isReschedulable(pod({ metadata: { ...ending, ...owned('StatefulSet', foreign.StatefulSet) } }))).toBe(false);
  });

  test.each(['apps/v1', 'apps/v1beta2'])('a DaemonSet of any API version is recognised: %s', (apiVersion) => {
    expect(isProvisionable(pod({ metadata: owned('DaemonSet', apiVersion), status: unschedulable }))).toBe(false);
  });
});

describe('whether a pod waits for a node (provisioning/pending-pods)', () => {
  test.each<[string, PodParts, { unassigned: boolean; pending: boolean; provisionable: boolean }]>([
    [
      'that kube-scheduler found unschedulable',
      { status: unschedulable },
      { unassigned: true, pending: true, provisionable: true },
    ],
    [
      'that is nominated to a node',
      { status: { ...unschedulable, nominatedNodeName: 'n' } },
      { unassigned: true, pending: true, provisionable: false },
    ],
    ['that kube-scheduler has not tried yet', {}, { unassigned: true, pending: false, provisionable: false }],
    [
      'with a scheduling gate',
      { spec: { schedulingGates: [{ name: 'quota' }] }, status: unschedulable },
      { unassigned: false, pending: false, provisionable: false },
    ],
    [
      'on a node',
      { spec: { nodeName: 'n' }, status: unschedulable },
      { unassigned: false, pending: false, provisionable: false },
    ],
    [
      'of a DaemonSet',
      { metadata: owned('DaemonSet'), status: unschedulable },
      { unassigned: false, pending: false, provisionable: false },
    ],
    [
      'that is being deleted',
      { metadata: ending, status: unschedulable },
      { unassigned: false, pending: false, provisionable: false },
    ],
    [
      'that has failed',
      { status: { ...unschedulable, phase: 'Failed' } },
      { unassigned: false, pending: false, provisionable: false },
    ],
  ])('a pod %s', (_, parts, expected) => {
    const made = pod(parts);
    expect({
      unassigned: isUnassigned(made),
      pending: isPending(made),
      provisionable: isProvisionable(made),
    }).toEqual(expected);
  });
});

describe('whether a pod needs another node when its node is removed (provisioning/pods-of-deleting-nodes)', () => {
  test.each<[string, PodParts, boolean]>([
    ['of a Deployment', { metadata: owned('ReplicaSet') }, true],
    ['of a DaemonSet', { metadata: owned('DaemonSet') }, false],
    ['that has succeeded', { status: { phase: 'Succeeded' } }, false],
    ['of a Deployment that is being deleted', { metadata: { ...ending, ...owned('ReplicaSet') } }, false],
    ['of a StatefulSet that is being deleted', { metadata: { ...ending, ...owned('StatefulSet') } }, true],
  ])('a pod %s', (_, parts, expected) => {
    expect(isReschedulable(pod(parts))).toBe(expected);
  });
});

describe('whether a drain evicts a pod or waits for it (candidates/evictable-pods, termination/drained-pods)', () => {
  test('a pod that tolerates the disrupted taint is not drained', () => {
    const tolerant = pod({ spec: { tolerations: [{ key: taints.disrupted.key, operator: 'Exists' }] } });
    expect(isEvictable(tolerant)).toBe(false);
    expect(isDrainable(tolerant, 0)).toBe(false);
  });

  test('a drain waits for a terminating pod, until a minute past its deletion', () => {
    const stuck = pod({ metadata: ending });
    const since = Date.parse(ending.deletionTimestamp);
    expect(isEvictable(stuck)).toBe(false);
    expect(isDrainable(stuck, since + 60_000)).toBe(true);
    expect(isDrainable(stuck, since + 60_001)).toBe(false);
  });
});
