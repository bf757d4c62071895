import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';

/*
 * Orders of people to running disruptions. Each exists as a signal (no answer) and as an update (answered, or refused
 * by a failure whose type is one of `refusals`). workflows/messages.ts exports them.
 */

/** The state of a workflow for people: the answer to the `explain` query. */
export interface Explanation {
  readonly phase: string;
  /** What it waits for now, in words. */
  readonly waitingFor?: string;
  /** Until when it waits, ISO 8601. */
  readonly until?: string;
  /** Present while a person is asked. */
  readonly question?: AskedQuestion;
  /** What blocks a drain, with the pods that it holds: a text for each. */
  readonly blockedBy?: readonly string[];
  /** Present while its work fails and is retried. */
  readonly failing?: Failing;
  readonly facts: Readonly<Record<string, string | number | boolean>>;
}

/** What a person is asked, in parts. */
export interface AskedQuestion {
  /** Such as `approval to repair node-1 (Ready=False)`. */
  readonly what: string;
  /** What yes does, such as `evicts 2 pods and terminates 1 node`. */
  readonly yes: string;
  readonly no?: string;
  /** What happens without an answer, such as `it is rejected`. */
  readonly unanswered: string;
  /** Until when an answer is waited for, ISO 8601. */
  readonly until: string;
  /** Which pods lose their protection by an approval: the approval then needs `force`. */
  readonly breaks?: string;
  /** The pods that are moved after an approval: how many, and where the first of them go. */
  readonly moves?: { readonly podCount: number; readonly first: readonly string[] };
}

type QuestionParts = Pick<AskedQuestion, 'what' | 'yes' | 'no' | 'breaks'>;

/** The effects of the answers to a question, a text for each. */
export function effectsOf({ yes, no, breaks }: Omit<QuestionParts, 'what'>): readonly string[] {
  const effects = [`yes ${yes}`, ...(breaks === undefined ? [] : [breaks]), ...(no === undefined ? [] : [`no ${no}`])];
  return [...new Set(effects)];
}

/** A question in one sentence, with the effects of yes and no. */
export function questionText(question: QuestionParts): string {
  const { what } = question;
  return `${what}${what.endsWith('?') ? '' : ':'} ${effectsOf(question).join('; ')}`;
}

/** The memo of `provision` that lists objects which packing excludes; empty if there are none. */
export const leftOutMemo = 'leftOut';

/** A failure that is being retried. */
export interface Failing {
  /** Time of the first failure since the last success, ISO 8601. */
  readonly since: string;
  /** Error of the last attempt. */
  readonly why: string;
}

/** Who orders something, and why. */
export interface Order {
  readonly actor: string;
  readonly reason?: string;
  /** Confirms that pods may lose their protection. Orders that end protection are refused without it. */
  readonly force?: boolean;
}

/** Holds a workflow before its next irreversible step, or releases it. */
export interface HoldOrder extends Order {
  readonly on: boolean;
}

/** Ends a wait or shortens a drain. Deadline in milliseconds of the epoch, absent means now. */
export interface ExpediteOrder extends Partial<Order> {
  readonly deadline?: number;
  /** For drains: when the cloud takes the instance, milliseconds of the epoch. It ends no protection of pods. */
  readonly instanceEndsAt?: number;
}

/** Types of the failures by which updates are refused. */
export const refusals = {
  /** A field of the order is missing or not allowed. */
  invalid: 'InvalidOrder',
  nothingToApprove: 'NothingToApprove',
  nothingToExpedite: 'NothingToExpedite',
  nothingToRetry: 'NothingToRetry',
  nothingHeld: 'NothingHeld',
  heldAlready: 'HeldAlready',
  /** The drain has begun and cannot be undone. */
  tooLate: 'TooLate',
  finished: 'Finished',
  /** It is aborted already and ends when its steps are undone. */
  abortedAlready: 'AbortedAlready',
  unknownScope: 'UnknownScope',
  /**
   * Pods would lose the protection of a PodDisruptionBudget or of do-not-disrupt, and the order does not say `force`.
   */
  breaksProtection: 'BreaksProtection',
  notPaused: 'NotPaused',
  /** The cluster lacks the kind of object that the order writes. */
  notInstalled: 'NotInstalled',
  /** Nothing was refused for that node or NodePool. */
  nothingRefused: 'NothingRefused',
  /** No good template is recorded, or the nodes did not drift from it. */
  nothingToRollBack: 'NothingToRollBack',
  /** Only orders that Kubernetes allowed are accepted, and this one was sent to Temporal directly. */
  notAuthorised: 'NotAuthorised',
} as const;

export type OrderRefusal = (typeof refusals)[keyof typeof refusals];

export const approveSignal = defineSignal<[Order]>('approve');
export const rejectSignal = defineSignal<[Order]>('reject');
export const abortSignal = defineSignal<[Order]>('abort');
export const retrySignal = defineSignal<[Order]>('retry');
export const holdSignal = defineSignal<[HoldOrder]>('hold');

export const approveUpdate = defineUpdate<Explanation, [Order]>('approve');
export const rejectUpdate = defineUpdate<Explanation, [Order]>('reject');
export const abortUpdate = defineUpdate<Explanation, [Order]>('abort');
export const retryUpdate = defineUpdate<Explanation, [Order]>('retry');
export const holdUpdate = defineUpdate<Explanation, [HoldOrder]>('hold');
export const expediteUpdate = defineUpdate<Explanation, [ExpediteOrder]>('expedite');

export const explainQuery = defineQuery<Explanation>('explain');
export const phaseQuery = defineQuery<string>('phase');

export type { ApprovalAsked } from '../../disruption/command.js';
