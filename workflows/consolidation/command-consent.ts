import { Slots } from '../calls/slots.js';
import type { Slot } from '../calls/slots.js';
import { setSignalHandler } from '../handlers.js';
import type { ApprovalAsked, Candidate, ConsolidateInput, Decision } from '../messages.js';
import { questionText, withdrawSignal } from '../messages.js';
import { ApprovalQuestion } from '../people/approval-question.js';
import { consentText } from '../people/consent.js';
import type { Consent, Question } from '../people/consent.js';
import type { Oversight } from '../people/oversight.js';
import type { Progress } from '../progress.js';
import { questionOf } from './command-text.js';
import type { EarlyEnd, EarlyOutcome } from './early-end.js';

/** How often a command is validated while it waits for approval: prices and pods change. */
const validateEveryMs = 60 * 60_000;

interface ConsentDeps {
  readonly oversight: Oversight;
  readonly progress: Progress;
  readonly publish: (reason: string, message: string) => Promise<void>;
  /** Throws if the command no longer holds. */
  readonly validate: () => Promise<unknown>;
  readonly endsEarly: (outcome: EarlyOutcome, why: string) => EarlyEnd;
}

/**
 * A person's approval of a command and then a disruption slot, where a policy wants approval. Both waits end when `disrupt` withdraws
 * the command. Build it before the first await of the workflow, because it sets handlers.
 */
export class CommandConsent {
  private readonly slots: Slots;
  private slot: Slot | undefined;
  /** Why `disrupt` withdrew the command. */
  private withdrawn: string | undefined;

  constructor(
    private readonly input: ConsolidateInput,
    private readonly deps: ConsentDeps,
  ) {
    this.slots = new Slots(input.cluster);
    setSignalHandler(withdrawSignal, ({ why }) => void (this.withdrawn = why));
  }

  get isWithdrawn(): boolean {
    return this.withdrawn !== undefined;
  }

  endIfWithdrawn(): void {
    if (this.withdrawn !== undefined) throw this.deps.endsEarly('withdrawn', this.withdrawn);
  }

  /** Waits for approval without a slot or taints. The question ends when the command is no longer valid. */
  async ask(decision: Decision, approval: ApprovalAsked): Promise<void> {
    const { publish, oversight, endsEarly } = this.deps;
    const question = questionOf(this.input, decision);
    await publish('ConsolidationAwaitsApproval', questionText(question));
    const { answer, by, reason } = await this.awaitConsent(question, approval);
    const text = consentText({ answer, by, ...(reason === undefined ? {} : { reason }) });
    await publish(answer === 'approved' ? 'ConsolidationApproved' : 'ConsolidationRejected', text);
    if (answer === 'rejected') throw endsEarly('rejected', text);
    await oversight.gate();
  }

  private async awaitConsent(asked: Question, approval: ApprovalAsked): Promise<Consent> {
    const question = new ApprovalQuestion(this.deps.oversight, { recheckEveryMs: validateEveryMs });
    const interrupt = (): boolean => this.isWithdrawn;
    for (;;) {
      const consent = await question.ask(approval, asked, { interrupt });
      if (consent !== undefined) return consent;
      await this.publishIfWithdrawn();
      await this.deps.validate();
    }
  }

  /** Waits for a slot: other nodes may have used up the budget during the approval. Returns the nodes of disruptions that got theirs before. */
  async acquireSlot(deleting: readonly Candidate[], { method }: Decision): Promise<readonly string[]> {
    const { oversight, progress } = this.deps;
    const slot = await this.slots.request(this.input.reason, deleting, { together: method !== 'empty' });
    this.slot = slot;
    const stops = (): boolean => this.isWithdrawn || oversight.isAborted;
    while (slot.granted.length === 0) {
      progress.enter('waiting for a disruption slot', { waitingFor: slot.waitingFor });
      const answer = await slot.awaitAnswer({ or: stops });
      oversight.throwIfAborted();
      if (answer !== 'granted') await this.publishIfWithdrawn();
    }
    return slot.alongside;
  }

  /** Returns the slot, if there is one. */
  async giveBack(): Promise<void> {
    await this.slot?.giveBack();
  }

  /** As `endIfWithdrawn`, for a command that people were asked about. */
  private async publishIfWithdrawn(): Promise<void> {
    if (this.withdrawn === undefined) return;
    this.deps.oversight.withdrawQuestion();
    await this.deps.publish('ConsolidationWithdrawn', `no longer asked for: ${this.withdrawn}`);
    this.endIfWithdrawn();
  }
}
