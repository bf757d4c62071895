import { allHandlersFinished, ApplicationFailure, condition } from '@temporalio/workflow';
import { workflowNow } from '../clock.js';
import type { ApprovalAsked, AskedQuestion, ExpediteOrder, Explanation, HoldOrder, Order } from '../messages.js';
import {
  abortSignal,
  abortUpdate,
  approveSignal,
  approveUpdate,
  expediteSignal,
  expediteUpdate,
  holdSignal,
  holdUpdate,
  questionText,
  refusals,
  rejectSignal,
  rejectUpdate,
  retrySignal,
  retryUpdate,
  searchAttributes,
} from '../messages.js';
import type { Consent, Question } from './consent.js';
import { consentText, withReason } from './consent.js';
import { Hold, heldPhase } from './hold.js';
import { checkActor, checkForce, checkTime, handleOrderSignal, refuse, handleOrder } from './orders.js';
import { PendingApproval } from './pending-approval.js';
import type { Progress } from '../progress.js';
import { setSignalHandler, setUpdateHandler } from '../handlers.js';
import { absentOr, object, optional, text } from '../../core/shapes.js';

/** What ended a wait. */
export type WaitEnd = 'elapsed' | 'met' | 'expedited' | 'retried';

export interface OversightOptions {
  /** Whether a pause is in force when it starts. */
  readonly paused?: boolean;
  /** The hold carried over from the run before. */
  readonly heldBy?: HoldOrder;
  /** Handles `expedite` at any time; without it the order is accepted only during `wait`. */
  readonly onExpedite?: (order: ExpediteOrder) => void;
  /** Handles `retry` at any time; without it the order is accepted only during a retryable `wait`. */
  readonly onRetry?: (order: Order) => void;
  /** Called when a hold begins or ends. */
  readonly onHold?: (held: boolean) => void;
  /** Which pods would lose their protection by an `expedite` order, in words: such an order has to say `force`. */
  readonly breaks?: (order: ExpediteOrder) => string | undefined;
}

/** The type of the failure that an `abort` ends a wait with. */
const aborted = 'Aborted';
/** The phase of a workflow that asks before it does anything. */
const awaitingApproval = 'awaiting approval';

/** The order of another disruption need not have an actor. */
const expediteShape = optional(object({ actor: absentOr(text), reason: absentOr(text) }));

/** Whether the error is the one that `gate`, `wait` and `askForApproval` throw after an `abort`. */
export function isAborted(error: unknown): error is ApplicationFailure {
  return error instanceof ApplicationFailure && error.type === aborted;
}

/**
 * Handles people's orders to one workflow: `approve`, `reject`, `abort`, `expedite`, `retry` and `hold`, as signals and as
 * updates. An order that is not possible now is refused: an update with a typed failure, a signal with a fact in `explain`. Build
 * it before the first await of the workflow, because it sets handlers.
 */
export class Oversight {
  private readonly held: Hold;
  private readonly approval: PendingApproval;
  private abortedBy: Order | undefined;
  /** The condition that ends the current wait. */
  private waitedFor: (() => boolean) | undefined;
  private waiting: { readonly retryable: boolean; end: WaitEnd | undefined } | undefined;
  private stage: 'revocable' | 'draining' | 'finished' = 'revocable';

  constructor(
    private readonly progress: Progress,
    private readonly options: OversightOptions = {},
  ) {
    const { paused = false, heldBy } = options;
    this.held = new Hold(progress, paused, heldBy, (held) => options.onHold?.(held));
    this.approval = new PendingApproval(progress);
    const holdSignalled = (hold: boolean | HoldOrder): void => {
      if (typeof hold === 'boolean') this.held.pause(hold);
      else handleOrderSignal(this.progress, 'hold', { check: () => this.checkHold(hold), act: () => this.hold(hold) });
    };
    setSignalHandler(holdSignal, holdSignalled);
    setUpdateHandler(
      holdUpdate,
      (hold) => this.answered(() => this.hold(hold)),
      (hold) => this.checkHold(hold),
    );
    const answered = (act: () => Explanation): Promise<Explanation> => this.answered(act);
    handleOrder(progress, {
      ...{ signal: approveSignal, update: approveUpdate, answered },
      check: (order) => this.checkApprove(order),
      act: (order) => this.answerWith('approved', order),
    });
    handleOrder(progress, {
      ...{ signal: rejectSignal, update: rejectUpdate, answered },
      check: (order) => this.checkAnswer(order),
      act: (order) => this.answerWith('rejected', order),
    });
    handleOrder(progress, {
      ...{ signal: abortSignal, update: abortUpdate, answered },
      check: (order) => this.checkAbort(order),
      act: (order) => this.abort(order),
    });
    handleOrder(progress, {
      ...{ signal: retrySignal, update: retryUpdate, answered },
      check: (order) => this.checkRetry(order),
      act: (order) => this.retry(order),
    });
    const expediteSignalled = (order?: ExpediteOrder): void =>
      handleOrderSignal(this.progress, 'expedite', {
        check: () => this.checkExpedite(order),
        act: () => this.expedite(order ?? {}),
      });
    setSignalHandler(expediteSignal, expediteSignalled);
    const checkExpedite = (order: ExpediteOrder): void => {
      checkActor(order);
      this.checkExpedite(order);
    };
    setUpdateHandler(expediteUpdate, (order) => this.answered(() => this.expedite(order)), checkExpedite);
  }

  get isAborted(): boolean {
    return this.abortedBy !== undefined;
  }

  /** Whether an answer was given that the asking code has not read yet: continue-as-new would lose it. */
  get isAnswerWaiting(): boolean {
    return this.approval.isAnswerWaiting;
  }

  /** The hold by a person, for continue-as-new. */
  get heldBy(): HoldOrder | undefined {
    return this.held.by;
  }

  /**
   * Whether continue-as-new would lose an order: one not carried out yet, or a person's hold. While a person holds the workflow
   * its history grows only by signals.
   */
  get isOrderWaiting(): boolean {
    return this.isAnswerWaiting || this.heldBy !== undefined || this.isAborted;
  }

  /** Whether a pause or a person holds it. */
  get isHeld(): boolean {
    return this.held.isActive;
  }

  /**
   * To be called before each irreversible step: waits while a pause or a person holds the workflow, and throws (`isAborted`)
   * after an abort. `release` undoes the steps when waiting begins, and `restore` takes them again when it ends.
   */
  async gate(marks?: { readonly release: () => Promise<void>; readonly restore: () => Promise<void> }): Promise<void> {
    this.throwIfAborted();
    while (this.isHeld) {
      const { phase } = this.progress;
      this.progress.enter(heldPhase, { waitingFor: this.held.waitingFor });
      this.progress.attributes([{ key: searchAttributes.paused, value: true }]);
      await marks?.release();
      await this.waitFor(() => !this.isHeld || this.abortedBy !== undefined);
      this.progress.attributes([{ key: searchAttributes.paused, value: false }]);
      this.progress.enter(phase);
      this.throwIfAborted();
      await marks?.restore();
    }
  }

  /**
   * Asks for approval, with the policy's default after its timeout. Returns undefined once `news` holds or after `lookAgainMs`,
   * so that the caller can check whether the question still makes sense; the question stays open until it is asked again or
   * withdrawn.
   */
  async askForApproval(
    news: () => boolean,
    approval: ApprovalAsked,
    { lookAgainMs, ...question }: Question,
  ): Promise<Consent | undefined> {
    this.throwIfAborted();
    const { timeoutMs, onTimeout } = approval;
    const byDefault = onTimeout === 'Approve' ? 'approved' : 'rejected';
    const until = workflowNow() + timeoutMs;
    this.approval.open({ ...question, until: new Date(until).toISOString(), unanswered: `it is ${byDefault}` });
    this.progress.enter(awaitingApproval, {
      waitingFor: `${questionText(question)} (${byDefault} if nobody answers)`,
      until,
    });
    const over = (): boolean => this.approval.answer !== undefined || this.abortedBy !== undefined || news();
    const ms = Math.max(1, Math.min(timeoutMs, lookAgainMs ?? timeoutMs));
    const inTime = await this.waitFor(over, ms, `approval; ${byDefault} if nobody answers`);
    const given = this.approval.answer;
    const isLookedAt = inTime || lookAgainMs !== undefined;
    if (given === undefined && isLookedAt && this.abortedBy === undefined) return undefined;
    this.approval.close();
    this.throwIfAborted();
    const consent: Consent = given ?? { answer: byDefault, by: 'nobody', reason: 'nobody answered in time' };
    this.progress.enter(consent.answer, { facts: { consent: consentText(consent) } });
    return consent;
  }

  /** Closes the question, because its cause is gone. Does nothing if there is none. */
  withdrawQuestion(): void {
    this.approval.withdraw();
  }

  /**
   * Asks for approval beside other work, without a change of phase and without a default answer. Undefined if nobody answered within
   * `ms` or before `until` held.
   */
  async askBeside(
    ms: number,
    options: { readonly summary: string; readonly until: () => boolean; readonly question: AskedQuestion },
  ): Promise<Consent | undefined> {
    this.approval.open(options.question);
    const over = (): boolean => this.approval.answer !== undefined || options.until();
    try {
      await this.waitFor(over, Math.max(1, ms), options.summary);
      return this.approval.answer;
    } finally {
      this.approval.close();
    }
  }

  /** A durable wait that people can cut short, and that ends when `until` holds. Throws after an abort. */
  async wait(
    ms: number,
    options: { readonly summary: string; readonly until?: () => boolean; readonly retryable?: boolean },
  ): Promise<WaitEnd> {
    this.throwIfAborted();
    const waiting: NonNullable<Oversight['waiting']> = { retryable: options.retryable ?? false, end: undefined };
    this.waiting = waiting;
    const over = (): boolean => waiting.end !== undefined || this.abortedBy !== undefined || options.until?.() === true;
    const inTime = await this.waitFor(over, Math.max(1, ms), options.summary);
    if (this.waiting === waiting) this.waiting = undefined;
    this.throwIfAborted();
    return waiting.end ?? (inTime ? 'met' : 'elapsed');
  }

  /** From here on orders to abort or hold are refused. */
  passPointOfNoReturn(): void {
    this.stage = 'draining';
  }

  /** Ends the run as an abort does, for other orders with that effect. */
  abortBy(order: Order): void {
    this.abortedBy = order;
  }

  /** From here on every order is refused. */
  finish(): void {
    this.stage = 'finished';
    this.approval.close();
  }

  /**
   * Waits, and remembers the condition, so that an order which ends the wait is answered after the workflow has gone on (see
   * `answered`).
   */
  private async waitFor(over: () => boolean, ms?: number, summary = ''): Promise<boolean> {
    this.waitedFor = over;
    try {
      if (ms !== undefined) return await condition(over, ms, { summary });
      await condition(over);
      return true;
    } finally {
      this.waitedFor = undefined;
    }
  }

  /** Carries out an order and returns the state of the workflow after the step that the order caused. */
  private async answered(act: () => unknown): Promise<Explanation> {
    const { phase, waitingFor } = this.progress.explanation;
    act();
    const over = this.waitedFor;
    const isOver = over?.() === true;
    if (isOver) await condition(() => this.waitedFor !== over);
    const after = this.progress.explanation;
    if (after.phase !== phase || after.waitingFor !== waitingFor) return after;
    // The workflow has not shown its next phase yet, and no longer waits for what it showed before.
    if (this.abortedBy !== undefined) return { phase: 'aborted', facts: after.facts };
    return isOver ? { phase: this.stage === 'revocable' ? 'goes on' : phase, facts: after.facts } : after;
  }

  throwIfAborted(): void {
    if (this.abortedBy === undefined) return;
    const { actor, reason } = this.abortedBy;
    throw ApplicationFailure.create({
      type: aborted,
      message: `aborted by ${withReason(actor, reason)}`,
      nonRetryable: true,
    });
  }

  private answerWith(answer: Consent['answer'], order: Order): Explanation {
    this.approval.answerWith(answer, order);
    return this.progress.explanation;
  }

  private hold(order: HoldOrder): Explanation {
    this.held.order(order);
    return this.progress.explanation;
  }

  private abort(order: Order): Explanation {
    this.abortedBy = order;
    this.progress.addFacts({ 'aborted by': withReason(order.actor, order.reason) });
    return this.progress.explanation;
  }

  private retry(order: Order): Explanation {
    this.progress.addFacts({ 'tried again by': withReason(order.actor, order.reason) });
    if (this.waiting?.retryable === true) this.waiting.end = 'retried';
    this.options.onRetry?.(order);
    return this.progress.explanation;
  }

  private expedite(order: ExpediteOrder): Explanation {
    this.progress.addFacts({ 'expedited by': withReason(order.actor ?? 'another disruption', order.reason) });
    const broken = this.options.breaks?.(order);
    if (broken !== undefined && order.actor !== undefined)
      this.progress.addFacts({ 'force ordered by': `${withReason(order.actor, order.reason)}: ${broken}` });
    if (this.waiting !== undefined) this.waiting.end = 'expedited';
    this.options.onExpedite?.(order);
    return this.progress.explanation;
  }

  private checkOpen(): void {
    if (this.abortedBy !== undefined) {
      const { actor, reason } = this.abortedBy;
      throw refuse(refusals.abortedAlready, `${withReason(actor, reason)} aborted it already`);
    }
    if (this.stage === 'finished') throw refuse(refusals.finished, `it is over: ${this.progress.phase}`);
  }

  private checkRevocable(order: string): void {
    this.checkOpen();
    if (this.stage === 'draining')
      throw refuse(refusals.tooLate, `too late to ${order}: ${this.progress.phase}, which cannot be taken back`);
  }

  private checkAnswer(order: Order): void {
    checkActor(order);
    this.checkOpen();
    this.approval.checkAnswer();
  }

  private checkApprove(order: Order): void {
    checkActor(order);
    this.checkOpen();
    this.approval.checkApprove(order);
  }

  private checkHold(order: HoldOrder): void {
    checkActor(order);
    if (typeof order.on !== 'boolean')
      throw refuse(refusals.invalid, `on is ${JSON.stringify(order.on)}: true to hold, false to let go on`);
    this.checkRevocable(order.on ? 'hold' : 'let go on');
    this.held.checkOrder(order);
  }

  private checkAbort(order: Order): void {
    checkActor(order);
    this.checkRevocable('abort');
  }

  private checkRetry(order: Order): void {
    checkActor(order);
    this.checkOpen();
    if (this.waiting?.retryable !== true && this.options.onRetry === undefined)
      throw refuse(refusals.nothingToRetry, `nothing waits to be tried again: the phase is ${this.progress.phase}`);
  }

  private checkExpedite(order: ExpediteOrder | undefined): void {
    const wrong = expediteShape(order, '');
    if (wrong !== undefined) throw refuse(refusals.invalid, wrong);
    for (const field of ['deadline', 'instanceEndsAt'] as const) checkTime(field, order?.[field]);
    this.checkOpen();
    if (this.waiting === undefined && this.options.onExpedite === undefined)
      throw refuse(
        refusals.nothingToExpedite,
        `nothing waits that could be expedited: the phase is ${this.progress.phase}`,
      );
    this.checkProtection(order ?? {});
  }

  /**
   * An order from a person, or without a time, must confirm that protection ends. Orders of other workflows carry a time and need
   * not.
   */
  private checkProtection(order: Partial<ExpediteOrder>): void {
    const broken = this.options.breaks?.(order);
    const isPerson = order.actor !== undefined || (order.deadline ?? order.instanceEndsAt) === undefined;
    if (broken !== undefined && isPerson) checkForce('expedite', order, broken);
  }
}

/** Waits until all updates are answered: Temporal would drop the answers at the end of the run. */
export async function ordersAnswered(): Promise<void> {
  if (!allHandlersFinished()) await condition(allHandlersFinished);
}
