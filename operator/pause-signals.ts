import { isPauseOver, pauseOf } from '../cluster/pauses.js';
import { mostPauses, type Pause } from '../workflows/messages.js';
import type { OperatorContext } from './context.js';
import { WorkQueue } from './work-queue.js';

/** How often what `disrupt` holds paused is compared with what is. */
const everyMs = 60_000;

type Context = Pick<OperatorContext, 'cache' | 'starter' | 'now' | 'log'>;

/**
 * Tells `disrupt` when DisruptionPauses change, and every minute when it holds others than there are: one that was reset, or restored from a backup
 * of Temporal, remembers what was paused then (invariants/rebuilt). `every` is in milliseconds.
 */
export function watchPauses(context: Context, every = everyMs): () => void {
  const { cache, starter, log } = context;
  if (!cache.kinds.includes('DisruptionPause')) return () => undefined;
  const queue = new WorkQueue(
    'signalling disrupt: a pause',
    async (why) => {
      if (why === 'changed' || (await holdsOthers(context))) await starter.pausesChanged();
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

async function holdsOthers({ cache, starter, now }: Context): Promise<boolean> {
  const held = (await starter.pausesHeld())?.map(textOf);
  if (held === undefined) return false;
  const there = cache
    .all('DisruptionPause')
    .filter((pause) => !isPauseOver(pause, now()))
    .map((pause) => textOf(pauseOf(pause)));
  return held.some((each) => !there.includes(each)) || (held.length < mostPauses && there.some((each) => !held.includes(each))); // prettier-ignore
}

/** What tells one pause from another. */
const textOf = ({ scope, reason, until }: Pick<Pause, 'scope' | 'reason' | 'until'>): string =>
  JSON.stringify([scope.kind, scope.name ?? '', scope.reason ?? '', reason, until ?? 0]);
