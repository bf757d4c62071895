import { defineSignal, defineUpdate } from '@temporalio/workflow';
import type { DisruptionReason, Candidate } from '../disruption/disruption-messages.js';
import type { Explanation, Order } from '../people/oversight-messages.js';

/*
 * What `replaceDrifted` and `replaceNode` take and give; workflows/messages.ts gives it out.
 */

export interface ReplaceDriftedInput {
  readonly cluster: string;
  readonly nodePool: string;
  readonly poolUid: string;
  /** What the pool's nodes are to become. */
  readonly hash: string;
  /** Carried over by continue-as-new. */
  readonly carried?: RolloutState;
}

export interface RolloutState {
  readonly waves: number;
  /** Nodes in the last wave. */
  readonly last?: number;
  readonly replaced: number;
  readonly failed: number;
  /** Attempts in a row that replaced nothing. */
  readonly failuresInARow: number;
  readonly agreed: boolean;
  /** A person let it go on although too many failed. */
  readonly pardoned: number;
  /** When the time of the open question is over, milliseconds of the epoch. */
  readonly askedUntil?: number | undefined;
}

export interface ReplaceDriftedResult {
  readonly outcome: 'done' | 'superseded' | 'handedBack' | 'rejected' | 'stopped' | 'rolledBack' | 'aborted';
  readonly reason?: string;
  readonly waves: number;
  readonly replaced: number;
  readonly failed: number;
}

/** The pool's nodes are to become something else again. */
export const rolloutChangedSignal = defineSignal('rolloutChanged');

/** The pool is to have its last good template again, and the rollout to end, whatever became of its nodes so far. */
export const rollbackSignal = defineSignal<[Order]>('rollback');
export const rollbackUpdate = defineUpdate<Explanation, [Order]>('rollback');

export interface ReplaceNodeInput {
  readonly cluster: string;
  readonly reason: DisruptionReason;
  readonly candidate: Candidate;
  /** How long the replacement may take, milliseconds. */
  readonly withinMs: number;
  /** Whether a pause holds it from the start. */
  readonly paused?: boolean;
}

export interface ReplaceNodeResult {
  readonly outcome: 'replaced' | 'failed' | 'gone' | 'aborted';
  readonly reason?: string;
  readonly replacements: readonly { readonly name: string; readonly uid: string }[];
}
