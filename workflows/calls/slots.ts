import { condition, getExternalWorkflowHandle, workflowInfo } from '@temporalio/workflow';
import { workflowIds } from '../../core/ids.js';
import { workflowNow } from '../clock.js';
import { signalEntity } from './entity-signals.js';
import type { Candidate, DisruptionReason, CandidateRef, SlotDecision, SlotRequest } from '../messages.js';
import { slotDecidedSignal, slotRequestSignal, slotReturnedSignal, slotsKnownSignal } from '../messages.js';
import type { Disruption } from '../people/hold.js';
import { notify } from './other-workflows.js';
import { setSignalHandler } from '../handlers.js';

/** A request is repeated with growing intervals, because `disrupt` may have lost it. */
const repeatAfterMs = 5 * 60_000;
const repeatAtMostMs = 3_600_000;

/**
 * Requests disruption slots from `disrupt`, which counts all disruptions against budgets (budgets/every-disruption-asks). Build
 * it before the first await of a workflow, since it sets a signal handler. Granted nodes count until `giveBack`, so call that in
 * every case, in a `CancellationScope.nonCancellable`.
 */
export class Slots {
  private readonly slots = new Map<string, Slot>();

  constructor(private readonly cluster: string) {
    setSignalHandler(slotDecidedSignal, (decision) => this.slots.get(decision.id)?.take(decision));
    setSignalHandler(slotsKnownSignal, ({ ids }) => this.compare(ids));
  }

  /** The nodes whose slots are granted, and why they are disrupted: what a pause may stop. Undefined if there are none. */
  get disruption(): Disruption | undefined {
    const slots = [...this.slots.values()].filter(({ granted }) => granted.length > 0);
    const [first] = slots;
    if (first === undefined) return undefined;
    return { reason: first.reason, candidates: slots.flatMap(({ granted }) => granted) };
  }

  /**
   * Requests slots. `label` distinguishes requests of one workflow; with the same label a run after continue-as-new continues the
   * request of the run before. `together`: slots are of use only for all nodes at once.
   */
  async request(
    reason: DisruptionReason,
    candidates: readonly Candidate[],
    { label = 'slot', together = false }: { readonly label?: string; readonly together?: boolean } = {},
  ): Promise<Slot> {
    const { workflowId } = workflowInfo();
    const request = { id: `${workflowId}#${label}`, workflowId, reason, ...(together ? { together } : {}) };
    const slot = new Slot(this.cluster, request, candidates);
    this.slots.set(slot.id, slot);
    await slot.ask();
    return slot;
  }

  /**
   * Puts right what `disrupt` knows of the slots (budgets/slots-have-holders): it may have been lost, and so may the run of this workflow
   * that asked.
   */
  private async compare(known: readonly string[]): Promise<void> {
    for (const id of known) if (this.slots.get(id)?.isHeld !== true) await returnSlot(this.cluster, { id });
    for (const slot of this.slots.values()) if (slot.isWaiting && !known.includes(slot.id)) await slot.ask();
  }
}

async function returnSlot(cluster: string, slot: { readonly id: string; readonly nodes?: readonly string[] }) {
  await notify(() => getExternalWorkflowHandle(workflowIds.disrupt(cluster)).signal(slotReturnedSignal, slot));
}

export class Slot {
  /** Nodes whose slot is granted, in the order of the request. */
  granted: readonly Candidate[] = [];
  /** Nodes whose slot is refused so far, and why; empty until `disrupt` has answered. */
  refused: SlotDecision['refused'] = [];
  /** When the refusal may change, milliseconds of the epoch. */
  nextCheckAt: number | undefined;
  /** Nodes of disruptions that got their slots before this one. */
  alongside: readonly string[] = [];
  /** Called after each answer. It may issue no command: histories from before would not replay. */
  onAnswer: () => void = () => undefined;
  private askedAt = 0;
  private repeatIn = repeatAfterMs;
  private returned = false;
  /** Nodes that were returned one by one. */
  private readonly done = new Set<string>();

  constructor(
    private readonly cluster: string,
    private readonly request: Omit<SlotRequest, 'candidates'>,
    private readonly candidates: readonly Candidate[],
  ) {}

  get id(): string {
    return this.request.id;
  }

  get reason(): DisruptionReason {
    return this.request.reason;
  }

  /** Whether it was not returned as a whole. */
  get isHeld(): boolean {
    return !this.returned;
  }

  /** Whether some node is not granted yet. */
  get isWaiting(): boolean {
    return !this.returned && this.wanted.length > this.granted.length;
  }

  /** What the workflow waits for, in words. */
  get waitingFor(): string {
    const [first] = this.refused;
    return first === undefined ? 'a disruption slot' : `a disruption slot for ${first.node}: ${first.why}`;
  }

  take({ granted, refused, nextCheckAt, alongside }: SlotDecision): void {
    if (this.returned) return;
    const uids = new Set(granted.map(({ claim }) => claim.uid));
    this.granted = this.candidates.filter(({ claim }) => uids.has(claim.uid));
    this.refused = refused;
    this.nextCheckAt = nextCheckAt;
    this.alongside = alongside ?? this.alongside;
    this.onAnswer();
  }

  /**
   * Waits until `count` nodes (default one, at most all) are granted, `or` holds, or `ms` have passed. Returns whether that many
   * are granted.
   */
  async awaitGranted({
    count = 1,
    ms,
    or,
  }: { count?: number; ms?: number; or?: () => boolean } = {}): Promise<boolean> {
    const wanted = Math.min(count, this.candidates.length);
    const enough = (): boolean => this.granted.length >= wanted;
    const deadline = ms === undefined ? Number.POSITIVE_INFINITY : workflowNow() + ms;
    while (!enough() && or?.() !== true && workflowNow() < deadline) {
      const again = this.askedAt + this.repeatIn;
      const wait = Math.max(1, Math.min(again, deadline) - workflowNow());
      await condition(() => enough() || or?.() === true, wait, { summary: 'a disruption slot' });
      if (!enough() && workflowNow() >= again) {
        this.repeatIn = Math.min(repeatAtMostMs, this.repeatIn * 2);
        await this.ask();
      }
    }
    return enough();
  }

  /** As `awaitGranted`, but also returns on a new refusal; `none`: `ms` have passed or `or` holds. */
  async awaitAnswer({ ms, or }: { ms?: number; or: () => boolean }): Promise<'granted' | 'refused' | 'none'> {
    const before = JSON.stringify(this.refused);
    const isNew = (): boolean => JSON.stringify(this.refused) !== before;
    const granted = await this.awaitGranted({ ...(ms === undefined ? {} : { ms }), or: () => isNew() || or() });
    if (granted) return 'granted';
    return isNew() ? 'refused' : 'none';
  }

  async ask(): Promise<void> {
    this.askedAt = workflowNow();
    const candidates = this.wanted.map(({ claim, node, nodePool }): CandidateRef => ({ claim, node, nodePool }));
    await signalEntity(this.cluster, 'disrupt', slotRequestSignal, { ...this.request, candidates });
  }

  /** Returns granted nodes and withdraws waiting ones: all, or the named ones. Idempotent. */
  async giveBack(nodes?: readonly string[]): Promise<void> {
    const { id } = this;
    if (nodes === undefined) this.returned = true;
    for (const node of nodes ?? []) this.done.add(node);
    this.granted = nodes === undefined ? [] : this.granted.filter(({ node }) => !nodes.includes(node));
    await returnSlot(this.cluster, nodes === undefined ? { id } : { id, nodes });
  }

  private get wanted(): readonly Candidate[] {
    return this.candidates.filter(({ node }) => !this.done.has(node));
  }
}
