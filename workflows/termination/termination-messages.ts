import { defineSignal } from '@temporalio/workflow';
import type { ClaimRef } from '../../core/refs.js';
import type { ExpediteOrder } from '../people/oversight-messages.js';

/* Messages of `terminateNode`. workflows/messages.ts exports them. */

export interface TerminateNodeInput {
  readonly cluster: string;
  readonly claim: ClaimRef;
  readonly nodePool: string;
  /** The `reason` label of `karpenter_nodeclaims_disrupted_total`: `empty`, `spot_interrupted`, `deleted` and so on. */
  readonly reason: string;
  /** Whether to delete the NodeClaim; false where it is being deleted already. */
  readonly deleteClaim: boolean;
  /**
   * When the drain stops respecting PodDisruptionBudgets and do-not-disrupt, milliseconds of the epoch; absent: that of
   * the NodeClaim.
   */
  readonly deadline?: number;
  /** When the cloud takes the instance, milliseconds of the epoch. It ends no protection of pods. */
  readonly instanceEndsAt?: number;
  /**
   * Set for voluntary disruptions: a pause that exists in the API server when the NodeClaim is to be deleted prevents
   * the deletion, even if `disrupt` has not read it (invariants/pauses-hold).
   */
  readonly unlessPaused?: { readonly reason: string; readonly node: string };
  /**
   * Set where the node may as well stay: if the API server refuses the deletion of the NodeClaim, the workflow ends.
   */
  readonly unlessRefused?: true;
  /** Carried over by continue-as-new. */
  readonly carried?: TerminationState;
}

export interface TerminationState {
  /** Milliseconds of the epoch. */
  readonly startedAt: number;
  readonly drainingSince: number;
  readonly evicted: number;
  readonly escalation?: { readonly stuckSince?: number; readonly taken: number; readonly refused?: boolean };
  /** Who ordered the deadline, and by whose order pods were deleted in spite of their protection. */
  readonly force?: { readonly by?: string; readonly forcedBy?: string };
}

export interface TerminateNodeResult {
  /** `paused`, `refused`: the NodeClaim was not deleted, because of `unlessPaused` and `unlessRefused`. */
  readonly outcome: 'terminated' | 'gone' | 'paused' | 'refused';
  /** What kept the node, in words. */
  readonly why?: string;
  /** Absent where the NodeClaim had no Node, and from earlier builds. */
  readonly nodeName?: string;
  readonly podsEvicted: number;
  readonly durationMs: number;
  /** By whose order pods were deleted in spite of a PodDisruptionBudget or do-not-disrupt; absent where no pod was. */
  readonly forcedBy?: string;
}

/**
 * Speeds up a drain, for a more urgent reason or by a person's order. The earlier of two deadlines holds. Without a
 * deadline the protection of pods ends now; they keep their grace period. With `instanceEndsAt` alone no deadline is
 * set.
 */
export const expediteSignal = defineSignal<[ExpediteOrder]>('expedite');
