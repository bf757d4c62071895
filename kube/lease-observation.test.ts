import { describe, expect, test } from '@jest/globals';
import type { Lease } from '../api/kubernetes.js';
import { observed, notObserved, unobserved } from './lease-observation.js';
import type { LeaseObservation } from './lease-observation.js';

const start = Date.parse('2026-01-01T00:00:00Z');

/** Times in seconds since `start`. */
const lease = (renewed?: number | string, { holder = 'karpenter-1', duration = 15 } = {}): Lease => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { namespace: 'kube-system', name: 'karpenter-leader-election' },
  spec: {
    holderIdentity: holder,
    leaseDurationSeconds: duration,
    ...(renewed !== undefined && {
      renewTime: typeof renewed === 'string' ? renewed : new Date(start + renewed * 1000).toISOString(),
    }),
  },
});
const released = lease(0, { holder: '' });
const year2099 = '2099-01-01T00:00:00.000000Z';

/** What each look finds, five seconds apart: a lease, none, or no answer. */
type Look = Lease | undefined | 'no answer';
const verdicts = (...looks: readonly Look[]): string[] => {
  let sight: LeaseObservation = unobserved;
  return looks.map((found, index) => {
    sight = found === 'no answer' ? notObserved(sight) : observed(sight, found, start + index * 5000);
    return sight.state;
  });
};

describe('verdicts on a lease from successive reads', () => {
  test.each<[string, readonly Look[], readonly string[]]>([
    ['no lease, or a released one', [undefined, released], ['free', 'free']],
    ['a lease that is renewed', [lease(-2), lease(3), lease(8)], ['held', 'held', 'held']],
    ['one that appears later', [undefined, lease(4)], ['free', 'held']],
    [
      'one that is no longer renewed, for its duration',
      [lease(0), lease(0), lease(0), lease(0)],
      ['held', 'held', 'held', 'free'],
    ],
    ['one that ran out long ago', [lease(-3600), lease(-3600)], ['unknown', 'free']],
    ['a slow clock', [lease(-3600), lease(-3595), lease(-3590)], ['unknown', 'held', 'held']],
    ['a fast clock', [lease(3600), lease(3605), lease(3610)], ['unknown', 'held', 'held']],
    ['a clock that is ahead by seconds', [lease(4)], ['held']],
    ['the year 2099', [lease(year2099), lease(year2099)], ['unknown', 'free']],
    ['the year 2099 while it works', [undefined, lease(year2099), lease(year2099)], ['free', 'free', 'free']],
    ['no time at all', [lease(), lease()], ['unknown', 'free']],
    [
      'a fast clock that stops: the duration counts by ours',
      [lease(3600), lease(3605), lease(3605), lease(3605), lease(3605)],
      ['unknown', 'held', 'held', 'held', 'free'],
    ],
    ['a leader that hands over', [lease(0), released, lease(9, { holder: 'karpenter-2' })], ['held', 'held', 'held']],
    ['a leader that ends', [lease(0), released, released], ['held', 'held', 'free']],
    ['a lease that is deleted', [lease(0), undefined, undefined], ['held', 'held', 'free']],
    ['an API server that never answers', ['no answer', 'no answer'], ['unknown', 'unknown']],
    ['an outage while it is free', [undefined, 'no answer', 'no answer'], ['free', 'free', 'free']],
    ['an outage while it is held', [lease(0), 'no answer', 'no answer'], ['held', 'held', 'held']],
    [
      'after an outage a lease that seems dead is looked at twice',
      [lease(0), 'no answer', 'no answer', 'no answer', lease(0), lease(0)],
      ['held', 'held', 'held', 'held', 'held', 'free'],
    ],
  ])('%s', (_, looks, expected) => {
    expect(verdicts(...looks)).toEqual(expected);
  });

  test('a lease duration of years counts as a minute', () => {
    const absurd = lease(0, { duration: 1e9 });
    const looks = Array.from({ length: 14 }, () => absurd);
    expect(verdicts(...looks)).toEqual([...Array.from({ length: 12 }, () => 'held'), 'free', 'free']);
  });

  test('a held lease names its holder', () => {
    expect(observed(unobserved, lease(0), start)).toMatchObject({ state: 'held', holder: 'karpenter-1' });
  });
});
