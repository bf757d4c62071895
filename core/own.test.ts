import { describe, expect, test } from '@jest/globals';
import { hasOwn, lookUp } from './own.js';

describe('own(): look-ups by keys that users write', () => {
  test.each(['constructor', 'toString', 'hasOwnProperty', 'valueOf', '__proto__'])(
    '%s is inherited, and not found',
    (key) => {
      expect(lookUp({}, key)).toBeUndefined();
      expect(hasOwn({}, key)).toBe(false);
      const written = JSON.parse(`{"${key}": "own"}`) as Record<string, string>;
      expect(lookUp(written, key)).toBe('own');
      expect(hasOwn(written, key)).toBe(true);
    },
  );

  test('a look-up in an absent record finds nothing', () => {
    expect(lookUp(undefined, 'a')).toBeUndefined();
    expect(hasOwn(null, 'a')).toBe(false);
  });
});
