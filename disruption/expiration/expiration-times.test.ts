import { describe, expect, test } from '@jest/globals';
import { disruptionPolicySpec } from '../../api/stowage/disruption-policy.js';
import { expirationTimes } from './expiration-times.js';
import type { ExpirationTimes } from './expiration-times.js';

const hour = 3_600_000;
const createdAt = Date.parse('2026-01-01T00:00:00Z');
const expiresAt = createdAt + 720 * hour;
const times = (expiration: object, uid = 'uid-1', lives = 720): ExpirationTimes =>
  expirationTimes(disruptionPolicySpec.parse({ expiration }).expiration, {
    uid,
    createdAt,
    expiresAt: createdAt + lives * hour,
  });

// Rule `expiration/begins-early`.
describe('expirationTimes of a claim', () => {
  test.each([
    ['by default a quarter of an hour ahead', {}, { beginAt: expiresAt - hour / 4 }],
    ['with a lead', { lead: '2h' }, { beginAt: expiresAt - 2 * hour }],
    ['with an end', { lead: '0s', hardDeadline: '24h' }, { beginAt: expiresAt, mustGoAt: expiresAt + 24 * hour }],
    ['as Karpenter', { mode: 'Forceful', lead: '2h', jitter: '9h' }, { beginAt: expiresAt }],
  ])('%s', (_name, expiration, expected) => {
    expect(times(expiration)).toEqual(expected);
  });

  test('jitter spreads nodes evenly, and is the same for a node each time', () => {
    const begins = Array.from({ length: 1000 }, (_, i) => times({ lead: '0s', jitter: '10h' }, `uid-${i}`).beginAt);

    expect(times({ lead: '0s', jitter: '10h' }, 'uid-7').beginAt).toBe(begins[7]);
    for (let tenth = 0; tenth < 10; tenth++) {
      const inside = begins.filter((at) => Math.floor((expiresAt - at) / hour) === tenth);
      expect(inside.length).toBeGreaterThan(60);
      expect(inside.length).toBeLessThan(140);
    }
  });

  test('no node expires in the first half of expireAfter', () => {
    expect(times({ lead: '15m' }, 'uid-1', 0.2)).toEqual({ beginAt: createdAt + 0.1 * hour });
  });
});
