import type { Pod, Taint } from '../../api/kubernetes.js';
import type { PodClass } from '../compile/classes.js';
import type { CompiledNode } from '../compile/nodes.js';
import type { HostPort } from '../../core/host-ports.js';
import type { Rules } from './rules.js';

/** An existing node or NodeClaim in flight, as topology counts its pods. */
export interface NodeForTopology {
  readonly view: CompiledNode;
  /** The kind of the node: nodes with equal taints and equal values of all labels that constraints read. */
  readonly kind: NodeKind;
  /** Its host name. */
  readonly host: string;
  /** Indices of DaemonSets whose pods are still to come, since the node is not initialized yet. */
  readonly daemons?: readonly number[];
}

/** An existing node or NodeClaim in flight, while pods are placed on it. */
export interface NodeState extends NodeForTopology {
  readonly index: number;
  /** Free resources; if any is negative, no pod fits (scheduling/free-room). */
  readonly free: Float64Array;
  readonly ports: HostPort[];
  /** The pods that this plan places on it. */
  readonly pods: Pod[];
  /** The class and the rules of each of `pods`, in the same order. */
  readonly placed?: PlacedPod[];
  /** Those of `placed` with topology rules, which other placements may break. */
  readonly placedWithRules?: PlacedPod[];
  /**
   * Indices of DaemonSets that will run there and that topology counts do not include, since the node exists only in a
   * trial.
   */
  readonly uncounted?: readonly number[];
  /** Volumes of its CSI drivers; undefined if there is no limit. */
  readonly attach: Attachments | undefined;
}

export interface PlacedPod {
  readonly podClass: PodClass;
  readonly rules: Rules;
  readonly pod: Pod;
}

export interface NodeKind {
  readonly index: number;
  readonly values: readonly (string | undefined)[];
  readonly taints: readonly Taint[];
}

/** Volumes attached to a node by driver, and the limit of each driver. */
export interface Attachments {
  readonly limits: ReadonlyMap<string, number>;
  readonly attached: Map<string, Set<string>>;
}
