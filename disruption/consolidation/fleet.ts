import type { NodePool } from '../../api/karpenter/node-pool.js';
import type { Pod } from '../../api/kubernetes.js';
import type { Compiled } from '../../packing/compiled.js';
import type { PodClass } from '../../packing/compile/classes.js';
import type { PoolLimit } from '../../packing/place/bin-problem.js';
import { capacityOf } from '../../packing/place/limits.js';
import type { NodeState } from '../../packing/place/node-states.js';
import type { ExaminedNode } from './eligibility.js';

/** A node of the fleet while commands are tried on it. */
export interface FleetNode {
  readonly name: string;
  readonly state: NodeState;
  readonly nodePool: string;
  readonly pool: NodePool | undefined;
  readonly instanceType: string;
  readonly capacityType: string;
  /** Dollars per hour. */
  readonly price: number;
  readonly counted: ExaminedNode['counted'];
  /** Pods that need another node when this one goes, by class; those that only wait for room there (pending ones) too. */
  readonly loads: Map<PodClass, Pod[]>;
  /** Whether commands may take it. */
  readonly removable: boolean;
  /** Whether it may go only while nothing on it is worth keeping it for (`WhenEmpty`). */
  readonly onlyEmpty: boolean;
  /** Whether pods may be moved here. */
  readonly open: boolean;
  /** RescheduleDisruptionCost (section 4.3). */
  cost: number;
  gone: boolean;
}

/** Amounts of the pods that would have to move, by resource. */
export function loadOf(node: FleetNode, demandOf: (podClass: PodClass) => Float64Array, dims: number): Float64Array {
  const load = new Float64Array(dims);
  for (const [podClass, pods] of node.loads) {
    const demand = demandOf(podClass);
    for (let d = 0; d < dims; d++) load[d] = load[d]! + demand[d]! * pods.length;
  }
  return load;
}

/** Which class each pod that may have to move belongs to. */
export function classesByPod({ classes }: Compiled): Map<Pod, PodClass> {
  const byPod = new Map<Pod, PodClass>();
  for (const podClass of classes.all) for (const pod of podClass.pods) byPod.set(pod, podClass);
  return byPod;
}

/** Adds pods to what a node holds. */
export function addLoad(loads: Map<PodClass, Pod[]>, podClass: PodClass, pods: readonly Pod[]): void {
  const there = loads.get(podClass);
  if (there === undefined) loads.set(podClass, [...pods]);
  else there.push(...pods);
}

/** What a node uses of a limit. */
export function usedBy({ nodePool, state }: FleetNode, limit: PoolLimit): number {
  if (limit.pool !== nodePool) return 0;
  return limit.resource === 'nodes' ? 1 : capacityOf(state.view, limit.resource);
}

/** Takes amounts off what is free. */
export function take(free: Float64Array, amounts: Float64Array): void {
  for (let d = 0; d < free.length; d++) free[d] = free[d]! - amounts[d]!;
}
