import { condition } from '@temporalio/workflow';
import type { DrainBlocker, DrainProgress, EscalationStep } from '../../activities/termination/contract.js';
import { workflowNow } from '../clock.js';

/** The state of a stuck drain when a step is taken. */
export interface Stuck {
  /** Milliseconds of the epoch. */
  readonly since: number;
  readonly blockers: readonly DrainBlocker[];
}

export interface EscalationState {
  readonly stuckSince?: number;
  /** Number of steps taken since then. */
  readonly taken: number;
  /** Whether a person refused to continue: no further step until a pod leaves. */
  readonly refused?: boolean;
}

/**
 * The escalation of a stuck drain (`drainEscalation` of a DisruptionPolicy): each step is taken once, when the drain
 * has been stuck for its time. When a pod leaves, the escalation starts again; after a person's rejection it ends.
 */
export class Escalation {
  private stuckSince: number | undefined;
  private blockers: readonly DrainBlocker[] = [];
  private taken: number;
  private refused: boolean;
  private taking: EscalationStep | undefined;

  constructor(
    private readonly steps: readonly EscalationStep[],
    private readonly take: (step: EscalationStep, stuck: Stuck) => Promise<void>,
    carried?: EscalationState,
  ) {
    this.stuckSince = carried?.stuckSince;
    this.taken = carried?.taken ?? 0;
    this.refused = carried?.refused ?? false;
  }

  report({ state, blockers = [], evicted }: DrainProgress): void {
    const stuck = state === 'blocked' && blockers.length > 0;
    this.blockers = blockers;
    if (stuck && evicted === 0 && this.stuckSince !== undefined) return;
    this.stuckSince = stuck ? workflowNow() : undefined;
    this.taken = 0;
    this.refused = false;
  }

  /** Takes no further step until a pod leaves. */
  refuse(): void {
    this.refused = true;
  }

  /**
   * State for the next run. It does not count an approval question that is still open, so that the next run asks it
   * again.
   */
  get state(): EscalationState {
    const isAsking = this.taking?.action === 'AskApproval';
    return {
      taken: isAsking ? this.taken - 1 : this.taken,
      ...(this.refused ? { refused: true } : {}),
      ...(this.stuckSince === undefined ? {} : { stuckSince: this.stuckSince }),
    };
  }

  /** The step under way. */
  get current(): EscalationStep | undefined {
    return this.taking;
  }

  /** When the next step is due, milliseconds of the epoch. */
  get next(): { readonly action: EscalationStep['action']; readonly at: number } | undefined {
    const step = this.refused ? undefined : this.steps[this.taken];
    if (step === undefined || this.stuckSince === undefined) return undefined;
    return { action: step.action, at: this.stuckSince + step.afterMs };
  }

  /** Runs until its scope is cancelled. */
  async run(): Promise<never> {
    for (;;) {
      await condition(() => this.next !== undefined);
      const due = this.next!;
      const over = (): boolean => this.next?.at !== due.at || this.next.action !== due.action;
      const rest = due.at - workflowNow();
      const summary = `${due.action}, if the drain is still stuck`;
      if (rest > 0 && (await condition(over, rest, { summary }))) continue;
      const step = this.steps[this.taken++]!;
      this.taking = step;
      try {
        await this.take(step, { since: this.stuckSince!, blockers: this.blockers });
      } finally {
        this.taking = undefined;
      }
    }
  }
}
