import { getExternalWorkflowHandle } from '@temporalio/workflow';
import type { SlotHolder, ToldState } from '../messages.js';
import { pausesInForceSignal, slotsKnownSignal } from '../messages.js';
import type { Outbox } from '../calls/other-workflows.js';
import type { Pauses } from '../people/pauses.js';
import type { RunningDisruptions } from './running-disruptions.js';
import type { SlotRequests } from './slot-requests.js';

interface WaitingDeps {
  readonly outbox: Outbox;
  readonly running: RunningDisruptions;
  readonly pauses: Pauses;
  readonly slotRequests: SlotRequests;
}

/**
 * Tells workflows that wait for something of `disrupt` what it knows. A `disrupt` that was lost knows nothing of them, and would never
 * signal what they wait for. Each is told once: what it was told is carried over continue-as-new, because telling all of them again would
 * fill the next history.
 */
export class WaitingWorkflows {
  private held: ToldState['held'];
  /** The run of each workflow that was told; empty if that is not known. */
  private slots: ReadonlyMap<string, string>;

  constructor(
    private readonly deps: WaitingDeps,
    carried: ToldState | undefined,
  ) {
    this.held = carried?.held ?? { scopes: [], workflowIds: [] };
    this.slots = new Map(carried?.slots.map(({ workflowId, runId }) => [workflowId, runId]));
  }

  /** State for continue-as-new; undefined if there is none. */
  get state(): ToldState | undefined {
    const { held, slots } = this;
    if (held.workflowIds.length + slots.size === 0) return undefined;
    return { held, slots: [...slots].map(([workflowId, runId]) => ({ workflowId, runId })) };
  }

  /**
   * Tells workflows that a pause holds which pauses there are (invariants/pauses-hold), and again when the pauses change. `workflowIds`:
   * all that are held.
   */
  tellHeld(workflowIds: readonly string[]): void {
    const { outbox, pauses } = this.deps;
    const scopes = pauses.all.map(({ scope }) => scope);
    const isSame = JSON.stringify(scopes) === JSON.stringify(this.held.scopes);
    const told = new Set(isSame ? this.held.workflowIds : []);
    this.held = { scopes, workflowIds };
    for (const workflowId of workflowIds.filter((each) => !told.has(each)))
      outbox.send(() => getExternalWorkflowHandle(workflowId).signal(pausesInForceSignal, scopes));
  }

  /**
   * Tells workflows which of their slots are known here (budgets/slots-have-holders). One that was reset or started again does not hold
   * what it held. `listed`: those that may wait for slots.
   */
  tellSlots(listed: readonly SlotHolder[]): void {
    const { running, slotRequests, outbox } = this.deps;
    const holders = running.all.filter(({ slot }) => slot !== undefined);
    const before = this.slots;
    // One that holds a slot and is not listed has ended, or does nothing of it now.
    this.slots = new Map([
      ...holders.map(({ workflowId }) => [workflowId, ''] as const),
      ...listed.map(({ workflowId, runId }) => [workflowId, runId] as const),
    ]);
    for (const [workflowId, runId] of this.slots) {
      if (before.get(workflowId) === runId) continue;
      const isOwn = (one: { readonly workflowId: string }): boolean => one.workflowId === workflowId;
      const granted = holders.filter(isOwn).map(({ slot = '' }) => slot);
      const ids = [...new Set([...granted, ...slotRequests.waiting.filter(isOwn).map(({ id }) => id)])];
      outbox.send(() => getExternalWorkflowHandle(workflowId).signal(slotsKnownSignal, { ids }));
    }
  }
}
