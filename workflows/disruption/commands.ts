import { getExternalWorkflowHandle } from '@temporalio/workflow';
import type { DisruptionCommand } from '../../disruption/command.js';
import { workflowIds } from '../../core/ids.js';
import { workflowNow } from '../clock.js';
import type { CandidateRef, RunningDisruption } from '../messages.js';
import { withdrawSignal } from '../messages.js';
import type { Pauses } from '../people/pauses.js';
import type { Progress } from '../progress.js';
import { isStartedAlready, notify } from '../calls/other-workflows.js';
import { startCommand } from './command-start.js';
import { summaryOf } from '../consolidation/command-text.js';
import type { Questions } from './questions.js';
import type { RunningDisruptions } from './running-disruptions.js';

interface CommandDeps {
  readonly cluster: string;
  readonly progress: Progress;
  readonly running: RunningDisruptions;
  readonly questions: Questions;
  readonly pauses: Pauses;
  /** Called when the workflow of an open question turned out to be gone: its nodes can be candidates again. */
  readonly onFreed: () => void;
}

/** Starts the `consolidate` of each decided command, and withdraws questions whose cause is gone. */
export class Commands {
  constructor(private readonly deps: CommandDeps) {}

  async start(command: DisruptionCommand): Promise<void> {
    const { cluster, progress, questions, pauses } = this.deps;
    const { reason, candidates, decision } = command;
    const workflowId = workflowIds.consolidate(
      cluster,
      candidates.map(({ claim }) => claim.uid),
    );
    const going = candidates.map(({ claim, node, nodePool }): CandidateRef => ({ claim, node, nodePool }));
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
      // The workflow did not start, so it must count against no budget.
      takeBack();
      throw error;
    }
  }

  /** Withdraws a question whose cause is gone: its workflow ends as `withdrawn`. */
  async withdraw(workflowId: string, why: string, isSuperseded: boolean): Promise<void> {
    const { questions, onFreed } = this.deps;
    const question = questions.find(workflowId);
    if (question === undefined || question.withdrawn !== undefined) return;
    questions.withdrawn(workflowId, why, isSuperseded);
    if (await notify(() => getExternalWorkflowHandle(workflowId).signal(withdrawSignal, { why }))) return;
    questions.end(workflowId);
    onFreed();
  }

  private begin({ decision }: DisruptionCommand, one: RunningDisruption): () => void {
    const { running, questions } = this.deps;
    const known =
      decision === undefined ? {} : { wantsNominations: true, saves: decision.priceBefore - decision.priceAfter };
    const begun: RunningDisruption = { ...one, ...known };
    if (decision?.approval === undefined) return running.begin(begun);
    // A command that waits for approval counts against no budget until then.
    questions.ask(begun);
    return () => questions.end(begun.workflowId);
  }
}
