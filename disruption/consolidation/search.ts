import { withoutCulprits } from '../../packing/set-aside.js';
import { ChangingFleet } from './changing-fleet.js';
import { CommandBuilder, type CommandTools } from './command-builder.js';
import { groupUnits, mostCandidates } from './command-budgets.js';
import { EmptyRemoval } from './empty-removal.js';
import { priceOfAll, type FleetNode } from './fleet.js';
import { Judge } from './judge.js';
import { NodeByNode } from './node-by-node.js';
import { makePlan, type ConsolidationPlan } from './plan.js';
import { Reconsideration } from './reconsideration.js';
import { isFixed } from './target.js';
import type { Consolidation, ConsolidationCommand, ConsolidationInput } from './types.js';

/** How much of the price of the nodes that may go at once a launch for them may take: not all of them serve it. */
const paidWith = 0.8;

/** A fleet this near, as a share, to the price that was planned is as planned: no replacement may save less of what it replaces. */
const nearlyPlanned = 1.01;

/**
 * The commands that consolidate the cluster, in the order in which they would run, each on what the one before leaves
 * (consolidation/all-nodes-are-looked-at): every eligible node is considered. Pure: equal inputs give equal results, as long as `isOver` stays
 * false; once it is true the search ends with the commands that it has.
 */
export function consolidateFleet(input: ConsolidationInput, isOver: () => boolean = never): Consolidation {
  const { result, setAside } = withoutCulprits(input, (each) => new Search(each, isOver).run());
  return setAside.length === 0 ? result : { ...result, setAside };
}

/**
 * What comes of taking exactly these nodes now (commands/validation): the command, or undefined when they may not all go, or when that
 * saves nothing any more.
 */
export function reconsiderNodes(
  input: ConsolidationInput,
  candidates: readonly string[],
): ConsolidationCommand | undefined {
  return withoutCulprits(input, (each) => new Search(each).reconsideration.take(candidates)).result;
}

/** Why taking exactly this node comes to nothing now, in a person's words; undefined where it is taken. */
export function whyStays(input: ConsolidationInput, node: string): string | undefined {
  return withoutCulprits(input, (each) => new Search(each).reconsideration.whyStays(node)).result;
}

const never = (): boolean => false;

class Search {
  private readonly fleet: ChangingFleet;
  private readonly judge: Judge;
  private readonly empties: EmptyRemoval;
  private readonly nodeByNode: NodeByNode;

  constructor(input: ConsolidationInput, isOver: () => boolean = never) {
    this.fleet = new ChangingFleet(input, isOver);
    this.judge = new Judge(this.fleet);
    this.empties = new EmptyRemoval(this.fleet);
    this.nodeByNode = new NodeByNode(this.fleet, this.judge);
    this.empties.protect();
  }

  /** Takes exactly the nodes that somebody names. */
  get reconsideration(): Reconsideration {
    return new Reconsideration(this.fleet, this.judge, () => this.plan());
  }

  run(): Consolidation {
    const nodesBefore = this.fleet.counted().length;
    const priceBefore = this.fleet.price;
    const examined = this.fleet.alive();
    for (let isOpen = true; isOpen && !this.fleet.isEnough();) {
      const before = this.fleet.commands.length;
      this.empties.remove(({ onlyEmpty }) => onlyEmpty);
      this.fleet.alive(); // as it is, not as it is imagined
      const plan = this.plan();
      // A node that is cheap for its size may be empty because nobody has moved there yet.
      this.empties.remove(({ state }) => !plan.fleetPlan.filled.has(state));
      new CommandBuilder(this.tools, plan).run();
      const isReached = priceOfAll(this.fleet.alive()) <= plan.price * nearlyPlanned;
      const after = this.fleet.commands.length;
      if (after === before) this.nodeByNode.gather();
      this.nodeByNode.polish();
      this.empties.remove(() => true);
      // A fleet that is as it was planned would be planned like this again.
      isOpen = isReached ? this.fleet.commands.length > after : this.fleet.commands.length > before;
    }
    const held = [...this.fleet.held, ...this.notLetGo()];
    return {
      nodesBefore,
      nodesAfter: this.fleet.counted().length,
      priceBefore,
      priceAfter: this.fleet.price,
      commands: this.fleet.commands,
      held,
      notTaken: this.fleet.wasCutShort ? [] : this.notTaken(examined, held),
      rejected: this.judge.rejections.among(this.fleet.alive()),
      ...(this.fleet.wasCutShort ? { cutShort: true } : {}),
    };
  }

  /** Nodes that nothing but their pool's budgets keeps, whatever they are taken for. */
  private notLetGo(): Consolidation['held'] {
    const fleet = this.fleet.counted();
    const [empty, underutilized] = [
      this.fleet.budgets.left(fleet, 'Empty'),
      this.fleet.budgets.left(fleet, 'Underutilized'),
    ];
    return this.fleet
      .alive()
      .filter((node) => node.removable && empty(node) === 0 && underutilized(node) === 0)
      .map(({ name }) => ({ node: name, why: 'what bounds the disruption of its NodePool lets none go now' }));
  }

  /** Of the nodes that were there at the beginning. */
  private notTaken(examined: readonly FleetNode[], held: Consolidation['held']): Consolidation['notTaken'] {
    const names = new Set(held.map(({ node }) => node));
    return examined
      .filter(({ name, gone, removable }) => !gone && removable && !names.has(name))
      .map(({ name }) => ({ node: name, why: this.judge.whyNotTaken(name) }));
  }

  private plan(): ConsolidationPlan {
    return makePlan(this.fleet.simulation, this.judge.pays, this.affordable());
  }

  /** What the nodes cost at most that budgets let go at once, dollars per hour: a launch that costs more never pays. */
  private affordable(): number {
    const most = this.fleet.budgets.atMost(this.fleet.counted(), 'Underutilized');
    const taken = new Map<string, number>();
    const dearest = this.fleet.alive().filter((node) => !isFixed(node));
    dearest.sort((a, b) => b.price - a.price);
    const together = dearest.filter((node) => {
      const count = (taken.get(node.nodePool) ?? 0) + 1;
      taken.set(node.nodePool, count);
      return count <= most(node);
    });
    return Math.max(together[0]?.price ?? 0, paidWith * priceOfAll(together.slice(0, mostCandidates)));
  }

  private get tools(): CommandTools {
    return {
      simulation: this.fleet.simulation,
      letGo: (wanted) => this.fleet.budgets.take(this.fleet.counted(), wanted, 'Underutilized', mostCandidates),
      decide: (outcome) => this.judge.decide(outcome),
      evaluate: (candidates) => this.judge.evaluate(candidates, groupUnits),
      carryOut: (outcome) => this.fleet.carryOut(outcome),
      isEnough: () => this.fleet.isEnough(),
      requiresOnDemand: this.fleet.requiresOnDemand,
    };
  }
}
