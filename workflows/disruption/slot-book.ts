import { getExternalWorkflowHandle } from '@temporalio/workflow';
import type { GoingNode, RunningDisruption, SlotDecision, SlotRequest } from '../messages.js';
import { slotDecidedSignal } from '../messages.js';
import { notify } from '../relations.js';

/** Carried over by continue-as-new, so bounded: whoever is not heard asks again by itself. */
const mostRequests = 200;
const mostNodes = 100;
/** Nodes that one activity call decides about. */
export const nodesPerCall = 250;

/** Requests for slots that wait, and what each was told. `disrupt` decides; this keeps the books. */
export class SlotBook {
  private requests: readonly SlotRequest[];
  private readonly told = new Map<string, string>();

  constructor(carried: readonly SlotRequest[] = []) {
    this.requests = carried;
  }

  get waiting(): readonly SlotRequest[] {
    return this.requests;
  }

  /** A request comes in, or comes again: then it is answered again, too. */
  take(request: SlotRequest): void {
    const known = this.requests.some(({ id }) => id === request.id);
    if (!known && this.requests.length >= mostRequests) return;
    const bounded = { ...request, candidates: request.candidates.slice(0, mostNodes) };
    this.told.delete(request.id);
    this.requests = known
      ? this.requests.map((other) => (other.id === request.id ? bounded : other))
      : [...this.requests, bounded];
  }

  withdraw(id: string, nodes: readonly string[] | undefined): void {
    this.requests = this.requests.flatMap((request) => {
      if (request.id !== id) return [request];
      const candidates = nodes === undefined ? [] : request.candidates.filter(({ node }) => !nodes.includes(node));
      return candidates.length === 0 ? [] : [{ ...request, candidates }];
    });
    if (nodes === undefined) this.told.delete(id);
  }

  /** Of a workflow that is over. */
  withdrawAll(workflowId: string): void {
    for (const { id } of this.requests.filter((one) => one.workflowId === workflowId)) this.withdraw(id, undefined);
  }

  /** What is left to decide, in portions that one activity call can carry. */
  portions(): readonly (readonly SlotRequest[])[] {
    const portions: SlotRequest[][] = [];
    let room = 0;
    for (const request of this.requests) {
      if (request.candidates.length > room) {
        portions.push([]);
        room = nodesPerCall;
      }
      portions.at(-1)!.push(request);
      room -= request.candidates.length;
    }
    return portions;
  }

  /** Books what was granted: those nodes wait no longer. */
  grant(id: string, granted: readonly GoingNode[]): void {
    const uids = new Set(granted.map(({ claim }) => claim.uid));
    this.requests = this.requests.map((request) =>
      request.id === id
        ? { ...request, candidates: request.candidates.filter(({ claim }) => !uids.has(claim.uid)) }
        : request,
    );
  }

  /**
   * Tells the requester where it stands, when that is news. False when nobody is there to be told: its nodes are to be
   * let go of.
   */
  async notify(request: SlotRequest, decision: SlotDecision): Promise<boolean> {
    const text = JSON.stringify(decision);
    if (this.told.get(request.id) === text) return true;
    this.told.set(request.id, text);
    return notify(() => getExternalWorkflowHandle(request.workflowId).signal(slotDecidedSignal, decision));
  }

  /** Requests with nothing left to wait for are done with. */
  sweep(): void {
    this.requests = this.requests.filter(({ candidates }) => candidates.length > 0);
    const ids = new Set(this.requests.map(({ id }) => id));
    for (const id of this.told.keys()) if (!ids.has(id)) this.told.delete(id);
  }
}

/** Gives the nodes of a slot back: all of it, or those of these names. */
export function withoutSlot(
  running: readonly RunningDisruption[],
  id: string,
  nodes: readonly string[] | undefined,
): readonly RunningDisruption[] {
  return running.flatMap((one) => {
    if (one.slot !== id) return [one];
    const candidates = nodes === undefined ? [] : one.candidates.filter(({ node }) => !nodes.includes(node));
    return candidates.length === 0 ? [] : [{ ...one, candidates }];
  });
}
