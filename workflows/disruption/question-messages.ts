import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { Order } from '../people/oversight-messages.js';
import type { OpenQuestion, Refused } from './disruption-messages.js';

/*
 * What `disrupt` knows of people's answers: commands that wait for one, which take no slot before it is yes, and commands
 * that somebody turned down. workflows/messages.ts gives all of it out.
 */

/** Undoes refusals: those that concern a node, a NodePool, or all of them. */
export interface ReconsiderOrder extends Order {
  /** Name of a node or NodeClaim. */
  readonly node?: string;
  readonly nodePool?: string;
  readonly all?: boolean;
}

/** To a command that waits for consent: its cause is gone. Ignored once it is under way. */
export const withdrawSignal = defineSignal<[{ readonly why: string }]>('withdraw');
export const questionsQuery = defineQuery<readonly OpenQuestion[]>('questions');
export const refusedQuery = defineQuery<readonly Refused[]>('refused');
export const reconsiderSignal = defineSignal<[ReconsiderOrder]>('reconsider');
/** Gives the refusals that are left. */
export const reconsiderUpdate = defineUpdate<readonly Refused[], [ReconsiderOrder]>('reconsider');
