import { workflowNow } from '../clock.js';
import type { ApprovalAsked } from '../messages.js';
import type { Oversight } from './oversight.js';
import type { Consent, Question } from './consent.js';

const tenMinutes = 10 * 60_000;

/**
 * An approval question that ends with its cause (people/questions-end-with-their-cause): the workflow checks now and
 * then, and after each signal about it, whether there is still something to ask. A person can answer at any time.
 */
export class ApprovalQuestion {
  private until: number | undefined;

  constructor(
    private readonly oversight: Oversight,
    private readonly options: {
      /** How often the workflow checks whether the question still makes sense. */
      readonly recheckEveryMs?: number;
      /** When the question times out, if the run before opened it; milliseconds of the epoch. */
      readonly until?: number | undefined;
    } = {},
  ) {
    this.until = options.until;
  }

  /** When the question times out, for continue-as-new. */
  get askedUntil(): number | undefined {
    return this.until;
  }

  /**
   * Undefined when the caller has to check the cause, because `interrupt` holds or time has passed; it then asks again
   * or withdraws.
   */
  async ask(
    approval: ApprovalAsked,
    question: Omit<Question, 'recheckAfterMs'>,
    {
      interrupt,
      atMostMs = Number.POSITIVE_INFINITY,
    }: { readonly interrupt: () => boolean; readonly atMostMs?: number },
  ): Promise<Consent | undefined> {
    this.until ??= workflowNow() + approval.timeoutMs;
    const timeoutMs = Math.max(1, Math.min(this.until - workflowNow(), atMostMs));
    const { recheckEveryMs = tenMinutes } = this.options;
    const consent = await this.oversight.askForApproval(
      interrupt,
      { ...approval, timeoutMs },
      { ...question, ...(timeoutMs > recheckEveryMs ? { recheckAfterMs: recheckEveryMs } : {}) },
    );
    if (consent !== undefined) this.until = undefined;
    return consent;
  }

  /** Closes the question because its cause is gone. Does nothing if there is none. */
  withdraw(): void {
    this.until = undefined;
    this.oversight.withdrawQuestion();
  }
}
