import { defineSignal } from '@temporalio/workflow';
import type { CandidateRef, DisruptionReason } from '../../disruption/command.js';

/* Disruption slots, which `disrupt` grants. workflows/messages.ts exports these messages. */

/**
 * Requests slots for nodes. The request waits in `disrupt`, also over restarts, until budgets, windows, rates and pauses allow
 * it. The same id again replaces the request. `disrupt` keeps a bounded number of requests, so repeat it now and then.
 */
export interface SlotRequest {
  readonly id: string;
  /** Id of the workflow that gets `slotDecidedSignal`, and `holdSignal` when a pause begins or ends. */
  readonly workflowId: string;
  readonly reason: DisruptionReason;
  /** At most 100. */
  readonly candidates: readonly CandidateRef[];
  /** Whether slots are of use only for all nodes at once. */
  readonly together?: boolean;
}

/** Granted nodes count against budgets until they are returned; refused ones go on waiting. */
export interface SlotDecision {
  readonly id: string;
  /** All nodes granted for the request so far and not returned. */
  readonly granted: readonly CandidateRef[];
  readonly refused: readonly RefusedNode[];
  /** When the refusal may change, milliseconds of the epoch. */
  readonly nextCheckAt?: number;
  /** For a command that was approved: nodes of disruptions that got their slots before, which count as gone (people/one-after-another). */
  readonly alongside?: readonly string[];
}

/** A node whose slot was refused, and why in words. `paused`: by a pause. `gone`: the node does not exist any more. */
export interface RefusedNode {
  readonly node: string;
  readonly why: string;
  readonly paused?: boolean;
  readonly gone?: boolean;
}

/** A workflow that may hold slots or wait for them, as Temporal lists it. */
export interface SlotHolder {
  readonly workflowId: string;
  /** Its current run: another one knows nothing of the slots of this one. */
  readonly runId: string;
}

export const slotRequestSignal = defineSignal<[SlotRequest]>('slotRequest');
export const slotDecidedSignal = defineSignal<[SlotDecision]>('slotDecided');
/** Returns granted nodes and withdraws waiting ones: all of the request, or the named ones. */
export const slotReturnedSignal =
  defineSignal<[{ readonly id: string; readonly nodes?: readonly string[] }]>('slotReturned');
/** The ids of all requests of the workflow that `disrupt` knows, granted and waiting. */
export const slotsKnownSignal = defineSignal<[{ readonly ids: readonly string[] }]>('slotsKnown');
