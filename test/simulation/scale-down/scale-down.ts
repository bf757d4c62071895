import { nodePools } from '../../../api/karpenter/node-pool.js';
import { deployments } from '../../cases/kwok.js';
import { kwokPool } from '../../cases/kwok-pool.js';
import type { PoolDisruption } from '../../cases/kwok-pool.js';
import { quietMs, type ScaleDown } from './result.js';
import { Disrupt } from './disrupt.js';
import { watchPodEvents } from './idleness.js';
import { Kubelets } from './kubelets.js';
import { priceOf } from './nodes.js';
import { Provision } from './provision.js';
import { Scheduler } from './scheduler.js';
import { ReplicaSet } from './workloads.js';
import { createWorld } from './world.js';
import type { World } from './world.js';

/** Of each of the two Deployments. */
export interface Replicas {
  readonly before: number;
  readonly after: number;
}

/** A run that does not come to rest within this is cut off. */
const longestMs = 1_800_000;

export interface SimulatedScaleDown extends ScaleDown {
  readonly seed: number;
  readonly movesDone: number;
  readonly abandoned: number;
  /** Nodes launched after the scale-down for pods that were left over. */
  readonly launchedForPods: number;
}

/**
 * The pods of `--kwok` come, run, are scaled down and consolidated, all in simulated time: the decisions are those of the
 * worker's own code, the rest of the world is made up. The same seed gives the same run.
 */
export async function simulateScaleDown(
  seed: number,
  { replicas, pool }: { readonly replicas: Replicas; readonly pool: PoolDisruption },
  say: (line: string) => void = () => undefined,
): Promise<SimulatedScaleDown> {
  const world = await createWorld(seed, (line) => {
    log(line);
  });
  const { clock, cache, kube, random } = world;
  let startedAt = clock.now;
  const log = (line: string): void => say(`${((clock.now - startedAt) / 1000).toFixed(1)} s: ${line}`);
  const identity = { apiVersion: 'karpenter.sh/v1', kind: 'NodePool' };
  const made = { ...kwokPool(pool), ...identity };
  kube.put('NodePool', nodePools.mustParse({ ...made, metadata: { ...made.metadata, uid: 'pool', generation: 1 } }));
  kube.put('KWOKNodeClass', { metadata: { name: 'default' }, spec: {} });
  await world.settle();
  const scheduler = new Scheduler(world);
  const disrupt: Disrupt = new Disrupt(world, () => provision);
  const provision = new Provision(world, scheduler.refused);
  watchPodEvents(world, disrupt.changed);
  const sets = deployments.map(({ name: app, requests }) => new ReplicaSet(world, { app, requests }));
  // One batch holds them all, or the second half comes while nodes are launched for the first.
  const everyMs = random.int(4, 36);
  for (const follower of [scheduler, new Kubelets(world), provision, disrupt]) void follower.follow();
  for (const set of sets) void set.scaleUp(replicas.before, everyMs);
  const isRunning = (): boolean =>
    cache.all('Pod').filter(({ status }) => status?.phase === 'Running').length === 2 * replicas.before;
  await clock.run(isRunning, world.settle);
  const before = fleetOf(world);
  const [pods, launched] = [countOf(sets), provision.launched];
  const moves = { ...disrupt.moves };
  startedAt = clock.now;
  log(`all pods run on ${before.nodes} nodes for ${before.price.toFixed(2)}`);
  for (const set of sets) await set.scaleDown(replicas.after);
  let [last, changedAt] = [before, clock.now];
  await clock.run(() => {
    const now = fleetOf(world);
    if (now.price !== last.price || now.nodes !== last.nodes) {
      [last, changedAt] = [now, clock.now];
      log(`${now.nodes} nodes for ${now.price.toFixed(2)}`);
    }
    return clock.now - changedAt > quietMs || clock.now - startedAt > longestMs;
  }, world.settle);
  world.stop();
  return {
    seed,
    priceBefore: before.price,
    priceAfter: last.price,
    nodesBefore: before.nodes,
    nodesAfter: last.nodes,
    podsMoved: countOf(sets) - pods,
    seconds: (changedAt - startedAt) / 1000,
    movesDone: disrupt.moves.done - moves.done,
    abandoned: disrupt.moves.abandoned - moves.abandoned,
    launchedForPods: provision.launched - launched,
  };
}

const countOf = (sets: readonly ReplicaSet[]): number => sets.reduce((sum, { count }) => sum + count, 0);

function fleetOf({ cache }: World): { readonly price: number; readonly nodes: number } {
  const claims = cache.all('NodeClaim');
  return { price: claims.reduce((sum, claim) => sum + priceOf(claim), 0), nodes: claims.length };
}
