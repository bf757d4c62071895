import type { HoldOrder } from '../people/oversight-messages.js';
import { defineSignal } from '@temporalio/workflow';

/*
 * What `keepReplicas` takes and gives; workflows/messages.ts gives it out.
 */

export interface KeepReplicasInput {
  readonly cluster: string;
  readonly nodePool: string;
  readonly poolUid: string;
  /** Carried over by continue-as-new. */
  readonly carried?: KeepReplicasCarried;
}

export interface ReplicasState {
  /** The first run of the chain and the rounds so far: part of every claim's name. */
  readonly chain: string;
  readonly rounds: number;
  /** UIDs of claims that were told to go and may still be there. */
  readonly deleting: readonly string[];
  /** Launches in a row that came to nothing. */
  readonly failures: number;
}

export interface KeepReplicasCarried extends ReplicasState {
  /** The person who holds it. */
  readonly heldBy?: HoldOrder;
}

export interface KeepReplicasResult {
  readonly outcome: 'gone';
  readonly reason: string;
}

/** The pool, or one of its claims, changed: look again. */
export const replicasChangedSignal = defineSignal('replicasChanged');
