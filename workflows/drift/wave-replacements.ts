import { CancellationScope, executeChild, getExternalWorkflowHandle, ParentClosePolicy } from '@temporalio/workflow';
import { messageOf } from '../../core/error-message.js';
import { workflowIds } from '../../core/ids.js';
import type { Outbox } from '../calls/other-workflows.js';
import type { Slot, Slots } from '../calls/slots.js';
import type { Candidate, ClaimRef, Order } from '../messages.js';
import { abortSignal, holdSignal, startAttributes } from '../messages.js';
import type { Oversight } from '../people/oversight.js';
import type { Progress } from '../progress.js';
import type { replaceNode } from '../replacement/replace-node.js';

/** Timeout for the replacement of one node. Launch and registration have shorter timeouts of their own. */
const replaceWithinMs = 3_600_000;
/** How often to check slots that are still open, in case an answer was lost. */
const slotPollMs = 3_600_000;

interface WaveDeps {
  readonly cluster: string;
  readonly slots: Slots;
  readonly oversight: Oversight;
  readonly progress: Progress;
  readonly outbox: Outbox;
  /** Whether the rollout has to read the NodePool again: no further node is begun. */
  readonly isChanged: () => boolean;
  readonly onReplaced: () => void;
  readonly onFailed: (why: string) => void;
}

/** The nodes of a wave, each replaced by a `replaceNode` once its slot is granted. */
export class WaveReplacements {
  private slot: Slot | undefined;
  /** Ids of the `replaceNode` workflows that are running. */
  private readonly running = new Set<string>();

  constructor(private readonly deps: WaveDeps) {}

  /** Requests slots and replaces each node. Returns the launched NodeClaims of each node that was replaced. */
  async run(chosen: readonly Candidate[], waves: number): Promise<readonly (readonly ClaimRef[])[]> {
    const { slots, oversight, progress, isChanged } = this.deps;
    await oversight.gate();
    const slot = await slots.request('Drifted', chosen, { label: `wave-${waves}` });
    this.slot = slot;
    const started = new Map<string, Promise<readonly ClaimRef[] | undefined>>();
    slot.onAnswer = () => {
      if (started.size === 0 && progress.phase === 'replacing')
        progress.enter('replacing', { waitingFor: slot.waitingFor });
    };
    const gone = (): string[] =>
      slot.refused.flatMap(({ node, gone: isGone }) => (isGone === true && !started.has(node) ? [node] : []));
    const newlyGranted = (): readonly Candidate[] => slot.granted.filter(({ node }) => !started.has(node));
    const hasChanged = (): boolean =>
      isChanged() || oversight.isAborted || gone().length > 0 || newlyGranted().length > 0;
    while (started.size < chosen.length && !isChanged()) {
      // A node that was removed for another reason meanwhile counts as done.
      for (const node of gone()) started.set(node, Promise.resolve([]));
      for (const candidate of oversight.isHeld ? [] : newlyGranted())
        started.set(candidate.node, this.replace(candidate, waves + 1));
      if (started.size === chosen.length) break;
      progress.enter('replacing', { waitingFor: started.size === 0 ? slot.waitingFor : `${started.size} under way` });
      await slot.awaitGranted({ count: chosen.length, ms: slotPollMs, or: hasChanged });
      oversight.throwIfAborted();
      await oversight.gate();
    }
    progress.enter('replacing', { waitingFor: `${[...started.keys()].join(', ')} to be replaced` });
    const ended = await Promise.all(started.values());
    await this.giveBack();
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
        ...startAttributes('replaceNode', { cluster, reason: 'Drifted', candidate }),
        args: [{ cluster, reason: 'Drifted', candidate, withinMs: replaceWithinMs }],
      });
      const { outcome, replacements, reason } = result;
      if (outcome === 'gone') return [];
      if (outcome === 'replaced') {
        onReplaced();
        return replacements;
      }
      // It goes with a later wave.
      if (outcome !== 'overBudget') onFailed(`${node}: ${reason ?? outcome}`);
    } catch (error) {
      if (CancellationScope.current().consideredCancelled) throw error;
      onFailed(`${node}: ${messageOf(error)}`);
    } finally {
      this.running.delete(workflowId);
      await CancellationScope.nonCancellable(async () => this.slot?.giveBack([node]));
    }
    return undefined;
  }

  /** Passes a hold on to the `replaceNode` workflows that are running. */
  hold(held: boolean): void {
    this.signalAll((id) => getExternalWorkflowHandle(id).signal(holdSignal, held));
  }

  /** Ends the replacements that can still be undone. */
  abort(order: Order): void {
    this.signalAll((id) => getExternalWorkflowHandle(id).signal(abortSignal, order));
  }

  /** Returns the slot of the wave, if there is one. */
  async giveBack(): Promise<void> {
    await this.slot?.giveBack();
    this.slot = undefined;
  }

  private signalAll(signal: (workflowId: string) => Promise<void>): void {
    for (const id of this.running) this.deps.outbox.send(() => signal(id));
  }
}
