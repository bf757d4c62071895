import type { Node, Taint, Toleration } from '../api/kubernetes.js';
import { taints } from '../api/labels.js';
import { int64Of } from './int64.js';

/** Whether the node has a taint of this key, with any effect. */
export function hasTaint({ spec }: Pick<Node, 'spec'>, { key }: Pick<Taint, 'key'>): boolean {
  return spec?.taints?.some((taint) => taint.key === key) ?? false;
}

/** Whether two taints are the same for the API server, which identifies them by key and effect. */
export const isSameTaint = (a: Pick<Taint, 'key' | 'effect'>, b: Pick<Taint, 'key' | 'effect'>): boolean =>
  a.key === b.key && a.effect === b.effect;

/** Whether the node still has the taint with which it starts until it is registered. */
export const hasUnregisteredTaint = ({ spec }: Pick<Node, 'spec'>): boolean =>
  spec?.taints?.some((taint) => isSameTaint(taint, taints.unregistered)) ?? false;

const ephemeral: readonly Pick<Taint, 'key' | 'effect'>[] = [
  { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/not-ready', effect: 'NoExecute' },
  { key: 'node.kubernetes.io/unreachable', effect: 'NoSchedule' },
  { key: 'node.cloudprovider.kubernetes.io/uninitialized', effect: 'NoSchedule' },
  taints.unregistered,
];

/** Whether the taint comes and goes while a node starts (labels/starting-taints). */
export const isKnownEphemeral = (taint: Taint): boolean =>
  taint.key.startsWith('readiness.k8s.io/') || ephemeral.some((known) => isSameTaint(known, taint));

/** The node's taints except those with this key. */
export function withoutTaint({ spec }: Pick<Node, 'spec'>, { key }: Pick<Taint, 'key'>): Taint[] {
  return (spec?.taints ?? []).filter((taint) => taint.key !== key);
}

/** Whether `toleration` covers `taint`, as in kube-scheduler. */
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

/** The first taint that the pod does not tolerate; `preferences` says whether PreferNoSchedule counts. */
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
