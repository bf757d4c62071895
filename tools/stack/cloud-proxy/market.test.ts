import { describe, expect, test } from '@jest/globals';
import type { MachineType } from './catalogue.js';
import { Faults } from './faults.js';
import { imageParameters, machineImages } from './images.js';
import { CapacityPools } from './pools.js';
import { onDemandPrice } from './prices.js';
import { publishedLimits, RateLimits } from './rate-limits.js';
import { SpotMarket } from './spot-market.js';

const machine = (name: string, vcpus: number, gib: number): MachineType => ({
  name,
  vcpus,
  memoryMiB: gib * 1024,
  architectures: ['x86_64'],
  localDiskGB: 0,
  gpuCount: 0,
  gpuMemoryMiB: 0,
  acceleratorCount: 0,
});

const large = machine('m5.large', 2, 8);

describe('on-demand prices of the local cloud', () => {
  test.each([
    [large, 0.096],
    [machine('m5.24xlarge', 96, 384), 4.608],
    [machine('c5.xlarge', 4, 8), 0.17],
    [machine('t3.medium', 2, 4), 0.0416],
    [machine('g5.xlarge', 4, 16), 1.006],
  ])('of the type %j are $%d an hour', (type, price) => {
    expect(onDemandPrice(type, 'us-west-2')).toBeCloseTo(price, 4);
  });

  test('of a family that the table lacks are about those of similar families', () => {
    const unknown = onDemandPrice(machine('m99.large', 2, 8), 'us-west-2');
    expect(unknown).toBeGreaterThan(0.096 * 0.9);
    expect(unknown).toBeLessThan(0.096 * 1.1);
  });

  test('differ by region', () => {
    expect(onDemandPrice(large, 'sa-east-1')).toBeGreaterThan(onDemandPrice(large, 'us-east-1') * 1.4);
  });
});

describe('the spot market of the local cloud', () => {
  const market = (now = 0): SpotMarket => new SpotMarket('us-west-2', () => now);

  test('has pools at a fraction of on-demand, the same in every run, which differ by zone', () => {
    const price = market().price(large, 'us-west-2a');
    expect(price).toBe(market(99).price(large, 'us-west-2a'));
    expect(price / 0.096).toBeGreaterThan(0.25);
    expect(price / 0.096).toBeLessThan(0.47);
    expect(price).not.toBe(market().price(large, 'us-west-2b'));
  });

  test('keeps the former price in the history when one is set', () => {
    let now = 1000;
    const spot = new SpotMarket('us-west-2', () => now);
    const before = spot.price(large, 'us-west-2a');
    now = 5000;
    const pools = ['us-west-2a', 'us-west-2b'].map((zone) => ({ machine: large, zone }));
    expect(spot.set({ instanceType: 'm5.*', zone: 'us-west-2a', price: 0.5 }, pools)).toBe(1);
    expect(spot.history(large, 'us-west-2a')).toEqual([
      { price: 0.5, since: 5000 },
      { price: before, since: 1000 - 86_400_000 },
    ]);
  });

  test('has the same random walk for the same seed, within bounds', () => {
    const pools = [{ machine: large, zone: 'us-west-2a' }];
    const walked = (seed: string): number => {
      const spot = market();
      for (let step = 0; step < 50; step++) spot.walk(`${seed}/${step}`, 0.3, pools);
      return spot.price(large, 'us-west-2a');
    };
    expect(walked('a')).toBe(walked('a'));
    expect(walked('a')).not.toBe(walked('b'));
    for (const seed of ['a', 'b', 'c', 'd']) {
      expect(walked(seed)).toBeGreaterThanOrEqual(0.0096);
      expect(walked(seed)).toBeLessThanOrEqual(0.096);
    }
  });

  test('has equal depths unless they are set', () => {
    const spot = market();
    expect(spot.depth('m5.large', 'us-west-2a')).toBe(5);
    spot.set({ instanceType: 'm5.large', depth: 9 }, []);
    expect(spot.depth('m5.large', 'us-west-2a')).toBe(9);
    expect(spot.depth('c5.large', 'us-west-2a')).toBe(5);
  });
});

describe('capacity pools of the local cloud', () => {
  const pool = { capacityType: 'spot', instanceType: 'm5.large', zone: 'us-west-2a' } as const;

  test('have unlimited capacity without a rule', () => {
    expect(new CapacityPools().take(pool, 500)).toEqual({ granted: 500 });
  });

  test('refuse under a rule without capacity', () => {
    const pools = new CapacityPools();
    pools.replace([{ capacityType: 'spot', instanceType: 'm5.*' }]);
    expect(pools.take(pool, 1)).toMatchObject({ granted: 0, error: { code: 'InsufficientInstanceCapacity' } });
    expect(pools.take({ ...pool, capacityType: 'on-demand' }, 1)).toEqual({ granted: 1 });
    expect(pools.take({ ...pool, instanceType: 'm5a.large' }, 1)).toEqual({ granted: 1 });
  });

  test('run out of capacity', () => {
    const pools = new CapacityPools();
    pools.replace([{ zone: 'us-west-2a', capacity: 3, code: 'UnfulfillableCapacity' }]);
    expect(pools.take(pool, 2)).toEqual({ granted: 2 });
    expect(pools.take(pool, 2)).toMatchObject({ granted: 1, error: { code: 'UnfulfillableCapacity' } });
    expect(pools.take(pool, 1)).toMatchObject({ granted: 0 });
  });
});

describe('faults of the local cloud', () => {
  test('affect as many calls as they say, after those let through', () => {
    const faults = new Faults();
    faults.add({ kind: 'throttle', action: 'Describe*', times: 2, after: 1 });
    const seen = ['DescribeInstances', 'CreateFleet', 'DescribeImages', 'DescribeSubnets', 'DescribeSubnets'].map(
      (action) => faults.next('ec2', action, {})?.kind,
    );
    expect(seen).toEqual([undefined, undefined, 'throttle', 'throttle', undefined]);
    expect(faults.list()).toEqual([]);
  });

  test('lose no answer of a dry run instead of one of a real call', () => {
    const faults = new Faults();
    faults.add({ kind: 'lost', action: 'CreateFleet' });
    expect(faults.next('ec2', 'CreateFleet', { DryRun: 'true' })).toBeUndefined();
    expect(faults.next('ec2', 'CreateFleet', { Type: 'instant' })?.kind).toBe('lost');
  });

  test('can require a text in the parameters', () => {
    const faults = new Faults();
    faults.add({ kind: 'error', containing: 'm5.large', times: 0 });
    expect(faults.next('ec2', 'CreateFleet', { type: 'c5.large' })).toBeUndefined();
    for (let call = 0; call < 3; call++) expect(faults.next('ec2', 'CreateFleet', { type: 'm5.large' })).toBeDefined();
  });
});

describe('request budgets of the local cloud', () => {
  test('empty and fill again', () => {
    let now = 0;
    const limits = new RateLimits(() => now);
    const budget = { 'Create*': { perSecond: 2, burst: 3 } };
    const admitted = (count: number): number =>
      Array.from({ length: count }, () => limits.admit('CreateFleet', budget)).filter(Boolean).length;
    expect(admitted(5)).toBe(3);
    now = 1000;
    expect(admitted(5)).toBe(2);
    expect(limits.admit('DescribeInstances', budget)).toBe(true);
  });

  test('are smaller for unfiltered lists, and counted apart from those of filtered ones', () => {
    const limits = new RateLimits(() => 0);
    const admitted = (unfiltered: boolean): number =>
      Array.from({ length: 200 }, () => limits.admit('DescribeInstances', publishedLimits, unfiltered)).filter(Boolean)
        .length;
    expect([admitted(true), admitted(false)]).toEqual([50, 100]);
  });
});

describe('images of the local cloud', () => {
  test("are those of moto's file for every SSM parameter", () => {
    const ids = new Set(machineImages().map((image) => image.ami_id));
    const parameters = imageParameters();
    expect([...parameters.values()].every((id) => ids.has(id))).toBe(true);
    for (const path of [
      '/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/arm64/standard/recommended/image_id',
      '/aws/service/eks/optimized-ami/1.32/amazon-linux-2-gpu/recommended/image_id',
      '/aws/service/bottlerocket/aws-k8s-1.36/x86_64/latest/image_id',
      '/aws/service/bottlerocket/aws-k8s-1.36-nvidia/arm64/1.51.0/image_id',
      '/aws/service/ami-windows-latest/Windows_Server-2022-English-Core-EKS_Optimized-1.36/image_id',
    ]) {
      expect(parameters.has(path)).toBe(true);
    }
    expect(parameters.has('/aws/service/eks/optimized-ami/1.33/amazon-linux-2/recommended/image_id')).toBe(false);
  });

  test('have unique ids', () => {
    const ids = machineImages().map((image) => image.ami_id);
    expect(new Set(ids).size).toBe(ids.length);
  });
});
