import type { ChangingFleet } from './changing-fleet.js';
import { mostCandidates } from './command-budgets.js';
import { priceOfAll, type FleetNode } from './fleet.js';
import { roundingError, type OutcomeEvaluator } from './outcome-evaluator.js';
import type { Outcome } from './outcome.js';

/** Search units for the replacement of one node, or of a group that is only estimated. */
const singleUnits = 2_000;

/** Finds further commands after those of the fleet plan: several nodes replaced by fewer, and node by node. */
export class NodeByNode {
  constructor(
    private readonly fleet: ChangingFleet,
    private readonly judge: OutcomeEvaluator,
  ) {}

  /**
   * Replaces several nodes by fewer, if the fleet plan cannot be reached (consolidation/several-nodes): takes nodes in order of
   * saving per disruption cost, and chooses the number that saves most.
   */
  gather(): void {
    if (this.fleet.isEnough()) return;
    const ranked = this.fleet.bySaving().filter(({ price }) => price > roundingError);
    const most = this.fleet.budgets.take(this.fleet.counted(), ranked, 'Underutilized', mostCandidates);
    let best: { readonly group: readonly FleetNode[]; readonly saving: number } | undefined;
    for (let size = most.length; size >= 2; size = Math.min(size - 1, Math.floor(size * 0.8))) {
      if (this.fleet.isEnough()) break;
      const group = most.slice(0, size);
      if (best !== undefined && priceOfAll(group) <= best.saving) break;
      this.fleet.setTargetsWithout(group);
      const outcome = this.judge.evaluate(group, singleUnits);
      if (outcome === undefined) continue;
      this.fleet.simulation.undo();
      const saving = priceOfAll(group) - outcome.planned.reduce((sum, { cheapest }) => sum + cheapest.pricePerHour, 0);
      if (best === undefined || saving > best.saving + roundingError) best = { group, saving };
    }
    if (best === undefined) return;
    this.fleet.setTargetsWithout(best.group);
    const outcome = this.judge.evaluate(best.group, singleUnits);
    if (outcome !== undefined) this.fleet.carryOut(outcome);
  }

  /** Single nodes: first those whose pods have room on others, then those with a cheaper replacement. */
  polish(): void {
    while (!this.fleet.isEnough() && this.deleteMore());
    const nodes = this.fleet.bySaving().filter((node) => this.mayReplace(node));
    for (const node of nodes) {
      if (this.fleet.isEnough()) return;
      if (this.fleet.budgets.take(this.fleet.counted(), [node], 'Underutilized', 1).length === 0) continue;
      this.fleet.setTargetsWithout([node]);
      const outcome = this.judge.evaluate([node], singleUnits);
      if (outcome !== undefined) this.fleet.carryOut(outcome);
    }
  }

  /** Removes as many nodes at once as budgets and the room on other nodes allow. */
  private deleteMore(): boolean {
    const { simulation } = this.fleet;
    simulation.setTargets(this.fleet.alive().filter(({ open }) => open));
    let outcome: Outcome | undefined;
    const more: FleetNode[] = [];
    for (const node of this.fleet.bySaving()) {
      if (node.price <= Math.max(roundingError, simulation.disruptionOf([node]))) continue;
      const all = [...(outcome?.candidates ?? []), ...more, node];
      if (all.length > mostCandidates) break;
      if (this.fleet.budgets.take(this.fleet.counted(), all, 'Underutilized', mostCandidates).length < all.length)
        continue;
      if (!this.judge.isWorth(all, priceOfAll(all), priceOfAll(all))) continue;
      if (outcome === undefined) outcome = simulation.attempts.byPlacing([node]);
      else if (simulation.attempts.extend(node)) more.push(node);
    }
    if (outcome === undefined) return false;
    this.fleet.carryOut({ ...simulation.attempts.extended(outcome, more), planned: [] });
    return true;
  }

  /** Whether this node alone may be replaced: spot is replaced by spot only if configured. */
  private mayReplace({ capacityType }: FleetNode): boolean {
    return capacityType !== 'spot' || this.fleet.input.spotToSpot === true || !this.judge.offersSpot;
  }
}
