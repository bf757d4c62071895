import { ApplicationFailure } from '@temporalio/workflow';
import { absentOr, object, optional, text } from '../../core/shapes.js';
import type { ExpediteOrder, HoldOrder, Order } from './oversight-messages.js';
import { refusals } from './oversight-messages.js';
import type { Progress } from '../progress.js';
import { withReason } from './consent.js';
import type { Hold } from './hold.js';
import { checkActor, checkForce, checkTime, refuse } from './orders.js';
import type { PendingApproval } from './pending-approval.js';
import type { Waits } from './waits.js';

/** The type of the failure that an `abort` ends a wait with. */
const aborted = 'Aborted';

/** The order of another disruption need not have an actor. */
const expediteShape = optional(object({ actor: absentOr(text), reason: absentOr(text) }));

/** Whether the error is the one that `throwIfAborted` throws after an `abort`. */
export function isAborted(error: unknown): error is ApplicationFailure {
  return error instanceof ApplicationFailure && error.type === aborted;
}

interface OrderDeps {
  readonly progress: Progress;
  readonly held: Hold;
  readonly approval: PendingApproval;
  readonly waits: Waits;
  /** Whether the workflow takes the order at any time, not only while it waits. */
  readonly canExpedite: boolean;
  readonly canRetry: boolean;
  /** Which pods would lose their protection by an `expedite` order, in words. */
  readonly breaks: ((order: ExpediteOrder) => string | undefined) | undefined;
}

/** Which orders a workflow accepts now. Each `check` throws a typed refusal for an order that is not possible. */
export class AcceptedOrders {
  private abortedBy: Order | undefined;
  private stage: 'revocable' | 'draining' | 'finished' = 'revocable';

  constructor(private readonly deps: OrderDeps) {}

  get isAborted(): boolean {
    return this.abortedBy !== undefined;
  }

  get isRevocable(): boolean {
    return this.stage === 'revocable';
  }

  abort(by: Order): void {
    this.abortedBy = by;
  }

  passPointOfNoReturn(): void {
    this.stage = 'draining';
  }

  /** The step that cannot be undone was not taken after all. */
  becomeRevocable(): void {
    if (this.stage === 'draining') this.stage = 'revocable';
  }

  finish(): void {
    this.stage = 'finished';
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

  private checkOpen(): void {
    if (this.abortedBy !== undefined) {
      const { actor, reason } = this.abortedBy;
      throw refuse(refusals.abortedAlready, `${withReason(actor, reason)} aborted it already`);
    }
    if (this.stage === 'finished') throw refuse(refusals.finished, `it is over: ${this.deps.progress.phase}`);
  }

  private checkRevocable(order: string): void {
    this.checkOpen();
    if (this.stage === 'draining')
      throw refuse(refusals.tooLate, `too late to ${order}: ${this.deps.progress.phase}, which cannot be undone`);
  }

  checkAnswer(order: Order): void {
    checkActor(order);
    this.checkOpen();
    this.deps.approval.checkAnswer();
  }

  checkApprove(order: Order): void {
    checkActor(order);
    this.checkOpen();
    this.deps.approval.checkApprove(order);
  }

  checkHold(order: HoldOrder): void {
    checkActor(order);
    if (typeof order.on !== 'boolean')
      throw refuse(refusals.invalid, `on is ${JSON.stringify(order.on)}: true to hold, false to release`);
    this.checkRevocable(order.on ? 'hold' : 'release');
    this.deps.held.checkOrder(order);
  }

  checkAbort(order: Order): void {
    checkActor(order);
    this.checkRevocable('abort');
  }

  checkRetry(order: Order): void {
    const { waits, canRetry } = this.deps;
    checkActor(order);
    this.checkOpen();
    if (!waits.isRetryable && !canRetry)
      throw refuse(
        refusals.nothingToRetry,
        `nothing waits to be tried again: the phase is ${this.deps.progress.phase}`,
      );
  }

  checkExpedite(order: ExpediteOrder | undefined): void {
    const { waits, canExpedite } = this.deps;
    const wrong = expediteShape(order, '');
    if (wrong !== undefined) throw refuse(refusals.invalid, wrong);
    for (const field of ['deadline', 'instanceEndsAt'] as const) checkTime(field, order?.[field]);
    this.checkOpen();
    if (!waits.isExpeditable && !canExpedite)
      throw refuse(
        refusals.nothingToExpedite,
        `nothing waits that could be expedited: the phase is ${this.deps.progress.phase}`,
      );
    this.checkProtection(order ?? {});
  }

  /**
   * An order from a person, or without a time, must confirm that protection ends. Orders of other workflows carry a
   * time and need not.
   */
  private checkProtection(order: Partial<ExpediteOrder>): void {
    const broken = this.deps.breaks?.(order);
    const isPerson = order.actor !== undefined || (order.deadline ?? order.instanceEndsAt) === undefined;
    if (broken !== undefined && isPerson) checkForce('expedite', order, broken);
  }
}
