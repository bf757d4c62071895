import { describe, expect, test } from '@jest/globals';
import type { Kinds, NewObject } from '../kube/port.js';
import { createFakeKube } from '../test/simulation/kube/fake.js';
import { UsageError } from './exit.js';
import { claimRelease, nodeClassRelease, nodeRelease, releaseObjects, stopDeployments } from './uninstall.js';
import type { KubernetesObject, Node } from '../api/kubernetes.js';

const finalizers = ['karpenter.sh/termination'];
const claim = (name: string, deletionTimestamp?: string): NewObject<Kinds['NodeClaim']> =>
  ({
    metadata: { name, finalizers, ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }) },
    spec: { requirements: [], nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' } },
  }) as unknown as NewObject<Kinds['NodeClaim']>;

describe('uninstall: releaseObjects', () => {
  test("removes Stowage's taints and finalizers from managed nodes and claims, and lists the nodes that stay", async () => {
    const kube = createFakeKube({ absent: ['EC2NodeClass'] });
    const taints = [{ key: 'karpenter.sh/disrupted', effect: 'NoSchedule' as const }];
    kube.put('Node', {
      metadata: { name: 'a', labels: { 'karpenter.sh/nodepool': 'default' }, finalizers },
      spec: { taints },
    });
    kube.put('Node', {
      metadata: { name: 'b', labels: { 'karpenter.k8s.aws/ec2nodeclass': 'default' }, finalizers },
      spec: { taints },
    });
    kube.put('Node', { metadata: { name: 'foreign' }, spec: { taints } });
    kube.put('NodeClaim', claim('a'));

    expect(await releaseObjects(kube)).toEqual({ released: { Node: 2, NodeClaim: 1 }, kept: [], nodes: ['a', 'b'] });
    expect(kube.objects('NodeClaim')[0]?.metadata.finalizers ?? []).toEqual([]);
    const [a, b, other] = kube.objects('Node');
    expect([a?.spec?.taints, b?.spec?.taints, other?.spec?.taints]).toEqual([[], [], taints]);
  });

  test('keeps objects that are being deleted, and says so', async () => {
    const kube = createFakeKube();
    kube.put('NodeClaim', claim('going', '2026-01-01T00:00:00Z'));

    const { released, kept } = await releaseObjects(kube);

    expect(released).toEqual({});
    expect(kept).toEqual([expect.stringContaining('NodeClaim going is being deleted')]);
    expect(kube.objects('NodeClaim')[0]?.metadata.finalizers).toEqual(finalizers);
  });
});

describe('uninstall: stopDeployments', () => {
  const deployment = {
    metadata: { name: 'operator', namespace: 'stowage' },
    spec: { replicas: 2, selector: { matchLabels: { app: 'operator' } }, template: { spec: { containers: [] } } },
  } as unknown as NewObject<Kinds['Deployment']>;

  test('scales to zero, and accepts a Deployment that does not exist', async () => {
    const kube = createFakeKube();
    kube.put('Deployment', deployment);

    await stopDeployments(kube, ['stowage/operator', 'stowage/gone'], 1000);

    expect(kube.objects('Deployment')[0]?.spec).toMatchObject({ replicas: 0 });
  });

  test('fails for pods that do not end', async () => {
    const kube = createFakeKube();
    kube.put('Deployment', deployment);
    kube.put('Pod', {
      metadata: { name: 'p', namespace: 'stowage', labels: { app: 'operator' } },
      spec: { containers: [] },
    });

    await expect(stopDeployments(kube, ['stowage/operator'], 0)).rejects.toThrow(/stowage\/operator still run/);
  });

  test('refuses a name without a namespace', async () => {
    await expect(stopDeployments(createFakeKube(), ['operator'], 1000)).rejects.toThrow(UsageError);
  });
});

describe('releases', () => {
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
});
