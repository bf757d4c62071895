import { describe, expect, test } from '@jest/globals';
import { Looks } from './looks.js';

describe('looks at what takes its time', () => {
  const after = (looks: number): number => {
    const own = new Looks();
    for (let made = 0; made < looks; made++) own.made(false);
    return own.pauseMs(0);
  };

  test('come ever further apart', () => {
    expect([1, 2, 3, 4, 5, 6, 39, 40, 139, 140, 9999].map(after)).toEqual(
      [1, 2, 5, 10, 15, 15, 15, 30, 30, 60, 60].map((pause) => pause * 1000),
    );
  });

  test('come closer together with every news', () => {
    const looks = new Looks();
    for (let made = 0; made < 200; made++) looks.made(false);
    const pauses = [1, 2, 3, 4, 5].map(() => {
      looks.made(true);
      return looks.pauseMs(0);
    });

    expect(pauses).toEqual([10_000, 5000, 2000, 1000, 1000]);
  });

  test('are no later than what is known to change', () => {
    const looks = new Looks();
    for (let made = 0; made < 200; made++) looks.made(false);

    expect(looks.pauseMs(1000, 4000)).toBe(3000);
    expect(looks.pauseMs(1000, 0)).toBe(250);
    expect(looks.pauseMs(1000, 900_000)).toBe(60_000);
  });

  test('fit half an hour into one run', () => {
    const looks = new Looks();
    let made = 0;
    for (let elapsed = 0; elapsed < 30 * 60_000; elapsed += looks.pauseMs(0)) {
      looks.made(false);
      made += 1;
    }
    expect(made).toBeLessThan(100);
  });
});
