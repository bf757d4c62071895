import { describe, expect, test } from '@jest/globals';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import type { Condition } from '../../api/kubernetes.js';
import { createFakeKube } from '../../test/simulation/kube/fake.js';
import type { FakeKube } from '../../test/simulation/kube/fake.js';
import { ec2NodeClass } from '../../test/builders/aws-world.js';
import { imagesCheck, nodeClassesCheck, nodePoolsCheck } from './pools.js';

const isReady: Condition = { type: 'Ready', status: 'True' };
const isNotReady: Condition = { type: 'Ready', status: 'False', message: 'SubnetsReady=False' };
const withoutSubnets: Condition = { type: 'SubnetsReady', status: 'False', reason: 'SubnetsNotFound', message: 'none' };

function pool(
  kube: FakeKube,
  name: string,
  conditions?: Condition[],
  nodeClass = 'default',
  group = 'karpenter.k8s.aws',
): void {
  const nodeClassRef = { group, kind: 'EC2NodeClass', name: nodeClass };
  const spec = { template: { spec: { nodeClassRef } } } as unknown as NodePool['spec'];
  kube.put('NodePool', { metadata: { name }, spec, ...(conditions === undefined ? {} : { status: { conditions } }) });
}

function nodeClass(kube: FakeKube, conditions: Condition[], amis: { id: string }[] = []): void {
  kube.put('EC2NodeClass', { ...ec2NodeClass(), status: { conditions, amis } as never });
}

describe('doctor check node-pools', () => {
  test('is ok with Ready NodePools, and warns without any', async () => {
    const kube = createFakeKube();
    expect(await nodePoolsCheck(kube).run()).toMatchObject({
      state: 'warning',
      found: 'there is no NodePool: nothing is launched',
    });
    pool(kube, 'a', [isReady]);
    expect(await nodePoolsCheck(kube).run()).toEqual({ state: 'ok', found: '1 ready', mend: '' });
  });

  test('names a NodePool that was deleted without its NodeClaims, with the remedy', async () => {
    const kube = createFakeKube();
    pool(kube, 'a', [isReady]);
    for (const [name, of] of [
      ['a-1', 'a'],
      ['b-1', 'b'],
      ['b-2', 'b'],
    ] as const) {
      kube.put('NodeClaim', { metadata: { name, labels: { 'karpenter.sh/nodepool': of } } } as unknown as NodeClaim);
    }
    const outcome = await nodePoolsCheck(kube).run();
    expect([outcome.state, outcome.found]).toEqual(['warning', 'NodePool b is gone, and 2 NodeClaims of it stayed']);
    expect(outcome.mend).toContain('kubectl delete nodeclaims -l karpenter.sh/nodepool=b ');
  });

  test('gives the false conditions of a NodePool that is not Ready', async () => {
    const kube = createFakeKube();
    pool(kube, 'a', [isReady]);
    pool(kube, 'b', [isNotReady, withoutSubnets]);
    expect(await nodePoolsCheck(kube).run()).toMatchObject({
      state: 'failed',
      found: 'NodePool b is not ready: SubnetsReady is False (SubnetsNotFound: none)',
    });
  });

  test('gives the message of Ready where no other condition is false, and says so where there is none', async () => {
    const kube = createFakeKube();
    pool(kube, 'a', [isNotReady]);
    pool(kube, 'b');
    expect((await nodePoolsCheck(kube).run()).found).toBe(
      'NodePool a is not ready: SubnetsReady=False, ' +
        'NodePool b is not ready: it has no conditions, so no operator has looked at it',
    );
  });
});

describe('doctor check node-classes', () => {
  test('is ok with Ready node classes, and warns without any', async () => {
    const kube = createFakeKube();
    expect(await nodeClassesCheck(kube, 'EC2NodeClass').run()).toMatchObject({ state: 'warning' });
    nodeClass(kube, [isReady]);
    expect(await nodeClassesCheck(kube, 'EC2NodeClass').run()).toMatchObject({ state: 'ok' });
  });

  test('gives the reason of a node class that is not Ready', async () => {
    const kube = createFakeKube();
    nodeClass(kube, [isNotReady, withoutSubnets]);
    expect(await nodeClassesCheck(kube, 'EC2NodeClass').run()).toMatchObject({
      state: 'failed',
      found: 'EC2NodeClass default is not ready: SubnetsReady is False (SubnetsNotFound: none)',
      mend: expect.stringContaining('kubectl describe ec2nodeclass'),
    });
  });

  test('fails for a node class that a NodePool names and that does not exist; other kinds are ignored', async () => {
    const kube = createFakeKube();
    nodeClass(kube, [isReady]);
    pool(kube, 'a', [isReady], 'gpu');
    expect(await nodeClassesCheck(kube, 'EC2NodeClass').run()).toMatchObject({
      state: 'failed',
      found: 'NodePool a names EC2NodeClass gpu: there is no such object',
    });
    pool(kube, 'a', [isReady], 'gpu', 'example.com');
    expect(await nodeClassesCheck(kube, 'EC2NodeClass').run()).toMatchObject({ state: 'ok' });
    kube.put('KWOKNodeClass', { metadata: { name: 'k' }, spec: {}, status: { conditions: [isReady] } });
    expect(await nodeClassesCheck(kube, 'KWOKNodeClass').run()).toMatchObject({ state: 'ok' });
  });
});

describe('doctor check images', () => {
  test('is ok where images are found, failed where not', async () => {
    const kube = createFakeKube();
    expect(await imagesCheck(kube, 'EC2NodeClass').run()).toMatchObject({ state: 'skipped' });
    nodeClass(kube, [isReady], [{ id: 'ami-1' }]);
    expect(await imagesCheck(kube, 'EC2NodeClass').run()).toMatchObject({
      state: 'ok',
      found: '1 node class with images',
    });
    nodeClass(kube, [{ type: 'AMIsReady', status: 'False', message: 'selects no image' }]);
    expect(await imagesCheck(kube, 'EC2NodeClass').run()).toMatchObject({
      state: 'failed',
      found: 'EC2NodeClass default has none: selects no image',
    });
  });

  test('is skipped for simulated nodes', async () => {
    expect(await imagesCheck(createFakeKube(), 'KWOKNodeClass').run()).toMatchObject({ state: 'skipped' });
  });
});

test.each([nodePoolsCheck, (kube: FakeKube) => nodeClassesCheck(kube, 'EC2NodeClass')])(
  'doctor checks of pools pass an error of the API server on',
  async (check) => {
    const kube = createFakeKube();
    kube.fail(new Error('away'));
    await expect(check(kube).run()).rejects.toThrow('away');
  },
);
