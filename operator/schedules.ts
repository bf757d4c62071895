import { ScheduleOverlapPolicy } from '@temporalio/client';
import type { ScheduleDescription, ScheduleOptions } from '@temporalio/client';
import { canonicalJson } from '../core/hash.js';
import type { ScheduleStart } from './observed-cluster.js';

/** A Schedule as Temporal has it, without what it is doing. */
export type PresentSchedule = Pick<ScheduleDescription, 'spec' | 'policies' | 'action'> & {
  readonly state: Pick<ScheduleDescription['state'], 'remainingActions'>;
};

const policies = { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: 60_000, pauseOnFailure: false } as const;

interface WantedSchedule extends Required<Pick<ScheduleOptions, 'policies'>> {
  readonly spec: { intervals: { every: number }[] };
  readonly action: Extract<ScheduleOptions['action'], { type: 'startWorkflow' }> & {
    taskQueue: string;
    args: [object];
  };
}

/** The Schedule that is to be there. A pause is no part of it: that is a person's order, and told as such. */
export function scheduleOf({ scheduleId, type, input, everyMs }: ScheduleStart, taskQueue: string): WantedSchedule {
  return {
    spec: { intervals: [{ every: everyMs }] },
    action: { type: 'startWorkflow', workflowType: type, workflowId: scheduleId, taskQueue, args: [input] },
    policies,
  };
}

/**
 * Whether a Schedule does what is wanted. Its spec must have the interval alone: a Schedule with an end, exclusions or a limited number of actions
 * stops running at some time, and nothing says so.
 */
export function isCurrentSchedule(
  { spec, action, policies: own, state }: PresentSchedule,
  wanted: WantedSchedule,
): boolean {
  const { intervals = [], calendars = [], skip = [], startAt, endAt, jitter } = spec;
  const times = intervals.map(({ every, offset }) => [every, (offset as number | undefined) ?? 0]);
  const isBounded = [startAt, endAt, state.remainingActions].some((each) => each !== undefined);
  return (
    !isBounded &&
    calendars.length + skip.length === 0 &&
    (jitter ?? 0) === 0 &&
    canonicalJson(times) === canonicalJson(wanted.spec.intervals.map(({ every }) => [every, 0])) &&
    canonicalJson(own) === canonicalJson(wanted.policies) &&
    action.workflowType === wanted.action.workflowType &&
    action.taskQueue === wanted.action.taskQueue &&
    canonicalJson(action.args) === canonicalJson(wanted.action.args)
  );
}
