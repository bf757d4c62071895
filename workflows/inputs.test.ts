import { describe, expect, test } from 'vitest';
import * as workflows from './index.js';
import { inputShapes, malformedInput } from './inputs.js';
import { Unreadable } from './unreadable.js';

describe('what a workflow is started with', () => {
  test('is checked for every workflow type', () => {
    expect([...inputShapes.keys()].sort()).toEqual(Object.keys(workflows).sort());
  });

  test.each(Object.keys(workflows))('%s refuses what has nothing of its input', (type) => {
    for (const nonsense of [undefined, null, 'nonsense', 42, [], {}, { cluster: 7 }])
      expect(malformedInput(type, [nonsense])).toMatch(/is (missing|null|"nonsense"|42|\[\]|7): give /);
  });

  test('names the field, what was found and what is allowed', () => {
    const input = { cluster: 'c', claim: { name: 'n', uid: 5 }, nodePool: 'p' };
    expect(malformedInput('launchNode', [input])).toBe('claim.uid is 5: give a text');
    expect(malformedInput('launchNode', [new Unreadable('a payload without an encoding cannot be read')])).toContain(
      'cannot be read',
    );
  });

  test('may have more than is known', () => {
    expect(malformedInput('disrupt', [{ cluster: 'c', fromTheFuture: true }])).toBeUndefined();
  });
});
