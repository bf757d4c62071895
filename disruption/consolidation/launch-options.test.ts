import { expect, test, vi } from 'vitest';
import type { Launches, Way } from '../../packing/trial.js';
import type { PlannedClaim } from '../../packing/types.js';
import { LaunchOptions } from './launch-options.js';

test('what types come to is worked out once for all claims of equal requirements', () => {
  const waysOf = vi.fn((type: string): Way[] => [
    { zone: 'a', capacityType: 'spot', price: type === 'small' ? 0.1 : 0.2 },
  ]);
  const launches = { offers: () => false, areTooUniform: () => false, waysUnder: () => waysOf } as unknown as Launches;
  const options = new LaunchOptions(launches, false);
  const claim = (...instanceTypes: string[]) =>
    ({
      nodePool: 'default',
      requirements: [],
      annotations: {},
      instanceTypes,
      cheapest: {},
    }) as unknown as PlannedClaim;
  const going = [{ instanceType: 'huge', capacityType: 'on-demand', price: 0.9 }];
  const cheapest = (claims: PlannedClaim[]): (string | undefined)[] =>
    (options.decide(claims, going) ?? []).map((planned) => planned.cheapest.instanceType);
  expect(cheapest([claim('large', 'small'), claim('large')])).toEqual(['small', 'large']);
  expect(cheapest([claim('small')])).toEqual(['small']);
  expect(waysOf).toHaveBeenCalledTimes(2);
});
