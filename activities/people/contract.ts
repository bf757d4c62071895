import type { NodeVerdict, Pause, PauseScope } from '../../workflows/messages.js';
import type { DisruptionView } from '../disruption-context/contract.js';

/** What becomes of a pod. */
export interface PodExplanation {
  readonly state: 'unknown' | 'bound' | 'ended' | 'waiting' | 'planned' | 'unschedulable';
  readonly why: string;
  /** Further facts, each a sentence. */
  readonly details: readonly string[];
  /** The node that it runs on or is planned onto. */
  readonly node?: string;
}

export interface PauseActivities {
  /**
   * Writes and deletes DisruptionPauses, each by itself, then gives all that are in effect. `undefined` where the cluster has no such kind:
   * then what the workflow knows is all there is. What could not be written is to be asked for again: `why` says what the first failed for.
   */
  syncPauses(input: { readonly write: readonly Pause[]; readonly remove: readonly PauseScope[] }): Promise<{
    readonly pauses: readonly Pause[] | undefined;
    readonly unwritten?: readonly Pause[];
    readonly unremoved?: readonly PauseScope[];
    readonly why?: string;
  }>;
}

export interface NodeExplanationActivities {
  /** Whether one node may be disrupted now, and if not why; changes nothing. */
  explainNode(input: { readonly node: string; readonly view: DisruptionView }): Promise<NodeVerdict>;
}

export interface PodExplanationActivities {
  /** Plans anew and says what becomes of one pod; changes nothing. */
  explainPod(input: { readonly namespace: string; readonly name: string }): Promise<PodExplanation>;
}
