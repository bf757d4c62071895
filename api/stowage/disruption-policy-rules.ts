import { cronProblem } from '../schema/cron.js';
import { issue, type FieldPath, type Issue } from '../schema/issues.js';
import { type DisruptionPolicy, type DisruptionRate, type MaintenanceWindow } from './disruption-policy.js';
import { disruptionReasons, type DisruptionReason } from '../disruption-reasons.js';

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

const aDuration = 'a duration above zero, such as 5m';
/** Rates and quotas count past disruptions, which are recorded for this long. */
const rememberedHours = 31 * 24;
const memory = `at most ${rememberedHours}h`;

function isZero(duration: string): boolean {
  return !/[1-9]/.test(duration);
}

function isForgotten(duration: string): boolean {
  return seconds(duration) > rememberedHours * 3600;
}

function windowIssues(window: MaintenanceWindow, at: FieldPath): Issue[] {
  const issues: Issue[] = [];
  const problem = cronProblem(window.schedule);
  if (problem !== undefined) {
    issues.push(issue([...at, 'schedule'], window.schedule, 'a cron expression of five fields, or a macro', problem));
  }
  if (!isTimeZone(window.timeZone)) issues.push(issue([...at, 'timeZone'], window.timeZone, 'an IANA time zone'));
  if (isZero(window.duration)) {
    issues.push(issue([...at, 'duration'], window.duration, aDuration, 'the window never opens'));
  }
  if (window.quota !== undefined && isForgotten(window.duration)) {
    issues.push(issue([...at, 'duration'], window.duration, memory, 'disruptions are not recorded longer'));
  }
  if (/^0+%?$/.test(window.quota ?? '1')) {
    issues.push(issue([...at, 'quota'], window.quota, 'at least 1', 'the window allows no disruption', 'warning'));
  }
  return issues;
}

const coveredBy = (reasons: readonly DisruptionReason[] | undefined, reason: DisruptionReason): boolean =>
  reasons === undefined || reasons.includes(reason);

function rateIssues({ nodes, per }: DisruptionRate, index: number): Issue[] {
  const at = ['spec', 'rates', index];
  const issues: Issue[] = [];
  if (isZero(per)) issues.push(issue([...at, 'per'], per, aDuration, 'no time passes'));
  if (isForgotten(per)) issues.push(issue([...at, 'per'], per, memory, 'disruptions are not recorded longer'));
  if (/^0+%?$/.test(nodes)) {
    issues.push(issue([...at, 'nodes'], nodes, 'at least 1', 'the rate allows no disruption', 'warning'));
  }
  return issues;
}

/** An approval entry whose reasons all belong to earlier entries is never used. */
function approvalIssues({ approval = [] }: DisruptionPolicy['spec']): Issue[] {
  return approval.flatMap(({ reasons }, index) => {
    const earlier = approval.slice(0, index);
    const dead = (reasons ?? disruptionReasons).every((reason) =>
      earlier.some((entry) => coveredBy(entry.reasons, reason)),
    );
    if (!dead) return [];
    const at = ['spec', 'approval', index];
    return [issue(at, reasons, 'reasons that no earlier entry has', 'this entry is never used', 'warning')];
  });
}

function seconds(duration: string): number {
  let total = 0;
  for (const [, count, unit] of duration.matchAll(/([0-9]+)(s|m|h)/g)) {
    total += Number(count) * (unit === 'h' ? 3600 : unit === 'm' ? 60 : 1);
  }
  return total;
}

function stepIssues({ drainEscalation = [] }: DisruptionPolicy['spec']): Issue[] {
  return drainEscalation.flatMap(({ after }, index) => {
    const before = drainEscalation[index - 1]?.after;
    if (before === undefined || seconds(after) >= seconds(before)) return [];
    return [
      issue(['spec', 'drainEscalation', index, 'after'], after, `${before} or more, since the previous step has that`),
    ];
  });
}

/**
 * Errors and warnings of a parsed DisruptionPolicy beyond what the API server rejects: windows that never open, unknown
 * time zones, invalid cron expressions, zero rates, contradictory entries. Errors make `ValidationSucceeded` False; a
 * policy with errors is not applied, and the pools it selects are not disrupted.
 */
export function disruptionPolicyIssues(policy: DisruptionPolicy): Issue[] {
  const { maintenanceWindows = [], rates = [] } = policy.spec;
  const windows = maintenanceWindows.flatMap((window, index) =>
    windowIssues(window, ['spec', 'maintenanceWindows', index]),
  );
  return [...windows, ...rates.flatMap(rateIssues), ...approvalIssues(policy.spec), ...stepIssues(policy.spec)];
}
