import { allHandlersFinished, condition } from '@temporalio/workflow';
import { workflowNow } from '../clock.js';
import type { ApprovalAsked, AskedQuestion, ExpediteOrder, HoldOrder, Order } from '../messages.js';
import { questionText, searchAttributes } from '../messages.js';
import { AcceptedOrders } from './accepted-orders.js';
import type { Consent, Question } from './consent.js';
import { consentText } from './consent.js';
import { Hold, heldPhase } from './hold.js';
import { handleOversightOrders } from './order-handlers.js';
import { PendingApproval } from './pending-approval.js';
import type { Progress } from '../progress.js';
import { Waits } from './waits.js';
import type { WaitEnd } from './waits.js';

interface OversightOptions {
  /** The hold carried over from the run before. */
  readonly heldBy?: HoldOrder;
  /** Handles `expedite` at any time; without it the order is accepted only during `wait`. */
  readonly onExpedite?: (order: ExpediteOrder) => void;
  /** Handles `retry` at any time; without it the order is accepted only during a retryable `wait`. */
  readonly onRetry?: (order: Order) => void;
  /** Called when a hold begins or ends. */
  readonly onHold?: (order: HoldOrder) => void;
  /** Which pods would lose their protection by an `expedite` order, in words: such an order needs `force`. */
  readonly breaks?: (order: ExpediteOrder) => string | undefined;
}

/** The phase of a workflow that waits for approval. */
const awaitingApproval = 'awaiting approval';

/**
 * Handles people's orders to one workflow: `approve`, `reject`, `abort`, `expedite`, `retry` and `hold`, as signals and
 * as updates. An order that is not possible now is refused: an update with a typed failure, a signal with a fact in
 * `explain`. Build it before the first await of the workflow, because it sets handlers.
 */
export class Oversight {
  private readonly held: Hold;
  private readonly approval: PendingApproval;
  private readonly waits = new Waits();
  private readonly accepted: AcceptedOrders;

  constructor(
    private readonly progress: Progress,
    options: OversightOptions = {},
  ) {
    this.held = new Hold(progress, options.heldBy, (order) => options.onHold?.(order));
    this.approval = new PendingApproval(progress);
    const { progress: shown, held, approval, waits } = this;
    this.accepted = new AcceptedOrders({
      ...{ progress: shown, held, approval, waits, breaks: options.breaks },
      canExpedite: options.onExpedite !== undefined,
      canRetry: options.onRetry !== undefined,
    });
    handleOversightOrders({ progress: shown, held, approval, waits, accepted: this.accepted, ...options });
  }

  get isAborted(): boolean {
    return this.accepted.isAborted;
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
   * Whether continue-as-new would lose an order: one not carried out yet, or a person's hold. While a person holds the
   * workflow its history grows only by signals.
   */
  get isOrderWaiting(): boolean {
    return this.isAnswerWaiting || this.heldBy !== undefined || this.isAborted;
  }

  get isHeld(): boolean {
    return this.held.isActive;
  }

  /**
   * Call it before each irreversible step, when there is nothing to undo. Waits while a person holds the workflow, and
   * throws (`isAborted`) after an abort.
   */
  async gate(): Promise<void> {
    this.throwIfAborted();
    while (this.isHeld) {
      const { phase } = this.progress;
      this.progress.enter(heldPhase, { waitingFor: this.held.waitingFor });
      this.progress.attributes([{ key: searchAttributes.paused, value: true }]);
      await this.waits.until(() => !this.isHeld || this.isAborted);
      this.progress.attributes([{ key: searchAttributes.paused, value: false }]);
      this.progress.enter(phase);
      this.throwIfAborted();
    }
  }

  /**
   * Asks for approval, with the policy's default after its timeout. Returns undefined once `interrupt` holds or after
   * `recheckAfterMs`, so that the caller can check whether the question still makes sense; the question stays open
   * until it is asked again or withdrawn.
   */
  async askForApproval(
    interrupt: () => boolean,
    approval: ApprovalAsked,
    { recheckAfterMs, ...question }: Question,
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
    const over = (): boolean => this.approval.answer !== undefined || this.isAborted || interrupt();
    const ms = Math.max(1, Math.min(timeoutMs, recheckAfterMs ?? timeoutMs));
    const inTime = await this.waits.until(over, ms, `approval; ${byDefault} if nobody answers`);
    const given = this.approval.answer;
    const isRecheck = inTime || recheckAfterMs !== undefined;
    if (given === undefined && isRecheck && !this.isAborted) return undefined;
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
   * Asks for approval during other work, without a change of phase and without a default answer. Undefined without an
   * answer within `ms` or before `until` held.
   */
  async askBeside(
    ms: number,
    options: { readonly summary: string; readonly until: () => boolean; readonly question: AskedQuestion },
  ): Promise<Consent | undefined> {
    this.approval.open(options.question);
    const over = (): boolean => this.approval.answer !== undefined || options.until();
    try {
      await this.waits.until(over, Math.max(1, ms), options.summary);
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
    const { summary, until, retryable = false } = options;
    const end = await this.waits.wait(ms, { summary, until: () => this.isAborted || until?.() === true, retryable });
    this.throwIfAborted();
    return end;
  }

  /** From here on orders to abort or hold are refused. */
  passPointOfNoReturn(): void {
    this.accepted.passPointOfNoReturn();
  }

  /** The irreversible step was not taken after all: orders to abort or hold are accepted again. */
  becomeRevocable(): void {
    this.accepted.becomeRevocable();
  }

  /** Ends the run as an abort does, for other orders with that effect. */
  abortBy(order: Order): void {
    this.accepted.abort(order);
  }

  /** From here on every order is refused. */
  finish(): void {
    this.accepted.finish();
    this.approval.close();
  }

  throwIfAborted(): void {
    this.accepted.throwIfAborted();
  }
}

/** Waits until all updates are answered: Temporal would drop the answers at the end of the run. */
export async function ordersAnswered(): Promise<void> {
  if (!allHandlersFinished()) await condition(allHandlersFinished);
}
