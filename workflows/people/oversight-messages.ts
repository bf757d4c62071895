import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';

/*
 * How people steer a running disruption: the same orders as signals (told, never answered) and as updates (answered, or
 * refused by a failure whose type is one of `refusals`). workflows/messages.ts gives all of it out.
 */

/** What a workflow says of itself to whoever opens it. */
export interface Explanation {
  readonly phase: string;
  /** What it waits for now, in a person's words. */
  readonly waitingFor?: string;
  /** Until when, ISO 8601. */
  readonly until?: string;
  /** Absent unless what it does fails and is tried again. */
  readonly failing?: Failing;
  readonly facts: Readonly<Record<string, string | number | boolean>>;
}

/** The fact under which a workflow says which objects it cannot work with and leaves out; empty where there are none. */
export const leftOutFact = 'left out';

/** What fails, over all attempts since the last one that succeeded. */
export interface Failing {
  /** When the first of them failed, ISO 8601. */
  readonly since: string;
  /** Why the last one did. */
  readonly why: string;
}

/** Who asks for something, and why. */
export interface Order {
  readonly actor: string;
  readonly reason?: string;
  /** Said by whoever knows that pods lose their protection by it; without it such an order is refused. */
  readonly force?: boolean;
}

/** Stay before the next irreversible step, or go on. */
export interface HoldOrder extends Order {
  readonly on: boolean;
}

/** Do not wait any longer than that; milliseconds of the epoch, absent means now. */
export interface ExpediteOrder extends Partial<Order> {
  readonly deadline?: number;
  /** To a drain: when the cloud takes the instance, milliseconds of the epoch. With it alone nothing loses its protection. */
  readonly instanceEndsAt?: number;
}

/** Why an update is refused: the `type` of its failure. */
export const refusals = {
  /** A field of the order is missing or none of those allowed. */
  invalid: 'InvalidOrder',
  nothingToApprove: 'NothingToApprove',
  nothingToExpedite: 'NothingToExpedite',
  nothingToRetry: 'NothingToRetry',
  nothingHeld: 'NothingHeld',
  heldAlready: 'HeldAlready',
  /** Nodes are being drained: what went cannot be brought back. */
  tooLate: 'TooLate',
  finished: 'Finished',
  /** A person aborted it: it ends as soon as what it began is undone. */
  abortedAlready: 'AbortedAlready',
  unknownScope: 'UnknownScope',
  /** Pods would lose the protection of a PodDisruptionBudget or of do-not-disrupt, and the order does not say `force`. */
  breaksProtection: 'BreaksProtection',
  notPaused: 'NotPaused',
  /** Nobody turned anything down for that node or NodePool. */
  nothingRefused: 'NothingRefused',
  /** No template is known to be good, or it is not the template that made the nodes drift. */
  nothingToRollBack: 'NothingToRollBack',
} as const;

export type Refusal = (typeof refusals)[keyof typeof refusals];

export const approveSignal = defineSignal<[Order]>('approve');
export const rejectSignal = defineSignal<[Order]>('reject');
export const abortSignal = defineSignal<[Order]>('abort');
export const retrySignal = defineSignal<[Order]>('retry');
/** `true` and `false` come from `disrupt` (a pause), an order from a person. */
export const holdSignal = defineSignal<[boolean | HoldOrder]>('hold');

export const approveUpdate = defineUpdate<Explanation, [Order]>('approve');
export const rejectUpdate = defineUpdate<Explanation, [Order]>('reject');
export const abortUpdate = defineUpdate<Explanation, [Order]>('abort');
export const retryUpdate = defineUpdate<Explanation, [Order]>('retry');
export const holdUpdate = defineUpdate<Explanation, [HoldOrder]>('hold');
export const expediteUpdate = defineUpdate<Explanation, [ExpediteOrder]>('expedite');

export const explainQuery = defineQuery<Explanation>('explain');
export const phaseQuery = defineQuery<string>('phase');

export type { ApprovalAsked } from '../../disruption/command.js';
