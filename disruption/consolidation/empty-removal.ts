import type { ChangingFleet } from './changing-fleet.js';
import { mostCandidates } from './command-budgets.js';
import { byPricePerCost, isEmptied, type FleetNode } from './fleet.js';
import type { Outcome } from './outcome.js';

/** Removes the nodes on which no pod needs another node (consolidation/empty-nodes). */
export class EmptyRemoval {
  constructor(private readonly fleet: ChangingFleet) {}

  /** Empty nodes that budgets protect are not removed for other reasons either. Pods may be moved to them. */
  protect(): void {
    const allowed = this.fleet.budgets.left(this.fleet.counted(), 'Empty');
    for (const node of this.fleet.alive()) {
      if (!node.removable || !isEmptied(node) || allowed(node) > 0) continue;
      node.removable = false;
      this.fleet.held.push({
        node: node.name,
        why: 'it is empty, but no empty node of its NodePool may be disrupted now (budgets, windows or rates)',
      });
    }
  }

  remove(which: (node: FleetNode) => boolean): void {
    const kept = new Set<FleetNode>();
    const isMeant = (node: FleetNode): boolean => node.removable && node.cost <= 1 && which(node) && !kept.has(node);
    while (!this.fleet.isEnough()) {
      const empty = this.fleet.alive().filter(isMeant).sort(byPricePerCost);
      const group = this.fleet.budgets.take(this.fleet.counted(), empty, 'Empty', mostCandidates);
      if (group.length === 0) return;
      this.fleet.simulation.setTargets(this.fleet.alive().filter(({ open }) => open));
      const outcome = this.fleet.simulation.attempts.byPlacing(group) ?? this.attemptEach(group, kept);
      if (outcome !== undefined) this.fleet.carryOut({ ...outcome, planned: [] }, 'empty');
    }
  }

  /**
   * Those of the group that can be removed one by one, if not all can (consolidation/pods-without-weight). Pods with an
   * eviction cost of zero or less are evicted even if they have no place; nodes with the only room for pending pods or
   * buffers are added to `kept`.
   */
  private attemptEach(group: readonly FleetNode[], kept: Set<FleetNode>): Outcome | undefined {
    const fine: FleetNode[] = [];
    for (const node of group) {
      if (this.fleet.simulation.attempts.byPlacing([...fine, node]) !== undefined) this.fleet.simulation.undo();
      else if (node.waiting.size === 0) this.fleet.simulation.remove(node);
      else {
        kept.add(node);
        continue;
      }
      fine.push(node);
    }
    return fine.length === 0 ? undefined : this.fleet.simulation.attempts.byPlacing(fine);
  }
}
