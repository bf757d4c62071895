import { Cron } from 'croner';
import { cronProblem } from '../../../api/schema/cron.js';

/**
 * The times of a cron expression, in milliseconds of the epoch. If a change of clocks skips a time of day, the time is
 * when the clocks have jumped; a time that comes twice counts once. Only schedules with `*` or a step in minute or hour
 * follow the clock through both. Use it in activities and never in workflow code, because time zone tables differ
 * between releases of Node.
 */
export interface Schedule {
  /** The latest time at or before `now`. */
  last(now: number): number | undefined;
  /** The first time after `now`. */
  next(now: number): number | undefined;
}

const remembered = 500;
const known = new Map<string, Schedule | undefined>();

/**
 * Reads a cron expression in an IANA time zone; undefined if either is invalid (budgets/unreadable-schedule: such a
 * budget allows none).
 */
export function readSchedule(expression: string, timeZone = 'UTC'): Schedule | undefined {
  const key = `${timeZone} ${expression}`;
  if (!known.has(key)) {
    if (known.size >= remembered) known.clear();
    known.set(key, parse(expression, timeZone));
  }
  return known.get(key);
}

function parse(expression: string, timeZone: string): Schedule | undefined {
  if (cronProblem(expression) !== undefined) return undefined;
  try {
    // Karpenter's parser takes `?` for `*`, and `5/15` for `5-59/15`.
    const cron = new Cron(expression.trim().replaceAll('?', '*'), {
      timezone: timeZone,
      sloppyRanges: true,
      fixedTimeRule: 'no-wildcard',
    });
    // `Cron` checks the time zone only when it is first used.
    cron.nextRun(new Date(0));
    return between(
      (now) => cron.previousRuns(1, new Date(now + 1))[0]?.getTime(),
      (now) => cron.nextRun(new Date(now))?.getTime(),
    );
  } catch {
    return undefined;
  }
}

/** Caches the answers for times between two adjacent times of the schedule. */
function between(last: Schedule['last'], next: Schedule['next']): Schedule {
  let span: { readonly from: number; readonly to: number; last?: number; next?: number } = { from: 0, to: 0 };
  const spanOf = (now: number): typeof span => {
    if (now >= span.from && now < span.to) return span;
    const [before, after] = [last(now), next(now)];
    const [from, to] = [before ?? now, after ?? Number.POSITIVE_INFINITY];
    span = {
      from,
      to,
      ...(before === undefined ? {} : { last: before }),
      ...(after === undefined ? {} : { next: after }),
    };
    return span;
  };
  return { last: (now) => spanOf(now).last, next: (now) => spanOf(now).next };
}

/** A period that begins at a time of the schedule: from `from` up to, and without, `to`. */
export interface Opening {
  readonly from: number;
  readonly to: number;
}

/** The period open at `now`: `length` milliseconds from the latest time of the schedule; undefined if that is over. */
export function openingAt(schedule: Schedule, length: number, now: number): Opening | undefined {
  const from = schedule.last(now);
  return from !== undefined && now < from + length ? { from, to: from + length } : undefined;
}

const mostOverlaps = 64;
const chains = new WeakMap<Schedule, Map<number, Opening>>();

/** When the periods end that follow `opening` without a gap; up to 64 are joined. */
export function closingOf(schedule: Schedule, opening: Opening): number {
  const length = opening.to - opening.from;
  let known = chains.get(schedule);
  if (known === undefined) chains.set(schedule, (known = new Map<number, Opening>()));
  const chain = known.get(length);
  if (chain !== undefined && opening.from >= chain.from && opening.to < chain.to) return chain.to;
  let { to } = opening;
  let hit = opening.from;
  for (let i = 0; i < mostOverlaps; i++) {
    const next = schedule.next(hit);
    if (next === undefined || next > to) break;
    hit = next;
    to = next + length;
  }
  known.set(length, { from: opening.from, to });
  return to;
}
