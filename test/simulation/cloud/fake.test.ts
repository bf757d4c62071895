import { describe, expect, test } from '@jest/globals';
import type { NodeClaim } from '../../../api/karpenter/node-claim.js';
import type { NodePool } from '../../../api/karpenter/node-pool.js';
import { isDomainError } from '../../../core/failures.js';
import { describeCloudProvider } from '../../contracts/cloud.js';
import { FakeCloud } from './fake.js';
import { parseCatalogue } from '../../../cloud/kwok/catalogue.js';
import type { NodeClass } from '../../../cloud/port.js';

const types = parseCatalogue(
  JSON.stringify(
    ['m5.large', 'm5.xlarge', 'c5.large'].map((name, index) => ({
      name,
      architecture: 'amd64',
      operatingSystems: ['linux'],
      resources: { cpu: 2 * (index + 1), memory: '8Gi' },
      offerings: ['spot', 'on-demand'].flatMap((capacityType, i) =>
        ['a', 'b'].map((zone) => ({
          Price: index + i + (zone === 'a' ? 0 : 0.5),
          Requirements: [
            { key: 'karpenter.sh/capacity-type', operator: 'In', values: [capacityType] },
            { key: 'topology.kubernetes.io/zone', operator: 'In', values: [zone] },
          ],
        })),
      ),
    })),
  ),
);

const pool = { metadata: { name: 'general' } } as NodePool;
const nodeClass: NodeClass = {
  apiVersion: 'karpenter.k8s.aws/v1',
  kind: 'EC2NodeClass',
  metadata: { name: 'default' },
  spec: {},
};
const claim = (name: string, instanceTypes?: readonly string[]) =>
  ({
    metadata: { name, uid: `uid-${name}`, labels: { team: 'blue' } },
    spec: {
      requirements:
        instanceTypes === undefined
          ? []
          : [{ key: 'node.kubernetes.io/instance-type', operator: 'In', values: [...instanceTypes] }],
      resources: { requests: { cpu: '1' } },
    },
  }) as unknown as NodeClaim;
const request = (name: string) => ({ claim: claim(name), nodeClass, clientToken: `uid-${name}` });

describeCloudProvider('FakeCloud', () => {
  const provider = new FakeCloud({ types });
  return { provider, pool, nodeClass, claim, exhaust: (instanceType) => provider.exhaust({ instanceType }) };
});

describe('faults that tests give FakeCloud', () => {
  test('a capacity reservation launches as many instances as it has capacity; when it ends they become on-demand', async () => {
    const cloud = new FakeCloud({ types });
    cloud.reserve({ id: 'cr-1', instanceType: 'm5.xlarge', zone: 'b', count: 1 });
    const shown = async (): Promise<unknown> =>
      (await cloud.instanceTypes()).flatMap(({ offerings }) =>
        offerings.flatMap(({ reservationCapacity, available }) =>
          reservationCapacity === undefined ? [] : [{ reservationCapacity, available }],
        ),
      );
    expect(await shown()).toEqual([{ reservationCapacity: 1, available: true }]);
    const asked = (name: string) => ({ ...request(name), claim: claim(name, ['m5.xlarge']) });
    const first = await cloud.launch(asked('a'));
    const second = await cloud.launch(asked('b'));
    expect(first).toMatchObject({
      value: {
        instanceType: 'm5.xlarge',
        zone: 'b',
        capacityType: 'reserved',
        labels: { 'karpenter.k8s.aws/capacity-reservation-id': 'cr-1' },
      },
    });
    expect(second).toMatchObject({ value: { capacityType: 'spot' } });
    expect(await shown()).toEqual([{ reservationCapacity: 0, available: false }]);
    cloud.endReservations();
    expect(await shown()).toEqual([]);
    expect(cloud.peek().map(({ capacityType }) => capacityType)).toEqual(['on-demand', 'spot']);
  });

  test('a launch whose answer is lost took effect, and a retry finds the same instance', async () => {
    const cloud = new FakeCloud({ types });
    cloud.loseAnswer('launch');
    const lost = await cloud.launch(request('a')).catch((error: unknown) => error);
    expect(isDomainError(lost, 'Unavailable')).toBe(true);
    expect(await cloud.list()).toHaveLength(1);
    expect(await cloud.launch(request('a'))).toMatchObject({ ok: true, value: { instanceType: 'm5.large' } });
    expect(cloud.launchesByClaimUid).toEqual(new Map([['uid-a', 1]]));
  });

  test('with some offerings exhausted a launch takes the next cheapest and names those that refused', async () => {
    const cloud = new FakeCloud({ types });
    cloud.exhaust({ zone: 'a', capacityType: 'spot' });
    const result = await cloud.launch(request('a'));
    expect(result).toMatchObject({
      ok: true,
      value: {
        zone: 'b',
        capacityType: 'spot',
        unavailable: [{ instanceType: 'm5.large', zone: 'a', capacityType: 'spot' }],
        labels: { team: 'blue', 'topology.kubernetes.io/zone': 'b' },
      },
    });
  });

  test('a held call waits until it is released, and a call fails as often as asked', async () => {
    const cloud = new FakeCloud({ types });
    const release = cloud.hold('list');
    let listed = false;
    const listing = cloud.list().then(() => (listed = true));
    await Promise.resolve();
    expect(listed).toBe(false);
    release();
    await listing;
    cloud.failNext('list', new Error('boom'), 2);
    await expect(cloud.list()).rejects.toThrow('boom');
    await expect(cloud.list()).rejects.toThrow('boom');
    expect(await cloud.list()).toEqual([]);
  });

  test('a terminated instance is shutting-down until its termination is ended', async () => {
    const cloud = new FakeCloud({ types, terminatesAtOnce: false });
    const result = await cloud.launch(request('a'));
    if (!result.ok) throw new Error('refused');
    const { providerId } = result.value;
    await cloud.terminate(providerId);
    expect((await cloud.get(providerId))?.state).toBe('shutting-down');
    cloud.finishTermination(providerId);
    expect(await cloud.get(providerId)).toBeUndefined();
  });

  test('a launch from a node class that is not ready is refused as NodeClassNotReady', async () => {
    const cloud = new FakeCloud({ types });
    cloud.setNotReady('default', 'no subnet');
    expect(await cloud.launch(request('a'))).toEqual({
      ok: false,
      error: { kind: 'NodeClassNotReady', message: 'no subnet', unavailable: [] },
    });
  });

  test('an interruption notice stays on the queue while its handler fails', async () => {
    const cloud = new FakeCloud({ types });
    const stop = new AbortController();
    const notice = { kind: 'spot_interrupted', instanceId: 'i-1', at: 1, messageId: 'm' } as const;
    cloud.interrupt(notice);
    const failing = cloud.interruptions.run(() => Promise.reject(new Error('Temporal is away')), stop.signal);
    await expect(failing).rejects.toThrow('Temporal is away');
    const seen: unknown[] = [];
    await cloud.interruptions.run((interruption) => {
      seen.push(interruption);
      stop.abort();
      return Promise.resolve();
    }, stop.signal);
    expect(seen).toEqual([notice]);
  });
});
