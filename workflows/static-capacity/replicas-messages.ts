import type { HoldOrder } from '../people/oversight-messages.js';
import { defineSignal } from '@temporalio/workflow';

/* Messages of `keepReplicas`. workflows/messages.ts exports them. */

export interface KeepReplicasInput {
  readonly cluster: string;
  readonly nodePool: string;
  readonly poolUid: string;
  /** Carried over by continue-as-new. */
  readonly carried?: KeepReplicasCarried;
}

export interface ReplicasState {
  /** Run id of the first run, and the number of rounds so far. NodeClaim names are derived from both. */
  readonly chain: string;
  readonly rounds: number;
  /** UIDs of NodeClaims that are being terminated and may still exist. */
  readonly deleting: readonly string[];
  /** Number of consecutive launches that failed. */
  readonly failures: number;
}

export interface KeepReplicasCarried extends ReplicasState {
  /** A person's hold. */
  readonly heldBy?: HoldOrder;
}

export interface KeepReplicasResult {
  readonly outcome: 'gone';
  readonly reason: string;
}

/** The NodePool or one of its NodeClaims changed. */
export const replicasChangedSignal = defineSignal('replicasChanged');
