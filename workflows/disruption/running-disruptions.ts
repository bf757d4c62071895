import type { DisruptState, GoingNode, PastDisruption, RunningDisruption, TaintOwner } from '../messages.js';
import { withAdopted, withoutAdopted } from './adoption.js';
import { recordDisruption } from './past-disruptions.js';
import { withoutSlot } from './slot-book.js';

/** What counts against budgets now, and what went lately. `disrupt` decides; this keeps the books. */
export class RunningDisruptions {
  private running: readonly RunningDisruption[];
  private gone: readonly PastDisruption[];

  constructor(carried: Pick<Partial<DisruptState>, 'running' | 'pastDisruptions'> = {}) {
    this.running = carried.running ?? [];
    this.gone = carried.pastDisruptions ?? [];
  }

  get all(): readonly RunningDisruption[] {
    return this.running;
  }

  get past(): readonly PastDisruption[] {
    return this.gone;
  }

  /** Its nodes go from now on; the function takes that back. */
  begin(one: RunningDisruption): () => void {
    const before = this.gone;
    this.running = [...this.running, one];
    this.gone = recordDisruption(before, one.reason, one.candidates, one.since);
    return () => {
      this.running = this.running.filter((other) => other !== one);
      this.gone = before;
    };
  }

  /** What was recorded before this workflow was there. */
  remember(past: readonly PastDisruption[]): void {
    this.gone = [...past, ...this.gone];
  }

  /** Everything of a workflow that is over. */
  end(workflowId: string): void {
    this.running = this.running.filter((one) => one.workflowId !== workflowId);
  }

  /** What a slot was granted so far and has not returned. */
  grantedTo(slot: string): readonly GoingNode[] {
    return this.running.flatMap((one) => (one.slot === slot ? one.candidates : []));
  }

  /** Gives the nodes of a slot back: all of it, or those of these names. */
  returned(slot: string, nodes: readonly string[] | undefined): void {
    this.running = withoutSlot(this.running, slot, nodes);
  }

  /** The workflow answers for its nodes by itself: what was adopted of it counts no longer. */
  answersFor(workflowId: string): void {
    this.running = withoutAdopted(this.running, workflowId);
  }

  /** Counts the owners of taints that nobody asked for; gives those that are new. */
  adopt(
    owners: readonly TaintOwner[],
    context: { readonly asking: readonly string[]; readonly now: number },
  ): readonly RunningDisruption[] {
    const before = new Set(this.running.map(({ workflowId }) => workflowId));
    this.running = withAdopted(this.running, owners, context);
    return this.running.filter(({ workflowId }) => !before.has(workflowId));
  }
}
