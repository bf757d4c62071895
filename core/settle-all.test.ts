import { expect, test } from '@jest/globals';
import { settleAll } from './settle-all.js';

test('every one is waited for, in order, and what failed first is told after', async () => {
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
