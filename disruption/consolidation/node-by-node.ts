import type { ChangingFleet } from './changing-fleet.js';
import { mostCandidates } from './command-budgets.js';
import { priceOfAll, type FleetNode } from './fleet.js';
import { noise, type Judge } from './judge.js';
import type { Outcome } from './outcome.js';

/** Units of search for what stands in for one node, or for a group that is only looked at. */
const singleUnits = 2_000;

/** What there is to gain beside the cheapest fleet: several nodes for fewer, and node by node. */
export class NodeByNode {
  constructor(
    private readonly fleet: ChangingFleet,
    private readonly judge: Judge,
  ) {}

  /**
   * Several nodes at once for fewer, where the cheapest fleet as such is out of reach (consolidation/several-nodes): of the first so many by
   * saving for disruption, those that save most.
   */
  gather(): void {
    if (this.fleet.isEnough()) return;
    const ranked = this.fleet.bySaving().filter(({ price }) => price > noise);
    const most = this.fleet.budgets.take(this.fleet.counted(), ranked, 'Underutilized', mostCandidates);
    let best: { readonly group: readonly FleetNode[]; readonly saving: number } | undefined;
    for (let size = most.length; size >= 2; size = Math.min(size - 1, Math.floor(size * 0.8))) {
      if (this.fleet.isEnough()) break;
      const group = most.slice(0, size);
      if (best !== undefined && priceOfAll(group) <= best.saving) break;
      this.fleet.aimBeside(group);
      const outcome = this.judge.evaluate(group, singleUnits);
      if (outcome === undefined) continue;
      this.fleet.simulation.undo();
      const saving = priceOfAll(group) - outcome.planned.reduce((sum, { cheapest }) => sum + cheapest.pricePerHour, 0);
      if (best === undefined || saving > best.saving + noise) best = { group, saving };
    }
    if (best === undefined) return;
    this.fleet.aimBeside(best.group);
    const outcome = this.judge.evaluate(best.group, singleUnits);
    if (outcome !== undefined) this.fleet.carryOut(outcome);
  }

  /** What is left to gain node by node: those that others can take in, then those that a cheaper one can stand in for. */
  polish(): void {
    while (!this.fleet.isEnough() && this.deleteMore());
    const nodes = this.fleet.bySaving().filter((node) => this.mayReplace(node));
    for (const node of nodes) {
      if (this.fleet.isEnough()) return;
      if (this.fleet.budgets.take(this.fleet.counted(), [node], 'Underutilized', 1).length === 0) continue;
      this.fleet.aimBeside([node]);
      const outcome = this.judge.evaluate([node], singleUnits);
      if (outcome !== undefined) this.fleet.carryOut(outcome);
    }
  }

  /** Deletes as many nodes at once as budgets and the room of the others allow. */
  private deleteMore(): boolean {
    const { simulation } = this.fleet;
    simulation.aim(this.fleet.alive().filter(({ open }) => open));
    let outcome: Outcome | undefined;
    const more: FleetNode[] = [];
    for (const node of this.fleet.bySaving()) {
      if (node.price <= Math.max(noise, simulation.disruptionOf([node]))) continue;
      const all = [...(outcome?.candidates ?? []), ...more, node];
      if (all.length > mostCandidates) break;
      if (this.fleet.budgets.take(this.fleet.counted(), all, 'Underutilized', mostCandidates).length < all.length)
        continue;
      if (!this.judge.isWorth(all, priceOfAll(all), priceOfAll(all))) continue;
      if (outcome === undefined) outcome = simulation.attempt([node]);
      else if (simulation.extend(node)) more.push(node);
    }
    if (outcome === undefined) return false;
    this.fleet.carryOut({ ...simulation.extended(outcome, more), planned: [] });
    return true;
  }

  /** Whether a replacement for this node alone could be allowed: spot is not replaced by spot unless asked for. */
  private mayReplace({ capacityType }: FleetNode): boolean {
    return capacityType !== 'spot' || this.fleet.input.spotToSpot === true || !this.judge.offersSpot;
  }
}
