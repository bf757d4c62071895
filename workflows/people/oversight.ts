import type { SignalDefinition, UpdateDefinition } from '@temporalio/common';
import { allHandlersFinished, ApplicationFailure, condition } from '@temporalio/workflow';
import { absentOr, object, optional, text } from '../../core/shapes.js';
import { workflowNow } from '../clock.js';
import { setSignalHandler, setUpdateHandler } from '../handlers.js';
import { withRelease } from '../history-limit.js';
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
import type { Progress } from '../progress.js';
import { consentText, withReason } from './consent.js';
import type { Consent, Question } from './consent.js';
import { checkActor, checkForce, checkTime, handleOrderSignal, refuse } from './orders.js';

interface OversightOptions {
  /** The hold carried over from the run before. */
  readonly heldBy?: HoldOrder;
  /** When the question times out that the run before opened, milliseconds of the epoch. */
  readonly askedUntil?: number | undefined;
  /** Handles `expedite` at any time; without it the order is accepted only during `wait`. */
  readonly onExpedite?: (order: ExpediteOrder) => void;
  /** Handles `retry` at any time; without it the order is accepted only during a retryable `wait`. */
  readonly onRetry?: (order: Order) => void;
  /** Called when a hold begins or ends. */
  readonly onHold?: (order: HoldOrder) => void;
  /** Which pods would lose their protection by an `expedite` order, in words: such an order needs `force`. */
  readonly breaks?: (order: ExpediteOrder) => string | undefined;
}

interface OrderHandler<Payload> {
  /** Throws a refusal if the order is not possible now. */
  readonly check: (order: Payload) => void;
  readonly act: (order: Payload) => void;
  /** Whether the signal has to have an actor; other workflows send some signals too. */
  readonly isOfPeople?: boolean;
}

/** What ended a wait. */
type WaitEnd = 'elapsed' | 'met' | 'expedited' | 'retried';

/** The type of the failure that an `abort` ends a wait with. */
const aborted = 'Aborted';
/** The order of another disruption need not have an actor. */
const expediteShape = optional(object({ actor: absentOr(text), reason: absentOr(text) }));
/** How often a workflow checks whether its question still makes sense. */
const recheckMs = 10 * 60_000;

/** Whether the error is the one that `throwIfAborted` throws after an `abort`. */
export function isAborted(error: unknown): error is ApplicationFailure {
  return error instanceof ApplicationFailure && error.type === aborted;
}

/**
 * Handles people's orders to one workflow: `approve`, `reject`, `abort`, `expedite`, `retry` and `hold`, as signals and
 * as updates. An order that is not possible now is refused: an update with a typed failure, a signal with a fact in
 * `explain`. Build it before the first await of the workflow, because it sets handlers.
 */
export class Oversight {
  private holder: HoldOrder | undefined;
  private abortedBy: Order | undefined;
  private stage: 'revocable' | 'draining' | 'finished' = 'revocable';
  private question: AskedQuestion | undefined;
  /** The answer to the current question, or to the last one if none is open. */
  private given: Consent | undefined;
  private until: number | undefined;
  private phaseBefore = '';
  /** The wait that `expedite` ends. */
  private current: { readonly retryable: boolean; end: WaitEnd | undefined } | undefined;
  /** The condition that ends the current wait. */
  private waitedFor: (() => boolean) | undefined;

  constructor(
    private readonly progress: Progress,
    private readonly options: OversightOptions = {},
  ) {
    this.holder = options.heldBy;
    this.until = options.askedUntil;
    this.handleOrders();
  }

  get isAborted(): boolean {
    return this.abortedBy !== undefined;
  }

  get isHeld(): boolean {
    return this.holder !== undefined;
  }

  /** The hold by a person, for continue-as-new. */
  get heldBy(): HoldOrder | undefined {
    return this.holder;
  }

  /** When the open question times out, for continue-as-new. */
  get askedUntil(): number | undefined {
    return this.until;
  }

  /** Whether an answer was given that the asking code has not read yet: continue-as-new would lose it. */
  get isAnswerWaiting(): boolean {
    return this.question !== undefined && this.given !== undefined;
  }

  /**
   * Whether continue-as-new would lose an order: one not carried out yet, or a person's hold. While a person holds the
   * workflow its history grows only by signals.
   */
  get isOrderWaiting(): boolean {
    return this.isAnswerWaiting || this.isHeld || this.isAborted;
  }

  /**
   * Call it before each irreversible step, when there is nothing to undo. Waits while a person holds the workflow, and
   * throws (`isAborted`) after an abort.
   */
  async gate(): Promise<void> {
    this.throwIfAborted();
    while (this.isHeld) {
      const { phase } = this.progress;
      this.progress.enter('held', { waitingFor: `${this.holder?.actor ?? 'nobody'} to release it` });
      this.progress.attributes([{ key: searchAttributes.paused, value: true }]);
      await this.waitUntil(() => !this.isHeld || this.isAborted);
      this.progress.attributes([{ key: searchAttributes.paused, value: false }]);
      this.progress.enter(phase);
      this.throwIfAborted();
    }
  }

  /**
   * Asks for approval, with the policy's default after its timeout. Returns undefined once `interrupt` holds or time has
   * passed, so that the caller can check whether the question still makes sense (people/questions-end-with-their-cause);
   * it stays open until it is asked again or withdrawn.
   */
  async ask(
    approval: ApprovalAsked,
    question: Question,
    options: { readonly interrupt: () => boolean; readonly atMostMs?: number; readonly recheckEveryMs?: number },
  ): Promise<Consent | undefined> {
    this.throwIfAborted();
    const { interrupt, atMostMs = Number.POSITIVE_INFINITY, recheckEveryMs = recheckMs } = options;
    this.until ??= workflowNow() + approval.timeoutMs;
    const timeoutMs = Math.max(1, Math.min(this.until - workflowNow(), atMostMs));
    const byDefault = approval.onTimeout === 'Approve' ? 'approved' : 'rejected';
    const until = workflowNow() + timeoutMs;
    this.open({ ...question, until: new Date(until).toISOString(), unanswered: `it is ${byDefault}` });
    const waitingFor = `${questionText(question)} (${byDefault} if nobody answers)`;
    this.progress.enter('awaiting approval', { waitingFor, until });
    const over = (): boolean => this.given !== undefined || this.isAborted || interrupt();
    const summary = `approval; ${byDefault} if nobody answers`;
    const inTime = await this.waitUntil(over, Math.min(timeoutMs, recheckEveryMs), summary);
    const { given } = this;
    if (given === undefined && (inTime || timeoutMs > recheckEveryMs) && !this.isAborted) return undefined;
    this.close();
    this.throwIfAborted();
    this.until = undefined;
    const consent: Consent = given ?? { answer: byDefault, by: 'nobody', reason: 'nobody answered in time' };
    this.progress.enter(consent.answer, { facts: { consent: consentText(consent) } });
    return consent;
  }

  /**
   * Asks for approval during other work, without a change of phase and without a default answer. Undefined without an
   * answer within `ms` or before `until` held.
   */
  async askBeside(
    ms: number,
    options: { readonly summary: string; readonly until: () => boolean; readonly question: AskedQuestion },
  ): Promise<Consent | undefined> {
    this.open(options.question);
    const over = (): boolean => this.given !== undefined || options.until();
    try {
      await this.waitUntil(over, Math.max(1, ms), options.summary);
      return this.given;
    } finally {
      this.close();
    }
  }

  /** Closes the question, because its cause is gone, and returns to the phase before it. Does nothing if there is none. */
  withdrawQuestion(): void {
    this.until = undefined;
    if (this.question === undefined) return;
    this.close();
    this.progress.enter(this.phaseBefore);
  }

  /** A durable wait that people can cut short, and that ends when `until` holds. Throws after an abort. */
  async wait(
    ms: number,
    options: { readonly summary: string; readonly until?: () => boolean; readonly retryable?: boolean },
  ): Promise<WaitEnd> {
    this.throwIfAborted();
    const { summary, until, retryable = false } = options;
    const waiting: NonNullable<Oversight['current']> = { retryable, end: undefined };
    this.current = waiting;
    const over = (): boolean => waiting.end !== undefined || this.isAborted || until?.() === true;
    const inTime = await this.waitUntil(over, Math.max(1, ms), summary);
    if (this.current === waiting) this.current = undefined;
    this.throwIfAborted();
    return waiting.end ?? (inTime ? 'met' : 'elapsed');
  }

  /** From here on orders to abort or hold are refused. */
  passPointOfNoReturn(): void {
    this.stage = 'draining';
  }

  /** The irreversible step was not taken after all: orders to abort or hold are accepted again. */
  becomeRevocable(): void {
    if (this.stage === 'draining') this.stage = 'revocable';
  }

  /** Ends the run as an abort does, for other orders with that effect. */
  abortBy(order: Order): void {
    this.abortedBy = order;
  }

  /** From here on every order is refused. */
  finish(): void {
    this.stage = 'finished';
    this.close();
  }

  throwIfAborted(): void {
    if (this.abortedBy === undefined) return;
    const { actor, reason } = this.abortedBy;
    const message = `aborted by ${withReason(actor, reason)}`;
    throw ApplicationFailure.create({ type: aborted, message, nonRetryable: true });
  }

  /** Opens a question, or continues the open one. */
  private open(question: AskedQuestion): void {
    const isOpen = this.question !== undefined;
    this.question = question;
    this.progress.setQuestion(question);
    if (isOpen) return;
    this.given = undefined;
    this.phaseBefore = this.progress.phase;
    this.progress.attributes([{ key: searchAttributes.awaitingApproval, value: true }]);
  }

  private close(): void {
    if (this.question === undefined) return;
    this.question = undefined;
    this.progress.setQuestion(undefined);
    this.progress.attributes([{ key: searchAttributes.awaitingApproval, value: false }]);
  }

  /** Waits for the condition, at most for `ms`; returns whether it holds. */
  private async waitUntil(over: () => boolean, ms?: number, summary = ''): Promise<boolean> {
    this.waitedFor = over;
    try {
      if (ms !== undefined) return await condition(over, ms, { summary });
      await condition(over);
      return true;
    } finally {
      this.waitedFor = undefined;
    }
  }

  private handleOrders(): void {
    const { progress } = this;
    const take = <Payload extends Partial<Order>>(
      signal: SignalDefinition<[Payload]>,
      update: UpdateDefinition<Explanation, [Payload]>,
      { check, act, isOfPeople = true }: OrderHandler<Payload>,
    ): void => {
      const checkFully = (order: Payload): void => {
        checkActor(order);
        check(order);
      };
      const checkSignal = isOfPeople ? checkFully : check;
      setSignalHandler(signal, (order) =>
        handleOrderSignal(progress, signal.name, { check: () => checkSignal(order), act: () => act(order) }),
      );
      setUpdateHandler(update, (order) => this.answered(() => act(order)), checkFully);
    };
    take(approveSignal, approveUpdate, {
      check: (order) => this.checkApprove(order),
      act: (order) => this.answerWith('approved', order),
    });
    take(rejectSignal, rejectUpdate, {
      check: () => this.checkAnswer(),
      act: (order) => this.answerWith('rejected', order),
    });
    take(abortSignal, abortUpdate, {
      check: () => this.checkRevocable('abort'),
      act: (order) => this.abort(order),
    });
    take(retrySignal, retryUpdate, {
      check: () => this.checkRetry(),
      act: (order) => this.retry(order),
    });
    take(holdSignal, holdUpdate, {
      check: (order) => this.checkHold(order),
      act: (order) => this.hold(order),
    });
    take(expediteSignal, expediteUpdate, {
      check: (order) => this.checkExpedite(order),
      act: (order) => this.expedite(order),
      isOfPeople: false,
    });
  }

  /**
   * Carries out an order and returns the state of the workflow after the step that the order caused: if it ends the
   * current wait, after the workflow has continued.
   */
  private async answered(act: () => void): Promise<Explanation> {
    const { phase, waitingFor } = this.progress.explanation;
    act();
    const over = this.waitedFor;
    const isOver = over?.() === true;
    if (isOver) await condition(() => this.waitedFor !== over);
    const after = this.progress.explanation;
    if (after.phase !== phase || after.waitingFor !== waitingFor) return after;
    // The workflow has not shown its next phase yet, and no longer waits for what it showed before.
    if (this.isAborted) return { phase: 'aborted', facts: after.facts };
    return isOver ? { phase: this.stage === 'revocable' ? 'goes on' : phase, facts: after.facts } : after;
  }

  private answerWith(answer: Consent['answer'], { actor, reason, force }: Order): void {
    const broken = this.question?.breaks;
    if (broken !== undefined && force === true)
      this.progress.addFacts({ 'force ordered by': `${withReason(actor, reason)}: ${broken}` });
    this.given = { answer, by: actor, ...(reason === undefined ? {} : { reason }) };
  }

  private hold(order: HoldOrder): void {
    const before = this.isHeld;
    this.holder = order.on ? order : undefined;
    if (this.isHeld !== before) this.options.onHold?.(order);
    const by = withReason(order.actor, order.reason);
    this.progress.addFacts({ 'held by': order.on ? by : undefined, 'released by': order.on ? undefined : by });
  }

  private abort(order: Order): void {
    this.abortBy(order);
    this.progress.addFacts({ 'aborted by': withReason(order.actor, order.reason) });
  }

  private retry(order: Order): void {
    this.progress.addFacts({ 'tried again by': withReason(order.actor, order.reason) });
    if (this.current?.retryable === true) this.current.end = 'retried';
    this.options.onRetry?.(order);
  }

  private expedite(order: ExpediteOrder = {}): void {
    const by = withReason(order.actor ?? 'another disruption', order.reason);
    const broken = order.actor === undefined ? undefined : this.options.breaks?.(order);
    const forced = broken === undefined ? {} : { 'force ordered by': `${by}: ${broken}` };
    this.progress.addFacts({ 'expedited by': by, ...forced });
    if (this.current !== undefined) this.current.end = 'expedited';
    this.options.onExpedite?.(order);
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
      throw refuse(refusals.tooLate, `too late to ${order}: ${this.progress.phase}, which cannot be undone`);
  }

  private checkAnswer(): void {
    this.checkOpen();
    if (this.question === undefined)
      throw refuse(refusals.nothingToApprove, `nothing awaits approval: the phase is ${this.progress.phase}`);
    if (this.given !== undefined)
      throw refuse(refusals.nothingToApprove, `${this.given.answer} by ${this.given.by} already`);
  }

  /** An approval that ends the protection of pods needs `force` (people/yes-that-breaks-protection). */
  private checkApprove(order: Order): void {
    this.checkAnswer();
    const broken = this.question?.breaks;
    if (broken !== undefined) checkForce('approve', order, broken);
  }

  private checkHold({ on }: HoldOrder): void {
    if (typeof on !== 'boolean')
      throw refuse(refusals.invalid, `on is ${JSON.stringify(on)}: true to hold, false to release`);
    this.checkRevocable(on ? 'hold' : 'release');
    const { holder } = this;
    if (on && holder !== undefined)
      throw refuse(refusals.heldAlready, `${withReason(holder.actor, holder.reason)} holds it already`);
    if (!on && holder === undefined) throw refuse(refusals.nothingHeld, 'nobody holds it');
  }

  private checkRetry(): void {
    this.checkOpen();
    if (this.current?.retryable === true || this.options.onRetry !== undefined) return;
    throw refuse(refusals.nothingToRetry, `nothing waits to be tried again: the phase is ${this.progress.phase}`);
  }

  private checkExpedite(order?: ExpediteOrder): void {
    const wrong = expediteShape(order, '');
    if (wrong !== undefined) throw refuse(refusals.invalid, wrong);
    for (const field of ['deadline', 'instanceEndsAt'] as const) checkTime(field, order?.[field]);
    this.checkOpen();
    if (this.current === undefined && this.options.onExpedite === undefined) {
      const why = `nothing waits that could be expedited: the phase is ${this.progress.phase}`;
      throw refuse(refusals.nothingToExpedite, why);
    }
    // An order from a person, or without a time, must confirm that protection ends; those of other workflows carry a time.
    const { actor, deadline, instanceEndsAt } = order ?? {};
    const isPerson = actor !== undefined || (deadline ?? instanceEndsAt) === undefined;
    const broken = isPerson ? this.options.breaks?.(order ?? {}) : undefined;
    if (broken !== undefined) checkForce('expedite', order ?? {}, broken);
  }
}

/** Runs a workflow that people can abort, and then `release`, in every case except continue-as-new. */
export function overseen<T>(workflow: {
  readonly run: () => Promise<T>;
  readonly aborted: (why: string) => T | Promise<T>;
  readonly release: () => Promise<void>;
}): Promise<T> {
  const work = async (): Promise<T> => {
    try {
      return await workflow.run();
    } catch (error) {
      if (!isAborted(error)) throw error;
      return workflow.aborted(error.message);
    }
  };
  return withRelease(work, () => workflow.release());
}

/** Waits until all updates are answered: Temporal would drop the answers at the end of the run. */
export async function ordersAnswered(): Promise<void> {
  if (!allHandlersFinished()) await condition(allHandlersFinished);
}
