import { describe, expect, test } from '@jest/globals';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import { createFakeKube } from '../../test/simulation/kube/fake.js';
import { describeCloudProvider } from '../../test/contracts/cloud.js';
import type { NodeClass } from '../port.js';
import { parseCatalogue } from './catalogue.js';
import { createKwokProvider, kwokOverhead } from './provider.js';

const types = parseCatalogue(
  JSON.stringify(
    ['c-2x-amd64-linux', 'c-4x-amd64-linux'].map((name, index) => ({
      name,
      architecture: 'amd64',
      operatingSystems: ['linux'],
      resources: { cpu: 2 * (index + 1), memory: `${4 * (index + 1)}Gi` },
      offerings: ['spot', 'on-demand'].flatMap((capacityType, i) =>
        ['test-zone-a', 'test-zone-b'].map((zone, j) => ({
          Price: index + i + j / 10 + 0.1,
          Requirements: [
            { key: 'karpenter.sh/capacity-type', operator: 'In', values: [capacityType] },
            { key: 'topology.kubernetes.io/zone', operator: 'In', values: [zone] },
          ],
        })),
      ),
    })),
  ),
  { overhead: kwokOverhead },
);
const pool = { metadata: { name: 'general' } } as NodePool;
const nodeClass = (spec: object = {}): NodeClass => ({
  apiVersion: 'karpenter.kwok.sh/v1alpha1',
  kind: 'KWOKNodeClass',
  metadata: { name: 'default' },
  spec,
});
const claim = (name: string, instanceTypes?: readonly string[]) =>
  ({
    metadata: { name, uid: `uid-${name}`, labels: { 'karpenter.sh/nodepool': 'general' } },
    spec: {
      requirements:
        instanceTypes === undefined
          ? []
          : [{ key: 'node.kubernetes.io/instance-type', operator: 'In', values: [...instanceTypes] }],
      resources: { requests: { cpu: '1' } },
    },
  }) as unknown as NodeClaim;
const request = (name: string, spec: object = {}) => ({
  claim: claim(name),
  pool,
  nodeClass: nodeClass(spec),
  clientToken: `uid-${name}`,
});

describeCloudProvider('kwok', () => {
  const provider = createKwokProvider({ kube: createFakeKube(), types });
  return { provider, pool, nodeClass: nodeClass(), claim };
});

describe('kwok', () => {
  test("a Node has the form of Karpenter's KWOK provider", async () => {
    const kube = createFakeKube();
    const result = await createKwokProvider({ kube, types }).launch(request('general-1'));
    if (!result.ok) throw new Error(result.error.message);
    const [node] = await kube.list('Node');
    expect(node?.spec).toEqual({
      providerID: result.value.providerId,
      taints: [{ key: 'karpenter.sh/unregistered', effect: 'NoExecute' }],
    });
    expect(node?.metadata.labels).toMatchObject({
      'karpenter.sh/nodepool': 'general',
      'node.kubernetes.io/instance-type': 'c-2x-amd64-linux',
      'topology.kubernetes.io/zone': 'test-zone-a',
      'karpenter.sh/capacity-type': 'spot',
      'kwok.x-k8s.io/node': 'fake',
      'eks-node-viewer/instance-price': '0.100000',
    });
    expect(node?.metadata.annotations).toMatchObject({ 'kwok.x-k8s.io/node': 'fake' });
    expect(node?.status?.capacity).toMatchObject({ cpu: '2', memory: '4Gi', pods: '110' });
    expect(node?.status?.allocatable).toMatchObject({ cpu: '1900m', memory: '4086Mi' });
  });

  test('a second process finds instances that the first one launched', async () => {
    const kube = createFakeKube();
    const first = await createKwokProvider({ kube, types }).launch(request('general-1'));
    const second = await createKwokProvider({ kube, types }).launch(request('general-1'));
    if (!first.ok || !second.ok) throw new Error('refused');
    expect(second.value.providerId).toBe(first.value.providerId);
    expect(await kube.list('Node')).toHaveLength(1);
  });

  test('a terminated instance is not launched again for its claim', async () => {
    const kube = createFakeKube();
    const provider = createKwokProvider({ kube, types });
    const first = await provider.launch(request('general-1'));
    if (!first.ok) throw new Error('refused');
    const name = first.value.instanceId;
    await kube.patch('Node', { name }, { metadata: { finalizers: ['karpenter.sh/termination'] } });
    expect(await provider.terminate(first.value.providerId)).toBe('terminating');
    // The Node stays until its finalizer is removed, which waits for the end of the instance.
    expect(await provider.terminate(first.value.providerId)).toBe('gone');
    expect(await kube.list('Node')).toHaveLength(1);
    expect(await provider.get(first.value.providerId)).toBeUndefined();
    expect(await provider.list()).toEqual([]);
    expect((await provider.launch(request('general-1'))).ok).toBe(false);
  });

  test.each(['{', 'null', '5', '"x"'])('tags of a Node that are %s concern no other instance', async (text) => {
    const kube = createFakeKube();
    const provider = createKwokProvider({ kube, types });
    for (const name of ['general-1', 'general-2']) await provider.launch(request(name));
    const [node] = await kube.list('Node');
    const annotations = { 'stowage.dev/instance-tags': text };
    await kube.patch('Node', { name: node?.metadata.name ?? '' }, { metadata: { annotations } });
    expect(await provider.list()).toHaveLength(2);
  });

  test('a node with a registration delay is listed before it joins the cluster, as launched now', async () => {
    const kube = createFakeKube();
    const provider = createKwokProvider({ kube, types, now: () => 0 });
    const result = await provider.launch(request('general-1', { nodeRegistrationDelay: '1h' }));
    if (!result.ok) throw new Error('refused');
    expect(await kube.list('Node')).toEqual([]);
    expect((await provider.get(result.value.providerId))?.state).toBe('running');
    expect(await provider.list()).toMatchObject([{ launchedAt: 0 }]);
    expect(await provider.terminate(result.value.providerId)).toBe('terminating');
    expect(await provider.list()).toEqual([]);
  });

  test('a KWOKNodeClass becomes Ready', async () => {
    const provider = createKwokProvider({ kube: createFakeKube(), types, now: () => 0 });
    expect((await provider.resolveNodeClass(nodeClass())).status).toMatchObject({
      conditions: [{ type: 'Ready', status: 'True' }],
    });
  });
});
