import { workflowInfo } from '@temporalio/workflow';
import { activitiesOf } from '../calls/proxies.js';
import { workflowNow } from '../clock.js';
import { setSignalHandler } from '../handlers.js';
import type { ApprovalAsked, ConsolidateInput, ConsolidateResult, Decision, Withdrawal } from '../messages.js';
import { questionText, withdrawSignal } from '../messages.js';
import { consentText } from '../people/consent.js';
import type { Consent, Question } from '../people/consent.js';
import type { Oversight } from '../people/oversight.js';
import type { Progress } from '../progress.js';
import { questionOf } from './command-text.js';

/** How often a command is validated while it waits for approval, because prices and pods change meanwhile. */
const validateEveryMs = 60 * 60_000;

/** The outcome of a command that removes no nodes. */
export type EarlyOutcome = Exclude<ConsolidateResult['outcome'], 'done'>;

/** Ends `consolidate` early with a result. */
export class EarlyEnd extends Error {
  constructor(readonly result: ConsolidateResult) {
    super(result.reason);
  }
}

interface ConsentDeps {
  readonly oversight: Oversight;
  readonly progress: Progress;
  readonly publish: (reason: string, message: string) => Promise<void>;
  /** Throws if the command is no longer valid. */
  readonly validate: () => Promise<unknown>;
  readonly endsEarly: (outcome: EarlyOutcome, why: string) => EarlyEnd;
}

/**
 * A person's approval of a command, where a policy requires it. The question ends when `disrupt` withdraws the command.
 * Build it before the first await of the workflow, because it sets handlers.
 */
export class CommandConsent {
  /** Why `disrupt` withdrew the command. */
  private withdrawn: Withdrawal | undefined;
  private approved: boolean;

  constructor(
    private readonly input: ConsolidateInput,
    private readonly deps: ConsentDeps,
  ) {
    this.approved = input.waits === true && input.decision?.approval !== undefined;
    setSignalHandler(withdrawSignal, (withdrawal) => void (this.withdrawn = withdrawal));
  }

  get isWithdrawn(): boolean {
    return this.withdrawn !== undefined;
  }

  /** Whether another command for the same nodes replaces it. */
  get isSuperseded(): boolean {
    return this.withdrawn?.isSuperseded === true;
  }

  /** Whether a person approved it, so that it waits for its turn. */
  get isApproved(): boolean {
    return this.approved;
  }

  endIfWithdrawn(): void {
    if (this.withdrawn !== undefined) throw this.deps.endsEarly('withdrawn', this.withdrawn.why);
  }

  /** Waits for approval without taints. The question ends when the command is no longer valid. */
  async ask(decision: Decision, approval: ApprovalAsked): Promise<void> {
    const { publish, oversight, endsEarly } = this.deps;
    const question = questionOf(this.input, decision);
    await publish('ConsolidationAwaitsApproval', questionText(question));
    await this.note(decision, approval);
    const { answer, by, reason } = await this.awaitConsent(question, approval);
    const text = consentText({ answer, by, ...(reason === undefined ? {} : { reason }) });
    await publish(answer === 'approved' ? 'ConsolidationApproved' : 'ConsolidationRejected', text);
    if (answer === 'rejected') throw endsEarly('rejected', text);
    this.approved = true;
    await oversight.gate();
  }

  /** Records the question on the NodeClaims, where `disrupt` finds it. */
  private async note({ priceBefore, priceAfter }: Decision, { timeoutMs }: ApprovalAsked): Promise<void> {
    const { cluster, reason, candidates } = this.input;
    const question = {
      ...{ reason, candidates: candidates.map(({ claim, node }) => ({ claim, node })) },
      ...{ workflow: workflowInfo().workflowId, why: 'approval', saves: priceBefore - priceAfter },
      until: workflowNow() + timeoutMs,
    };
    await activitiesOf(cluster).kube.noteQuestion.executeWithOptions({ summary: 'note the question' }, [question]);
  }

  private async awaitConsent(asked: Question, approval: ApprovalAsked): Promise<Consent> {
    const options = { interrupt: () => this.isWithdrawn, recheckEveryMs: validateEveryMs };
    for (;;) {
      const consent = await this.deps.oversight.ask(approval, asked, options);
      if (consent !== undefined) return consent;
      await this.publishIfWithdrawn();
      await this.deps.validate();
    }
  }

  /** As `endIfWithdrawn`, for a command that people were asked about: withdraws the question and publishes an event. */
  async publishIfWithdrawn(): Promise<void> {
    if (this.withdrawn === undefined) return;
    this.deps.oversight.withdrawQuestion();
    await this.deps.publish('ConsolidationWithdrawn', `no longer asked for: ${this.withdrawn.why}`);
    this.endIfWithdrawn();
  }
}
