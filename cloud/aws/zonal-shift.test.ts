import { expect, test } from '@jest/globals';
import { ec2NodeClass, refusal, steppingClock } from '../../test/builders/aws-world.js';
import type { AwsCalls } from './calls.js';
import { shiftEvents, ZonalShifts } from './zonal-shift.js';
import { nodePool } from '../../test/builders/activity-world.js';

const hour = 3_600_000;

// Rule `zonal-shift/unknown`.
test('while zonal shifts cannot be read none applies, which is reported once; known ones apply for an hour', async () => {
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

const nodeClass = { ...ec2NodeClass(), status: { subnets: [{ id: 's', zone: 'a', zoneID: 'az1' }] } };
const [first, second] = [nodePool('first'), nodePool('second')].map((pool) => ({ pool, nodeClass }));

// Rule `zonal-shift/events`.
test('a NodePool created during a zonal shift gets an event, and the end is an event for those that got one', async () => {
  let shifted = ['az1'];
  const news = shiftEvents({ current: () => Promise.resolve(shifted.map((zone) => ({ zone, until: 1 }))) });
  const look = async (...pools: readonly (typeof first)[]): Promise<readonly (string | undefined)[]> =>
    (await news(pools.map((each) => each!))).map(({ pool, reason }) => `${pool.metadata.name} ${reason}`);
  expect(await look(first)).toEqual(['first ZonalShiftActive']);
  expect(await look(first, second)).toEqual(['second ZonalShiftActive']);
  const narrowed = nodePool('first', {
    template: {
      metadata: { labels: { 'topology.kubernetes.io/zone': 'b' } },
      spec: first!.pool.spec.template.spec,
    },
  });
  shifted = [];
  expect(await look({ pool: narrowed, nodeClass }, second)).toEqual([
    'first ZonalShiftCleared',
    'second ZonalShiftCleared',
  ]);
  shifted = ['az1'];
  expect(await look({ pool: narrowed, nodeClass })).toEqual([]);
});
