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
  /** Hash of the template and node class that the rollout brings nodes to (`rolloutHash`). */
  readonly hash: string;
}

/** The state of a NodePool with a rollout. */
export type RolloutView =
  /** The NodePool is gone, or its template has changed again. */
  | { readonly state: 'superseded'; readonly by: string }
  | {
      readonly state: 'live';
      /** Absent if no policy has a `driftRollout` any more: nodes are then disrupted one by one. */
      readonly rules?: RolloutRules;
      /** Number of nodes of the NodePool, drifted or not. */
      readonly total: number;
      /** Drifted nodes that may be disrupted: empty ones first, then by time of drift; the first 100. */
      readonly drifted: readonly Candidate[];
      /** Number of drifted nodes that may not be disrupted now, and why one of them may not. */
      readonly blocked: number;
      readonly blockedBy?: string;
      readonly approval?: ApprovalAsked;
      readonly leftAlone?: string;
      /** Which of the given NodeClaims are gone or have a node that is not Ready. */
      readonly unwell: readonly string[];
    };

export interface RolloutActivities {
  viewRollout(input: { readonly target: RolloutTarget; readonly launched: readonly ClaimRef[] }): Promise<RolloutView>;
  /** Records the NodePool's current template as the last good one. */
  markGood(input: RolloutTarget): Promise<void>;
  /** Records that no further rollout starts for this template, until annotation `driftStopped` is removed. */
  noteStopped(input: RolloutTarget): Promise<void>;
  /** Writes the last good template back, where there is one and the pool still has the failed one. */
  rollBack(input: RolloutTarget & { readonly why: string }): Promise<{
    readonly outcome: 'rolledBack' | 'nothing';
    readonly why: string;
  }>;
}
