import { describe, expect, test } from 'vitest';
import { ClientTokens } from './client-tokens.js';

describe('client tokens of CreateFleet', () => {
  let now = 0;
  const fresh = (): ClientTokens<string> => new ClientTokens({ now: () => now });

  test('a request whose answer was lost is repeated in the same words, until it is answered', () => {
    const tokens = fresh();
    tokens.lost('uid', 'all offerings');
    expect(tokens.next('uid')).toBe('uid');
    expect(tokens.unanswered('uid')).toBe('all offerings');

    tokens.answered('uid');

    expect(tokens.unanswered('uid')).toBeUndefined();
    expect(tokens.next('uid')).toBe('uid');
  });

  test('a token that was answered without an instance is not used again', () => {
    const tokens = fresh();
    tokens.lost('uid', 'all offerings');
    tokens.spend('uid');

    expect(tokens.unanswered('uid')).toBeUndefined();
    expect([tokens.next('uid'), tokens.next('uid-od')]).toEqual(['uid-1', 'uid-od']);
  });

  test('a token that a dead process used is given up once its instance would be visible', () => {
    const tokens = fresh();
    tokens.mismatched('uid');
    now += 59_000;
    tokens.mismatched('uid');
    expect(tokens.next('uid')).toBe('uid');

    now += 1000;
    tokens.mismatched('uid');
    expect(tokens.next('uid')).toBe('uid-1');

    // The next one may have been used as well.
    tokens.mismatched('uid');
    expect(tokens.next('uid')).toBe('uid-1');
  });
});
