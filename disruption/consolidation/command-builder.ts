import { keepingOnDemand } from './on-demand-nodes.js';
import { priceOfAll, type FleetNode } from './fleet.js';
import type { Decided, Outcome } from './outcome.js';
import { candidateGroupsOf } from './parts.js';
import type { ConsolidationPlan } from './plan.js';
import type { Simulation } from './simulation.js';

/** What a plan is carried out with. */
export interface CommandTools {
  readonly simulation: Simulation;
  /** The first of these that budgets let go at once. */
  readonly letGo: (wanted: readonly FleetNode[]) => FleetNode[];
  /** The outcome as it would be carried out; undefined when it is not allowed or saves too little. */
  readonly decide: (outcome: Outcome) => Decided | undefined;
  /** What comes of taking these nodes by themselves; it stays in place. */
  readonly evaluate: (candidates: readonly FleetNode[]) => Decided | undefined;
  /** Makes it a command. Gives the nodes that it launches. */
  readonly carryOut: (outcome: Decided) => FleetNode[];
  /** Whether there are as many commands as are wanted. */
  readonly isEnough: () => boolean;
  /** Whether spot is launched for spot beside nodes on demand alone (consolidation/spot-beside-on-demand). */
  readonly requiresOnDemand: boolean;
}

/** What a command took, and the nodes that it launched. */
interface Done {
  readonly candidates: readonly FleetNode[];
  readonly launched: readonly FleetNode[];
}

/** Launches of a plan that are looked at one by one where a command could not pay for several. */
const mostLaunchesTried = 8;

/** Savings below this are noise of the sums, dollars per hour. */
const noise = 1e-9;

/** Takes the nodes that the cheapest fleet does without, as many at a time as budgets let go. */
export class CommandBuilder {
  private readonly simulation: Simulation;

  constructor(
    private readonly tools: CommandTools,
    private readonly plan: ConsolidationPlan,
  ) {
    this.simulation = tools.simulation;
  }

  run(): void {
    const { keep, remove } = this.plan;
    let waiting = remove.filter(({ gone }) => !gone);
    let targets = keep.filter(({ gone }) => !gone);
    // What does not pay yet may do so once other steps have launched what it needs.
    for (let progress = true; progress && waiting.length > 0;) {
      progress = false;
      const postponed: FleetNode[] = [];
      while (waiting.length > 0 && !this.tools.isEnough()) {
        const group = this.tools.letGo(waiting);
        if (group.length === 0) return;
        this.simulation.aim(targets);
        const done = this.asPlanned(group, waiting) ?? this.oneLaunch(waiting) ?? this.byItself(group);
        if (done === undefined) postponed.push(...group);
        else {
          targets = [...targets, ...done.launched];
          progress = true;
        }
        const tried = new Set(done?.candidates ?? group);
        waiting = waiting.filter((node) => !tried.has(node));
      }
      waiting = postponed;
    }
  }

  /** At first those alone that nothing of what is launched is too like to be launched for, then all of the group. */
  private asPlanned(group: readonly FleetNode[], waiting: readonly FleetNode[]): Done | undefined {
    const { late } = this.plan;
    const early = this.keepingOnDemand(
      group.filter((node) => !late.has(node)),
      waiting,
    );
    const isMixed = early.length > 0 && early.length < group.length;
    return (isMixed ? this.follow(early) : undefined) ?? this.follow(group);
  }

  /**
   * As many as may go at once of those that one launch is enough for, the dearest first: budgets may let too few go to pay for
   * several.
   */
  private oneLaunch(waiting: readonly FleetNode[]): Done | undefined {
    const { late, fleetPlan } = this.plan;
    const early = waiting.filter((node) => !late.has(node)).sort((a, b) => b.price - a.price);
    for (const launch of fleetPlan.unopened().slice(0, mostLaunchesTried)) {
      const served = this.tools.letGo(fleetPlan.servedBy(early, launch));
      const group = this.keepingOnDemand(served, waiting);
      if (priceOfAll(group) <= fleetPlan.launches[launch]!.price) continue;
      const done = this.follow(group, launch);
      if (done !== undefined) return done;
    }
    return undefined;
  }

  /** The group without the on-demand nodes that later commands need. */
  private keepingOnDemand(group: readonly FleetNode[], waiting: readonly FleetNode[]): readonly FleetNode[] {
    return this.tools.requiresOnDemand ? keepingOnDemand(group, waiting, this.plan.fleetPlan.launches) : group;
  }

  /** The group, or the largest first part of it that saves, whatever is best for it now. */
  private byItself(group: readonly FleetNode[]): Done | undefined {
    for (let size = group.length; size >= 1; size = size >> 1) {
      const candidates = group.slice(0, size);
      const done = size === group.length ? undefined : this.follow(candidates);
      if (done !== undefined) return done;
      const outcome = this.tools.evaluate(candidates);
      if (outcome !== undefined) return { candidates, launched: this.tools.carryOut(outcome) };
      const parts = size === group.length ? this.inParts(group) : undefined;
      if (parts !== undefined) return parts;
    }
    return undefined;
  }

  /** Where a group as a whole may not go: those that have nothing to do with each other one by one, if they save. */
  private inParts(group: readonly FleetNode[]): Done | undefined {
    const { simulation } = this;
    const followed = group.length > 1 ? simulation.follow(group, this.plan.fleetPlan) : undefined;
    if (followed === undefined) return undefined;
    simulation.undo();
    const candidates: FleetNode[] = [];
    const launched: FleetNode[] = [];
    for (const { nodes, saving } of candidateGroupsOf(followed)) {
      if (saving <= noise || nodes.length === group.length || this.tools.isEnough()) continue;
      const done = this.follow(nodes);
      candidates.push(...(done?.candidates ?? []));
      launched.push(...(done?.launched ?? []));
    }
    return candidates.length === 0 ? undefined : { candidates, launched };
  }

  /** What the fleet plan does with these nodes, with this launch opened `first`, where that is allowed. */
  private follow(group: readonly FleetNode[], first?: number): Done | undefined {
    const { fleetPlan } = this.plan;
    const followed = this.simulation.follow(group, fleetPlan, first);
    if (followed === undefined) return undefined;
    const outcome = this.tools.decide(followed);
    if (outcome === undefined) {
      this.simulation.undo();
      return undefined;
    }
    const launched = this.tools.carryOut(outcome);
    const route = followed.route ?? [];
    const openings = [...new Set(route.flatMap(({ to }) => (typeof to === 'number' ? [to] : [])))];
    fleetPlan.done(route, (index) => launched[openings.indexOf(index)]!.state);
    return { candidates: group, launched };
  }
}
