import { expect, test } from 'vitest';
import { refusal, steppingClock } from '../../test/builders/aws-world.js';
import type { AwsCalls } from './calls.js';
import { ZonalShifts } from './zonal-shift.js';

const hour = 3_600_000;

// Rule `zonal-shift/unknown`.
test('while nothing is known of shifts none holds, which is told once; what was known holds for an hour', async () => {
  const clock = steppingClock();
  const problems: string[] = [];
  let away = true;
  let asked = 0;
  const shift = { appliedStatus: 'APPLIED', awayFrom: 'euc1-az1', expiryTime: (10 * hour) / 1000 };
  const calls = {
    getManagedResource: () => {
      asked += 1;
      if (away)
        return Promise.reject(refusal('AccessDeniedException', 'no', 'arc-zonal-shift:GetManagedResource', 403));
      return Promise.resolve({ zonalShifts: [shift, { ...shift, appliedStatus: 'NOT_APPLIED', awayFrom: 'other' }] });
    },
  } as unknown as AwsCalls;
  const shifts = new ZonalShifts(
    calls,
    clock,
    () => Promise.resolve('arn'),
    (problem) => void problems.push(problem),
  );
  for (let i = 0; i < 5; i++) expect(await shifts.current()).toEqual([]);
  expect(asked).toBe(1);
  clock.time += 30_000;
  await shifts.current();
  expect([asked, problems.length]).toEqual([2, 1]);
  expect(problems[0]).toContain('arc-zonal-shift:GetManagedResource');
  away = false;
  clock.time += 30_000;
  expect((await shifts.current()).map(({ zone }) => zone)).toEqual(['euc1-az1']);
  away = true;
  clock.time += hour / 2;
  expect(await shifts.current()).toHaveLength(1);
  clock.time += hour;
  expect(await shifts.current()).toEqual([]);
  expect(problems).toHaveLength(2);
});
