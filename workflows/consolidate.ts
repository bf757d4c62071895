import {
  CancellationScope,
  condition,
  executeChild,
  getExternalWorkflowHandle,
  isCancellation,
  log,
  ParentClosePolicy,
  setHandler,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import { workflowIds } from '../core/ids.js';
import { workflowNow } from './clock.js';
import type { Candidate, ConsolidateInput, ConsolidateResult } from './messages.js';
import { disruptionFinishedSignal, holdSignal, searchAttributes } from './messages.js';
import { Progress } from './progress.js';
import { activitiesOf } from './proxies.js';
import { isStartedAlready, tell } from './relations.js';
import type { terminateNode } from './terminate-node.js';

const validationMs = 15_000;

/**
 * Removes the nodes of one decision (sections 4.11, 4.12): looks again after 15 seconds, taints what is still removable,
 * then has each node terminated. Held by a pause before each step that cannot be taken back; a run that ends before
 * the point of no return leaves no taint.
 */
export async function consolidate(input: ConsolidateInput): Promise<ConsolidateResult> {
  const run = new Consolidation(input);
  try {
    return await run.run();
  } finally {
    await CancellationScope.nonCancellable(() => run.finish());
  }
}

class Consolidation {
  private readonly activities;
  private readonly progress: Progress;
  private held: boolean;
  private undo: (() => Promise<void>)[] = [];

  constructor(private readonly input: ConsolidateInput) {
    const { cluster, reason, candidates } = input;
    this.activities = activitiesOf(cluster);
    this.held = input.paused ?? false;
    setHandler(holdSignal, (hold) => void (this.held = typeof hold === 'boolean' ? hold : hold.on));
    this.progress = new Progress(
      `${reason}: ${candidates.map(({ node }) => node).join(', ')}`,
      [
        { key: searchAttributes.cluster, value: cluster },
        { key: searchAttributes.nodePool, value: candidates[0]?.nodePool ?? '' },
        { key: searchAttributes.nodeClaim, value: candidates[0]?.claim.name ?? '' },
        { key: searchAttributes.reason, value: reason.toLowerCase() },
        { key: searchAttributes.savingsPerHour, value: saving(candidates) },
      ],
      { reason, ...Object.fromEntries(candidates.map((one) => [one.node, describe(one)])) },
      'validating',
    );
  }

  async run(): Promise<ConsolidateResult> {
    const wait = this.input.validationMs ?? validationMs;
    this.progress.enter('validating', { waitingFor: 'the decision to prove stable', until: workflowNow() + wait });
    await sleep(wait, { summary: 'validation: is it still so?' });
    await this.unlessHeld();
    const { reason, candidates } = this.input;
    const verdict = await this.activities.kube.validateCandidates.executeWithOptions({ summary: 'validate' }, [
      { reason, candidates },
    ]);
    if (verdict.valid.length === 0) return this.abandon(verdict.dropped[0]?.why ?? 'no candidate is left');
    // Registered before the effect: an attempt that failed may have tainted half of them.
    this.undo.push(() => this.activities.kube.untaintCandidates({ candidates: verdict.valid }));
    this.progress.enter('tainting');
    const { tainted } = await this.activities.kube.taintCandidates({ reason, candidates: verdict.valid });
    const leaving = verdict.valid.filter(({ claim }) => tainted.includes(claim.uid));
    if (leaving.length === 0) return this.abandon('no candidate could be tainted');
    await this.unlessHeld();
    this.undo = [];
    this.progress.enter('draining', { waitingFor: leaving.map(({ node }) => node).join(', ') });
    await Promise.all(leaving.map((candidate) => this.terminate(candidate)));
    const saved = saving(leaving);
    this.progress.enter('done', { facts: { 'saved per hour': saved } });
    return { outcome: 'done', terminated: leaving.map(({ node }) => node), savedPerHour: saved };
  }

  async finish(): Promise<void> {
    for (const step of this.undo.reverse()) {
      try {
        await step();
      } catch (error) {
        log.warn('could not undo a step', { error });
      }
    }
    const { workflowId } = workflowInfo();
    await tell(() =>
      getExternalWorkflowHandle(workflowIds.disrupt(this.input.cluster)).signal(disruptionFinishedSignal, {
        workflowId,
      }),
    );
  }

  private async unlessHeld(): Promise<void> {
    if (!this.held) return;
    const { phase } = this.progress;
    this.progress.enter('paused', { waitingFor: 'resume' });
    this.progress.attributes([{ key: searchAttributes.paused, value: true }]);
    await condition(() => !this.held);
    this.progress.attributes([{ key: searchAttributes.paused, value: false }]);
    this.progress.enter(phase);
  }

  private async terminate({ claim, nodePool }: Candidate): Promise<void> {
    const { cluster, reason } = this.input;
    try {
      await executeChild<typeof terminateNode>('terminateNode', {
        workflowId: workflowIds.terminate(cluster, claim.uid),
        parentClosePolicy: ParentClosePolicy.ABANDON,
        workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY',
        staticSummary: `${claim.name}: ${reason.toLowerCase()}`,
        args: [{ cluster, claim, nodePool, reason: reason.toLowerCase(), deleteClaim: true }],
      });
    } catch (error) {
      if (isCancellation(error) || !isStartedAlready(error)) throw error;
    }
  }

  private abandon(reason: string): ConsolidateResult {
    this.progress.enter('abandoned', { facts: { 'abandoned because': reason } });
    return { outcome: 'abandoned', reason, terminated: [], savedPerHour: 0 };
  }
}

function saving(candidates: readonly Candidate[]): number {
  return Math.round(candidates.reduce((sum, { pricePerHour }) => sum + pricePerHour, 0) * 1e6) / 1e6;
}

function describe({ instanceType, capacityType, zone, pricePerHour }: Candidate): string {
  return `${instanceType} ${capacityType} in ${zone}, $${pricePerHour}/h`;
}
