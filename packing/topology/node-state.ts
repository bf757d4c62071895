import type { Pod, Taint } from '../../api/kubernetes.js';
import type { PodClass } from '../compile/classes.js';
import type { CompiledNode } from '../compile/nodes.js';
import type { HostPort } from '../compile/pod-key.js';
import type { Rules } from './rules.js';

/** An existing node or in-flight claim while pods are put on it. */
export interface NodeState {
  readonly index: number;
  readonly view: CompiledNode;
  /** What pods of the pass may still take; negative anywhere means that nothing fits (scheduling/free-room). */
  readonly free: Float64Array;
  /** Nodes alike in taints and in every label that some constraint reads. */
  readonly kind: NodeKind;
  readonly ports: HostPort[];
  readonly pods: Pod[];
  /** Of those, the ones whose topology rules may have to be looked at again. */
  readonly ruled?: PlacedPod[];
  /** How each of those stands there, in the same order. */
  readonly landed?: PlacedPod[];
  /** Its domain of the host name. */
  readonly host: string;
  /** What its CSI drivers attach; undefined where nothing limits that. */
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

/** Volumes attached to a node, by driver, and how many each driver can attach. */
export interface Attachments {
  readonly limits: ReadonlyMap<string, number>;
  readonly attached: Map<string, Set<string>>;
}
