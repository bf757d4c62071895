import type { ActivityTask } from './activity-task.js';
import { Run } from './run.js';
import type { Command, Job } from './sandbox.js';

/** An open run as it was at some moment: all that its server keeps of it. */
export interface KeptRun {
  readonly run: Run;
  readonly jobs: readonly Job[];
  readonly turns: Run['turns'];
  readonly signals: number;
  readonly historyLength: number;
  readonly flags: readonly number[];
  readonly attributes: ReadonlyMap<string, unknown>;
  readonly children: ReadonlyMap<number, Run>;
  /** When its timers are due, by their numbers, milliseconds of the epoch. */
  readonly timers: ReadonlyMap<number, number>;
  readonly activities: readonly KeptActivity[];
  readonly underway: readonly Command[];
}

interface KeptActivity {
  readonly command: ActivityTask['schedule'];
  readonly scheduledAt: number;
  readonly isCancelled: boolean;
}

/** Keeps an open run as it is now, with the activities that it waits for. */
export function keep(run: Run, activities: Iterable<ActivityTask>): KeptRun {
  return {
    run,
    jobs: [...run.taskJobs, ...run.jobs],
    turns: [...run.turns],
    signals: run.signals.length,
    historyLength: run.historyLength,
    flags: run.flags,
    attributes: new Map(run.attributes),
    children: new Map(run.children),
    timers: new Map([...run.timers].map(([seq, { dueAt }]) => [seq, dueAt])),
    activities: [...activities].map(({ schedule: command, scheduledAt, isCancelled }) => ({
      ...{ command, scheduledAt, isCancelled },
    })),
    underway: [...run.underway],
  };
}

/** The run as it was kept, under `runId`; its timers, activities and messages are the caller's to begin again. */
export function renew(kept: KeptRun, runId = kept.run.start.runId): Run {
  const run = new Run({ ...kept.run.start, runId });
  run.jobs = [...kept.jobs];
  run.turns.push(...kept.turns);
  run.signals.push(...kept.run.signals.slice(0, kept.signals));
  run.historyLength = kept.historyLength;
  run.flags = [...kept.flags];
  run.attributes.clear();
  for (const [name, value] of kept.attributes) run.attributes.set(name, value);
  for (const [seq, child] of kept.children) run.children.set(seq, child);
  return run;
}
