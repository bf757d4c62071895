import { blockerName, blockerText } from '../../core/text.js';
import { timeText } from '../../core/time.js';
import type { DrainBlocker, DrainProgress } from '../../activities/termination/contract.js';
import type { ExpediteOrder } from '../messages.js';

/**
 * Causes that a rollout of the pod's owner resolves, since it creates new pods and deletes the old ones without
 * eviction.
 */
export const heldByBudget: ReadonlySet<DrainBlocker['cause']> = new Set(['pdb-never', 'several-pdbs', 'pdb']);
/** Causes that end at the deadline of the drain. */
const protects: ReadonlySet<DrainBlocker['cause']> = new Set([...heldByBudget, 'do-not-disrupt']);

/** What a drain waits for, in words. */
export function waitText({ blockedBy, blockers }: DrainProgress): string {
  return blockers === undefined
    ? blockedBy.join(', ')
    : blockers.map(({ name, why }) => `${blockerName(name)}: ${why}`).join('; ');
}

/** The pods that take a while to end, and until when they may; undefined if there are none. */
export function endingText({ ending }: DrainProgress): string | undefined {
  return ending === undefined
    ? undefined
    : `${podsText(ending)} to end, for which the grace period allows until ${timeText(ending.until)}`;
}

/** What blocks a drain, with the pods that it holds. */
export function blockedTexts(blockers: readonly DrainBlocker[]): readonly string[] {
  return blockers.map((blocker) => {
    const text = blockerText(blocker);
    return blocker.podCount === 0 ? text : `${text} (holds ${podsText(blocker)})`;
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
  const by = ({ cause, name }: DrainBlocker): string =>
    cause === 'do-not-disrupt' ? 'karpenter.sh/do-not-disrupt' : blockerName(name);
  return protectedBy.map((blocker) => `${podsText(blocker)}, which ${by(blocker)} protects`).join('; ');
}

/** Causes that do not end by themselves: a person has to change or delete something. */
const endedByPeople: ReadonlySet<DrainBlocker['cause']> = new Set(['do-not-disrupt', 'pdb-never', 'several-pdbs']);

/** How people can remove the blockers of a drain; undefined if a blocker may end without them. */
export function endedBy(blockers: readonly DrainBlocker[], node: string): string | undefined {
  const [first] = blockers;
  if (first === undefined || blockers.some(({ cause }) => !endedByPeople.has(cause))) return undefined;
  return `${ownerEnds(first)}; you, overriding it: stowage expedite ${node} --force`;
}

function ownerEnds({ cause, name: blocker, pods: [pod = ''] }: DrainBlocker): string {
  const [namespace = '', name = ''] = pod.split('/');
  if (cause === 'do-not-disrupt')
    return `the owner of the pod: kubectl -n ${namespace} annotate pod ${name} karpenter.sh/do-not-disrupt- (or deletes it)`;
  // `pdb/shop/web (never)`, `pdb/shop/a+b (several)`.
  const budgets = blockerName(blocker).replace(/^pdb\/[^/]*\//, '');
  return cause === 'several-pdbs'
    ? `the owner of the PodDisruptionBudgets, of which only one may select the pod: kubectl -n ${namespace} edit pdb ${budgets.replaceAll('+', ' ')}`
    : `the owner of the PodDisruptionBudget: kubectl -n ${namespace} edit pdb ${budgets} (or deletes the pod)`;
}

/**
 * Which pods would lose their protection by an `expedite` order during the drain of `node`, in words; undefined if none
 * would.
 */
export function endedProtection(
  { deadline, instanceEndsAt }: ExpediteOrder,
  blockers: readonly DrainBlocker[],
  node: string | undefined,
): string | undefined {
  if (node === undefined || (deadline === undefined && instanceEndsAt !== undefined)) return undefined;
  const held = protectedText(blockers);
  if (deadline === undefined) return held === undefined ? undefined : `it deletes the pods ${held}`;
  const now = held === undefined ? '' : `, now ${held}`;
  return `it deletes at ${timeText(deadline)} whatever pods are left on ${node}${now}`;
}
