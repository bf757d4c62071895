import { describe, expect, test } from 'vitest';
import type { Kinds, NewObject } from '../../kube/port.js';
import { createFakeKube } from '../../test/simulation/kube/fake.js';
import { UsageError } from '../exit.js';
import { releaseObjects, stopDeployments } from './cluster.js';

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
