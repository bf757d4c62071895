import { getExternalWorkflowHandle } from '@temporalio/workflow';
import { workflowNow } from '../clock.js';
import type { NodeUntil, RunningDisruption } from '../messages.js';
import { holdSignal, nominatedSignal } from '../messages.js';
import type { Pauses } from '../people/pauses.js';
import { notify } from '../relations.js';
import type { Outbox } from '../relations.js';
import type { Questions } from './questions.js';
import type { RunningDisruptions } from './running-disruptions.js';

/** What runs for long is asked now and then whether it is still there: it counts against budgets. */
const askedEveryMs = 3_600_000;

interface Noticing {
  readonly outbox: Outbox;
  readonly running: RunningDisruptions;
  readonly questions: Questions;
  readonly pauses: Pauses;
}

/** What `disrupt` tells those that run, and those that wait for consent. */
export class Notices {
  private readonly askedAt = new Map<string, number>();

  constructor(private readonly of: Noticing) {}

  /** Whether a pause holds them. */
  hold(disruptions: readonly RunningDisruption[] = this.listeners()): void {
    const { outbox, pauses } = this.of;
    for (const { workflowId, reason, candidates } of disruptions) {
      const hold = pauses.holding(reason, candidates) !== undefined;
      outbox.send(() => getExternalWorkflowHandle(workflowId).signal(holdSignal, hold));
    }
  }

  /** A decision that has not been validated yet is not to overlook pods on their way (commands/validation). */
  nominated(nodes: readonly NodeUntil[]): void {
    for (const { workflowId, candidates, heeds } of this.listeners()) {
      const own = nodes.filter(({ node }) => candidates.some((one) => one.node === node));
      if (heeds !== true || own.length === 0) continue;
      this.of.outbox.send(() => getExternalWorkflowHandle(workflowId).signal(nominatedSignal, own));
    }
  }

  /** Whoever does not take a signal any more is over. */
  async askOldOnes(onEnded: (workflowId: string) => void): Promise<void> {
    const now = workflowNow();
    for (const { workflowId, reason, candidates, since } of this.listeners()) {
      if (now - (this.askedAt.get(workflowId) ?? since) < askedEveryMs) continue;
      this.askedAt.set(workflowId, now);
      const held = this.of.pauses.holding(reason, candidates) !== undefined;
      if (await notify(() => getExternalWorkflowHandle(workflowId).signal(holdSignal, held))) continue;
      this.askedAt.delete(workflowId);
      onEnded(workflowId);
    }
  }

  private listeners(): readonly RunningDisruption[] {
    return [...this.of.running.all, ...this.of.questions.waiting];
  }
}
