import { getExternalWorkflowHandle, ParentClosePolicy, startChild, workflowInfo } from '@temporalio/workflow';
import type { DisruptionCommand } from '../../disruption/command.js';
import { workflowIds } from '../../core/ids.js';
import { workflowNow } from '../clock.js';
import { summaryOf } from '../consolidation/command-text.js';
import { savingOf } from '../consolidation/savings.js';
import type { consolidate } from '../consolidation/consolidate.js';
import type {
  Candidate,
  CandidateRef,
  ConsolidateResult,
  Decision,
  QuestionToWithdraw,
  RunningDisruption,
} from '../messages.js';
import { startOptions, withdrawSignal } from '../messages.js';
import type { Progress } from '../progress.js';
import { isStartedAlready, notify } from '../calls/other-workflows.js';
import type { KnownState } from './known-state.js';

interface CommandDeps {
  readonly cluster: string;
  readonly progress: Progress;
  readonly known: KnownState;
  /** Called at the end of a command. */
  readonly onEnd: (outcome: ConsolidateResult['outcome'] | undefined) => void;
}

/**
 * Starts the `consolidate` of each decided command, as an abandoned child that continues if `disrupt` ends, and signals
 * running ones.
 */
export class Commands {
  constructor(private readonly deps: CommandDeps) {}

  async start(command: DisruptionCommand): Promise<void> {
    const { cluster, progress, known } = this.deps;
    const { reason, candidates, decision } = command;
    const workflowId = workflowIds.consolidate(
      cluster,
      candidates.map(({ claim }) => claim.uid),
    );
    known.begin(startedOf(command, workflowId));
    const staticSummary = summaryOf(reason, candidates, decision);
    progress.enter('starting', { facts: { 'last decision': staticSummary } });
    try {
      const child = await startChild<typeof consolidate>('consolidate', {
        workflowId,
        parentClosePolicy: ParentClosePolicy.ABANDON,
        workflowIdReusePolicy: 'ALLOW_DUPLICATE',
        staticSummary,
        ...(decision === undefined ? {} : { memo: memoOf(candidates, decision) }),
        ...startOptions('consolidate', { ...command, cluster, saves: savingOf(candidates, decision) }, workflowInfo()),
        args: [{ ...command, cluster }],
      });
      // The next run learns only that it has ended (LeftOversRemoved).
      child.result().then(
        (result) => this.end(workflowId, decision === undefined || result.isSuperseded === true ? undefined : result),
        () => this.end(workflowId),
      );
    } catch (error) {
      if (isStartedAlready(error)) return;
      known.end(workflowId);
      throw error;
    }
  }

  private end(workflowId: string, result?: ConsolidateResult): void {
    const { known, progress } = this.deps;
    known.finish(workflowId, result);
    progress.addFacts({ commands: known.commands.length });
    this.deps.onEnd(result?.outcome);
  }

  /**
   * Withdraws a question whose cause is gone: its workflow ends as `withdrawn`. Returns whether that workflow is
   * running.
   */
  async withdraw({ workflowId, why, isSuperseded }: QuestionToWithdraw): Promise<boolean> {
    const withdrawal = { why, ...(isSuperseded === undefined ? {} : { isSuperseded }) };
    return notify(() => getExternalWorkflowHandle(workflowId).signal(withdrawSignal, withdrawal));
  }
}

function startedOf({ reason, candidates, decision }: DisruptionCommand, workflowId: string): RunningDisruption {
  const going = candidates.map(({ claim, node, nodePool }): CandidateRef => ({ claim, node, nodePool }));
  return {
    ...{ workflowId, reason, candidates: going, since: workflowNow() },
    ...(decision?.approval === undefined ? {} : { asks: true }),
  };
}

/** The memo of a `consolidate`, which lists of workflows show. */
function memoOf(candidates: readonly Candidate[], decision: Decision): Record<string, unknown> {
  const { method, priceBefore, priceAfter, podCount, replacements } = decision;
  return {
    method,
    nodes: candidates.slice(0, 20).map(({ node }) => node),
    replacements: replacements.slice(0, 20).map(({ cheapest }) => cheapest.instanceType),
    podsMoved: podCount,
    pricePerHourBefore: priceBefore,
    pricePerHourAfter: priceAfter,
  };
}
