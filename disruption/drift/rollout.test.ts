import { describe, expect, test } from '@jest/globals';
import { disruptionPolicySpec } from '../../api/stowage/disruption-policy.js';
import type { DriftRollout } from '../../api/stowage/disruption-policy.js';
import { waveBackOffMs, isStopped, pollAfterMs, waveSize } from './rollout.js';

const rollout = (more: object = {}): DriftRollout => disruptionPolicySpec.parse({ driftRollout: more }).driftRollout!;

describe('waves of a rollout', () => {
  test.each<[string, object, number, number[]]>([
    ['by default', {}, 40, [1, 2, 4, 8, 10, 10]],
    ['of a canary in percent', { canary: '10%', maximumWave: '50%' }, 40, [4, 8, 16, 20]],
    ['that do not grow', { growthFactor: 1 }, 40, [1, 1, 1]],
    ['that grow fast', { growthFactor: 10, maximumWave: '30' }, 100, [1, 10, 30, 30]],
    ['of a small pool', {}, 3, [1, 1, 1]],
    ['that round up', { canary: '5%', maximumWave: '5%' }, 21, [2, 2]],
    ['of none are of one', { canary: '0', maximumWave: '0%' }, 10, [1, 1]],
  ])('%s', (_name, more, total, expected) => {
    let last: number | undefined;
    const sizes = expected.map(() => (last = waveSize(rollout(more), { last, total })));
    expect(sizes).toEqual(expected);
  });

  test('are smaller for a pool that shrinks', () => {
    expect(waveSize(rollout(), { last: 8, total: 12 })).toBe(3);
  });
});

test.each([
  [20, 0, 0, false],
  [20, 0, 1, true],
  [20, 4, 1, false],
  [20, 3, 1, true],
  [0, 99, 1, true],
  [100, 0, 9, false],
])(
  'rollout at most %d%% failures: with %d replaced and %d failed it stops: %s',
  (percent, replaced, failed, stopped) => {
    expect(isStopped(rollout({ maximumFailurePercent: percent }), { replaced, failed })).toBe(stopped);
  },
);

test('rollout back-off doubles from a minute to an hour', () => {
  expect([0, 1, 2, 3, 6, 7, 50].map((failures) => waveBackOffMs(failures) / 60_000)).toEqual([0, 1, 2, 4, 32, 60, 60]);
});

test('a rollout checks blocked nodes after ten seconds, then ever less often, at least every five minutes', () => {
  expect([1, 2, 3, 5, 6, 50].map((looks) => pollAfterMs(looks) / 1000)).toEqual([10, 20, 40, 160, 300, 300]);
});
