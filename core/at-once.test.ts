import { expect, test } from '@jest/globals';
import { settleAll, settleInTurn, once } from './at-once.js';

test('work at once: all are awaited, results are in order, the first failure is thrown afterwards', async () => {
  await expect(settleAll([3, 1, 2], (n) => Promise.resolve(n * 2))).resolves.toEqual([6, 2, 4]);

  const ended: number[] = [];
  const work = async (n: number): Promise<void> => {
    if (n === 1) throw new Error('first');
    for (let turn = 0; turn < 20; turn++) await Promise.resolve();
    ended.push(n);
    if (n === 3) throw new Error('later');
  };
  await expect(settleAll([1, 2, 3], work)).rejects.toThrow('first');
  expect(ended).toEqual([2, 3]);
});

test('sequential work: a failure does not stop what follows', async () => {
  const begun: number[] = [];
  const work = (n: number): Promise<void> => {
    begun.push(n);
    return n === 1 ? Promise.reject(new Error('first')) : Promise.resolve();
  };
  await expect(settleInTurn([1, 2], work)).rejects.toThrow('first');
  expect(begun).toEqual([1, 2]);
  await expect(settleInTurn([2], work)).resolves.toBeUndefined();
});

test.each([
  ['a value', 7],
  ['undefined', undefined],
  ['false', false],
])('%s is computed once, when it is needed', (_, value) => {
  let asked = 0;
  const answer = once(() => {
    asked += 1;
    return value;
  });
  expect(asked).toBe(0);
  expect([answer(), answer()]).toEqual([value, value]);
  expect(asked).toBe(1);
});
