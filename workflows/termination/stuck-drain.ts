import { CancellationScope, condition, isCancellation } from '@temporalio/workflow';
import { rootCause } from '@temporalio/common';
import type { DrainBlocker, DrainProgress, EscalationStep } from '../../activities/termination/contract.js';
import { workflowNow } from '../clock.js';
import { questionText, type ClaimRef } from '../messages.js';
import { consentText, withReason } from '../people/consent.js';
import type { Oversight } from '../people/oversight.js';
import type { Progress } from '../progress.js';
import type { Activities } from '../calls/proxies.js';
import { heldByBudget, protectedText } from './drain-text.js';
import { Escalation } from './escalation.js';
import type { EscalationState, Stuck } from './escalation.js';
import { timeText } from '../../core/time.js';

/** Timeout of a question that no later step ends. */
const longestQuestionMs = 30 * 24 * 3_600_000;

interface StuckDrainDeps {
  readonly claim: ClaimRef;
  readonly progress: Progress;
  readonly oversight: Oversight;
  readonly activities: () => Activities;
  /** What blocked the drain at the last poll. */
  readonly blockers: () => readonly DrainBlocker[];
  /** Ends the protection of pods, by order of the person named. */
  readonly force: (by: string) => void;
  /** State of the run before. */
  readonly carried?: EscalationState | undefined;
}

/**
 * Carries out the escalation of a drain during the drain (`drainEscalation` of a DisruptionPolicy): notifies, restarts
 * the pods' owner, asks for approval, ends the protection of pods.
 */
export class StuckDrain {
  private escalation: Escalation | undefined;

  constructor(private readonly deps: StuckDrainDeps) {}

  /** Runs `work`, and concurrently the escalation if the policy has one. */
  async beside(
    nodeName: string,
    steps: readonly EscalationStep[] | undefined,
    work: () => Promise<void>,
  ): Promise<void> {
    if (steps === undefined) return work();
    const take = (step: EscalationStep, stuck: Stuck): Promise<void> => this.escalate(step, stuck, nodeName);
    const escalation = new Escalation(steps, take, this.deps.carried);
    this.escalation = escalation;
    const scope = new CancellationScope();
    const escalating = scope
      .run(() => escalation.run())
      .catch((error: unknown) => {
        if (!isCancellation(error)) throw error;
      });
    try {
      await work();
    } finally {
      this.escalation = undefined;
      scope.cancel();
      await escalating;
    }
  }

  report(progress: DrainProgress): void {
    this.escalation?.report(progress);
  }

  /** State for the next run. */
  get state(): EscalationState | undefined {
    return this.escalation?.state;
  }

  /** Shows the step under way and the next one. */
  showSteps(isTaking = true): void {
    const { escalation } = this;
    if (escalation === undefined) return;
    const { current, next } = escalation;
    const active = isTaking ? current : undefined;
    this.deps.progress.addFacts({
      'active step': active === undefined ? 'none' : active.action,
      'next step': next === undefined ? 'none' : `${next.action} at ${timeText(next.at)}`,
    });
  }

  /**
   * Waits until the step under way has ended, before continue-as-new. An open approval question is not waited for: the
   * next run asks it again.
   */
  async stepIsTaken(): Promise<void> {
    const isOver = (): boolean => {
      const step = this.escalation?.current;
      return step === undefined || (step.action === 'AskApproval' && !this.deps.oversight.isAnswerWaiting);
    };
    if (!isOver()) await condition(isOver);
  }

  private async escalate(step: EscalationStep, { since, blockers }: Stuck, nodeName: string): Promise<void> {
    const { claim, progress, activities, force } = this.deps;
    const note = (what: string): void => progress.addFacts({ [`escalation: ${step.action}`]: what });
    const at = timeText(workflowNow());
    this.showSteps();
    try {
      switch (step.action) {
        case 'Notify': {
          const stuckMs = workflowNow() - since;
          await activities().kube.notifyStuckDrain({ claim, nodeName, stuckMs, blockers });
          note(`event published at ${at}`);
          break;
        }
        case 'RestartOwner': {
          const pods = blockers.filter(({ cause }) => heldByBudget.has(cause)).flatMap((blocker) => blocker.pods);
          const { restarted, refused } = await activities().kube.restartOwners({ pods, at: workflowNow() });
          const left = refused.map(({ owner, why }) => `${owner} not: ${why}`);
          note([`at ${at}`, ...restarted, ...left].join('; '));
          break;
        }
        case 'AskApproval':
          note(`asked at ${at}`);
          note(await this.askWhetherToForce(since, nodeName));
          break;
        case 'Force':
          note(`at ${at}`);
          force('the drainEscalation of the DisruptionPolicy');
      }
    } catch (error) {
      if (isCancellation(error)) throw error;
      note(`failed at ${at}: ${rootCause(error) ?? 'for an unknown reason'}`);
    } finally {
      this.showSteps(false);
    }
  }

  /**
   * Asks for approval to end the protection of pods, until a person answers, the next step is due, or a pod leaves.
   * Returns the outcome in words.
   */
  private async askWhetherToForce(stuckSince: number, nodeName: string): Promise<string> {
    const next = this.escalation?.next;
    const yes = `deletes the pods ${protectedText(this.deps.blockers()) ?? `that are left on ${nodeName}`}; each keeps its own grace`;
    const until = next?.at ?? workflowNow() + longestQuestionMs;
    const question = {
      ...{ what: `force the drain of ${nodeName}?`, yes, no: 'ends the escalation', breaks: `yes ${yes}` },
      unanswered: next === undefined ? 'the drain keeps waiting' : `${next.action} follows`,
      until: new Date(until).toISOString(),
    };
    this.deps.progress.addFacts({
      question: `${questionText(question)}; without an answer until ${timeText(until)} ${question.unanswered}`,
    });
    const consent = await this.deps.oversight.askBeside(
      next === undefined ? longestQuestionMs : next.at - workflowNow(),
      {
        summary: 'whether to force the drain',
        question,
        until: () => this.escalation?.state.stuckSince !== stuckSince,
      },
    );
    this.deps.progress.addFacts({ question: undefined });
    if (consent === undefined) return 'nobody answered';
    if (consent.answer === 'approved') this.deps.force(withReason(consent.by, consent.reason));
    else this.escalation?.refuse();
    return consentText(consent);
  }
}
