import type { AskedQuestion, Order } from './oversight-messages.js';
import { refusals } from './oversight-messages.js';
import { searchAttributes } from '../search-attributes.js';
import type { Progress } from '../progress.js';
import type { Consent } from './consent.js';
import { withReason } from './consent.js';
import { checkForce, refuse } from './orders.js';

/** The approval question that a workflow asks now, and the answer to it. */
export class PendingApproval {
  private question: AskedQuestion | undefined;
  private given: Consent | undefined;
  private phaseBefore = '';

  constructor(private readonly progress: Progress) {}

  /** The answer to the current question, or to the last one if none is open. */
  get answer(): Consent | undefined {
    return this.given;
  }

  /** Whether an answer was given that the workflow has not read yet: continue-as-new would lose it. */
  get isAnswerWaiting(): boolean {
    return this.question !== undefined && this.given !== undefined;
  }

  /**
   * Opens a question, or continues the open one. Its `breaks` shows in the command line that an approval needs `force`,
   * and why (people/yes-that-breaks-protection).
   */
  open(question: AskedQuestion): void {
    const isOpen = this.question !== undefined;
    this.question = question;
    this.progress.setQuestion(question);
    if (isOpen) return;
    this.given = undefined;
    this.phaseBefore = this.progress.phase;
    this.progress.attributes([{ key: searchAttributes.awaitingApproval, value: true }]);
  }

  close(): void {
    if (this.question === undefined) return;
    this.question = undefined;
    this.progress.setQuestion(undefined);
    this.progress.attributes([{ key: searchAttributes.awaitingApproval, value: false }]);
  }

  /**
   * Closes the question because its cause is gone, and returns to the phase before it. Does nothing if there is none.
   */
  withdraw(): void {
    if (this.question === undefined) return;
    this.close();
    this.progress.enter(this.phaseBefore);
  }

  /** Throws a refusal if no question waits for an answer. */
  checkAnswer(): void {
    if (this.question === undefined)
      throw refuse(refusals.nothingToApprove, `nothing awaits approval: the phase is ${this.progress.phase}`);
    if (this.given !== undefined)
      throw refuse(refusals.nothingToApprove, `${this.given.answer} by ${this.given.by} already`);
  }

  /** As `checkAnswer`; an approval that ends the protection of pods needs `force` as well. */
  checkApprove(order: Order): void {
    this.checkAnswer();
    const broken = this.question?.breaks;
    if (broken !== undefined) checkForce('approve', order, broken);
  }

  answerWith(answer: Consent['answer'], { actor, reason, force }: Order): void {
    const broken = this.question?.breaks;
    if (broken !== undefined && force === true)
      this.progress.addFacts({ 'force ordered by': `${withReason(actor, reason)}: ${broken}` });
    this.given = { answer, by: actor, ...(reason === undefined ? {} : { reason }) };
  }
}
