import type { ChangingFleet } from './changing-fleet.js';
import { mostCandidates } from './command-budgets.js';
import { priceOfAll, type FleetNode, roundingError } from './fleet.js';
import type { OutcomeEvaluator } from './outcome-evaluator.js';
import { outcomeSaving, type DecidedOutcome, type Outcome } from './outcome.js';

/** Search units for the replacement of one node, or of a group that is only estimated. */
const singleUnits = 2_000;

/** Finds commands for single nodes, in addition to those of the fleet plan. */
export class NodeByNode {
  constructor(
    private readonly fleet: ChangingFleet,
    private readonly judge: OutcomeEvaluator,
  ) {}

  /** Whether budgets let only some of the nodes go that the plan removes: then each command is the best. */
  isShort = false;

  /**
   * For the first command: returns this outcome, or that of one node if it saves more, or as much for less disruption
   * (consolidation/parts-of-a-plan). The returned outcome is applied.
   */
  best(outcome: DecidedOutcome): DecidedOutcome {
    if (!this.isShort && this.fleet.commands.some(({ method }) => method !== 'empty')) return outcome;
    let best = outcome;
    let saving = outcomeSaving(outcome);
    let cost = outcome.candidates.reduce((sum, node) => sum + node.cost - 1, 0);
    const isBetter = (node: FleetNode, own: number): boolean =>
      own > saving + roundingError || (own > saving - roundingError && node.cost - 1 < cost);
    const hopeful = this.fleet.bySaving().filter((node) => isBetter(node, node.price));
    if (hopeful.length === 0) return outcome;
    let changes = this.fleet.simulation.undo();
    for (const node of hopeful.sort((a, b) => b.price - a.price || a.cost - b.cost)) {
      const alone = isBetter(node, node.price) ? this.evaluate(node, saving - roundingError) : undefined;
      if (alone === undefined) continue;
      const own = this.fleet.simulation.undo();
      if (!isBetter(node, outcomeSaving(alone))) continue;
      [best, changes, saving, cost] = [alone, own, outcomeSaving(alone), node.cost - 1];
    }
    this.fleet.simulation.redo(changes);
    return best;
  }

  /**
   * The outcome of removing or replacing this node, if budgets allow it. Commands that save less than `least` are not
   * searched.
   */
  private evaluate(node: FleetNode, least = 0): DecidedOutcome | undefined {
    if (this.fleet.allowed([node]).length === 0) return undefined;
    this.fleet.setTargetsWithout([node]);
    return this.judge.evaluate([node], singleUnits, least);
  }

  /** Single nodes: first those whose pods have room on others, then those with a cheaper replacement. */
  polish(): void {
    while (!this.fleet.isEnough() && this.deleteMore());
    for (const node of this.fleet.bySaving().filter((each) => this.mayReplace(each))) {
      if (this.fleet.isEnough()) return;
      const outcome = node.gone ? undefined : this.evaluate(node);
      if (outcome !== undefined) this.fleet.carryOut(this.best(outcome));
    }
  }

  /** Removes as many nodes at once as budgets and the room on other nodes allow. */
  private deleteMore(): boolean {
    const outcome = this.deletable();
    if (outcome === undefined) return false;
    this.fleet.carryOut(this.best(outcome));
    return true;
  }

  private deletable(): DecidedOutcome | undefined {
    const { simulation } = this.fleet;
    simulation.setTargets(this.fleet.alive().filter(({ open }) => open));
    let outcome: Outcome | undefined;
    const more: FleetNode[] = [];
    for (const node of this.fleet.bySaving()) {
      if (node.price <= Math.max(roundingError, simulation.disruptionOf([node]))) continue;
      const all = [...(outcome?.candidates ?? []), ...more, node];
      if (all.length > mostCandidates) break;
      if (this.fleet.allowed(all).length < all.length) continue;
      if (!this.judge.isWorth(all, priceOfAll(all), priceOfAll(all))) continue;
      if (outcome === undefined) outcome = simulation.attempts.byPlacing([node]);
      else if (simulation.attempts.extend(node)) more.push(node);
    }
    return outcome && { ...simulation.attempts.extended(outcome, more), planned: [] };
  }

  /** Whether this node alone may be replaced: spot is replaced by spot only if configured. */
  private mayReplace({ capacityType }: FleetNode): boolean {
    return capacityType !== 'spot' || this.fleet.input.spotToSpot === true || !this.judge.offersSpot;
  }
}
