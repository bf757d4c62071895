import { beforeEach, describe, expect, test } from '@jest/globals';
import { FakeCloud } from '../test/simulation/cloud/fake.js';
import type { CloudProvider, LaunchRequest } from '../cloud/port.js';
import { DomainError } from '../core/failures.js';
import { catalogue } from '../test/builders/activity-world.js';
import { measuredCloud } from './measured-cloud.js';

describe('metrics of cloud calls', () => {
  let counted: [string, object, number?][];
  let observed: [string, object, number][];
  let now: number;
  const measure = (over: Partial<CloudProvider> = {}): CloudProvider =>
    measuredCloud(
      Object.assign(new FakeCloud({ types: catalogue, now: () => now }), over),
      {
        count: (name, labels, by) => void counted.push(by === undefined ? [name, labels] : [name, labels, by]),
        observe: (name, labels, value) => void observed.push([name, labels, value]),
      },
      () => now,
    );
  beforeEach(() => {
    counted = [];
    observed = [];
    now = 0;
  });

  // Rule `metrics/cloud-calls`.
  test("measure each call under Karpenter's names, and pass everything else through", async () => {
    const cloud = measure({
      list: () => {
        now += 1500;
        return Promise.resolve([]);
      },
    });

    expect(await cloud.list()).toEqual([]);
    const called = { controller: 'nodeclaim.garbagecollection', method: 'List', provider: cloud.name };
    expect(observed).toEqual([['cloudprovider_duration_seconds', called, 1.5]]);
    expect(counted).toEqual([]);
    expect(cloud.nodeClassKind.kind).toBe('EC2NodeClass');
    cloud.markUnavailable([]);
    expect(observed).toHaveLength(1);
  });

  test('count offerings that refused a launch, whether or not another took it', async () => {
    const refusing = {
      zone: 'a',
      capacityType: 'spot',
      reason: 'InsufficientInstanceCapacity',
      instanceType: 'm5.xlarge',
    };
    const cloud = measure({
      launch: () =>
        Promise.resolve({ ok: false, error: { kind: 'InsufficientCapacity', message: '', unavailable: [refusing] } }),
    });

    await cloud.launch({} as LaunchRequest);

    const called = { controller: 'nodeclaim.lifecycle', method: 'Create', provider: cloud.name };
    expect(counted).toEqual([
      [
        'cloudprovider_instance_launch_failures_total',
        { zone: 'a', zone_id: '', capacity_type: 'spot', reason: 'InsufficientInstanceCapacity' },
        1,
      ],
      ['cloudprovider_errors_total', { ...called, error: 'InsufficientCapacityError' }],
    ]);
  });

  test('count launch failures other than capacity', async () => {
    const failures = [{ zone: 'a', capacityType: 'on-demand', reason: 'RequestLimitExceeded', count: 2 }];
    const cloud = measure({ launch: () => Promise.reject(new DomainError('Throttled', 'later', { failures })) });

    await expect(cloud.launch({} as LaunchRequest)).rejects.toThrow('later');

    expect(counted).toContainEqual([
      'cloudprovider_instance_launch_failures_total',
      { zone: 'a', zone_id: '', capacity_type: 'on-demand', reason: 'RequestLimitExceeded' },
      2,
    ]);
  });

  test('count failed terminations by zone, and pass the failure on', async () => {
    const cloud = measure({ terminate: () => Promise.reject(new DomainError('Throttled', 'later')) });

    await expect(cloud.terminate('aws:///us-west-2a/i-1')).rejects.toThrow('later');

    const called = { controller: 'nodeclaim.lifecycle', method: 'Delete', provider: cloud.name };
    expect(counted).toEqual([
      ['cloudprovider_errors_total', { ...called, error: 'Throttled' }],
      ['cloudprovider_instance_termination_failures_total', { zone: 'us-west-2a', zone_id: '' }],
    ]);
    expect(observed).toHaveLength(1);
  });
});
