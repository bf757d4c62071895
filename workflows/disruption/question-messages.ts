import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { Order } from '../people/oversight-messages.js';
import type { OpenQuestion, Refused } from './disruption-messages.js';

/* Commands that wait for approval, and refused ones. workflows/messages.ts exports these messages. */

/** Takes back refusals: those of a node, of a NodePool, or all. */
export interface ReconsiderOrder extends Order {
  /** Name of a node or NodeClaim. */
  readonly node?: string;
  readonly nodePool?: string;
  readonly all?: boolean;
}

/** To a command that waits for approval: its cause is gone. Ignored once its slot is granted. */
export const withdrawSignal = defineSignal<[{ readonly why: string }]>('withdraw');
export const questionsQuery = defineQuery<readonly OpenQuestion[]>('questions');
export const refusedQuery = defineQuery<readonly Refused[]>('refused');
export const reconsiderSignal = defineSignal<[ReconsiderOrder]>('reconsider');
/** Returns the refusals that are left. */
export const reconsiderUpdate = defineUpdate<readonly Refused[], [ReconsiderOrder]>('reconsider');
