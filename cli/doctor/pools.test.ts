import { describe, expect, test } from 'vitest';
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

describe('node-pools', () => {
  test('ready ones, and none at all', async () => {
    const kube = createFakeKube();
    expect(await nodePoolsCheck(kube).run()).toMatchObject({
      state: 'warning',
      found: 'there is no NodePool: nothing is launched',
    });
    pool(kube, 'a', [isReady]);
    expect(await nodePoolsCheck(kube).run()).toEqual({ state: 'ok', found: '1 ready', mend: '' });
  });

  test('one that was deleted without its NodeClaims is named, with what to do', async () => {
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

  test('of one that is not ready its conditions say why', async () => {
    const kube = createFakeKube();
    pool(kube, 'a', [isReady]);
    pool(kube, 'b', [isNotReady, withoutSubnets]);
    expect(await nodePoolsCheck(kube).run()).toMatchObject({
      state: 'failed',
      found: 'NodePool b is not ready: SubnetsReady is False (SubnetsNotFound: none)',
    });
  });

  test('one that says nothing else says what Ready says; one without conditions has not been looked at', async () => {
    const kube = createFakeKube();
    pool(kube, 'a', [isNotReady]);
    pool(kube, 'b');
    expect((await nodePoolsCheck(kube).run()).found).toBe(
      'NodePool a is not ready: SubnetsReady=False, ' +
        'NodePool b is not ready: it has no conditions, so no operator has looked at it',
    );
  });
});

describe('node-classes', () => {
  test('ready ones, and none at all', async () => {
    const kube = createFakeKube();
    expect(await nodeClassesCheck(kube, 'EC2NodeClass').run()).toMatchObject({ state: 'warning' });
    nodeClass(kube, [isReady]);
    expect(await nodeClassesCheck(kube, 'EC2NodeClass').run()).toMatchObject({ state: 'ok' });
  });

  test('one that is not ready says why', async () => {
    const kube = createFakeKube();
    nodeClass(kube, [isNotReady, withoutSubnets]);
    expect(await nodeClassesCheck(kube, 'EC2NodeClass').run()).toMatchObject({
      state: 'failed',
      found: 'EC2NodeClass default is not ready: SubnetsReady is False (SubnetsNotFound: none)',
      mend: expect.stringContaining('kubectl describe ec2nodeclass'),
    });
  });

  test('one that a NodePool names must be there; those of other kinds and groups are of no interest', async () => {
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

describe('images', () => {
  test('found, and not found', async () => {
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

  test('simulated nodes have none', async () => {
    expect(await imagesCheck(createFakeKube(), 'KWOKNodeClass').run()).toMatchObject({ state: 'skipped' });
  });
});

test.each([nodePoolsCheck, (kube: FakeKube) => nodeClassesCheck(kube, 'EC2NodeClass')])(
  'an API server that does not answer is the runner’s to tell',
  async (check) => {
    const kube = createFakeKube();
    kube.fail(new Error('away'));
    await expect(check(kube).run()).rejects.toThrow('away');
  },
);
