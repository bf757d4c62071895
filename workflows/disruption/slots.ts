import { condition, getExternalWorkflowHandle, workflowInfo } from '@temporalio/workflow';
import { workflowIds } from '../../core/ids.js';
import { workflowNow } from '../clock.js';
import { signalEntity } from '../entity-signals.js';
import type { Candidate, DisruptionReason, GoingNode, SlotDecision, SlotRequest } from '../messages.js';
import { slotDecidedSignal, slotRequestSignal, slotReturnedSignal } from '../messages.js';
import { notify } from '../relations.js';
import { setSignalHandler } from '../handlers.js';

/** `disrupt` may have forgotten a request, or not run yet: it is asked again, ever more rarely. */
const askAgainMs = 5 * 60_000;
const askAgainAtMostMs = 3_600_000;

/**
 * Slots for nodes that may go, asked of `disrupt`, the single writer of budgets over all reasons (budgets/every-disruption-asks). Build one
 * before the first wait of a workflow. What is granted counts against budgets until `giveBack`, so call that whatever
 * happens, in a `CancellationScope.nonCancellable`.
 */
export class Slots {
  private readonly slots = new Map<string, Slot>();

  constructor(private readonly cluster: string) {
    setSignalHandler(slotDecidedSignal, (decision) => this.slots.get(decision.id)?.take(decision));
  }

  /**
   * Asks for slots. `label` tells requests of one workflow apart; the same one after continue-as-new takes up the same
   * request, so nothing is counted twice. `together`: all of the nodes may go, or none.
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
}

export class Slot {
  /** Nodes that may go, in the order of the request. */
  granted: readonly Candidate[] = [];
  /** Nodes that wait, and for what; empty until `disrupt` has answered. */
  refused: SlotDecision['refused'] = [];
  /** Milliseconds of the epoch: when what refuses them may change. */
  nextCheckAt: number | undefined;
  private askedAt = 0;
  private askAgainIn = askAgainMs;
  private returned = false;

  constructor(
    private readonly cluster: string,
    private readonly request: Omit<SlotRequest, 'candidates'>,
    private readonly candidates: readonly Candidate[],
  ) {}

  get id(): string {
    return this.request.id;
  }

  /** What a person reads while it waits. */
  get waitingFor(): string {
    const [first] = this.refused;
    return first === undefined ? 'a disruption slot' : `a disruption slot for ${first.node}: ${first.why}`;
  }

  take({ granted, refused, nextCheckAt }: SlotDecision): void {
    if (this.returned) return;
    const uids = new Set(granted.map(({ claim }) => claim.uid));
    this.granted = this.candidates.filter(({ claim }) => uids.has(claim.uid));
    this.refused = refused;
    this.nextCheckAt = nextCheckAt;
  }

  /**
   * Waits, over days if need be, until at least `count` nodes are granted (default one, at most all), until `or` holds, or
   * until `ms` have passed. Tells whether that many are granted.
   */
  async settled({ count = 1, ms, or }: { count?: number; ms?: number; or?: () => boolean } = {}): Promise<boolean> {
    const wanted = Math.min(count, this.candidates.length);
    const enough = (): boolean => this.granted.length >= wanted;
    const deadline = ms === undefined ? Number.POSITIVE_INFINITY : workflowNow() + ms;
    while (!enough() && or?.() !== true && workflowNow() < deadline) {
      const again = this.askedAt + this.askAgainIn;
      const wait = Math.max(1, Math.min(again, deadline) - workflowNow());
      await condition(() => enough() || or?.() === true, wait, { summary: 'a disruption slot' });
      if (!enough() && workflowNow() >= again) {
        this.askAgainIn = Math.min(askAgainAtMostMs, this.askAgainIn * 2);
        await this.ask();
      }
    }
    return enough();
  }

  /** As `settled`, but ends with any other answer of `disrupt` too; `none`: time is up, or `or` holds. */
  async news({ ms, or }: { ms?: number; or: () => boolean }): Promise<'granted' | 'refused' | 'none'> {
    const told = JSON.stringify(this.refused);
    const isNew = (): boolean => JSON.stringify(this.refused) !== told;
    const granted = await this.settled({ ...(ms === undefined ? {} : { ms }), or: () => isNew() || or() });
    if (granted) return 'granted';
    return isNew() ? 'refused' : 'none';
  }

  async ask(): Promise<void> {
    this.askedAt = workflowNow();
    const candidates = this.candidates.map(({ claim, node, nodePool }): GoingNode => ({ claim, node, nodePool }));
    await signalEntity(this.cluster, 'disrupt', slotRequestSignal, { ...this.request, candidates });
  }

  /** Gives granted nodes back and withdraws waiting ones: all, or those of these names. Harmless when repeated. */
  async giveBack(nodes?: readonly string[]): Promise<void> {
    const { id } = this;
    if (nodes === undefined) this.returned = true;
    this.granted = nodes === undefined ? [] : this.granted.filter(({ node }) => !nodes.includes(node));
    await notify(() => this.disrupt().signal(slotReturnedSignal, nodes === undefined ? { id } : { id, nodes }));
  }

  private disrupt(): ReturnType<typeof getExternalWorkflowHandle> {
    return getExternalWorkflowHandle(workflowIds.disrupt(this.cluster));
  }
}
