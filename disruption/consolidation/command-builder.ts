import type { ChangingFleet } from './changing-fleet.js';
import { groupUnits } from './command-budgets.js';
import { priceOfAll, type FleetNode, roundingError } from './fleet.js';
import type { NodeByNode } from './node-by-node.js';
import type { OutcomeEvaluator } from './outcome-evaluator.js';
import type { DecidedOutcome } from './outcome.js';
import { candidateGroupsOf } from './parts.js';
import type { ConsolidationPlan } from './plan.js';
import type { Simulation } from './simulation.js';

/** The candidates of a command, and the nodes that it launches. */
interface Done {
  readonly candidates: readonly FleetNode[];
  readonly launched: readonly FleetNode[];
}

/** How many launches are tried one by one, if a command cannot pay for several. */
const mostLaunchesTried = 8;

/** Builds commands for the nodes that the cheapest fleet does not need, with as many nodes as budgets allow. */
export class CommandBuilder {
  private readonly simulation: Simulation;
  private targets: readonly FleetNode[] = [];

  constructor(
    private readonly fleet: ChangingFleet,
    private readonly evaluator: OutcomeEvaluator,
    private readonly nodeByNode: NodeByNode,
    private readonly plan: ConsolidationPlan,
  ) {
    this.simulation = fleet.simulation;
  }

  run(): void {
    const { keep, remove } = this.plan;
    let waiting = remove.filter(({ gone }) => !gone);
    let targets = keep.filter(({ gone }) => !gone);
    // A group that saves nothing yet may do so once other commands have launched what it needs.
    for (let progress = true; progress && waiting.length > 0;) {
      progress = false;
      const postponed: FleetNode[] = [];
      while (waiting.length > 0 && !this.fleet.isEnough()) {
        const group = this.fleet.allowed(waiting);
        if (group.length === 0) return;
        this.targets = targets;
        this.simulation.setTargets(targets);
        const done = this.asPlanned(group) ?? this.oneLaunch(waiting) ?? this.byItself(group);
        if (done === undefined) postponed.push(...group);
        else {
          targets = [...targets, ...done.launched];
          progress = true;
        }
        const tried = new Set(done?.candidates ?? group);
        waiting = waiting.filter((node) => !node.gone && !tried.has(node));
      }
      waiting = postponed.filter(({ gone }) => !gone);
    }
  }

  /** First only the nodes that are not too similar to a launch to be replaced by it, then the whole group. */
  private asPlanned(group: readonly FleetNode[]): Done | undefined {
    const { late } = this.plan;
    const early = group.filter((node) => !late.has(node));
    const isMixed = early.length > 0 && early.length < group.length;
    return (isMixed ? this.follow(early) : undefined) ?? this.follow(group);
  }

  /**
   * As many nodes as allowed of those that one launch can replace, the most expensive first. Budgets may allow too few
   * nodes to pay for several launches.
   */
  private oneLaunch(waiting: readonly FleetNode[]): Done | undefined {
    const { late, fleetPlan } = this.plan;
    const early = waiting.filter((node) => !late.has(node)).sort((a, b) => b.price - a.price);
    for (const launch of fleetPlan.unopened().slice(0, mostLaunchesTried)) {
      const group = this.fleet.allowed(fleetPlan.servedBy(early, launch));
      if (priceOfAll(group) <= fleetPlan.launches[launch]!.price) continue;
      const done = this.follow(group, launch);
      if (done !== undefined) return done;
    }
    return undefined;
  }

  /** The group, or else its first half, quarter and so on, with the best replacement for it now. */
  private byItself(group: readonly FleetNode[]): Done | undefined {
    for (let size = group.length; size >= 1; size = size >> 1) {
      const candidates = group.slice(0, size);
      const done = size === group.length ? undefined : this.follow(candidates);
      if (done !== undefined) return done;
      const outcome = this.evaluator.evaluate(candidates, groupUnits);
      if (outcome !== undefined) return this.carryOut(outcome);
      const parts = size === group.length ? this.inParts(group) : undefined;
      if (parts !== undefined) return parts;
    }
    return undefined;
  }

  /** If a group cannot be removed as a whole, tries its independent parts one by one. */
  private inParts(group: readonly FleetNode[]): Done | undefined {
    const { simulation } = this;
    const followed = group.length > 1 ? simulation.attempts.byPlan(group, this.plan.fleetPlan) : undefined;
    if (followed === undefined) return undefined;
    simulation.undo();
    const candidates: FleetNode[] = [];
    const launched: FleetNode[] = [];
    for (const { nodes, saving } of candidateGroupsOf(followed)) {
      if (saving <= roundingError || nodes.length === group.length || this.fleet.isEnough()) continue;
      const done = this.follow(nodes);
      candidates.push(...(done?.candidates ?? []));
      launched.push(...(done?.launched ?? []));
    }
    return candidates.length === 0 ? undefined : { candidates, launched };
  }

  /** Moves the pods of these nodes as the fleet plan says, opening the launch `first` first, if that is allowed. */
  private follow(group: readonly FleetNode[], first?: number): Done | undefined {
    const { fleetPlan } = this.plan;
    const followed = this.simulation.attempts.byPlan(group, fleetPlan, first);
    if (followed === undefined) return undefined;
    const outcome = this.evaluator.decide(followed);
    if (outcome === undefined) {
      this.simulation.undo();
      return undefined;
    }
    return this.carryOut(outcome);
  }

  /**
   * Carries out the outcome. If it is only a part of the plan, a single node that saves more is disrupted instead
   * (consolidation/parts-of-a-plan).
   */
  private carryOut(outcome: DecidedOutcome): Done {
    const { fleetPlan } = this.plan;
    const isPart = this.plan.remove.some((node) => !node.gone && !outcome.candidates.includes(node));
    const best = isPart ? this.nodeByNode.best(outcome) : outcome;
    const launched = this.fleet.carryOut(best);
    const { candidates, route = [] } = best;
    const openings = [...new Set(route.flatMap(({ to }) => (typeof to === 'number' ? [to] : [])))];
    fleetPlan.done(route, (index) => launched[openings.indexOf(index)]!.state);
    if (isPart) this.simulation.setTargets(this.targets);
    return { candidates, launched };
  }
}
