import type { Budget, NodePool } from '../../api/karpenter/node-pool.js';
import { formatPath } from '../../api/schema/issues.js';
import { disruptionPolicyIssues } from '../../api/stowage/disruption-policy-rules.js';
import type { DisruptionPolicy } from '../../api/stowage/disruption-policy.js';
import { limitOf } from './limits.js';
import { readSchedule } from './limits/schedule.js';
import { disruptionReasons, type DisruptionReason } from '../../api/disruption-reasons.js';

/** A NodePool size for which every percentage above zero is at least one node. */
const manyNodes = { total: 100, disrupting: 0 };

/**
 * All problems of a DisruptionPolicy with its NodePools, each as a sentence that names the field: invalid fields,
 * windows that never open, a canary larger than a wave may be, and windows and NodePool budgets that are never open at
 * the same time. Checked for some weeks from `now`.
 */
export function policyProblems(policy: DisruptionPolicy, pools: readonly NodePool[], now: number): readonly string[] {
  const errors = disruptionPolicyIssues(policy).filter(({ severity }) => severity === 'error');
  if (errors.length > 0) return errors.map(({ message }) => message);
  return [
    ...neverOpen(policy, now),
    ...canaryProblems(policy),
    ...pools.flatMap((pool) => {
      const contradicted = disruptionReasons.filter((reason) => neverOpenTogether(policy, pool, reason, now));
      return contradicted.length === 0 ? [] : [contradiction(pool, contradicted)];
    }),
  ];
}

function neverOpen({ spec: { maintenanceWindows = [] } }: DisruptionPolicy, now: number): string[] {
  return maintenanceWindows.flatMap(({ schedule, timeZone }, index) => {
    const at = formatPath(['spec', 'maintenanceWindows', index, 'schedule']);
    if (readSchedule(schedule, timeZone)?.next(now) !== undefined) return [];
    return [`${at}: the window never opens (found "${schedule}"), allowed: a schedule with dates that come`];
  });
}

function canaryProblems({ spec: { driftRollout } }: DisruptionPolicy): string[] {
  if (driftRollout === undefined) return [];
  const { canary, maximumWave } = driftRollout;
  const comparable = canary.endsWith('%') === maximumWave.endsWith('%');
  if (!comparable || Number.parseInt(canary) <= Number.parseInt(maximumWave)) return [];
  return [
    `spec.driftRollout.canary: the first wave is larger than any may be (found "${canary}"), allowed: at most maximumWave, ${maximumWave}`,
  ];
}

/** Whether budgets and policy each allow a disruption at some time, but never at the same time. */
function neverOpenTogether(policy: DisruptionPolicy, pool: NodePool, reason: DisruptionReason, now: number): boolean {
  const opens = (budgets: readonly Budget[], policies: readonly DisruptionPolicy[]): boolean => {
    const bounded = { ...pool, spec: { ...pool.spec, disruption: { ...pool.spec.disruption, budgets: [...budgets] } } };
    const { allowed, changesAt } = limitOf(bounded, reason, manyNodes, { now, policies });
    return allowed > 0 || changesAt !== undefined;
  };
  const { budgets } = pool.spec.disruption;
  return !opens(budgets, [policy]) && opens(budgets, []) && opens([], [policy]);
}

function contradiction({ metadata }: NodePool, reasons: readonly DisruptionReason[]): string {
  return (
    `spec.maintenanceWindows: no window is open while spec.disruption.budgets of NodePool ${metadata.name ?? ''} ` +
    `let a node go for ${reasons.join(', ')}, allowed: windows and budgets that are open together`
  );
}
