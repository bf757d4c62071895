import { condition, getExternalWorkflowHandle, workflowInfo } from '@temporalio/workflow';
import { workflowIds } from '../../core/ids.js';
import { AwaitedLaunches, lookEveryMs } from '../launch/awaited-launches.js';
import { workflowNow } from '../clock.js';
import type { ClaimRef, ReplacementsPlanned } from '../messages.js';
import { deletingNodesSignal, replacementsPlannedSignal, replaceSignal } from '../messages.js';
import { signalEntity } from '../entity-signals.js';
import { notify } from '../relations.js';
import { setSignalHandler } from '../handlers.js';

/**
 * Asks `provision` for new homes of the pods of deleting nodes and follows them until each is initialized or has failed.
 * `provision` alone creates claims for pods, so nothing is launched twice for the same pod.
 */
export class Replacements {
  planned: ReplacementsPlanned | undefined;
  private readonly launches: AwaitedLaunches;
  private asked: string | undefined;

  constructor(private readonly cluster: string) {
    // The answer to a request that was given up may come after the next one.
    setSignalHandler(replacementsPlannedSignal, (planned) => {
      if (planned.id === this.asked) this.planned ??= planned;
    });
    this.launches = new AwaitedLaunches(cluster);
  }

  async request(nodes: readonly string[], reason: string, holdMs: number): Promise<void> {
    const { workflowId, runId } = workflowInfo();
    const id = `${workflowId}/${runId}/${this.requests++}`;
    this.planned = undefined;
    this.asked = id;
    await signalEntity(this.cluster, 'provision', replaceSignal, { id, nodes, replyTo: workflowId, reason, holdMs });
  }

  /** The nodes stay for now: their pods' new places need not be kept. */
  async giveBack(nodes: readonly string[]): Promise<void> {
    await notify(() =>
      getExternalWorkflowHandle(workflowIds.provision(this.cluster)).signal(deletingNodesSignal, {
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
    const summary = 'replacements to be initialized';
    const deadline = workflowNow() + Math.max(1, ms);
    while (!over()) {
      const rest = deadline - workflowNow();
      if (rest <= 0) return 'late';
      const heard = await condition(over, Math.min(rest, lookEveryMs), { summary });
      if (!heard) await this.launches.look(this.claims);
    }
    return this.verdict() ?? 'interrupted';
  }

  get claims(): readonly ClaimRef[] {
    return this.planned?.claims ?? [];
  }

  private requests = 0;

  private verdict(): 'ready' | 'failed' | undefined {
    if (this.planned === undefined) return undefined;
    const outcomes = this.planned.claims.map((claim) => this.launches.outcomeOf(claim));
    if (outcomes.some((outcome) => outcome === undefined)) return undefined;
    const failed = this.planned.unplaced > 0 || outcomes.some((outcome) => outcome !== 'initialized');
    return failed ? 'failed' : 'ready';
  }
}
