import { describe, expect, test } from 'vitest';
import { ScheduleOverlapPolicy } from '@temporalio/client';
import { desiredSchedules } from './desired-workflows.js';
import { isCurrentSchedule, scheduleOf } from './schedules.js';
import type { PresentSchedule } from './schedules.js';

const [start] = desiredSchedules('c');
const wanted = scheduleOf(start!, 'c/control');

/** As Temporal describes what was created. */
const present: PresentSchedule = {
  spec: { calendars: [], intervals: [{ every: start!.everyMs, offset: 0 }], skip: [], jitter: 0, timezone: '' },
  action: { ...wanted.action, args: [start!.input] } as PresentSchedule['action'],
  policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: 60_000, pauseOnFailure: false },
  state: {},
};
const year = { year: [], month: [], dayOfMonth: [], dayOfWeek: [], hour: [], minute: [], second: [] };

// Rule `invariants/rebuilt`.
describe('a Schedule that somebody changed', () => {
  test('is current as it was created', () => {
    expect(isCurrentSchedule(present, wanted)).toBe(true);
    expect(isCurrentSchedule({ ...present, spec: { intervals: present.spec.intervals! } }, wanted)).toBe(true);
  });

  test.each<[string, Partial<PresentSchedule>]>([
    ['that has ended', { spec: { ...present.spec, endAt: new Date(0) } }],
    ['that begins later', { spec: { ...present.spec, startAt: new Date(9e12) } }],
    ['with another interval', { spec: { ...present.spec, intervals: [{ every: 86_400_000, offset: 0 }] } }],
    ['with an offset', { spec: { ...present.spec, intervals: [{ every: start!.everyMs, offset: 1000 }] } }],
    ['that skips times', { spec: { ...present.spec, skip: [year] } }],
    ['with further times', { spec: { ...present.spec, calendars: [year] } }],
    ['with a jitter', { spec: { ...present.spec, jitter: 3_600_000 } }],
    ['that has no runs left', { state: { remainingActions: 0 } }],
    ['whose runs pile up', { policies: { ...present.policies, overlap: ScheduleOverlapPolicy.BUFFER_ALL } }],
    ['that pauses after a failure', { policies: { ...present.policies, pauseOnFailure: true } }],
    ['on another queue', { action: { ...present.action, taskQueue: 'other' } }],
    ['of another workflow', { action: { ...present.action, workflowType: 'other' } }],
    ['with another input', { action: { ...present.action, args: [] } }],
  ])('one %s is not', (_, change) => {
    expect(isCurrentSchedule({ ...present, ...change }, wanted)).toBe(false);
  });
});
