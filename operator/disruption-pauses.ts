import { isPauseOver } from '../cluster/pauses.js';
import { updateObject } from '../cluster/writes.js';
import { conditionOf, withCondition } from '../core/conditions.js';
import { nameOf } from '../core/names.js';
import type { OperatorContext } from './context.js';
import { reportingRefusals } from './refused-writes.js';
import { WorkQueue, type Requeue } from './work-queue.js';

/** Timers do not reach further. */
const longestMs = 24 * 3_600_000;

/** Writes whether a pause is in force, for people and tools (people/pauses-have-a-status): nothing reads it. */
export function watchDisruptionPauses(context: OperatorContext): () => void {
  const { cache, log } = context;
  const reconciling = reportingRefusals(context, 'DisruptionPause', (name) => reconcile(context, name));
  const queue = new WorkQueue('writing the status of a DisruptionPause', reconciling, log);
  const stop = cache.on('DisruptionPause', ({ type, object }) => {
    if (type !== 'deleted') queue.add(nameOf(object));
  });
  cache.all('DisruptionPause').forEach((pause) => queue.add(nameOf(pause)));
  return () => {
    stop();
    queue.stop();
  };
}

async function reconcile({ cache, kube, now }: OperatorContext, name: string): Promise<Requeue | undefined> {
  const pause = cache.get('DisruptionPause', { name });
  if (pause === undefined) return undefined;
  const { generation } = pause.metadata;
  const isOver = isPauseOver(pause, now());
  const change = { type: 'Ready', status: 'True', reason: isOver ? 'Expired' : 'InForce' } as const;
  const known = conditionOf(pause.status?.conditions, 'Ready');
  if (known?.reason !== change.reason || known.observedGeneration !== generation)
    await updateObject(
      kube,
      'DisruptionPause',
      name,
      ({ status, metadata }) =>
        metadata.generation === generation
          ? {
              status: {
                ...(generation === undefined ? {} : { observedGeneration: generation }),
                conditions: withCondition(status?.conditions, change, { now: now(), generation }),
              },
            }
          : undefined,
      { subresource: 'status', seen: pause },
    );
  const { until } = pause.spec;
  return isOver || until === undefined
    ? undefined
    : { afterMs: Math.min(longestMs, Math.max(1000, Date.parse(until) - now())) };
}
