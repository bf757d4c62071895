import { expect, test } from 'vitest';
import { clockCheck } from './clock.js';

const second = 1000;

/** The verdict on a clock that showed `asked` and `answered` while the server told `other`, in seconds. */
function verdict(asked: number, other: number | undefined, answered: number) {
  const looks = [asked * second, answered * second];
  const time = () => Promise.resolve(other === undefined ? undefined : other * second);
  return clockCheck({ of: 'cloud', needs: 'cloud-credentials', time }, { now: () => looks.shift() ?? 0 }).run();
}

test.each<[string, [number, number, number], string, string]>([
  ['the same', [100, 100, 100], 'ok', 'agrees with that of cloud'],
  ['within the time of a slow answer', [100, 120, 130], 'ok', 'agrees with that of cloud'],
  ['at the end of its second', [101, 100, 101], 'ok', 'agrees with that of cloud'],
  ['a little ahead', [111, 100, 111], 'warning', 'this clock is 10 seconds ahead of that of cloud'],
  ['a little behind', [90, 100, 90], 'warning', 'this clock is 10 seconds behind that of cloud'],
  ['far ahead', [461, 100, 461], 'failed', 'this clock is 360 seconds ahead of that of cloud'],
  ['far behind', [0, 360, 0], 'failed', 'this clock is 360 seconds behind that of cloud'],
])('doctor check clock: %s', async (_name, [asked, other, answered], state, found) => {
  expect(await verdict(asked, other, answered)).toMatchObject({ state, found });
});

test('doctor check clock is skipped where the answer has no time', async () => {
  expect(await verdict(100, undefined, 100)).toMatchObject({ state: 'skipped' });
});
