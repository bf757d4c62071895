import type { NodePool } from '../../api/karpenter/node-pool.js';
import type { Pod } from '../../api/kubernetes.js';
import type { NodeState, PodClass } from '../../packing/trial.js';
import { isBuffer, type ExaminedNode } from './eligibility.js';

/** What budgets and policies count of a node. */
export interface CountedNode {
  readonly nodePool: string;
  readonly pool: NodePool | undefined;
  /** Dollars per hour. */
  readonly price: number;
  readonly counted: ExaminedNode['counted'];
  /** RescheduleDisruptionCost (disruption-cost/of-a-node). */
  readonly cost: number;
}

/** A node of the fleet while commands are tried on it. */
export interface FleetNode extends CountedNode {
  readonly name: string;
  readonly state: NodeState;
  readonly instanceType: string;
  readonly capacityType: string;
  /** Pods that need another node when this one goes, by class. */
  loads: Map<PodClass, Pod[]>;
  /** Pods that wait for a node and have room here: nobody evicts them, and topology does not count them yet. */
  waiting: Map<PodClass, Pod[]>;
  /** Whether commands may take it. */
  removable: boolean;
  /** Whether it may go only while nothing on it is worth keeping it for (`WhenEmpty`). */
  readonly onlyEmpty: boolean;
  /** Whether pods may be moved here. */
  readonly open: boolean;
  cost: number;
  gone: boolean;
}

/** Whether nothing is there that the node is kept for (consolidation/empty-nodes): pods that weigh nothing are no reason, capacity buffers are. */
export const isEmptied = ({ cost, waiting }: FleetNode): boolean =>
  cost <= 1 && ![...waiting.values()].some((pods) => pods.some(isBuffer));

/** Adds pods to what a node holds. */
export function addLoad(loads: Map<PodClass, Pod[]>, podClass: PodClass, pods: readonly Pod[]): void {
  const there = loads.get(podClass);
  if (there === undefined) loads.set(podClass, [...pods]);
  else there.push(...pods);
}

/** Together, dollars per hour. */
export const priceOfAll = (things: readonly { readonly price: number }[]): number =>
  things.reduce((sum, { price }) => sum + price, 0);
