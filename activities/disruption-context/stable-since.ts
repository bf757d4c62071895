import { idleSince } from '../../disruption/consolidation/consolidatable.js';
import type { NodeView } from '../../disruption/candidates/candidates.js';
import { nodeNameOf } from '../../cluster/cluster.js';

/** Rule `commands/validation-delay`: a decision has to prove stable for so long before it is carried out. */
const validationMs = 15_000;

/**
 * Since when searches name a node as one that may go. A node that had to wait for a budget while others went has proved
 * stable meanwhile: its command need not wait the fifteen seconds over again. Kept by the process: who forgets it waits.
 */
export class StableSince {
  private since = new Map<string, number>();

  /**
   * Takes in a search: nodes that it named, and nodes that it did not ask about because their pools let none go just now.
   * All others start again.
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
      // Pods that came or went since then make it another node.
      since.set(node, Math.max(known ?? now, idleSince(view) ?? now));
    }
    this.since = since;
  }

  /** What is left of the validation's wait, milliseconds. */
  restOf(nodes: readonly string[], now: number): number {
    const stood = Math.min(...nodes.map((node) => now - (this.since.get(node) ?? now)));
    return Math.min(validationMs, Math.max(0, validationMs - stood));
  }
}
