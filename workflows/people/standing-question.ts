import { workflowNow } from '../clock.js';
import type { ApprovalAsked } from '../messages.js';
import type { Consent, Oversight, Question } from './oversight.js';

const tenMinutes = 10 * 60_000;

/**
 * A question for consent that ends with its cause (people/questions-end-with-their-cause): its workflow looks now and then, and at
 * once when it hears of something, whether there still is something to ask. A person can answer all the while.
 */
export class StandingQuestion {
  private until: number | undefined;

  constructor(
    private readonly oversight: Oversight,
    private readonly options: {
      /** How often it is looked whether the question still makes sense. */
      readonly lookEveryMs?: number;
      /** When its time is over, milliseconds of the epoch, if a run before asked it. */
      readonly until?: number | undefined;
    } = {},
  ) {
    this.until = options.until;
  }

  /** What the next run goes on with. */
  get askedUntil(): number | undefined {
    return this.until;
  }

  /** Undefined when it is time to look whether it still stands: then it is asked again, or withdrawn. */
  async ask(
    approval: ApprovalAsked,
    question: Omit<Question, 'lookAgainMs'>,
    { news, atMostMs = Number.POSITIVE_INFINITY }: { readonly news: () => boolean; readonly atMostMs?: number },
  ): Promise<Consent | undefined> {
    this.until ??= workflowNow() + approval.timeoutMs;
    const timeoutMs = Math.max(1, Math.min(this.until - workflowNow(), atMostMs));
    const { lookEveryMs = tenMinutes } = this.options;
    const consent = await this.oversight.consentUnless(
      news,
      { ...approval, timeoutMs },
      { ...question, ...(timeoutMs > lookEveryMs ? { lookAgainMs: lookEveryMs } : {}) },
    );
    if (consent !== undefined) this.until = undefined;
    return consent;
  }

  /** There is nothing to ask any more. Harmless when nothing was asked. */
  withdraw(): void {
    this.until = undefined;
    this.oversight.withdrawQuestion();
  }
}
