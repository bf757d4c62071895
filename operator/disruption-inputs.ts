import type { Node, PodDisruptionBudget } from '../api/kubernetes.js';
import { isTrue } from '../core/conditions.js';
import type { Kind, Kinds } from '../kube/port.js';
import type { OperatorContext } from './context.js';
import { DisruptSignals } from './disrupt-signals.js';
import { isPauseOver, pauseOf } from '../cluster/pauses.js';
import { mostPauses, type Pause } from '../workflows/messages.js';
import { WorkQueue } from './work-queue.js';

/**
 * Signals `disrupt` on changes by users and controllers that allow or prevent disruption: pools, policies, overlays,
 * PodDisruptionBudgets, annotations and labels on nodes. Pod changes reach it through conditions of NodeClaims
 * (consolidation/last-pod-event); without a signal it searches every five minutes.
 */
export function watchDisruptionInputs(context: OperatorContext): () => void {
  const { cache } = context;
  const signals = new DisruptSignals(context, 'a change');
  const signal = (): void => signals.signal();
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
    ...follow('NodePool', ofPool, signal),
    ...follow('PodDisruptionBudget', allows, signal),
    ...follow('DisruptionPolicy', generation, signal),
    ...follow('NodeOverlay', generation, signal),
    watchPauses(context),
    // A new node has nothing to disrupt yet.
    cache.on('Node', ({ type, object, previous }) => {
      if (type === 'deleted' || (previous !== undefined && ofNode(object) !== ofNode(previous))) signal();
    }),
  ];
  // For changes made while no operator ran.
  signal();
  return () => {
    for (const stop of stops) stop();
    signals.stop();
  };
}

/** Budgets, policies and templates, and the labels that policies select. */
function ofPool({ metadata, status }: Kinds['NodePool']): string {
  return JSON.stringify([metadata.generation, metadata.labels, isTrue(status?.conditions, 'Ready')]);
}

function allows({ metadata, status }: PodDisruptionBudget): string {
  return `${metadata.generation ?? 0} ${(status?.disruptionsAllowed ?? 0) > 0}`;
}

/** Other annotations are irrelevant, and agents write them constantly (consolidation/when-it-searches). */
const ownAnnotation = /^([^/]*\.)?(karpenter\.sh|karpenter\.k8s\.aws|stowage\.dev)\//;

function ofNode({ metadata, spec, status }: Node): string {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')?.status;
  const annotations = Object.entries(metadata.annotations ?? {}).filter(([key]) => ownAnnotation.test(key));
  return JSON.stringify([annotations, metadata.labels, spec?.unschedulable, ready]);
}

/** Interval at which the pauses held by `disrupt` are compared, if it is another run or at an earlier state. */
const everyMs = 60_000;

type Context = Pick<OperatorContext, 'cache' | 'starter' | 'now' | 'log'>;

/**
 * Signals `disrupt` when DisruptionPauses change, and every minute if it holds others than exist: after a reset, or a
 * restore of Temporal from a backup, it has an old state (invariants/rebuilt). `every` is in milliseconds.
 */
export function watchPauses(context: Context, every = everyMs): () => void {
  const { cache, starter, log } = context;
  if (!cache.kinds.includes('DisruptionPause')) return () => undefined;
  let before: Awaited<ReturnType<typeof starter.disruptAt>>;
  const queue = new WorkQueue(
    'signalling disrupt: a pause',
    async (why) => {
      if (why === 'changed') await starter.pausesChanged();
      else {
        const at = await starter.disruptAt();
        const goesOn = at !== undefined && at.runId === before?.runId && at.events >= before.events;
        const differs = goesOn ? false : await holdsOthers(context);
        if (differs === true) await starter.pausesChanged();
        before = differs === false ? at : undefined;
      }
      return why === 'changed' ? undefined : { afterMs: every };
    },
    log,
    1,
  );
  const stop = cache.on('DisruptionPause', ({ type, object, previous }) => {
    if (type !== 'modified' || object.metadata.generation !== previous?.metadata.generation) queue.add('changed');
  });
  // For changes made while no operator ran.
  queue.add('changed');
  queue.addAfter('compared', every);
  return () => {
    stop();
    queue.stop();
  };
}

/** Undefined if unknown. */
async function holdsOthers({ cache, starter, now }: Context): Promise<boolean | undefined> {
  const held = (await starter.pausesHeld())?.map(textOf);
  if (held === undefined) return undefined;
  const there = cache
    .all('DisruptionPause')
    .filter((pause) => !isPauseOver(pause, now()))
    .map((pause) => textOf(pauseOf(pause)));
  return held.some((each) => !there.includes(each)) || (held.length < mostPauses && there.some((each) => !held.includes(each))); // prettier-ignore
}

/** The identity of a pause. */
const textOf = ({ scope, reason, until }: Pick<Pause, 'scope' | 'reason' | 'until'>): string =>
  JSON.stringify([scope.kind, scope.name ?? '', scope.reason ?? '', reason, until ?? 0]);
