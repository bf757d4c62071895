import type { MaintenanceWindow } from '../../../api/stowage/disruption-policy.js';
import { parseDuration } from '../../../core/durations.js';
import { openingAt, readSchedule } from './schedule.js';
import type { Opening, Schedule } from './schedule.js';
import { names, nodesOf, disruptedSince } from './past-disruptions.js';
import type { Bound, PastDisruption } from './past-disruptions.js';
import type { DisruptionReason } from '../../../api/disruption-reasons.js';

interface WindowState {
  readonly window: MaintenanceWindow;
  readonly schedule: Schedule | undefined;
  readonly opening: Opening | undefined;
  /** The next time of the schedule, which begins a new period even if one is open. */
  readonly opensAt: number | undefined;
}

function stateOf(window: MaintenanceWindow, now: number): WindowState {
  const schedule = readSchedule(window.schedule, window.timeZone);
  if (schedule === undefined) return { window, schedule, opening: undefined, opensAt: undefined };
  const opening = openingAt(schedule, parseDuration(window.duration, 'duration'), now);
  return { window, schedule, opening, opensAt: schedule.next(now) };
}

function windowsFor(
  windows: readonly MaintenanceWindow[] | undefined,
  reason: DisruptionReason,
): readonly MaintenanceWindow[] {
  return (windows ?? []).filter(({ reasons }) => names(reasons, reason));
}

/**
 * The limit of maintenance windows for a NodePool with `total` nodes. Reasons that no window names have no limit; all
 * others wait for an open window. Each time of the schedule begins a new period, and the quota of every open window
 * applies: it counts the disruptions since then for the reasons of the window.
 */
export function windowBound(
  windows: readonly MaintenanceWindow[] | undefined,
  reason: DisruptionReason,
  { pastDisruptions, total }: { readonly pastDisruptions: readonly PastDisruption[]; readonly total: number },
  now: number,
): Bound {
  const looked = windowsFor(windows, reason).map((window) => stateOf(window, now));
  if (looked.length === 0) return { allowed: Number.POSITIVE_INFINITY, what: '', changesAt: Number.POSITIVE_INFINITY };
  const hopeless = looked.every(({ window: { quota } }) => quota !== undefined && nodesOf(quota, total) === 0);
  const changesAt = hopeless
    ? Number.POSITIVE_INFINITY
    : Math.min(...looked.flatMap(({ opening, opensAt }) => [opening?.to, opensAt].filter((at) => at !== undefined)));
  const open = looked.filter((one) => one.opening !== undefined);
  if (open.length === 0) {
    const all = looked.map(({ window }) => window.name).join(', ');
    return { allowed: 0, what: `maintenance window ${all} (closed)`, changesAt };
  }
  let allowed = Number.POSITIVE_INFINITY;
  let what = `maintenance window ${open.map(({ window }) => window.name).join(', ')}`;
  for (const { window, opening } of open) {
    if (window.quota === undefined) continue;
    const used = disruptedSince(pastDisruptions, opening!.from, window.reasons);
    const left = Math.max(0, nodesOf(window.quota, total) - used);
    if (left >= allowed) continue;
    allowed = left;
    what = `quota ${window.quota} of maintenance window ${window.name} (${used} used)`;
  }
  return { allowed, what, changesAt };
}
