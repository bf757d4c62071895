import { getExternalWorkflowHandle } from '@temporalio/workflow';
import { workflowIds } from '../../core/ids.js';
import { workflowNow } from '../clock.js';
import type { NodeUntil, RunningDisruption, SlotHolder } from '../messages.js';
import {
  deletingNodesSignal,
  holdSignal,
  nominatedSignal,
  pausesInForceSignal,
  slotsKnownSignal,
} from '../messages.js';
import type { Pauses } from '../people/pauses.js';
import { notify } from '../calls/other-workflows.js';
import type { Outbox } from '../calls/other-workflows.js';
import type { Questions } from './questions.js';
import type { RunningDisruptions } from './running-disruptions.js';
import type { SlotRequests } from './slot-requests.js';

/** How often a long disruption is checked to be still running, since it counts against budgets. */
const pingEveryMs = 3_600_000;

interface SignalDeps {
  readonly cluster: string;
  readonly outbox: Outbox;
  readonly running: RunningDisruptions;
  readonly questions: Questions;
  readonly pauses: Pauses;
  readonly slotRequests: SlotRequests;
}

/** Signals from `disrupt` to running disruptions and to those that wait for approval. */
export class DisruptionSignals {
  private readonly pingedAt = new Map<string, number>();
  /** The pauses that each workflow which is held was told of. */
  private toldHeld: ReadonlyMap<string, string> = new Map();
  /** The run of each workflow that was told which of its slots are known. */
  private toldSlots: ReadonlyMap<string, string> = new Map();

  constructor(private readonly deps: SignalDeps) {}

  /** Signals to each whether a pause holds it. */
  hold(disruptions: readonly RunningDisruption[] = this.listeners()): void {
    const { outbox, pauses } = this.deps;
    for (const { workflowId, reason, candidates } of disruptions) {
      const hold = pauses.holding(reason, candidates) !== undefined;
      outbox.send(() => getExternalWorkflowHandle(workflowId).signal(holdSignal, hold));
    }
  }

  /**
   * Tells workflows that a pause holds which pauses there are (invariants/pauses-hold): those of a `disrupt` that was lost are unknown
   * here, and would never hear of the end. Each is told once, and again when the pauses change. `workflowIds`: all that are held.
   */
  tellHeld(workflowIds: readonly string[]): void {
    const scopes = this.deps.pauses.all.map(({ scope }) => scope);
    const now = JSON.stringify(scopes);
    const before = this.toldHeld;
    this.toldHeld = new Map(workflowIds.map((workflowId) => [workflowId, now]));
    for (const workflowId of workflowIds)
      if (before.get(workflowId) !== now)
        this.deps.outbox.send(() => getExternalWorkflowHandle(workflowId).signal(pausesInForceSignal, scopes));
  }

  /** Tells `provision` that these nodes stay: whoever had their pods planned elsewhere is gone, and takes nothing back (commands/given-back). */
  tellReleased(nodes: readonly string[]): void {
    const { outbox, cluster } = this.deps;
    const stay = { nodes, until: 0, marks: [], every: true };
    outbox.send(() => getExternalWorkflowHandle(workflowIds.provision(cluster)).signal(deletingNodesSignal, stay));
  }

  /**
   * Tells workflows which of their slots are known here (budgets/slots-have-holders). A `disrupt` that was lost knows no requests, and a
   * workflow that was reset or started again does not hold what it held. Each run is told once. `listed`: those that may wait for slots.
   */
  tellSlots(listed: readonly SlotHolder[]): void {
    const { running, slotRequests, outbox } = this.deps;
    const holders = running.all.filter(({ slot }) => slot !== undefined);
    const before = this.toldSlots;
    // One that holds a slot and is not listed has ended, or does nothing of it now.
    this.toldSlots = new Map([
      ...holders.map(({ workflowId }) => [workflowId, ''] as const),
      ...listed.map(({ workflowId, runId }) => [workflowId, runId] as const),
    ]);
    for (const [workflowId, runId] of this.toldSlots) {
      if (before.get(workflowId) === runId) continue;
      const isOwn = (one: { readonly workflowId: string }): boolean => one.workflowId === workflowId;
      const granted = holders.filter(isOwn).map(({ slot = '' }) => slot);
      const ids = [...new Set([...granted, ...slotRequests.waiting.filter(isOwn).map(({ id }) => id)])];
      outbox.send(() => getExternalWorkflowHandle(workflowId).signal(slotsKnownSignal, { ids }));
    }
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
