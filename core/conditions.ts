import type { Condition } from '../api/kubernetes.js';

/** The new content of a condition; a True one needs no reason. */
export interface ConditionChange {
  readonly type: string;
  readonly status: Condition['status'];
  readonly reason?: string;
  readonly message?: string;
}

/** A node condition that reports a broken machine, and how long it is tolerated. */
export interface RepairPolicy {
  readonly conditionType: string;
  readonly conditionStatus: Condition['status'];
  readonly tolerationMs: number;
}

/** The reason of a condition that was not evaluated yet. */
export const awaitingReconciliation = 'AwaitingReconciliation';

/** Kubernetes times have whole seconds. `now` is in milliseconds since the epoch. */
export function timestamp(now: number): string {
  return `${new Date(now).toISOString().slice(0, 19)}Z`;
}

export function conditionOf(conditions: readonly Condition[] | undefined, type: string): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/** Whether the condition is about this generation; so is one that names none. */
export const isOfGeneration = ({ observedGeneration }: Condition, generation: number | undefined): boolean =>
  generation === undefined || (observedGeneration ?? generation) === generation;

export function isTrue(conditions: readonly Condition[] | undefined, type: string): boolean {
  return conditionOf(conditions, type)?.status === 'True';
}

/** When the condition got its current status, milliseconds since the epoch; undefined if it does not exist. */
export function transitionOf(conditions: readonly Condition[] | undefined, type: string): number | undefined {
  const at = conditionOf(conditions, type)?.lastTransitionTime;
  return at === undefined ? undefined : Date.parse(at);
}

/** The list with `change` applied. The transition time changes only with the status. */
export function withCondition(
  conditions: readonly Condition[] | undefined,
  change: ConditionChange,
  at: { readonly now: number; readonly generation?: number | undefined },
): Condition[] {
  const known = conditionOf(conditions, change.type);
  const next: Condition = {
    type: change.type,
    status: change.status,
    reason: change.reason ?? change.type,
    message: change.message ?? '',
    lastTransitionTime:
      known?.status === change.status && known.lastTransitionTime !== undefined
        ? known.lastTransitionTime
        : timestamp(at.now),
    ...(at.generation === undefined ? {} : { observedGeneration: at.generation }),
  };
  if (known === undefined) return [...(conditions ?? []), next];
  return conditions!.map((condition) => (condition === known ? next : condition));
}

/** Whether all nodes of a NodePool or node class are as it says now (node-pools/up-to-date). */
export const nodesUpToDate = 'NodesUpToDate';

/** Conditions that report a problem, apart from the summary `Ready`. Nodes that are replaced are none. */
export const brokenConditions = (conditions: readonly Condition[] | undefined): readonly Condition[] =>
  (conditions ?? []).filter(({ type, status }) => status === 'False' && type !== 'Ready' && type !== nodesUpToDate);

export function withoutCondition(conditions: readonly Condition[] | undefined, type: string): Condition[] {
  return (conditions ?? []).filter((condition) => condition.type !== type);
}

/** Conditions that Ready of a NodeClaim summarizes, in the order of a NodeClaim's lifecycle. */
export const claimLifecycle = ['Launched', 'Registered', 'Initialized'] as const;
/** Conditions that Ready of a NodePool summarizes. */
export const nodePoolReadiness = ['ValidationSucceeded', 'NodeClassReady'] as const;

/**
 * The root condition `Ready` over its dependents, as in Karpenter: True if all are True, False if one is False,
 * otherwise Unknown, with the unhealthy ones in the message. Missing dependents are added as Unknown. A condition of
 * another generation says nothing about this one.
 */
export function withReady(
  conditions: readonly Condition[] | undefined,
  dependents: readonly string[],
  at: { readonly now: number; readonly generation?: number | undefined },
): Condition[] {
  let all = [...(conditions ?? [])];
  for (const type of dependents) {
    if (conditionOf(all, type) !== undefined) continue;
    all = withCondition(
      all,
      { type, status: 'Unknown', reason: awaitingReconciliation, message: 'object is awaiting reconciliation' },
      at,
    );
  }
  const isOfNow = (condition: Condition): boolean => isOfGeneration(condition, at.generation);
  const unhealthy = dependents
    .map((type) => conditionOf(all, type)!)
    .filter((condition) => condition.status !== 'True' || !isOfNow(condition));
  if (unhealthy.length === 0) return withCondition(all, { type: 'Ready', status: 'True' }, at);
  const failed = unhealthy.some((condition) => condition.status === 'False' && isOfNow(condition));
  const message = unhealthy.map(({ type, status }) => `${type}=${status}`).join(', ');
  return withCondition(
    all,
    {
      type: 'Ready',
      status: failed ? 'False' : 'Unknown',
      reason: failed ? 'UnhealthyDependents' : 'ReconcilingDependents',
      message,
    },
    at,
  );
}
