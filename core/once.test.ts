import { expect, test } from 'vitest';
import { once } from './once.js';

test.each([
  ['a value', 7],
  ['nothing', undefined],
  ['a no', false],
])('%s is asked for once, when it is needed', (_, value) => {
  let asked = 0;
  const answer = once(() => {
    asked += 1;
    return value;
  });
  expect(asked).toBe(0);
  expect([answer(), answer()]).toEqual([value, value]);
  expect(asked).toBe(1);
});
