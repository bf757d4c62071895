import type { DisruptState, CandidateRef, PastDisruption, RunningDisruption, TaintOwner } from '../messages.js';
import { withAdopted, withoutAdopted } from './adoption.js';
import { recordDisruption } from './past-disruptions.js';
import { withoutSlot } from './slot-requests.js';

/**
 * The state of `disrupt` about disruptions that run, which count against budgets, and past ones, which count against rates and
 * quotas.
 */
export class RunningDisruptions {
  private running: readonly RunningDisruption[];
  private pastDisruptions: readonly PastDisruption[];

  constructor(carried: Pick<Partial<DisruptState>, 'running' | 'pastDisruptions'> = {}) {
    this.running = carried.running ?? [];
    this.pastDisruptions = carried.pastDisruptions ?? [];
  }

  get all(): readonly RunningDisruption[] {
    return this.running;
  }

  /** Whether there are adopted ones, which do not signal their end. */
  get hasAdopted(): boolean {
    return this.running.some(({ isAdopted }) => isAdopted === true);
  }

  get past(): readonly PastDisruption[] {
    return this.pastDisruptions;
  }

  /** Counts a disruption from now on. Returns a function that undoes this. */
  begin(one: RunningDisruption): () => void {
    const before = this.pastDisruptions;
    this.running = [...this.running, one];
    this.pastDisruptions = recordDisruption(before, one.reason, one.candidates, one.since);
    return () => {
      this.running = this.running.filter((other) => other !== one);
      this.pastDisruptions = before;
    };
  }

  /** Takes in past disruptions with those that were recorded on NodePools. */
  remember(past: readonly PastDisruption[]): void {
    this.pastDisruptions = past;
  }

  /** Drops all entries of a workflow that has ended. */
  end(workflowId: string): void {
    this.running = this.running.filter((one) => one.workflowId !== workflowId);
  }

  /** Nodes that were granted for a slot and not returned. */
  grantedTo(slot: string): readonly CandidateRef[] {
    return this.running.flatMap((one) => (one.slot === slot ? one.candidates : []));
  }

  /** Returns nodes of a slot: all, or the named ones. */
  returned(slot: string, nodes: readonly string[] | undefined): void {
    this.running = withoutSlot(this.running, slot, nodes);
  }

  /** Drops the adopted entries of a workflow, once it requests or returns slots itself. */
  dropAdopted(workflowId: string): void {
    this.running = withoutAdopted(this.running, workflowId);
  }

  /** Adopts workflows that hold taints and are not known; returns the new ones. */
  adopt(
    owners: readonly TaintOwner[],
    context: { readonly asking: readonly string[]; readonly now: number },
  ): readonly RunningDisruption[] {
    const before = new Set(this.running.map(({ workflowId }) => workflowId));
    this.running = withAdopted(this.running, owners, context);
    return this.running.filter(({ workflowId }) => !before.has(workflowId));
  }
}
