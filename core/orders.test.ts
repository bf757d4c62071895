import { describe, expect, test } from '@jest/globals';
import { isAuthenticated, orderOfPerson, unauthenticated } from './orders.js';

describe('orders of people', () => {
  test.each([
    ['approve', [{ actor: 'ann' }]],
    ['hold', [{ actor: 'ann', on: true }]],
    ['pause', [{ actor: 'ann', scope: { kind: 'cluster' } }]],
  ])('%s with an actor is an order', (name, args) => {
    expect(orderOfPerson(name, args)).toBe(args[0]);
  });

  test.each([
    // Signals between workflows, which have the same names.
    ['hold', [true]],
    ['expedite', [{ deadline: 1, reason: 'spot interruption' }]],
    ['expedite', []],
    // Refused for its own reason.
    ['approve', [{ actor: ' ' }]],
    ['approve', [null]],
    ['nodeChanged', [{ actor: 'ann' }]],
  ])('%s %j is no order', (name, args) => {
    expect(orderOfPerson(name, args)).toBeUndefined();
  });

  test('an actor is marked as not authenticated only once', () => {
    expect(unauthenticated('ann')).toBe('ann (not authenticated)');
    expect(unauthenticated(unauthenticated('ann'))).toBe('ann (not authenticated)');
    expect([isAuthenticated('ann'), isAuthenticated(unauthenticated('ann'))]).toEqual([true, false]);
  });
});
