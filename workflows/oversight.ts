import { ApplicationFailure, condition, setHandler } from '@temporalio/workflow';
import { workflowNow } from './clock.js';
import type { ApprovalAsked, ExpediteOrder, Explanation, HoldOrder, Order } from './messages.js';
import {
  abortSignal,
  abortUpdate,
  approveSignal,
  approveUpdate,
  expediteSignal,
  expediteUpdate,
  holdSignal,
  holdUpdate,
  refusals,
  rejectSignal,
  rejectUpdate,
  retrySignal,
  retryUpdate,
  searchAttributes,
} from './messages.js';
import { checkActor, checkTime, obey, refuse } from './orders.js';
import type { Progress } from './progress.js';

/** The answer to a question for consent. */
export interface Consent {
  readonly answer: 'approved' | 'rejected';
  /** Who gave it: a person, `nobody` where time ran out, `policy` where nobody had to be asked. */
  readonly by: string;
  readonly reason?: string;
}

/** How a wait ended. */
export type WaitEnd = 'elapsed' | 'met' | 'expedited' | 'retried';

export interface OversightOptions {
  /** Whether a pause holds it from the start. */
  readonly paused?: boolean;
  /** Takes orders to hurry at any time; without it they are taken while `wait` waits. */
  readonly onExpedite?: (order: ExpediteOrder) => void;
  /** Takes orders to try again at any time; without it they are taken while a retryable `wait` waits. */
  readonly onRetry?: (order: Order) => void;
  /** Hears that a pause or a person has begun to hold it, or lets it go on. */
  readonly onHold?: (held: boolean) => void;
}

/** What the Temporal UI says of each order, with what to send. */
const descriptions = {
  approve: 'say yes to what awaits approval: {"actor", "reason"?}',
  reject: 'say no to what awaits approval: {"actor", "reason"?}',
  abort: 'end it while it can be taken back, without a trace: {"actor", "reason"?}',
  retry: 'try again at once what failed or waits: {"actor", "reason"?}',
  hold: 'stay before the next step that cannot be taken back, or go on: {"actor", "on", "reason"?}',
  expedite: 'wait no longer; of a drain, end the protection of its pods by deadline: {"actor", "deadline"?, "reason"?}',
} as const;

/** An order as signal and as update, when it makes sense, and what it does. */
interface Takable {
  readonly name: Exclude<keyof typeof descriptions, 'hold' | 'expedite'>;
  readonly signal: typeof approveSignal;
  readonly update: typeof approveUpdate;
  readonly check: (order: Order) => void;
  readonly act: (order: Order) => Explanation;
}

const aborted = 'Aborted';

/** Whether a person ended this by `abort`: the failure that `gate`, `wait` and `consent` throw then. */
export function isAborted(error: unknown): error is ApplicationFailure {
  return error instanceof ApplicationFailure && error.type === aborted;
}

/**
 * People in charge of one running disruption: `approve`, `reject`, `abort`, `expedite`, `retry` and `hold`, as signals and as
 * updates. Updates are refused with a typed reason when the order makes no sense now; signals that make none are
 * noted and ignored. Build one before the first wait of the workflow.
 */
export class Oversight {
  private paused: boolean;
  private heldBy: HoldOrder | undefined;
  private abortedBy: Order | undefined;
  private answer: Consent | undefined;
  private asking = false;
  private waiting: { readonly retryable: boolean; end: WaitEnd | undefined } | undefined;
  private stage: 'revocable' | 'draining' | 'finished' = 'revocable';

  constructor(
    private readonly progress: Progress,
    private readonly options: OversightOptions = {},
  ) {
    this.paused = options.paused ?? false;
    const holdSignalled = (hold: boolean | HoldOrder): void => {
      if (typeof hold === 'boolean') this.changeHold(() => void (this.paused = hold));
      else obey(this.progress, 'hold', { check: () => this.checkHold(hold), act: () => this.hold(hold) });
    };
    setHandler(holdSignal, holdSignalled, { description: descriptions.hold });
    setHandler(holdUpdate, (hold) => this.hold(hold), {
      validator: (hold: HoldOrder) => this.checkHold(hold),
      description: descriptions.hold,
    });
    const checkAnswer = (order: Order): void => this.checkAnswer(order);
    const approve = (order: Order): Explanation => this.answerWith('approved', order);
    const reject = (order: Order): Explanation => this.answerWith('rejected', order);
    this.take({ name: 'approve', signal: approveSignal, update: approveUpdate, check: checkAnswer, act: approve });
    this.take({ name: 'reject', signal: rejectSignal, update: rejectUpdate, check: checkAnswer, act: reject });
    this.take({
      name: 'abort',
      signal: abortSignal,
      update: abortUpdate,
      check: (order) => this.checkAbort(order),
      act: (order) => this.abort(order),
    });
    this.take({
      name: 'retry',
      signal: retrySignal,
      update: retryUpdate,
      check: (order) => this.checkRetry(order),
      act: (order) => this.retry(order),
    });
    const expediteSignalled = (order?: ExpediteOrder): void =>
      obey(this.progress, 'expedite', {
        check: () => this.checkExpedite(order),
        act: () => this.expedite(order ?? {}),
      });
    setHandler(expediteSignal, expediteSignalled, { description: descriptions.expedite });
    setHandler(expediteUpdate, (order) => this.expedite(order), {
      validator: (order: ExpediteOrder) => {
        checkActor(order);
        this.checkExpedite(order);
      },
      description: descriptions.expedite,
    });
  }

  get isAborted(): boolean {
    return this.abortedBy !== undefined;
  }

  /** Whether a pause or a person holds it. */
  get isHeld(): boolean {
    return this.paused || this.heldBy !== undefined;
  }

  /**
   * Before each irreversible step: waits while a pause or a person holds the disruption, and throws (`isAborted`) once
   * somebody has aborted it. `release` is called when waiting begins, so that what waits leaves no mark; `restore` when it is over.
   */
  async gate(marks?: { readonly release: () => Promise<void>; readonly restore: () => Promise<void> }): Promise<void> {
    this.throwIfAborted();
    while (this.isHeld) {
      const { phase } = this.progress;
      this.progress.enter('paused', {
        waitingFor: this.heldBy === undefined ? 'resume' : `${this.heldBy.actor} to let it go on`,
      });
      this.progress.attributes([{ key: searchAttributes.paused, value: true }]);
      await marks?.release();
      await condition(() => !this.isHeld || this.abortedBy !== undefined);
      this.progress.attributes([{ key: searchAttributes.paused, value: false }]);
      this.progress.enter(phase);
      this.throwIfAborted();
      await marks?.restore();
    }
  }

  /** Asks for a person's consent where a policy wants that, and takes the policy's default when nobody answers in time. */
  async consent(approval: ApprovalAsked | undefined, what = 'a person to approve or reject'): Promise<Consent> {
    if (approval === undefined) return { answer: 'approved', by: 'policy' };
    const consent = await this.consentUnless(() => false, approval, what);
    return consent!;
  }

  /** As `consent`; undefined once `overtaken` holds: the question makes no sense any more. */
  async consentUnless(overtaken: () => boolean, approval: ApprovalAsked, what: string): Promise<Consent | undefined> {
    this.throwIfAborted();
    const { timeoutMs, onTimeout } = approval;
    const { phase } = this.progress;
    const byDefault = onTimeout === 'Approve' ? 'approved' : 'rejected';
    this.asking = true;
    this.answer = undefined;
    this.progress.enter('awaiting approval', {
      waitingFor: `${what} (${byDefault} when nobody answers)`,
      until: workflowNow() + timeoutMs,
    });
    this.progress.attributes([{ key: searchAttributes.awaitingApproval, value: true }]);
    const over = (): boolean => this.answer !== undefined || this.abortedBy !== undefined || overtaken();
    const inTime = await condition(over, Math.max(1, timeoutMs), {
      summary: `approval; ${byDefault} when nobody answers`,
    });
    this.asking = false;
    this.progress.attributes([{ key: searchAttributes.awaitingApproval, value: false }]);
    this.throwIfAborted();
    const given = this.given();
    if (given === undefined && inTime) {
      this.progress.enter(phase);
      return undefined;
    }
    const consent: Consent = given ?? { answer: byDefault, by: 'nobody', reason: 'nobody answered in time' };
    this.progress.enter(phase, { facts: { consent: describe(consent) } });
    return consent;
  }

  /**
   * Asks for a person's consent beside other work, whose phase stays. Undefined when nobody answered within `ms`, or before
   * `until` held: there is no default then.
   */
  async ask(
    ms: number,
    options: { readonly summary: string; readonly until: () => boolean },
  ): Promise<Consent | undefined> {
    this.asking = true;
    this.answer = undefined;
    this.progress.attributes([{ key: searchAttributes.awaitingApproval, value: true }]);
    const over = (): boolean => this.answer !== undefined || options.until();
    try {
      await condition(over, Math.max(1, ms), { summary: options.summary });
      return this.given();
    } finally {
      this.asking = false;
      this.progress.attributes([{ key: searchAttributes.awaitingApproval, value: false }]);
    }
  }

  /** A durable wait that people can cut short; also ends when `until` holds. Throws once aborted. */
  async wait(
    ms: number,
    options: { readonly summary: string; readonly until?: () => boolean; readonly retryable?: boolean },
  ): Promise<WaitEnd> {
    this.throwIfAborted();
    const waiting: NonNullable<Oversight['waiting']> = { retryable: options.retryable ?? false, end: undefined };
    this.waiting = waiting;
    const over = (): boolean => waiting.end !== undefined || this.abortedBy !== undefined || options.until?.() === true;
    const inTime = await condition(over, Math.max(1, ms), { summary: options.summary });
    if (this.waiting === waiting) this.waiting = undefined;
    this.throwIfAborted();
    return waiting.end ?? (inTime ? 'met' : 'elapsed');
  }

  /** From here on nothing can be taken back: orders to abort or hold are refused. */
  passPointOfNoReturn(): void {
    this.stage = 'draining';
  }

  /** Ends the run as `abort` does, where another order of a person comes to that. */
  stopBy(order: Order): void {
    this.abortedBy = order;
  }

  /** Every further order is refused. */
  finish(): void {
    this.stage = 'finished';
  }

  /** Asked anew: an answer may have come in during the wait. */
  private given(): Consent | undefined {
    return this.answer;
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

  /** An order that can be told or asked for. */
  private take({ name, signal, update, check, act }: Takable): void {
    const description = descriptions[name];
    const obeyed = (order: Order): void =>
      obey(this.progress, name, { check: () => check(order), act: () => act(order) });
    setHandler(signal, obeyed, { description });
    setHandler(update, (order) => act(order), { validator: (order: Order) => check(order), description });
  }

  private answerWith(answer: Consent['answer'], { actor, reason }: Order): Explanation {
    this.answer = { answer, by: actor, ...(reason === undefined ? {} : { reason }) };
    return this.progress.explanation;
  }

  private abort(order: Order): Explanation {
    this.abortedBy = order;
    this.progress.note({ 'aborted by': withReason(order.actor, order.reason) });
    return this.progress.explanation;
  }

  private retry(order: Order): Explanation {
    this.progress.note({ 'tried again by': withReason(order.actor, order.reason) });
    if (this.waiting?.retryable === true) this.waiting.end = 'retried';
    this.options.onRetry?.(order);
    return this.progress.explanation;
  }

  private expedite(order: ExpediteOrder): Explanation {
    this.progress.note({ 'expedited by': withReason(order.actor ?? 'another disruption', order.reason) });
    if (this.waiting !== undefined) this.waiting.end = 'expedited';
    this.options.onExpedite?.(order);
    return this.progress.explanation;
  }

  private hold(order: HoldOrder): Explanation {
    this.changeHold(() => void (this.heldBy = order.on ? order : undefined));
    const by = withReason(order.actor, order.reason);
    this.progress.note(order.on ? { 'held by': by } : { 'let go on by': by });
    return this.progress.explanation;
  }

  private changeHold(change: () => void): void {
    const before = this.isHeld;
    change();
    if (this.isHeld !== before) this.options.onHold?.(this.isHeld);
  }

  private checkOpen(): void {
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
    if (!this.asking)
      throw refuse(refusals.nothingToApprove, `nothing awaits approval: the phase is ${this.progress.phase}`);
    if (this.answer !== undefined)
      throw refuse(refusals.nothingToApprove, `${this.answer.answer} by ${this.answer.by} already`);
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
    for (const field of ['deadline', 'instanceEndsAt'] as const) checkTime(field, order?.[field]);
    this.checkOpen();
    if (this.waiting === undefined && this.options.onExpedite === undefined)
      throw refuse(
        refusals.nothingToExpedite,
        `nothing waits that could be hurried: the phase is ${this.progress.phase}`,
      );
  }

  private checkHold(order: HoldOrder): void {
    checkActor(order);
    if (typeof order.on !== 'boolean')
      throw refuse(refusals.invalid, `on is ${JSON.stringify(order.on)}: true to hold, false to let go on`);
    this.checkRevocable(order.on ? 'hold' : 'let go on');
    if (order.on && this.heldBy !== undefined)
      throw refuse(refusals.heldAlready, `${withReason(this.heldBy.actor, this.heldBy.reason)} holds it already`);
    if (!order.on && this.heldBy === undefined)
      throw refuse(
        refusals.nothingHeld,
        this.paused ? 'a pause holds it, no person: resume that at the disrupt workflow' : 'nobody holds it',
      );
  }
}

function describe({ answer, by, reason }: Consent): string {
  return `${answer} by ${withReason(by, reason)}`;
}

/** `ann (release)`. */
export function withReason(actor: string, reason: string | undefined): string {
  return reason === undefined || reason === '' ? actor : `${actor} (${reason})`;
}
