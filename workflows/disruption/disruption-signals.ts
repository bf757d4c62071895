import { getExternalWorkflowHandle } from '@temporalio/workflow';
import { workflowIds } from '../../core/ids.js';
import { workflowNow } from '../clock.js';
import type { NodeUntil, RunningDisruption } from '../messages.js';
import { deletingNodesSignal, holdSignal, nominatedSignal } from '../messages.js';
import type { Pauses } from '../people/pauses.js';
import { notify } from '../calls/other-workflows.js';
import type { Outbox } from '../calls/other-workflows.js';
import type { Questions } from './questions.js';
import type { RunningDisruptions } from './running-disruptions.js';

/** How often a long disruption is checked to be still running, since it counts against budgets. */
const pingEveryMs = 3_600_000;

interface SignalDeps {
  readonly cluster: string;
  readonly outbox: Outbox;
  readonly running: RunningDisruptions;
  readonly questions: Questions;
  readonly pauses: Pauses;
}

/** Signals from `disrupt` to running disruptions and to those that wait for approval. */
export class DisruptionSignals {
  private readonly pingedAt = new Map<string, number>();

  constructor(private readonly deps: SignalDeps) {}

  /** Signals to each whether a pause holds it. */
  hold(disruptions: readonly RunningDisruption[] = this.listeners()): void {
    const { outbox, pauses } = this.deps;
    for (const { workflowId, reason, candidates } of disruptions) {
      const hold = pauses.holding(reason, candidates) !== undefined;
      outbox.send(() => getExternalWorkflowHandle(workflowId).signal(holdSignal, hold));
    }
  }

  /** Tells `provision` that these nodes stay: whoever had their pods planned elsewhere is gone, and takes nothing back (commands/given-back). */
  tellReleased(nodes: readonly string[]): void {
    const { outbox, cluster } = this.deps;
    const stay = { nodes, until: 0, marks: [], every: true };
    outbox.send(() => getExternalWorkflowHandle(workflowIds.provision(cluster)).signal(deletingNodesSignal, stay));
  }

  /** Passes on which nodes pods are nominated to, because the validation of commands needs it (commands/validation). */
  nominated(nodes: readonly NodeUntil[]): void {
    for (const { workflowId, candidates, wantsNominations } of this.listeners()) {
      const own = nodes.filter(({ node }) => candidates.some((one) => one.node === node));
      if (wantsNominations !== true || own.length === 0) continue;
      this.deps.outbox.send(() => getExternalWorkflowHandle(workflowId).signal(nominatedSignal, own));
    }
  }

  /** Signals disruptions that have run for long, to find those whose workflow has ended: such a signal cannot be delivered. */
  async pingOld(onEnded: (workflowId: string) => void): Promise<void> {
    const now = workflowNow();
    for (const { workflowId, reason, candidates, since } of this.listeners()) {
      if (now - (this.pingedAt.get(workflowId) ?? since) < pingEveryMs) continue;
      this.pingedAt.set(workflowId, now);
      const held = this.deps.pauses.holding(reason, candidates) !== undefined;
      if (await notify(() => getExternalWorkflowHandle(workflowId).signal(holdSignal, held))) continue;
      this.pingedAt.delete(workflowId);
      onEnded(workflowId);
    }
  }

  private listeners(): readonly RunningDisruption[] {
    return [...this.deps.running.all, ...this.deps.questions.waiting];
  }
}
