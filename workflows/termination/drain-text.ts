import type { DrainBlocker, DrainProgress } from '../../activities/termination/contract.js';

/** Causes that a rollout of the pod's owner resolves, since it creates new pods and deletes the old ones without eviction. */
export const heldByBudget: ReadonlySet<DrainBlocker['cause']> = new Set(['pdb-never', 'several-pdbs', 'pdb']);
/** Causes that end at the deadline of the drain. */
const protects: ReadonlySet<DrainBlocker['cause']> = new Set([...heldByBudget, 'do-not-disrupt']);

/** What a drain waits for, in words. */
export function waitText({ blockedBy, blockers }: DrainProgress): string {
  return blockers === undefined ? blockedBy.join(', ') : blockers.map(({ name, why }) => `${name}: ${why}`).join('; ');
}

/** What blocks a drain, with the pods that it holds. */
export function blockedTexts(blockers: readonly DrainBlocker[]): readonly string[] {
  return blockers.map((blocker) => {
    const { name, why, podCount } = blocker;
    return podCount === 0 ? `${name} ${why}` : `${name} ${why} (holds ${podsText(blocker)})`;
  });
}

/** `shop/db-0, shop/db-1 and 3 more`. */
export function podsText({ pods, podCount }: Pick<DrainBlocker, 'pods' | 'podCount'>): string {
  const more = podCount > pods.length ? ` and ${podCount - pods.length} more` : '';
  return `${pods.join(', ')}${more}`;
}

/** The pods that are protected now, and by what; undefined if there are none. */
export function protectedText(blockers: readonly DrainBlocker[]): string | undefined {
  const protectedBy = blockers.filter(({ cause }) => protects.has(cause));
  if (protectedBy.length === 0) return undefined;
  return protectedBy.map((blocker) => `${podsText(blocker)}, which ${blocker.name} protects`).join('; ');
}

/** What people can do about a drain that only do-not-disrupt blocks; undefined if anything else blocks it too. */
export function endedBy(blockers: readonly DrainBlocker[], node: string): string | undefined {
  if (blockers.length === 0 || blockers.some(({ cause }) => cause !== 'do-not-disrupt')) return undefined;
  const [pod = ''] = blockers[0]!.pods;
  const [namespace = '', name = ''] = pod.split('/');
  return (
    `whoever owns the pod: kubectl -n ${namespace} annotate pod ${name} karpenter.sh/do-not-disrupt- ` +
    `(or deletes it); you, without regard to it: stowage expedite ${node} --force`
  );
}
