import type { ClaimRef } from '../../core/refs.js';

/* Messages of `expireNode`. workflows/messages.ts exports them. */

export interface ExpireNodeInput {
  readonly cluster: string;
  readonly claim: ClaimRef;
  readonly nodePool: string;
  /** Milliseconds of the epoch. */
  readonly expiresAt: number;
  /** Carried over by continue-as-new: whether a person has approved. */
  readonly agreed?: boolean;
  /** Carried over by continue-as-new: when the open approval times out, milliseconds of the epoch. */
  readonly askedUntil?: number | undefined;
}

export interface ExpireNodeResult {
  readonly outcome: 'replaced' | 'forced' | 'gone' | 'not due' | 'rejected' | 'aborted';
  readonly replacements: readonly string[];
  readonly reason?: string;
}
