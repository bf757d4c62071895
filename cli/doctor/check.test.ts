import { describe, expect, test } from '@jest/globals';
import { createManualClock } from '../../test/builders/manual-clock.js';
import { type Check, failed, okCheck, runChecks, skipped, someOf, warning } from './check.js';

const clock = createManualClock();
const check = (name: string, run: Check['run'], more: Partial<Check> = {}): Check => ({
  name,
  unanswered: `look at ${name}`,
  run,
  ...more,
});
const fine = (name: string, more: Partial<Check> = {}): Check =>
  check(name, () => Promise.resolve(okCheck('good')), more);

describe("running doctor's checks", () => {
  test('a check that throws fails alone', async () => {
    const broken = check('a', () => Promise.reject(new Error('refused')));

    expect(await runChecks([broken, fine('b')], clock)).toEqual([
      { name: 'a', state: 'failed', found: 'refused', mend: 'look at a' },
      { name: 'b', state: 'ok', found: 'good', mend: '' },
    ]);
  });

  test('a check that needs a failed or skipped one is skipped, and not run', async () => {
    let ran = false;
    const after = check('c', () => Promise.resolve((ran = true)).then(() => okCheck('')), { needs: ['b'] });
    const results = await runChecks(
      [check('a', () => Promise.resolve(failed('bad', 'mend it'))), fine('b', { needs: ['a'] }), after],
      clock,
    );

    expect(results.slice(1)).toEqual([
      { name: 'b', ...skipped('see a') },
      { name: 'c', ...skipped('see b') },
    ]);
    expect(ran).toBe(false);
  });

  test('a check that needs one with a warning is run', async () => {
    const results = await runChecks(
      [check('a', () => Promise.resolve(warning('odd', 'look'))), fine('b', { needs: ['a'] })],
      clock,
    );
    expect(results.map(({ state }) => state)).toEqual(['warning', 'ok']);
  });

  test('checks run in parallel, and one that exceeds its deadline fails', async () => {
    const silent = (name: string, deadlineMs: number): Check =>
      check(name, () => new Promise(() => undefined), { deadlineMs });
    const running = runChecks([silent('a', 1000), silent('b', 2000), fine('c')], clock);
    await clock.advance(2000);

    expect(await running).toEqual([
      { name: 'a', state: 'failed', found: 'no answer within 1 second', mend: 'look at a' },
      { name: 'b', state: 'failed', found: 'no answer within 2 seconds', mend: 'look at b' },
      { name: 'c', state: 'ok', found: 'good', mend: '' },
    ]);
  });

  test('a check can only need an earlier one', async () => {
    await expect(runChecks([fine('a', { needs: ['b'] }), fine('b')], clock)).rejects.toThrow(
      'check a needs b, which is no check before it',
    );
  });
});

test('someOf lists the first names and counts the rest', () => {
  expect(someOf(['a', 'b'])).toBe('a, b');
  expect(someOf(['a', 'b', 'c'], 2)).toBe('a, b and 1 more');
});
