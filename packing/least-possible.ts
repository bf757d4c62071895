import { labels } from '../api/labels.js';
import type { Pod } from '../api/kubernetes.js';
import { isReschedulable } from '../core/pods.js';
import { compile, type Compiled } from './compile/compiled.js';
import type { PodClass } from './compile/classes.js';
import { namespacesOf } from './compile/pod-namespaces.js';
import { nameOf } from './names.js';
import { Feasibility } from './place/feasibility.js';
import { lowerBoundOfPlaced } from './place/lower-bound.js';
import { withoutUnreadable } from './exclude-objects.js';
import { Groups } from './topology/groups.js';
import { RuleBook } from './topology/rules.js';
import { Namespaces } from './topology/selectors.js';
import type { PackingInput } from './types.js';

/** What pods cost at least. */
export interface LeastCost {
  /** Dollars per hour. */
  readonly perHour: number;
  /** So many pods are not among them: nothing could be launched for them now. */
  readonly without: number;
}

/** What the pods that run on nodes of NodePools, or are on their way there, cost at least. */
export interface LeastPossible {
  /** On new nodes of any NodePool; absent where it is not known. */
  readonly all?: LeastCost;
  /** By NodePool: its own pods on new nodes of it alone. One of which it is not known is not there. */
  readonly byPool: ReadonlyMap<string, LeastCost>;
}

/**
 * Lower bounds for the price of the nodes of NodePools, were all of them launched anew for the pods that run on them (surfaces/least-possible). What
 * the pools cannot launch now, such as for a pod that fits nothing any more, is left out and counted, so that the bounds hold all the same. Where they can launch nothing, and for more
 * pods than one pass takes, there is none.
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

/** Pods that were launched for are bound to their NodeClaim until it has a node. */
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

/** As if these pods had no node yet, and no other pod and no node were there. */
function boundFor(input: PackingInput, running: readonly Pod[]): LeastCost | undefined {
  if (running.length === 0) return { perHour: 0, without: 0 };
  const pods = running.map(withoutNode);
  const objects = { ...input.objects, pods, nodes: [], nodeClaims: [], capacityBuffers: [] };
  const { result } = withoutUnreadable({ ...input, objects }, (each) => boundOf(compile(each)));
  return result === undefined ? undefined : { perHour: result.perHour, without: pods.length - result.pods };
}

/** The same object each time, so that what packing keeps by identity is kept. */
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
  const names = new Namespaces(compiled.input.objects.namespaces, namespacesOf(compiled));
  const book = new RuleBook(new Groups(compiled.labelKeys, names), compiled);
  const feasibility = new Feasibility(compiled, book);
  const placed = placeable(compiled, feasibility);
  // Where nothing can be launched now, as for a NodePool that is not Ready, zero would say nothing.
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
