import { describe, expect, test } from 'vitest';
import type { KubernetesObject, Node } from '../../api/kubernetes.js';
import { claimRelease, nodeClassRelease, nodeRelease } from './releases.js';

const metadata = { name: 'a', resourceVersion: '7' };
const deletionTimestamp = '2026-01-01T00:00:00Z';
const termination = 'karpenter.sh/termination';
const node = (
  more: Partial<Node['metadata']>,
  taints: NonNullable<NonNullable<Node['spec']>['taints']> = [],
): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { ...metadata, ...more },
  spec: { taints },
});
const claim = (more: Partial<KubernetesObject['metadata']>): KubernetesObject => ({
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodeClaim',
  metadata: { ...metadata, ...more },
});

describe('uninstall: nodeRelease', () => {
  const own = { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' } as const;
  const steer = { key: 'stowage.dev/steer', effect: 'PreferNoSchedule' } as const;
  const foreign = { key: 'example.com/gpu', effect: 'NoSchedule' } as const;

  test("removes Stowage's taints and finalizer, and leaves those of others", () => {
    expect(nodeRelease(node({ finalizers: ['other/one', termination] }, [own, foreign, steer]))).toEqual({
      patch: { metadata: { resourceVersion: '7', finalizers: ['other/one'] }, spec: { taints: [foreign] } },
    });
  });

  test('is undefined where the node has none of them', () => {
    expect(nodeRelease(node({}, [foreign]))).toBeUndefined();
  });

  test('removes taints only from the version that was read', () => {
    expect(nodeRelease(node({}, [own]))).toEqual({
      patch: { metadata: { resourceVersion: '7' }, spec: { taints: [] } },
    });
  });

  test('leaves a node that is being deleted, since its drain goes on', () => {
    expect(nodeRelease(node({ finalizers: [termination], deletionTimestamp }, [own]))).toEqual({
      kept: expect.stringContaining('is being deleted'),
    });
  });
});

describe('uninstall: claimRelease', () => {
  test('removes the finalizer and the disruption owner', () => {
    const marked = claim({ finalizers: [termination], annotations: { 'stowage.dev/disruption-owner': 'c/disrupt' } });

    expect(claimRelease(marked)).toEqual({
      patch: {
        metadata: {
          resourceVersion: '7',
          finalizers: [],
          annotations: { 'stowage.dev/disruption-owner': null, 'stowage.dev/disruption-owner-run': null },
        },
      },
    });
  });

  test('leaves a claim that is being deleted, since only it names its instance', () => {
    expect(claimRelease(claim({ finalizers: [termination], deletionTimestamp }))).toEqual({
      kept: expect.stringContaining(termination),
    });
  });
});

test("uninstall: nodeClassRelease removes only Stowage's finalizer", () => {
  const finalizers = ['karpenter.k8s.aws/termination', termination];

  expect(nodeClassRelease(claim({ finalizers }))).toEqual({
    patch: { metadata: { resourceVersion: '7', finalizers: [termination] } },
  });
});
