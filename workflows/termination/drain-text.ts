import type { DrainBlocker, DrainProgress } from '../../activities/termination/contract.js';

/** What a rollout of the pod's owner gets around: it deletes pods itself, once new ones run. */
export const heldByBudget: ReadonlySet<DrainBlocker['cause']> = new Set(['pdb-never', 'several-pdbs', 'pdb']);
/** What ends with the deadline of a drain. */
const protects: ReadonlySet<DrainBlocker['cause']> = new Set([...heldByBudget, 'do-not-disrupt']);

/** What a drain waits for. */
export function waitText({ blockedBy, blockers }: DrainProgress): string {
  return blockers === undefined ? blockedBy.join(', ') : blockers.map(({ name, why }) => `${name}: ${why}`).join('; ');
}

export function blockedText(blockers: readonly DrainBlocker[]): string {
  if (blockers.length === 0) return 'nothing';
  return blockers
    .map((blocker) => {
      const { name, why, podCount } = blocker;
      return podCount === 0 ? `${name} ${why}` : `${name} ${why} (holds ${podsText(blocker)})`;
    })
    .join('; ');
}

/** `shop/db-0, shop/db-1 and 3 more`. */
export function podsText({ pods, podCount }: Pick<DrainBlocker, 'pods' | 'podCount'>): string {
  const more = podCount > pods.length ? ` and ${podCount - pods.length} more` : '';
  return `${pods.join(', ')}${more}`;
}

/** Pods that are protected now, with what protects them; undefined when none is known to be. */
export function protectedText(blockers: readonly DrainBlocker[]): string | undefined {
  const protectedBy = blockers.filter(({ cause }) => protects.has(cause));
  if (protectedBy.length === 0) return undefined;
  return protectedBy.map((blocker) => `${podsText(blocker)}, which ${blocker.name} protects`).join('; ');
}

/** Who can end the hold-up of a drain that do-not-disrupt alone holds, and how; undefined where something else does too. */
export function endedBy(blockers: readonly DrainBlocker[], node: string): string | undefined {
  if (blockers.length === 0 || blockers.some(({ cause }) => cause !== 'do-not-disrupt')) return undefined;
  const [pod = ''] = blockers[0]!.pods;
  const [namespace = '', name = ''] = pod.split('/');
  return (
    `whoever owns the pod: kubectl -n ${namespace} annotate pod ${name} karpenter.sh/do-not-disrupt- ` +
    `(or deletes it); you, without regard to it: stowage expedite ${node} --force`
  );
}
