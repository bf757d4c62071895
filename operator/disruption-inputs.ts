import type { Node, PodDisruptionBudget } from '../api/kubernetes.js';
import { labels, taints } from '../api/labels.js';
import { recordsOf } from '../cluster/pool-records.js';
import { isTrue } from '../core/conditions.js';
import { parseWorkflowId } from '../core/ids.js';
import { hasTaint } from '../core/taints.js';
import type { Kind, Kinds } from '../kube/port.js';
import type { OperatorContext } from './context.js';
import { watchWaitingDisruptions } from './waiting-disruptions.js';

/**
 * Signals `disrupt` on changes by users and controllers that allow or prevent disruption: pools, policies, overlays,
 * PodDisruptionBudgets, annotations and labels on nodes. Pod changes reach it through conditions of NodeClaims
 * (consolidation/last-pod-event); without a signal it searches every five minutes.
 */
export function watchDisruptionInputs(context: OperatorContext, signalDisrupt: () => void): () => void {
  const { cache } = context;
  const follow = <K extends Kind>(kind: K, keyOf: (object: Kinds[K]) => unknown, then: () => void): (() => void)[] => {
    if (!cache.kinds.includes(kind)) return [];
    // A deletion has the last state in `object`, without `previous`.
    return [
      cache.on(kind, ({ type, object, previous }) => {
        if (type !== 'modified' || previous === undefined || keyOf(object) !== keyOf(previous)) then();
      }),
    ];
  };
  const generation = ({ metadata }: { readonly metadata: { readonly generation?: number } }): number | undefined =>
    metadata.generation;
  const stops = [
    ...follow('NodePool', ofPool, signalDisrupt),
    ...follow('PodDisruptionBudget', allows, signalDisrupt),
    ...follow('DisruptionPolicy', generation, signalDisrupt),
    ...follow('NodeOverlay', generation, signalDisrupt),
    ...follow('DisruptionPause', generation, signalDisrupt),
    watchWaitingDisruptions(context),
    // A joining node can be disrupted only once it is initialized, which its NodeClaim shows (claim-conditions.ts).
    cache.on('Node', ({ type, object, previous }) => {
      const isChanged = previous !== undefined && ofNode(object) !== ofNode(previous);
      if (type === 'deleted' || (isChanged && isInUse(previous) && isInUse(object))) signalDisrupt();
    }),
  ];
  // For changes made while no operator ran.
  signalDisrupt();
  return () => {
    for (const stop of stops) stop();
  };
}

/** Budgets, policies and templates; the labels that policies select; whether nodes of it are being disrupted. */
function ofPool(pool: Kinds['NodePool']): string {
  const { metadata, status } = pool;
  // `disrupt` started the commands itself.
  const isDisrupted = recordsOf(pool).records.disrupting.some(
    ({ owner }) => parseWorkflowId(owner)?.kind !== 'consolidate',
  );
  return JSON.stringify([metadata.generation, metadata.labels, isTrue(status?.conditions, 'Ready'), isDisrupted]);
}

function allows({ metadata, status }: PodDisruptionBudget): string {
  return `${metadata.generation ?? 0} ${(status?.disruptionsAllowed ?? 0) > 0}`;
}

/** Other annotations are irrelevant, and agents write them constantly (consolidation/when-it-searches). */
const ownAnnotation = /^([^/]*\.)?(karpenter\.sh|karpenter\.k8s\.aws|stowage\.dev)\//;

function isInUse(node: Node): boolean {
  const { labels: own, deletionTimestamp } = node.metadata;
  const joins = own?.[labels.nodePool] !== undefined && own[labels.initialized] !== 'true';
  return !joins && deletionTimestamp === undefined && !hasTaint(node, taints.disrupted);
}

function ofNode({ metadata, spec, status }: Node): string {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')?.status;
  const annotations = Object.entries(metadata.annotations ?? {}).filter(([key]) => ownAnnotation.test(key));
  return JSON.stringify([annotations, metadata.labels, spec?.unschedulable, ready]);
}
