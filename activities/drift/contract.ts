import type { ApprovalAsked, Candidate, ClaimRef } from '../../workflows/messages.js';

/** A policy's `driftRollout`, durations in milliseconds. */
export interface RolloutRules {
  readonly canary: string;
  readonly soakMs: number;
  readonly growthFactor: number;
  readonly maximumWave: string;
  readonly maximumFailurePercent: number;
  readonly onFailure: 'Stop' | 'Rollback';
}

export interface RolloutTarget {
  readonly nodePool: string;
  readonly poolUid: string;
  /** What the pool's nodes are to become: `rolloutHash`. */
  readonly hash: string;
}

/** A pool under a rollout, as it is now. */
export type RolloutView =
  /** The pool is gone, or its nodes are to become something else by now. */
  | { readonly state: 'superseded'; readonly by: string }
  | {
      readonly state: 'live';
      /** Absent when no policy asks for waves any more: drift goes one by one again. */
      readonly rules?: RolloutRules;
      /** The pool's nodes, drifted or not. */
      readonly total: number;
      /** Drifted nodes that may go, in the order in which they are to: empty ones, then who drifted first; the first 100. */
      readonly drifted: readonly Candidate[];
      /** Drifted nodes that may not go now, and why one of them may not. */
      readonly blocked: number;
      readonly blockedBy?: string;
      readonly approval?: ApprovalAsked;
      readonly leftAlone?: string;
      /** Of the claims asked about, those that are gone or whose nodes are not Ready. */
      readonly unwell: readonly string[];
    };

export interface RolloutActivities {
  viewRollout(input: { readonly target: RolloutTarget; readonly launched: readonly ClaimRef[] }): Promise<RolloutView>;
  /** Records the pool's present template as the last good one. */
  markGood(input: RolloutTarget): Promise<void>;
  /** Records that no further rollout is to begin for these nodes, until somebody takes annotation `driftStopped` away. */
  noteStopped(input: RolloutTarget): Promise<void>;
  /** Writes the last good template back, where there is one and the pool still has the failed one. */
  rollBack(input: RolloutTarget & { readonly why: string }): Promise<{
    readonly outcome: 'rolledBack' | 'nothing';
    readonly why: string;
  }>;
}
