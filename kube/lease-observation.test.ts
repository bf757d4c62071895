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
    ['a lease that appears later', [undefined, lease(4)], ['free', 'held']],
    [
      'a lease that is no longer renewed, held for its duration',
      [lease(0), lease(0), lease(0), lease(0)],
      ['held', 'held', 'held', 'free'],
    ],
    ['a lease that expired long ago', [lease(-3600), lease(-3600)], ['unknown', 'free']],
    ['a holder whose clock is an hour slow', [lease(-3600), lease(-3595), lease(-3590)], ['unknown', 'held', 'held']],
    ['a holder whose clock is an hour fast', [lease(3600), lease(3605), lease(3610)], ['unknown', 'held', 'held']],
    ['a holder whose clock is seconds ahead', [lease(4)], ['held']],
    ['a renewTime in 2099', [lease(year2099), lease(year2099)], ['unknown', 'free']],
    [
      'a renewTime in 2099 after the lease was free',
      [undefined, lease(year2099), lease(year2099)],
      ['free', 'free', 'free'],
    ],
    ['a lease without renewTime', [lease(), lease()], ['unknown', 'free']],
    [
      'a holder with a fast clock that stops renewing: the duration counts by our clock',
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
      'a lease without renewals during an outage, held until a second read',
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
