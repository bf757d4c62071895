import type { ExpediteOrder, Explanation, HoldOrder, Order } from '../messages.js';
import {
  abortSignal,
  abortUpdate,
  approveSignal,
  approveUpdate,
  expediteSignal,
  expediteUpdate,
  holdSignal,
  holdUpdate,
  rejectSignal,
  rejectUpdate,
  retrySignal,
  retryUpdate,
} from '../messages.js';
import { setSignalHandler, setUpdateHandler } from '../handlers.js';
import type { Progress } from '../progress.js';
import type { AcceptedOrders } from './accepted-orders.js';
import type { Consent } from './consent.js';
import { withReason } from './consent.js';
import type { Hold } from './hold.js';
import { checkActor, handleOrder, handleOrderSignal } from './orders.js';
import type { PendingApproval } from './pending-approval.js';
import type { Waits } from './waits.js';

interface OrderTargets {
  readonly progress: Progress;
  readonly held: Hold;
  readonly approval: PendingApproval;
  readonly waits: Waits;
  readonly accepted: AcceptedOrders;
  /** Handles `expedite` and `retry` at any time. */
  readonly onExpedite?: (order: ExpediteOrder) => void;
  readonly onRetry?: (order: Order) => void;
  /** Which pods would lose their protection by an `expedite` order, in words. */
  readonly breaks?: (order: ExpediteOrder) => string | undefined;
}

/**
 * Sets the handlers of people's orders: each is checked, carried out, shown to people, and answered with its effect.
 */
export function handleOversightOrders(deps: OrderTargets): void {
  const handlers = new OrderHandlers(deps);
  handlers.handleHold();
  handlers.handleAnswers();
  handlers.handleExpedite();
}

class OrderHandlers {
  constructor(private readonly deps: OrderTargets) {}

  handleHold(): void {
    handleOrder(this.deps.progress, {
      ...{ signal: holdSignal, update: holdUpdate },
      check: (order) => this.deps.accepted.checkHold(order),
      act: (order) => this.hold(order),
      answered: (done) => this.answered(done),
    });
  }

  handleAnswers(): void {
    const { accepted } = this.deps;
    const take = (
      signal: typeof abortSignal,
      update: typeof abortUpdate,
      check: (order: Order) => void,
      act: (order: Order) => Explanation,
    ): void => handleOrder(this.deps.progress, { signal, update, check, act, answered: (done) => this.answered(done) });
    const approve = (order: Order): Explanation => this.answerWith('approved', order);
    const reject = (order: Order): Explanation => this.answerWith('rejected', order);
    take(approveSignal, approveUpdate, (order) => accepted.checkApprove(order), approve);
    take(rejectSignal, rejectUpdate, (order) => accepted.checkAnswer(order), reject);
    take(
      abortSignal,
      abortUpdate,
      (order) => accepted.checkAbort(order),
      (order) => this.abort(order),
    );
    take(
      retrySignal,
      retryUpdate,
      (order) => accepted.checkRetry(order),
      (order) => this.retry(order),
    );
  }

  handleExpedite(): void {
    const { accepted } = this.deps;
    const signalled = (order?: ExpediteOrder): void =>
      handleOrderSignal(this.deps.progress, 'expedite', {
        check: () => accepted.checkExpedite(order),
        act: () => this.expedite(order ?? {}),
      });
    setSignalHandler(expediteSignal, signalled);
    const check = (order: ExpediteOrder): void => {
      checkActor(order);
      accepted.checkExpedite(order);
    };
    setUpdateHandler(expediteUpdate, (order) => this.answered(() => this.expedite(order)), check);
  }

  /** Carries out an order and returns the state of the workflow after the step that the order caused. */
  private async answered(act: () => unknown): Promise<Explanation> {
    const { phase, waitingFor } = this.deps.progress.explanation;
    const isOver = await this.deps.waits.endedBy(act);
    const after = this.deps.progress.explanation;
    if (after.phase !== phase || after.waitingFor !== waitingFor) return after;
    // The workflow has not shown its next phase yet, and no longer waits for what it showed before.
    if (this.deps.accepted.isAborted) return { phase: 'aborted', facts: after.facts };
    return isOver ? { phase: this.deps.accepted.isRevocable ? 'goes on' : phase, facts: after.facts } : after;
  }

  private answerWith(answer: Consent['answer'], order: Order): Explanation {
    this.deps.approval.answerWith(answer, order);
    return this.deps.progress.explanation;
  }

  private hold(order: HoldOrder): Explanation {
    this.deps.held.order(order);
    return this.deps.progress.explanation;
  }

  private abort(order: Order): Explanation {
    this.deps.accepted.abort(order);
    this.deps.progress.addFacts({ 'aborted by': withReason(order.actor, order.reason) });
    return this.deps.progress.explanation;
  }

  private retry(order: Order): Explanation {
    this.deps.progress.addFacts({ 'tried again by': withReason(order.actor, order.reason) });
    if (this.deps.waits.isRetryable) this.deps.waits.end('retried');
    this.deps.onRetry?.(order);
    return this.deps.progress.explanation;
  }

  private expedite(order: ExpediteOrder): Explanation {
    this.deps.progress.addFacts({ 'expedited by': withReason(order.actor ?? 'another disruption', order.reason) });
    const broken = this.deps.breaks?.(order);
    if (broken !== undefined && order.actor !== undefined)
      this.deps.progress.addFacts({ 'force ordered by': `${withReason(order.actor, order.reason)}: ${broken}` });
    this.deps.waits.end('expedited');
    this.deps.onExpedite?.(order);
    return this.deps.progress.explanation;
  }
}
