import { labels } from '../api/labels.js';
import type { Pod } from '../api/kubernetes.js';
import { isReschedulable } from '../core/pods.js';
import { compile, type Compiled } from './compile/compiled.js';
import type { PodClass } from './compile/classes.js';
import { Feasibility } from './place/feasibility.js';
import { lowerBoundOfPlaced } from './place/lower-bound.js';
import { withoutUnreadable } from './exclude-objects.js';
import { groupsOf } from './topology/groups.js';
import { RuleBook } from './topology/rules.js';
import type { PackingInput } from './types.js';
import { nameOf } from '../core/names.js';

/** Lower bound of the cost of pods. */
export interface LeastCost {
  /** Dollars per hour. */
  readonly perHour: number;
  /** Number of pods that the bound omits: nothing could be launched for them now. */
  readonly without: number;
}

/** Lower bounds for the pods that run on nodes of NodePools, or are nominated to them. */
export interface LeastPossible {
  /** On new nodes of any NodePool; absent if it cannot be computed. */
  readonly all?: LeastCost;
  /** By NodePool: its pods on new nodes of that pool only. Pools whose bound cannot be computed are absent. */
  readonly byPool: ReadonlyMap<string, LeastCost>;
}

/**
 * Lower bounds for the price of the nodes of NodePools, if all of them were launched anew for the pods that run on them
 * (surfaces/least-possible). Pods for which nothing can be launched now are omitted and counted, so that the bounds
 * stay valid. There is no bound if nothing can be launched, or for more pods than one pass takes.
 */
export function leastPossible(input: PackingInput): LeastPossible {
  const onPools = podsByPool(input);
  const all = boundFor(input, [...onPools.values()].flat());
  const byPool = new Map<string, LeastCost>();
  for (const nodePool of input.objects.nodePools) {
    const bound = boundFor(withPool(input, nodePool), onPools.get(nameOf(nodePool)) ?? []);
    if (bound !== undefined) byPool.set(nameOf(nodePool), bound);
  }
  return { ...(all === undefined ? {} : { all }), byPool };
}

/** Pods for which a NodeClaim was launched belong to it until it has a node. */
function podsByPool({ objects: { nodes = [], nodeClaims = [], nodePools, pods } }: PackingInput): Map<string, Pod[]> {
  const byPool = new Map(nodePools.map((nodePool): [string, Pod[]] => [nameOf(nodePool), []]));
  const poolOfNode = new Map(
    [...nodeClaims, ...nodes].map((each) => [nameOf(each), each.metadata.labels?.[labels.nodePool] ?? '']),
  );
  for (const pod of pods) {
    if (isReschedulable(pod)) byPool.get(poolOfNode.get(pod.spec.nodeName ?? '') ?? '')?.push(pod);
  }
  return byPool;
}

const withPool = (input: PackingInput, nodePool: PackingInput['objects']['nodePools'][number]): PackingInput => ({
  ...input,
  objects: { ...input.objects, nodePools: [nodePool] },
});

/** The bound as if these pods were pending in a cluster without nodes and other pods. */
function boundFor(input: PackingInput, running: readonly Pod[]): LeastCost | undefined {
  if (running.length === 0) return { perHour: 0, without: 0 };
  const pods = running.map(withoutNode);
  const objects = { ...input.objects, pods, nodes: [], nodeClaims: [], capacityBuffers: [] };
  const { result } = withoutUnreadable({ ...input, objects }, (each) => boundOf(compile(each)));
  return result === undefined ? undefined : { perHour: result.perHour, without: pods.length - result.pods };
}

/** Returns the same object for the same pod, so that results cached by identity are reused. */
function withoutNode(pod: Pod): Pod {
  let copy = copies.get(pod);
  if (copy === undefined) {
    const spec = { ...pod.spec, nodeName: '' };
    const metadata = { ...pod.metadata };
    delete metadata.deletionTimestamp;
    copies.set(pod, (copy = { ...pod, metadata, spec, status: { ...pod.status, nominatedNodeName: '' } }));
  }
  return copy;
}

const copies = new WeakMap<Pod, Pod>();

function boundOf(compiled: Compiled): { readonly perHour: number; readonly pods: number } | undefined {
  if (compiled.deferred.length > 0) return undefined;
  const book = new RuleBook(groupsOf(compiled), compiled);
  const feasibility = new Feasibility(compiled, book);
  const placed = placeable(compiled, feasibility);
  // If nothing can be launched now, as for a NodePool that is not Ready, a bound of zero would mislead.
  if (placed.size === 0) return undefined;
  return {
    perHour: lowerBoundOfPlaced({ compiled, feasibility, book, nodes: [], free: [] }, placed),
    pods: [...placed.values()].reduce((sum, count) => sum + count, 0),
  };
}

function placeable(compiled: Compiled, feasibility: Feasibility): Map<PodClass, number> {
  const placed = new Map<PodClass, number>();
  for (const podClass of compiled.queue) {
    const level = compiled.levelsByShape[podClass.shape.index]!.at(-1)!;
    if (!compiled.invalid.has(podClass) && feasibility.holding(podClass, level).length > 0)
      placed.set(podClass, podClass.pods.length);
  }
  return placed;
}
