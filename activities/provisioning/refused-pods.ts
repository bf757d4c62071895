import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { Pod } from '../../api/kubernetes.js';
import { annotations, labels } from '../../api/labels.js';
import { initializedAt, isPlannedOn } from '../../cluster/awaited-nodes.js';
import { managedClaims, nodeOf } from '../../cluster/cluster.js';
import { labelsOf } from '../../cluster/node-labels.js';
import { plannedPods } from '../../cluster/planned-pods.js';
import {
  holdsNothing,
  podRefusals,
  podShape,
  refusalsInForce,
  refusalsOn,
  refusedAt,
} from '../../cluster/refused-pods.js';
import { updateObject } from '../../cluster/writes.js';
import { conditionOf, transitionOf } from '../../core/conditions.js';
import { messageOf } from '../../core/error-message.js';
import { withPodRefusal, type PodRefusal } from '../../core/pod-refusals.js';
import { isUnassigned } from '../../core/pods.js';
import type { Plan } from '../../packing/types.js';
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
    const remembering = deps.cache
      .all('NodePool')
      .find((pool) => refusalsOn(pool, deps.now()).some((each) => each.shape === shape));
    const on = remembering?.metadata.name ?? nodePool;
    await rewrite(deps, on, (list, now) => withPodRefusal(list, { ...refusal, isOther }, now));
    deps.log.warn({ ...refusal, nodePool: on }, 'kube-scheduler leaves a pod without the nodes that were there for it');
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
  for (const pool of deps.cache.all('NodePool'))
    if (refusalsOn(pool, deps.now()).some(({ shape }) => bound.has(shape)))
      await rewrite(deps, nameOf(pool), (list) => list.filter(({ shape }) => !bound.has(shape)));
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

/** A failed write is only logged: the next plan tries it again. */
async function rewrite(
  deps: ActivityDeps,
  nodePool: string,
  change: (list: readonly PodRefusal[], now: number) => readonly PodRefusal[],
): Promise<void> {
  const now = deps.now();
  try {
    const written = await updateObject(deps.kube, 'NodePool', nodePool, (live) => {
      const before = refusalsOn(live, now);
      const after = change(before, now);
      if (after === before) return undefined;
      const text = after.length === 0 ? null : JSON.stringify(after);
      return { metadata: { annotations: { [annotations.podsRefused]: text } } };
    });
    if (written === undefined) return;
    const { resourceVersion = '' } = written.metadata;
    await deps.cache.caughtUp('NodePool', { name: nodePool }, resourceVersion, AbortSignal.timeout(caughtUpMs));
  } catch (error) {
    deps.log.warn(
      { nodePool, error: messageOf(error) },
      'cannot record pods that kube-scheduler leaves without a node',
    );
  }
}

/** How long to wait for the cache to have the write, since the next plan is made from the cache. */
const caughtUpMs = 2000;
