import { defineSignal, defineUpdate } from '@temporalio/workflow';
import type { Order } from '../people/oversight-messages.js';
import type { Refused } from './disruption-messages.js';

/* Commands that wait for approval, and refused ones. workflows/messages.ts exports these messages. */

/** Revokes refusals: those of a node, of a NodePool, or all. */
export interface ReconsiderOrder extends Order {
  /** Name of a node or NodeClaim. */
  readonly node?: string;
  readonly nodePool?: string;
  readonly all?: boolean;
}

export interface Withdrawal {
  readonly why: string;
  /**
   * Whether another command for the same nodes replaces it: the end then does not count as a failure of these nodes.
   */
  readonly isSuperseded?: boolean;
}

/** To a disruption that waits: its cause is gone. Ignored once its nodes are tainted. */
export const withdrawSignal = defineSignal<[Withdrawal]>('withdraw');
export const reconsiderSignal = defineSignal<[ReconsiderOrder]>('reconsider');
/** Returns the refusals that are left. */
export const reconsiderUpdate = defineUpdate<readonly Refused[], [ReconsiderOrder]>('reconsider');
