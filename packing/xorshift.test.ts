import { expect, test } from 'vitest';
import { Xorshift } from './xorshift.js';

test('numbers are those of xorshift32 without their highest bit, the same from the same beginning', () => {
  const random = new Xorshift(1);
  const numbers = [random.next(), random.next(), random.next()];
  expect(numbers).toEqual([270369, 67634689, 2647435461 - 2 ** 31]);
});
