import { withoutUnreadable } from '../../packing/exclude-objects.js';
import { affordable } from './command-budgets.js';
import { ChangingFleet } from './changing-fleet.js';
import { CommandBuilder } from './command-builder.js';
import { EmptyRemoval } from './empty-removal.js';
import type { FleetNode } from './fleet.js';
import { OutcomeEvaluator } from './outcome-evaluator.js';
import { NodeByNode } from './node-by-node.js';
import { type ConsolidationPlan, makePlan } from './plan.js';
import { Reconsideration } from './reconsideration.js';
import type { Consolidation, ConsolidationCommand, ConsolidationInput } from './types.js';

/**
 * The commands that consolidate the cluster, in the order in which they would run, each based on the result of the one
 * before (consolidation/all-nodes-are-considered). Every eligible node is considered. Pure: equal inputs give equal
 * results as long as `isOver` returns false; once it returns true, the search ends with the commands found so far.
 */
export function consolidateFleet(input: ConsolidationInput, isOver: () => boolean = never): Consolidation {
  const { result, setAside } = withoutUnreadable(input, (each) => {
    return new Search(each, isOver).run();
  });
  return setAside.length === 0 ? result : { ...result, setAside };
}

/**
 * The command for exactly these nodes now (commands/validation); undefined if they may not all be disrupted or that
 * saves nothing.
 */
export function reconsiderNodes(
  input: ConsolidationInput,
  candidates: readonly string[],
): ConsolidationCommand | undefined {
  return withoutUnreadable(input, (each) => new Search(each).reconsideration.take(candidates)).result;
}

/** Why there is no command for exactly this node now, in words; undefined if there is one. */
export function whyStays(input: ConsolidationInput, node: string): string | undefined {
  return withoutUnreadable(input, (each) => new Search(each).reconsideration.whyStays(node)).result;
}

const never = (): boolean => false;

class Search {
  private readonly fleet: ChangingFleet;
  private readonly evaluator: OutcomeEvaluator;
  private readonly empties: EmptyRemoval;
  private readonly nodeByNode: NodeByNode;

  constructor(input: ConsolidationInput, isOver: () => boolean = never) {
    this.fleet = new ChangingFleet(input, isOver);
    this.evaluator = new OutcomeEvaluator(this.fleet);
    this.empties = new EmptyRemoval(this.fleet);
    this.nodeByNode = new NodeByNode(this.fleet, this.evaluator);
    this.empties.protect();
  }

  get reconsideration(): Reconsideration {
    return new Reconsideration(this.fleet, this.evaluator, () => this.plan());
  }

  run(): Consolidation {
    const nodesBefore = this.fleet.counted().length;
    const priceBefore = this.fleet.price;
    const examined = this.fleet.alive();
    if (!this.fleet.isEnough()) {
      this.empties.remove(({ onlyEmpty }) => onlyEmpty);
      const plan = this.plan();
      // An empty node may be the target of a later command.
      this.empties.remove(({ state }) => !plan.fleetPlan.filled.has(state));
      this.nodeByNode.isShort = !this.fleet.budgets.letAllGo(this.fleet.counted(), plan.remove);
      new CommandBuilder(this.fleet, this.evaluator, this.nodeByNode, plan).run();
      this.nodeByNode.polish();
      this.empties.remove(() => true);
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
      rejected: this.evaluator.rejections.among(examined.filter(({ gone }) => !gone)),
      ...(this.fleet.wasCutShort ? { cutShort: true } : {}),
    };
  }

  /** Nodes that are not disrupted because of budgets alone, neither as empty nor as underutilized. */
  private notLetGo(): Consolidation['held'] {
    const fleet = this.fleet.counted();
    const [empty, underutilized] = [
      this.fleet.budgets.left(fleet, 'Empty'),
      this.fleet.budgets.left(fleet, 'Underutilized'),
    ];
    return this.fleet
      .alive()
      .filter((node) => node.removable && empty(node) === 0 && underutilized(node) === 0)
      .map(({ name }) => ({
        node: name,
        why: 'no node of its NodePool may be disrupted now (budgets, windows or rates)',
      }));
  }

  /** Why nodes of the initial fleet are not disrupted. */
  private notTaken(examined: readonly FleetNode[], held: Consolidation['held']): Consolidation['notTaken'] {
    const names = new Set(held.map(({ node }) => node));
    return examined
      .filter(({ name, gone, removable }) => !gone && removable && !names.has(name))
      .map(({ name }) => ({ node: name, why: this.evaluator.whyRejected(name) }));
  }

  private plan(): ConsolidationPlan {
    const most = this.fleet.budgets.atMost(this.fleet.counted(), 'Underutilized');
    return makePlan(this.fleet.simulation, {
      pays: this.evaluator.pays,
      isSpotForSpot: (outcome) => this.evaluator.isSpotForSpot(outcome),
      dearest: affordable(this.fleet.alive(), most),
      isInitial: this.fleet.commands.every(({ moves }) => moves.length === 0),
    });
  }
}
