import { isBufferPod } from '../../core/pods.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import type { Pod } from '../../api/kubernetes.js';
import { compareText } from '../../core/text.js';
import type { NodeState, PodClass } from '../../packing/trial.js';
import type { ExaminedNode } from './eligibility.js';
import { fullName } from '../../core/names.js';

/** Savings below this are rounding errors, dollars per hour. */
export const roundingError = 1e-9;

/** The part of a node that budgets and policies need. */
export interface CountedNode {
  readonly nodePool: string;
  readonly pool: NodePool | undefined;
  /** Dollars per hour. */
  readonly price: number;
  readonly counted: ExaminedNode['counted'];
  /** RescheduleDisruptionCost (disruption-cost/of-a-node). */
  readonly cost: number;
}

/** A node of the fleet in the simulation. */
export interface FleetNode extends CountedNode {
  readonly name: string;
  readonly state: NodeState;
  readonly instanceType: string;
  readonly capacityType: string;
  /** Pods that need another node if this one is removed, by class. */
  loads: Map<PodClass, Pod[]>;
  /** Pending pods and capacity buffers that have room here. They are not evicted (`isCountedWaiting`). */
  waiting: Map<PodClass, Pod[]>;
  /** Whether commands may disrupt it. */
  removable: boolean;
  /** Whether it may be removed only while empty: by its policy (`WhenEmpty`), or because budgets allow no other reason now. */
  onlyEmpty: boolean;
  /** Whether pods may be moved here. */
  readonly open: boolean;
  cost: number;
  gone: boolean;
}

/**
 * Whether topology counts these pods of a class while they wait (capacity-buffers/keep-their-places). Provisioning
 * plans capacity buffers after all pods: if a pod took the place of a buffer because of a topology rule, a node would
 * be launched for the buffer. Pending pods are not counted before they are bound.
 */
export const isCountedWaiting = (pods: readonly Pod[]): boolean => pods.some(isBufferPod);

/**
 * Whether the node is empty (consolidation/empty-nodes). Pods with an eviction cost of zero and pending pods with room
 * there do not count; capacity buffers do (capacity-buffers/nodes-are-not-empty).
 */
export const isEmptied = ({ cost, waiting }: Pick<FleetNode, 'cost' | 'waiting'>): boolean =>
  cost <= 1 && ![...waiting.values()].some(isCountedWaiting);

export const isOnlyEmpty = (pool: NodePool | undefined): boolean =>
  pool?.spec.disruption.consolidationPolicy === 'WhenEmpty';

export function addLoad(loads: Map<PodClass, Pod[]>, podClass: PodClass, pods: readonly Pod[]): void {
  const there = loads.get(podClass);
  if (there === undefined) loads.set(podClass, [...pods]);
  else there.push(...pods);
}

/**
 * By price for each unit of disruption cost, highest first (disruption-cost/order); then by name, so that the order is
 * fixed.
 */
export const byPricePerCost = (
  a: Pick<FleetNode, 'name' | 'price' | 'cost'>,
  b: Pick<FleetNode, 'name' | 'price' | 'cost'>,
): number => b.price / b.cost - a.price / a.cost || compareText(a.name, b.name);

/**
 * The order of nodes with the same price. Those that stay come first: with the higher disruption cost, then with
 * waiting pods or buffers; then by name.
 */
export const byDisturbance = (
  a: Pick<FleetNode, 'name' | 'cost' | 'waiting'>,
  b: Pick<FleetNode, 'name' | 'cost' | 'waiting'>,
): number => b.cost - a.cost || b.waiting.size - a.waiting.size || compareText(a.name, b.name);

/** The sum of the prices, dollars per hour. */
export const priceOfAll = (things: readonly { readonly price: number }[]): number =>
  things.reduce((sum, { price }) => sum + price, 0);

/**
 * The price by which fleets are compared, dollars per hour: that of the nodes, and a surcharge for each node
 * (consolidation/fewest-nodes).
 */
export const countedPrice = (nodes: readonly { readonly price: number }[], surcharge: number): number =>
  priceOfAll(nodes) + surcharge * nodes.length;

/**
 * Whether some of the nodes are not spot. Nodes that are all spot are replaced by spot only if configured
 * (consolidation/spot-beside-on-demand).
 */
export const hasOnDemand = (nodes: readonly Pick<FleetNode, 'capacityType'>[]): boolean =>
  nodes.some(({ capacityType }) => capacityType !== 'spot');

export const statesOf = (nodes: readonly FleetNode[]): NodeState[] => nodes.map(({ state }) => state);

export const waitingOn = (nodes: readonly FleetNode[]): FleetNode['waiting'][] => nodes.map(({ waiting }) => waiting);

/** Combines all loads. */
export function allOf(each: readonly FleetNode['waiting'][]): FleetNode['waiting'] {
  const all: FleetNode['waiting'] = new Map();
  for (const loads of each) for (const [podClass, pods] of loads) addLoad(all, podClass, pods);
  return all;
}

export const copyOf = (loads: FleetNode['loads']): FleetNode['loads'] =>
  new Map([...loads].map(([podClass, pods]) => [podClass, [...pods]]));

/** The pods that need another node when these are removed. */
export function loadsOf(nodes: readonly FleetNode[]): Map<PodClass, Pod[]> {
  return allOf(nodes.map(({ loads }) => loads));
}

/** Removes the named pods (`namespace/name`) from the loads, and returns them. */
export function takeOut(loads: Map<PodClass, Pod[]>, names: ReadonlySet<string>): Map<PodClass, Pod[]> {
  const taken = new Map<PodClass, Pod[]>();
  for (const [podClass, pods] of loads) {
    const named = pods.filter((pod) => names.has(fullName(pod)));
    if (named.length === 0) continue;
    taken.set(podClass, named);
    const others = pods.filter((pod) => !names.has(fullName(pod)));
    if (others.length === 0) loads.delete(podClass);
    else loads.set(podClass, others);
  }
  return taken;
}
