import type { Node, PodDisruptionBudget } from '../api/kubernetes.js';
import { isTrue } from '../core/conditions.js';
import type { Kind, Kinds } from '../kube/port.js';
import type { OperatorContext } from './context.js';
import { DisruptSignals } from './disrupt-signals.js';
import { isPauseOver, pauseOf } from '../cluster/pauses.js';
import { mostPauses, type Pause } from '../workflows/messages.js';
import { WorkQueue } from './work-queue.js';

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

/** Annotations of others say nothing to Stowage, and agents write them all the time (consolidation/when-it-searches). */
const ownAnnotation = /^([^/]*\.)?(karpenter\.sh|karpenter\.k8s\.aws|stowage\.dev)\//;

function ofNode({ metadata, spec, status }: Node): string {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')?.status;
  const annotations = Object.entries(metadata.annotations ?? {}).filter(([key]) => ownAnnotation.test(key));
  return JSON.stringify([annotations, metadata.labels, spec?.unschedulable, ready]);
}

/** How often `disrupt` is looked at: what it holds paused is compared with what is where it is another run, or one at an earlier state. */
const everyMs = 60_000;

type Context = Pick<OperatorContext, 'cache' | 'starter' | 'now' | 'log'>;

/**
 * Tells `disrupt` when DisruptionPauses change, and every minute when it holds others than there are: one that was reset, or restored from a backup
 * of Temporal, remembers what was paused then (invariants/rebuilt). `every` is in milliseconds.
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
  // What was changed while nobody watched.
  queue.add('changed');
  queue.addAfter('compared', every);
  return () => {
    stop();
    queue.stop();
  };
}

/** Undefined where nobody says. */
async function holdsOthers({ cache, starter, now }: Context): Promise<boolean | undefined> {
  const held = (await starter.pausesHeld())?.map(textOf);
  if (held === undefined) return undefined;
  const there = cache
    .all('DisruptionPause')
    .filter((pause) => !isPauseOver(pause, now()))
    .map((pause) => textOf(pauseOf(pause)));
  return held.some((each) => !there.includes(each)) || (held.length < mostPauses && there.some((each) => !held.includes(each))); // prettier-ignore
}

/** What tells one pause from another. */
const textOf = ({ scope, reason, until }: Pick<Pause, 'scope' | 'reason' | 'until'>): string =>
  JSON.stringify([scope.kind, scope.name ?? '', scope.reason ?? '', reason, until ?? 0]);
