import { describe, expect, test } from '@jest/globals';
import { NotObserved, observe } from './observe.js';

describe('observe', () => {
  test('looks again until something is seen; false counts as nothing', async () => {
    const looks = [undefined, false, 'seen', 'later'] as const;
    let at = 0;

    expect(await observe('A thing', () => Promise.resolve(looks[at++]), { withinMs: 60_000 })).toBe('seen');
    expect(at).toBe(3);
  });

  test('returns what it sees at the first look, 0 and an empty text too', async () => {
    expect(await observe('A count', () => Promise.resolve(0), { withinMs: 0 })).toBe(0);
    expect(await observe('A text', () => Promise.resolve(''), { withinMs: 0 })).toBe('');
  });

  test('fails with what was not seen and what was seen last', async () => {
    const never = observe(
      'The node gone',
      () => Promise.resolve(false),
      { withinMs: 0 },
      () => Promise.resolve('a, b'),
    );

    await expect(never).rejects.toEqual(new NotObserved('The node gone was not observed within 0 s. Last seen: a, b.'));
  });

  test('fails when looking fails', async () => {
    const failure = (): Error => new Error('it ended');

    await expect(observe('A node', () => Promise.resolve(undefined), { withinMs: 60_000, failure })).rejects.toThrow(
      'it ended',
    );
  });
});
