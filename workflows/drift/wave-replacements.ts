import {
  CancellationScope,
  condition,
  executeChild,
  getExternalWorkflowHandle,
  ParentClosePolicy,
  workflowInfo,
} from '@temporalio/workflow';
import { settleAll } from '../../core/at-once.js';
import { messageOf } from '../../core/error-message.js';
import { workflowIds } from '../../core/ids.js';
import type { Outbox } from '../calls/other-workflows.js';
import type { Candidate, ClaimRef, HoldOrder, Order } from '../messages.js';
import { abortSignal, holdSignal, startOptions, withdrawSignal } from '../messages.js';
import type { Oversight } from '../people/oversight.js';
import type { Progress } from '../progress.js';
import type { replaceNode } from '../replacement/replace-node.js';

/** Timeout for the replacement of one node. Launch and registration have their own, shorter timeouts. */
const replaceWithinMs = 3_600_000;

interface WaveDeps {
  readonly cluster: string;
  readonly oversight: Oversight;
  readonly progress: Progress;
  readonly outbox: Outbox;
  /** Whether the rollout has to read the NodePool again: no further node is begun. */
  readonly isChanged: () => boolean;
  readonly onReplaced: () => void;
  readonly onFailed: (why: string) => void;
}

/** The nodes of a wave. Each is replaced by a `replaceNode`, which waits for its turn. */
export class WaveReplacements {
  /** Ids of the `replaceNode` workflows that are running. */
  private readonly running = new Set<string>();

  constructor(private readonly deps: WaveDeps) {}

  /** Replaces each node. Returns the launched NodeClaims of each node that was replaced. */
  async run(chosen: readonly Candidate[], waves: number): Promise<readonly (readonly ClaimRef[])[]> {
    const { oversight, progress, isChanged } = this.deps;
    await oversight.gate();
    progress.enter('replacing', { waitingFor: `${chosen.map(({ node }) => node).join(', ')} to be replaced` });
    const state = { isOver: false };
    const replaced = settleAll(chosen, (candidate) => this.replace(candidate, waves + 1));
    const all = replaced.finally(() => void (state.isOver = true));
    await Promise.race([all, condition(() => state.isOver || oversight.isAborted || isChanged())]);
    oversight.throwIfAborted();
    // Replacements that still wait for their turn are not started any more.
    if (!state.isOver) this.signalAll((id) => getExternalWorkflowHandle(id).signal(withdrawSignal, { why: 'its rollout has changed' })); // prettier-ignore
    const ended = await all;
    return ended.filter((launched) => launched !== undefined);
  }

  private async replace(candidate: Candidate, wave: number): Promise<readonly ClaimRef[] | undefined> {
    const { cluster, onReplaced, onFailed } = this.deps;
    const { node, claim } = candidate;
    const workflowId = workflowIds.replace(cluster, claim.uid);
    this.running.add(workflowId);
    try {
      const result = await executeChild<typeof replaceNode>('replaceNode', {
        workflowId,
        parentClosePolicy: ParentClosePolicy.REQUEST_CANCEL,
        workflowIdReusePolicy: 'ALLOW_DUPLICATE',
        staticSummary: `${node}: drifted, wave ${wave}`,
        ...startOptions('replaceNode', { cluster, reason: 'Drifted', candidate }, workflowInfo()),
        args: [{ cluster, reason: 'Drifted', candidate, withinMs: replaceWithinMs }],
      });
      const { outcome, replacements, reason } = result;
      if (outcome === 'gone') return [];
      if (outcome === 'replaced') {
        onReplaced();
        return replacements;
      }
      // A node whose replacement was withdrawn is part of a later wave.
      if (outcome !== 'withdrawn') onFailed(`${node}: ${reason ?? outcome}`);
    } catch (error) {
      if (CancellationScope.current().consideredCancelled) throw error;
      onFailed(`${node}: ${messageOf(error)}`);
    } finally {
      this.running.delete(workflowId);
    }
    return undefined;
  }

  /** Passes a hold on to the `replaceNode` workflows that are running. */
  hold(order: HoldOrder): void {
    this.signalAll((id) => getExternalWorkflowHandle(id).signal(holdSignal, order));
  }

  /** Ends the replacements that can still be undone. */
  abort(order: Order): void {
    this.signalAll((id) => getExternalWorkflowHandle(id).signal(abortSignal, order));
  }

  private signalAll(signal: (workflowId: string) => Promise<void>): void {
    for (const id of this.running) this.deps.outbox.send(() => signal(id));
  }
}
