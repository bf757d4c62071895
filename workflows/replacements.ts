import { condition, getExternalWorkflowHandle, setHandler, workflowInfo } from '@temporalio/workflow';
import { workflowIds } from '../core/ids.js';
import type { ClaimRef, LaunchOutcome, ReplacementsPlanned } from './messages.js';
import { leavingSignal, replacementSettledSignal, replacementsPlannedSignal, replaceSignal } from './messages.js';
import { tell } from './relations.js';

/**
 * Asks `provision` for new homes of the pods of leaving nodes and follows them until each is initialized or has failed.
 * `provision` alone creates claims for pods, so nothing is launched twice for the same pod.
 */
export class Replacements {
  planned: ReplacementsPlanned | undefined;
  private readonly outcomes = new Map<string, LaunchOutcome['outcome']>();

  constructor(private readonly cluster: string) {
    setHandler(replacementsPlannedSignal, (planned) => void (this.planned ??= planned));
    setHandler(replacementSettledSignal, ({ uid, outcome }) => void this.outcomes.set(uid, outcome));
  }

  async request(nodes: readonly string[], reason: string, holdMs: number): Promise<void> {
    const { workflowId, runId } = workflowInfo();
    this.planned = undefined;
    await getExternalWorkflowHandle(workflowIds.provision(this.cluster)).signal(replaceSignal, {
      id: `${workflowId}/${runId}/${this.requests++}`,
      nodes,
      replyTo: workflowId,
      reason,
      holdMs,
    });
  }

  /** The nodes stay for now: their pods' new places need not be kept. */
  async giveBack(nodes: readonly string[]): Promise<void> {
    await tell(() =>
      getExternalWorkflowHandle(workflowIds.provision(this.cluster)).signal(leavingSignal, {
        nodes,
        until: 0,
        marks: [],
      }),
    );
  }

  /** `ready` once the pods have a place that is up; `failed` when some never will; `late` after `ms`. */
  async settled(ms: number): Promise<'ready' | 'failed' | 'late'> {
    const verdict = await this.settledUnless(() => false, ms);
    return verdict === 'interrupted' ? 'late' : verdict;
  }

  /** As `settled`; `interrupted` as soon as `interrupt` holds. */
  async settledUnless(interrupt: () => boolean, ms: number): Promise<'ready' | 'failed' | 'late' | 'interrupted'> {
    const over = (): boolean => this.verdict() !== undefined || interrupt();
    const inTime = await condition(over, Math.max(1, ms), { summary: 'replacements to be initialized' });
    return this.verdict() ?? (inTime ? 'interrupted' : 'late');
  }

  get claims(): readonly ClaimRef[] {
    return this.planned?.claims ?? [];
  }

  private requests = 0;

  private verdict(): 'ready' | 'failed' | undefined {
    if (this.planned === undefined) return undefined;
    const outcomes = this.planned.claims.map(({ uid }) => this.outcomes.get(uid));
    if (outcomes.some((outcome) => outcome === undefined)) return undefined;
    const failed = this.planned.unplaced > 0 || outcomes.some((outcome) => outcome !== 'initialized');
    return failed ? 'failed' : 'ready';
  }
}
