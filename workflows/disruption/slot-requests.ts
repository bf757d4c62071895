import { getExternalWorkflowHandle } from '@temporalio/workflow';
import type { CandidateRef, RunningDisruption, SlotDecision, SlotRequest } from '../messages.js';
import { slotDecidedSignal } from '../messages.js';
import { notify } from '../calls/other-workflows.js';

/** Bounds the state that continue-as-new carries. A workflow whose request is dropped repeats it. */
const mostRequests = 200;
const mostNodes = 100;
/** How many nodes one activity call decides about. */
const nodesPerCall = 250;

/** The state of `disrupt` about open requests for slots, and the last answer to each. */
export class SlotRequests {
  private requests: readonly SlotRequest[];
  private readonly lastAnswers = new Map<string, string>();

  constructor(carried: readonly SlotRequest[] = []) {
    this.requests = carried;
  }

  get waiting(): readonly SlotRequest[] {
    return this.requests;
  }

  /** Takes in a request. A repeated one is answered again. */
  take(request: SlotRequest): void {
    const known = this.requests.some(({ id }) => id === request.id);
    if (!known && this.requests.length >= mostRequests) return;
    const bounded = { ...request, candidates: request.candidates.slice(0, mostNodes) };
    this.lastAnswers.delete(request.id);
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
    if (nodes === undefined) this.lastAnswers.delete(id);
  }

  /** Withdraws all requests of a workflow that has ended. */
  withdrawAll(workflowId: string): void {
    for (const { id } of this.requests.filter((one) => one.workflowId === workflowId)) this.withdraw(id, undefined);
  }

  /** The open requests in portions for one activity call each. */
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

  /** Removes granted nodes from the request. */
  grant(id: string, granted: readonly CandidateRef[]): void {
    const uids = new Set(granted.map(({ claim }) => claim.uid));
    this.requests = this.requests.map((request) =>
      request.id === id
        ? { ...request, candidates: request.candidates.filter(({ claim }) => !uids.has(claim.uid)) }
        : request,
    );
  }

  /**
   * Signals the decision to the requester if it differs from the last one. Returns false if that workflow is gone: its nodes must
   * then be returned.
   */
  async notify(request: SlotRequest, decision: SlotDecision): Promise<boolean> {
    const text = JSON.stringify(decision);
    if (this.lastAnswers.get(request.id) === text) return true;
    this.lastAnswers.set(request.id, text);
    return notify(() => getExternalWorkflowHandle(request.workflowId).signal(slotDecidedSignal, decision));
  }

  /** Drops requests that have no node left. */
  sweep(): void {
    this.requests = this.requests.filter(({ candidates }) => candidates.length > 0);
    const ids = new Set(this.requests.map(({ id }) => id));
    for (const id of this.lastAnswers.keys()) if (!ids.has(id)) this.lastAnswers.delete(id);
  }
}

/** `running` without the nodes of a slot: all of them, or the named ones. */
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
