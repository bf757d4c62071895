import type { CandidateRef, NodeVerdict, Pause, PauseScope, PodExplanation } from '../../workflows/messages.js';
import type { DisruptionView } from '../disruption-context/contract.js';
import type { NamespacedName } from '../../core/refs.js';

/** Pauses are DisruptionPause objects (invariants/pauses-hold). */
export interface PauseActivities {
  /**
   * Writes a pause, which replaces one of the same scope; returns all active pauses. Fails if the NodePool does not
   * exist.
   */
  writePause(pause: Pause): Promise<readonly Pause[]>;
  /** Ends the pause of exactly that scope; returns those that are left. Fails if there is none. */
  endPause(input: { readonly scope: PauseScope }): Promise<readonly Pause[]>;
  /** Why a disruption of these nodes is paused now, in words. */
  findPause(input: { readonly reason: string; readonly candidates: readonly CandidateRef[] }): Promise<string | null>;
}

export interface NodeExplanationActivities {
  /** Whether one node may be disrupted now, and if not why; changes nothing. */
  explainNode(input: { readonly node: string; readonly view: DisruptionView }): Promise<NodeVerdict>;
}

export interface PodExplanationActivities {
  /** Makes a new plan and explains the state of one pod; changes nothing. */
  explainPod(input: NamespacedName): Promise<PodExplanation>;
}
