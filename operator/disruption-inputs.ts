import type { Node, PodDisruptionBudget } from '../api/kubernetes.js';
import { isTrue } from '../core/conditions.js';
import type { Kind, Kinds } from '../kube/port.js';
import type { OperatorContext } from './context.js';
import { DisruptSignals } from './disrupt-signals.js';
import { watchPauses } from './pause-signals.js';

/**
 * Tells `disrupt` of what people and controllers change that lets nodes go, or no longer: pools, policies, overlays, budgets
 * of pods, marks on nodes. What pods do is seen by the conditions of NodeClaims (consolidation/last-pod-event); without a signal it searches every
 * five minutes.
 */
export function watchDisruptionInputs(context: OperatorContext): () => void {
  const { cache } = context;
  const signals = new DisruptSignals(context, 'a change');
  const signal = (): void => signals.signal();
  const follow = <K extends Kind>(kind: K, keyOf: (object: Kinds[K]) => unknown, then: () => void): (() => void)[] => {
    if (!cache.kinds.includes(kind)) return [];
    // One that is deleted is given as it was: `previous` says nothing of that.
    return [
      cache.on(kind, ({ type, object, previous }) => {
        if (type !== 'modified' || previous === undefined || keyOf(object) !== keyOf(previous)) then();
      }),
    ];
  };
  const generation = ({ metadata }: { readonly metadata: { readonly generation?: number } }): number | undefined =>
    metadata.generation;
  const stops = [
    ...follow('NodePool', ofPool, signal),
    ...follow('PodDisruptionBudget', allows, signal),
    ...follow('DisruptionPolicy', generation, signal),
    ...follow('NodeOverlay', generation, signal),
    watchPauses(context),
    // One that is new has nothing to give yet.
    cache.on('Node', ({ type, object, previous }) => {
      if (type === 'deleted' || (previous !== undefined && ofNode(object) !== ofNode(previous))) signal();
    }),
  ];
  // What was changed while nobody watched.
  signal();
  return () => {
    for (const stop of stops) stop();
    signals.stop();
  };
}

/** Budgets, policies and templates; and the labels that policies select by. */
function ofPool({ metadata, status }: Kinds['NodePool']): string {
  return JSON.stringify([metadata.generation, metadata.labels, isTrue(status?.conditions, 'Ready')]);
}

function allows({ metadata, status }: PodDisruptionBudget): string {
  return `${metadata.generation ?? 0} ${(status?.disruptionsAllowed ?? 0) > 0}`;
}

function ofNode({ metadata, spec, status }: Node): string {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')?.status;
  return JSON.stringify([metadata.annotations, metadata.labels, spec?.unschedulable, ready]);
}
