import { expect, test } from '@jest/globals';
import { unavailableMs, UnavailableOfferings } from './unavailable-offerings.js';

const refusal = { instanceType: 'm5.large', zone: 'a', capacityType: 'spot', reason: 'InsufficientInstanceCapacity' };

// Rule `launch/unavailable-offerings`.
test('an offering that refused is not used for three minutes, or until the time it names', () => {
  expect(unavailableMs).toBe(3 * 60_000);
  let now = 0;
  const offerings = new UnavailableOfferings(() => now);
  const before = offerings.version;
  offerings.add([refusal, { ...refusal, zone: 'b', until: 10 }]);
  expect(offerings.version).not.toBe(before);
  expect(offerings.get('spot', 'm5.large', 'a')).toMatchObject({ until: unavailableMs, reason: refusal.reason });
  expect(offerings.get('on-demand', 'm5.large', 'a')).toBeUndefined();
  now = 10;
  const marked = offerings.version;
  expect(offerings.get('spot', 'm5.large', 'b')).toBeUndefined();
  now = unavailableMs;
  expect(offerings.version).not.toBe(marked);
  expect(offerings.get('spot', 'm5.large', 'a')).toBeUndefined();
});

test('a refusal with an asterisk is about every type or zone, but of its capacity type alone', () => {
  const offerings = new UnavailableOfferings(() => 0);
  offerings.add([{ ...refusal, instanceType: '*', zone: '*' }]);
  expect(offerings.get('spot', 'c5.large', 'z')).toBeDefined();
  expect(offerings.get('on-demand', 'c5.large', 'z')).toBeUndefined();
});

test('what is refused without a placement group is refused within one, and not the other way round', () => {
  const offerings = new UnavailableOfferings(() => 0);
  offerings.add([
    refusal,
    { ...refusal, zone: 'b', placement: 'pg-1/2' },
    { ...refusal, instanceType: '*', zone: 'c' },
  ]);
  expect(
    ['a', 'b', 'c', 'd'].filter((zone) => offerings.get('spot', 'm5.large', zone, 'pg-1/2') !== undefined),
  ).toEqual(['a', 'b', 'c']);
  expect(offerings.get('spot', 'm5.large', 'b')).toBeUndefined();
});

test('an offering that refuses again soon after its back-off backs off twice as long, up to 24 minutes, until it launches an instance or has not refused for long', () => {
  let now = 0;
  const offerings = new UnavailableOfferings(() => now);
  const until = () => offerings.get('spot', 'm5.large', 'a')?.until;
  offerings.add([refusal]);
  now = 1000;
  offerings.add([refusal]);
  expect(until()).toBe(unavailableMs);
  now = unavailableMs;
  offerings.add([refusal]);
  expect(until()).toBe(3 * unavailableMs);
  now = 3 * unavailableMs;
  offerings.succeeded('spot', 'm5.large', 'a');
  offerings.add([refusal]);
  expect(until()).toBe(4 * unavailableMs);
  now = 100 * unavailableMs;
  offerings.add([refusal]);
  expect(until()).toBe(101 * unavailableMs);
  for (let i = 0; i < 10; i++) {
    now = until() ?? now;
    offerings.add([refusal]);
  }
  expect(until()).toBe(now + 24 * 60_000);
});
