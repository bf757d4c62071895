import { defineSignal, defineUpdate } from '@temporalio/workflow';
import type { DisruptionReason, Candidate } from '../../disruption/command.js';
import type { Explanation, Order } from '../people/oversight-messages.js';

/* Messages of `replaceDrifted` and `replaceNode`. workflows/messages.ts exports them. */

export interface ReplaceDriftedInput {
  readonly cluster: string;
  readonly nodePool: string;
  readonly poolUid: string;
  /** Hash of the NodePool's template that the rollout brings the nodes to. */
  readonly hash: string;
  /** Carried over by continue-as-new. */
  readonly carried?: RolloutState;
}

export interface RolloutState {
  readonly waves: number;
  /** Number of nodes in the last wave. */
  readonly last?: number;
  readonly replaced: number;
  readonly failed: number;
  /** Number of consecutive waves in which no node was replaced. */
  readonly failuresInARow: number;
  readonly agreed: boolean;
  /** Number of failures that a person has accepted. */
  readonly pardoned: number;
  /** When the open approval times out, milliseconds of the epoch. */
  readonly askedUntil?: number | undefined;
}

export interface ReplaceDriftedResult {
  readonly outcome: 'done' | 'superseded' | 'handedBack' | 'rejected' | 'stopped' | 'rolledBack' | 'aborted';
  readonly reason?: string;
  readonly waves: number;
  readonly replaced: number;
  readonly failed: number;
}

/** The NodePool's template has changed again. */
export const rolloutChangedSignal = defineSignal('rolloutChanged');

/** Writes the last good template back to the NodePool and ends the rollout. */
export const rollbackSignal = defineSignal<[Order]>('rollback');
export const rollbackUpdate = defineUpdate<Explanation, [Order]>('rollback');

export interface ReplaceNodeInput {
  readonly cluster: string;
  readonly reason: DisruptionReason;
  readonly candidate: Candidate;
  /** Timeout of the replacement, milliseconds. */
  readonly withinMs: number;
}

export interface ReplaceNodeResult {
  readonly outcome: 'replaced' | 'failed' | 'gone' | 'aborted' | 'withdrawn';
  readonly reason?: string;
  readonly replacements: readonly { readonly name: string; readonly uid: string }[];
}
