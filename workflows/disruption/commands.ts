import { getExternalWorkflowHandle } from '@temporalio/workflow';
import type { DisruptionCommand } from '../../disruption/command.js';
import { workflowIds } from '../../core/ids.js';
import { workflowNow } from '../clock.js';
import type { GoingNode, RunningDisruption } from '../messages.js';
import { withdrawSignal } from '../messages.js';
import type { Pauses } from '../people/pauses.js';
import type { Progress } from '../progress.js';
import { isStartedAlready, notify } from '../relations.js';
import { startCommand } from './command-start.js';
import { summaryOf } from './command-text.js';
import type { Questions } from './questions.js';
import type { RunningDisruptions } from './running-disruptions.js';

interface Commanding {
  readonly cluster: string;
  readonly progress: Progress;
  readonly running: RunningDisruptions;
  readonly questions: Questions;
  readonly pauses: Pauses;
  /** A question ended that nobody answers for: nodes are free again. */
  readonly onFreed: () => void;
}

/** Starts what was decided, and takes questions back whose cause is gone. */
export class Commands {
  constructor(private readonly of: Commanding) {}

  async start(command: DisruptionCommand): Promise<void> {
    const { cluster, progress, questions, pauses } = this.of;
    const { reason, candidates, decision } = command;
    const workflowId = workflowIds.consolidate(
      cluster,
      candidates.map(({ claim }) => claim.uid),
    );
    const going = candidates.map(({ claim, node, nodePool }): GoingNode => ({ claim, node, nodePool }));
    const others = questions.about(going);
    if (others.length > 0) {
      for (const other of others) await this.withdraw(other.workflowId, `${reason}: decided anew`, true);
      return;
    }
    const takeBack = this.begin(command, { workflowId, reason, candidates: going, since: workflowNow() });
    progress.enter('starting', { facts: { 'last decision': summaryOf(reason, candidates, decision) } });
    try {
      await startCommand(command, {
        cluster,
        workflowId,
        paused: pauses.holding(reason, candidates) !== undefined,
      });
    } catch (error) {
      if (isStartedAlready(error)) return;
      // It does not run: what it was to take, and what it was to ask, counts no longer.
      takeBack();
      throw error;
    }
  }

  /** The question makes no sense any more: its workflow ends, and says so. */
  async withdraw(workflowId: string, why: string, isSuperseded: boolean): Promise<void> {
    const { questions, onFreed } = this.of;
    const question = questions.find(workflowId);
    if (question === undefined || question.withdrawn !== undefined) return;
    questions.withdrawn(workflowId, why, isSuperseded);
    if (await notify(() => getExternalWorkflowHandle(workflowId).signal(withdrawSignal, { why }))) return;
    questions.end(workflowId);
    onFreed();
  }

  private begin({ decision }: DisruptionCommand, one: RunningDisruption): () => void {
    const { running, questions } = this.of;
    const known = decision === undefined ? {} : { heeds: true, saves: decision.priceBefore - decision.priceAfter };
    const begun: RunningDisruption = { ...one, ...known };
    if (decision?.approval === undefined) return running.begin(begun);
    // Whoever waits for a person takes no slot meanwhile.
    questions.ask(begun);
    return () => questions.end(begun.workflowId);
  }
}
