import type { Pause, PauseScope } from '../../workflows/messages.js';

/** What becomes of a pod. */
export interface PodExplanation {
  readonly state: 'unknown' | 'bound' | 'waiting' | 'planned' | 'unschedulable';
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
