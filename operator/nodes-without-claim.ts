import { isOrphanedNode } from '../cluster/cluster.js';
import type { OperatorContext } from './context.js';
import { WorkQueue } from './work-queue.js';

/** A collection takes half a minute for its second look; its instance may take longer to end. */
const repeatMs = 60_000;

/**
 * Has garbage collected as soon as a Node is being deleted that no claim has (garbage-collection/nodes-without-claim), and again while it is there: its
 * finalizer is taken off by nobody else.
 */
export function watchNodesWithoutClaim(context: Pick<OperatorContext, 'cache' | 'starter' | 'log'>): () => void {
  const { cache, log } = context;
  const queue = new WorkQueue('collecting Nodes without a NodeClaim', () => collect(context), log, 1);
  const look = (): void => queue.add('nodes');
  const stops = [
    cache.on('Node', ({ type, object, previous }) => {
      const isNews = object.metadata.deletionTimestamp !== previous?.metadata.deletionTimestamp;
      if (type !== 'deleted' && isNews) look();
    }),
    // A Node whose claim goes first is held from then on.
    cache.on('NodeClaim', ({ type }) => {
      if (type === 'deleted') look();
    }),
  ];
  look();
  return () => {
    for (const stop of stops) stop();
    queue.stop();
  };
}

async function collect({
  cache,
  starter,
}: Pick<OperatorContext, 'cache' | 'starter'>): Promise<{ afterMs: number } | undefined> {
  const claims = cache.all('NodeClaim');
  if (!cache.all('Node').some((node) => isOrphanedNode(node, claims))) return undefined;
  await starter.collectGarbage();
  return { afterMs: repeatMs };
}
