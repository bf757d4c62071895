import { expect, test } from '@jest/globals';
import { Xorshift } from './xorshift.js';

test('Xorshift gives the numbers of xorshift32 without the highest bit, the same for the same seed', () => {
  const random = new Xorshift(1);
  const numbers = [random.next(), random.next(), random.next()];
  expect(numbers).toEqual([270369, 67634689, 2647435461 - 2 ** 31]);
});
