import type { Taint, Toleration } from '../api/kubernetes.js';
import { int64Of } from './int64.js';

/** Whether `toleration` covers `taint`, as kube-scheduler decides it. */
export function tolerates(toleration: Toleration, taint: Taint): boolean {
  const { key, operator, effect } = toleration;
  if (effect !== undefined && effect !== '' && effect !== taint.effect) return false;
  if (key === undefined || key === '') return operator === 'Exists';
  if (key !== taint.key) return false;
  if (operator === 'Exists') return true;
  if (operator === 'Lt' || operator === 'Gt') return comparesTo(operator, toleration.value, taint.value);
  return (toleration.value ?? '') === (taint.value ?? '');
}

function comparesTo(operator: 'Lt' | 'Gt', tolerated: string | undefined, value: string | undefined): boolean {
  const bound = int64Of(tolerated);
  const number = int64Of(value);
  if (bound === undefined || number === undefined) return false;
  return operator === 'Gt' ? number > bound : number < bound;
}

/** The first taint that keeps the pod away; `preferences` says whether PreferNoSchedule counts. */
export function untolerated(
  taints: readonly Taint[] | undefined,
  tolerations: readonly Toleration[] | undefined,
  preferences: boolean,
): Taint | undefined {
  return taints?.find(
    (taint) =>
      (preferences || taint.effect !== 'PreferNoSchedule') &&
      !(tolerations ?? []).some((toleration) => tolerates(toleration, taint)),
  );
}
