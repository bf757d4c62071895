import { isOrphanedNode, managedClaims } from '../cluster/cluster.js';
import { tagUntagged } from '../cluster/tagging.js';
import type { NodeClass } from '../cloud/port.js';
import type { Kind } from '../kube/port.js';
import type { OperatorContext } from './context.js';
import { collectInstances, collectLost, findLost } from './garbage.js';
import { WorkQueue } from './work-queue.js';

const everyMs = 2 * 60_000;
const sweepEveryMs = 30 * 60_000;
/**
 * Time between the first and the second check of a lost object. EC2 is eventually consistent and may not list a new
 * instance for some seconds, and the watch cache may lag.
 */
const secondLookMs = 30_000;

const garbage = 'garbage';
const unused = 'launch templates and instance profiles';

/**
 * Collects garbage every two minutes: instances without a NodeClaim, NodeClaims without an instance, Nodes without a
 * NodeClaim, and tags that could not be added at registration. Runs at once when a Node without a claim is deleted,
 * since nothing else removes its finalizer (garbage-collection/nodes-without-claim). Deletes unused launch templates
 * and instance profiles every half hour (launch-templates/unused-are-deleted, node-classes/instance-profiles). No state
 * has to survive a change of leader: the next one checks again.
 */
export function watchGarbage(context: OperatorContext): () => void {
  const { cache, log } = context;
  const suspects = new Suspects(context.now);
  const queue = new WorkQueue(
    'collecting garbage',
    async (key) => {
      if (key === unused) return sweep(context);
      const areLeft = await collect(context, suspects);
      return { afterMs: areLeft ? secondLookMs : everyMs };
    },
    log,
  );
  const look = (): void => {
    const claims = cache.all('NodeClaim');
    if (cache.all('Node').some((node) => isOrphanedNode(node, claims))) queue.add(garbage);
  };
  const stops = [
    cache.on('Node', ({ type, object, previous }) => {
      const isNews = object.metadata.deletionTimestamp !== previous?.metadata.deletionTimestamp;
      if (type !== 'deleted' && isNews) look();
    }),
    // A Node whose claim is deleted first keeps its finalizer from then on.
    cache.on('NodeClaim', ({ type }) => {
      if (type === 'deleted') look();
    }),
  ];
  queue.addAfter(garbage, everyMs);
  queue.addAfter(unused, sweepEveryMs);
  look();
  return () => {
    for (const stop of stops) stop();
    queue.stop();
  };
}

/** By UID: when an object was first found lost. */
class Suspects {
  private first: ReadonlyMap<string, number> = new Map();

  constructor(private readonly now: () => number) {}

  /** The objects that were already lost at an earlier check, long enough ago. Objects not in `seen` are dropped. */
  confirmed(seen: Awaited<ReturnType<typeof findLost>>): typeof seen {
    const now = this.now();
    const { first } = this;
    this.first = new Map([...seen.claims, ...seen.nodes].map(({ uid }) => [uid, first.get(uid) ?? now]));
    const isOld = ({ uid }: { readonly uid: string }): boolean => now - (first.get(uid) ?? now) >= secondLookMs;
    return { claims: seen.claims.filter(isOld), nodes: seen.nodes.filter(isOld) };
  }
}

/** Returns whether candidates are left. */
async function collect(context: OperatorContext, suspects: Suspects): Promise<boolean> {
  await collectInstances(context);
  const lost = await findLost(context);
  const { claims, nodes } = await collectLost(context, suspects.confirmed(lost));
  await tagUntagged(context);
  return claims.length + nodes.length < lost.claims.length + lost.nodes.length;
}

async function sweep(context: OperatorContext): Promise<{ afterMs: number }> {
  const { cache, cloud } = context;
  const nodeClasses = cache.all(cloud.nodeClassKind.kind as Kind) as readonly NodeClass[];
  await cloud.sweep?.(nodeClasses, managedClaims(context));
  return { afterMs: sweepEveryMs };
}
