import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import type { Pod } from '../../api/kubernetes.js';
import { annotations, labels } from '../../api/labels.js';
import { initializedAt, isPlannedOn } from '../../cluster/awaited-nodes.js';
import { managedClaims, nodeOf } from '../../cluster/cluster.js';
import { labelsOf } from '../../cluster/node-labels.js';
import { plannedPods } from '../../cluster/planned-pods.js';
import { holdsNothing, podRefusals, podRefusalsOn, refusalsInForce, refusedAt } from '../../cluster/refused-pods.js';
import { updateObject } from '../../cluster/writes.js';
import { conditionOf, transitionOf } from '../../core/conditions.js';
import { messageOf } from '../../core/error-message.js';
import { regarding } from '../../core/events.js';
import { podShape, refusalsOn, withRefusal, type Refusal } from '../../core/refusals.js';
import { isUnassigned } from '../../core/pods.js';
import { listedNames } from '../../core/text.js';
import { timeText } from '../../core/time.js';
import type { Plan } from '../../packing/types.js';
import type { RestingPool } from '../../workflows/messages.js';
import type { ActivityDeps } from '../deps.js';
import { nameOf } from '../../core/names.js';

/** A pod that kube-scheduler did not bind to nodes with room for it. */
interface Refused {
  readonly pod: Pod;
  readonly nodes: readonly string[];
  /** NodePool of the last of these nodes. */
  readonly nodePool: string;
  /** Whether the plan launches a node of another type for it, which kube-scheduler may accept. */
  readonly isOther: boolean;
}

/**
 * Records on the NodePool that a NodeClaim of it was refused, so that plans exclude it for a while: for `pods`, whose
 * requirements the NodeClaim has, or for all. Returns until when, even if the record itself is refused, because then
 * only the caller knows it.
 */
export async function recordRefusal(
  deps: ActivityDeps,
  pool: NodePool,
  message: string,
  {
    pods = [],
    isLasting = false,
  }: { readonly pods?: readonly string[] | undefined; readonly isLasting?: boolean } = {},
): Promise<RestingPool> {
  const now = deps.now();
  const refused = shapesOf(deps, pods);
  const list = await rewrite(deps, pool, (before, generation) =>
    refused.reduce(
      (known, each) =>
        withRefusal(known, { by: 'api-server', nodes: [], ...each, message, generation, isLasting }, now),
      before,
    ),
  );
  const inForce = list.filter(({ by, until }) => by === 'api-server' && until > now);
  const ofAll = inForce.find(({ shape }) => shape === '');
  const until = Math.max(...inForce.map((each) => each.until));
  const { message: said = message } = ofAll ?? inForce.at(-1) ?? {};
  publishRefusal(deps, pool, { message: said, until, pods: ofAll === undefined ? pods : [] });
  const ofPods = ofAll === undefined ? { pods: inForce.map(({ pod }) => pod) } : {};
  return { nodePool: nameOf(pool), until, message: said, ...ofPods };
}

/** The shapes of pods, each with one of its pods; one that stands for all pods if there are too many, or none is known. */
function shapesOf(deps: ActivityDeps, pods: readonly string[]): readonly Pick<Refusal, 'shape' | 'pod'>[] {
  const byShape = new Map(
    pods.flatMap((key) => {
      const pod = podOf(deps, key);
      return pod === undefined ? [] : [[podShape(pod), key] as const];
    }),
  );
  if (byShape.size === 0 || byShape.size > mostShapes) return [{ shape: '', pod: '' }];
  return [...byShape].map(([shape, pod]) => ({ shape, pod }));
}

/** With more, a refusal applies to all pods, since an annotation is limited in size. */
const mostShapes = 25;

/**
 * A NodeClaim of the pool was created for these pods: removes the record of refused NodeClaims, unless it is only about
 * other pods.
 */
export async function forgetRefusals(deps: ActivityDeps, pool: NodePool, created: readonly string[]): Promise<void> {
  if (pool.metadata.annotations?.[annotations.refusals] === undefined) return;
  const shapes = new Set(created.flatMap((key) => podOf(deps, key) ?? []).map(podShape));
  await rewrite(
    deps,
    pool,
    without(({ by, shape }) => by === 'api-server' && (shape === '' || shapes.has(shape))),
  );
}

/** The NodePool with its back-off, which the cache may not show yet. */
export function withBackOff(deps: ActivityDeps, pool: NodePool, resting: readonly RestingPool[]): NodePool {
  const rest = resting.find(({ nodePool }) => nodePool === nameOf(pool));
  if (rest === undefined) return pool;
  const { until, message, pods } = rest;
  const { metadata } = pool;
  const made = { by: 'api-server', nodes: [], message, times: 1, at: deps.now(), until } as const;
  const refused = shapesOf(deps, pods ?? []).map((each) => ({
    ...made,
    ...each,
    generation: metadata.generation ?? 0,
  }));
  const known = refusalsOn(pool, deps.now());
  const list = [...refused, ...known];
  const own = { ...metadata.annotations, [annotations.refusals]: JSON.stringify(list) };
  return { ...pool, metadata: { ...metadata, annotations: own } };
}

/**
 * Records on NodePools the pods that kube-scheduler does not bind to nodes with room for them
 * (provisioning/refused-pods). `isOutdated`: the plan launches nodes for pods that are excluded from now on, and has to
 * be made again.
 */
export async function recordRefusedPods(deps: ActivityDeps, plan: Plan): Promise<{ readonly isOutdated: boolean }> {
  const refused = [...leftAlone(deps, plan), ...launchedInVain(deps, plan)];
  if (refused.length === 0) return { isOutdated: false };
  const byShape = new Map(refused.map((each) => [podShape(each.pod), each]));
  for (const [shape, { pod, nodes, nodePool, isOther }] of byShape) {
    const { namespace = '', name = '' } = pod.metadata;
    const live = await deps.kube.get('Pod', { namespace, name });
    const message = conditionOf(live?.status?.conditions, 'PodScheduled')?.message ?? '';
    const refusal = { shape, pod: `${namespace}/${name}`, nodes, message };
    // The nodes may belong to several NodePools: one of these has the record of all.
    const pools = deps.cache.all('NodePool');
    const on =
      pools.find((pool) => podRefusalsOn(pool, deps.now()).some((each) => each.shape === shape)) ??
      pools.find((pool) => nameOf(pool) === nodePool);
    if (on === undefined) continue;
    await rewrite(deps, on, (list, generation, now) =>
      withRefusal(list, { by: 'kube-scheduler', ...refusal, generation, isOther }, now),
    );
    const said = { ...refusal, nodePool: nameOf(on) };
    deps.log.warn(said, 'kube-scheduler leaves a pod without the nodes that were there for it');
  }
  const refusalOf = refusalsInForce(deps);
  const isRefused = (key: string): boolean => {
    const pod = podOf(deps, key);
    return pod !== undefined && refusalOf(pod) !== undefined;
  };
  return { isOutdated: plan.newNodeClaims.some(({ pods }) => pods.some(isRefused)) };
}

/** Forgets refusals of pods of which one has been bound since. */
export async function forgetBoundPods(deps: ActivityDeps): Promise<void> {
  const refusals = podRefusals(deps);
  if (refusals.length === 0) return;
  const since = new Map(refusals.map(({ shape, at }) => [shape, at]));
  const bound = new Set<string>();
  for (const pod of deps.cache.all('Pod')) {
    if ((pod.spec.nodeName ?? '') === '') continue;
    const shape = podShape(pod);
    if ((transitionOf(pod.status?.conditions, 'PodScheduled') ?? 0) > (since.get(shape) ?? Infinity)) bound.add(shape);
  }
  if (bound.size === 0) return;
  const isBound = ({ by, shape }: Refusal): boolean => by === 'kube-scheduler' && bound.has(shape);
  for (const pool of deps.cache.all('NodePool')) await rewrite(deps, pool, without(isBound));
}

/** Pods that are planned onto existing nodes to which kube-scheduler has not bound them for a long time. */
function leftAlone(deps: ActivityDeps, { existingNodes }: Plan): Refused[] {
  return existingNodes.flatMap(({ node, pods }) => {
    const nodePool = deps.cache.get('Node', { name: node })?.metadata.labels?.[labels.nodePool];
    if (nodePool === undefined) return [];
    return pods
      .filter((pod) => refusedAt(deps, pod, node) <= deps.now())
      .flatMap((pod) => podOf(deps, pod) ?? [])
      .map((pod) => ({ pod, nodes: [node], nodePool, isOther: false }));
  });
}

/**
 * Pods for which the plan launches a node although nodes that were launched for them are initialized, have no pods, and
 * would have none by this plan.
 */
function launchedInVain(deps: ActivityDeps, { newNodeClaims, existingNodes }: Plan): Refused[] {
  if (newNodeClaims.length === 0) return [];
  const used = new Set(existingNodes.map(({ node }) => node));
  const idle = new Map<string, { readonly claim: NodeClaim; readonly node: string }[]>();
  for (const claim of managedClaims(deps)) {
    const node = nodeOf(deps.cache, claim)?.metadata.name ?? '';
    const ready = (initializedAt(claim) ?? Infinity) + deps.nominationMs;
    if (ready > deps.now() || used.has(node) || !holdsNothing(deps, claim)) continue;
    for (const pod of plannedPods(claim)) idle.set(pod, [...(idle.get(pod) ?? []), { claim, node }]);
  }
  if (idle.size === 0) return [];
  return newNodeClaims.flatMap(({ pods, instanceTypes }) =>
    pods.flatMap((key) => {
      const pod = podOf(deps, key);
      if (pod === undefined || !isUnassigned(pod)) return [];
      const before = (idle.get(key) ?? []).filter(({ claim }) => isPlannedOn(pod, claim));
      const last = before.at(-1);
      if (last === undefined) return [];
      const isOther = before.every(({ claim }) => !instanceTypes.includes(labelsOf(claim).instanceType));
      const nodes = before.map(({ node }) => node);
      return [{ pod, nodes, nodePool: labelsOf(last.claim).nodePool, isOther }];
    }),
  );
}

function podOf({ cache }: ActivityDeps, key: string): Pod | undefined {
  const [namespace = '', name = ''] = key.split('/');
  return cache.get('Pod', { namespace, name });
}

type Change = (list: readonly Refusal[], generation: number, now: number) => readonly Refusal[];

const without =
  (isGone: (refusal: Refusal) => boolean): Change =>
  (list) =>
    list.some(isGone) ? list.filter((each) => !isGone(each)) : list;

/** Returns the changed list. A failed write is only logged: the next plan tries it again. */
async function rewrite(deps: ActivityDeps, pool: NodePool, change: Change): Promise<readonly Refusal[]> {
  const now = deps.now();
  const changed = (live: NodePool): readonly Refusal[] =>
    change(refusalsOn(live, now), live.metadata.generation ?? 0, now);
  let after = changed(pool);
  const name = nameOf(pool);
  try {
    const written = await updateObject(deps.kube, 'NodePool', name, (live) => {
      if (live.metadata.uid !== pool.metadata.uid) return undefined;
      const before = refusalsOn(live, now);
      after = change(before, live.metadata.generation ?? 0, now);
      if (after === before) return undefined;
      return {
        metadata: { annotations: { [annotations.refusals]: after.length === 0 ? null : JSON.stringify(after) } },
      };
    });
    if (written === undefined) return after;
    const { resourceVersion = '' } = written.metadata;
    await deps.cache.caughtUp('NodePool', { name }, resourceVersion, AbortSignal.timeout(caughtUpMs));
  } catch (error) {
    deps.log.warn({ nodePool: name, error: messageOf(error) }, 'cannot record refusals of a NodePool');
  }
  return after;
}

/** How long to wait for the cache to have the write, since the next plan is made from the cache. */
const caughtUpMs = 2000;

function publishRefusal(
  deps: ActivityDeps,
  { metadata }: NodePool,
  { until, message, pods }: { readonly until: number; readonly message: string; readonly pods: readonly string[] },
): void {
  const { name = '', uid } = metadata;
  const again = timeText(until);
  const whose = pods.length === 0 ? '' : ` for ${listedNames(pods)}`;
  deps.log.warn({ nodePool: name, until: again, message, pods }, 'the API server refused a NodeClaim');
  deps.events.publish({
    regarding: regarding('NodePool', { name, uid }),
    type: 'Warning',
    reason: 'NodeClaimRefused',
    message: `The API server refused a NodeClaim${whose}: ${message}. No more are created${whose} before ${again}`,
    dedupeBy: [name, message, whose],
  });
  for (const pod of pods) {
    const [namespace = '', podName = ''] = pod.split('/');
    const podUid = deps.cache.get('Pod', { namespace, name: podName })?.metadata.uid;
    if (podUid === undefined) continue;
    deps.events.publish({
      regarding: regarding('Pod', { name: podName, namespace, uid: podUid }),
      type: 'Warning',
      reason: 'NodeClaimRefused',
      message: `The API server refused a NodeClaim of NodePool ${name} for what this pod asks of nodes: ${message}. Until ${again} it is planned for other NodePools alone`,
      dedupeBy: [pod, name, message],
    });
  }
}
