import { idleSince } from '../../disruption/consolidation/consolidatable.js';
import type { NodeView } from '../../disruption/candidates/candidates.js';
import { nodeNameOf } from '../../cluster/cluster.js';

/** How long a decision has to be stable before it is carried out (commands/validation-delay). */
const validationMs = 15_000;

/**
 * Since when consecutive searches have named a node as disruptable. A node that waited for a budget while others were
 * disrupted has been stable meanwhile, so that its command need not wait another fifteen seconds. Kept in the process
 * only: after a restart the time begins again.
 */
export class StableSince {
  private since = new Map<string, number>();

  /**
   * Takes in a search: `named` nodes, and `unasked` nodes, which it did not examine because their NodePools allow no
   * disruption now. For all other nodes the time begins again.
   */
  note(
    views: readonly NodeView[],
    { named, unasked, now }: { named: ReadonlySet<string>; unasked: ReadonlySet<string>; now: number },
  ): void {
    const since = new Map<string, number>();
    for (const view of views) {
      const node = nodeNameOf(view);
      const known = this.since.get(node);
      if (!named.has(node) && (known === undefined || !unasked.has(node))) continue;
      // If pods have come or gone since then, the time begins again.
      since.set(node, Math.max(known ?? now, idleSince(view) ?? now));
    }
    this.since = since;
  }

  /** The rest of the validation delay, milliseconds. */
  restOf(nodes: readonly string[], now: number): number {
    const stood = Math.min(...nodes.map((node) => now - (this.since.get(node) ?? now)));
    return Math.min(validationMs, Math.max(0, validationMs - stood));
  }
}
