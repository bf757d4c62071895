import { compareText } from '../../core/text.js';
import { Budgets, mostCandidates } from './command-budgets.js';
import type { PodMove } from '../command.js';
import { examineNodes, nodePoolOf } from './eligibility.js';
import { byPricePerCost, priceOfAll, type CountedNode, type FleetNode } from './fleet.js';
import type { DecidedOutcome } from './outcome.js';
import { Simulation } from './simulation.js';
import { isFixed } from './target.js';
import type { Consolidation, ConsolidationCommand, ConsolidationInput, ConsolidationMethod } from './types.js';
import { fullName } from '../../core/names.js';

/** The fleet after the commands found so far. */
export class ChangingFleet {
  readonly simulation: Simulation;
  readonly budgets: Budgets;
  readonly commands: ConsolidationCommand[] = [];
  /** Nodes that may not be disrupted, and why. */
  readonly held: Consolidation['held'][number][];
  /** Nodes that are being removed already: they cost money until they are gone, and budgets count them. */
  private readonly removed: readonly CountedNode[];
  private totalPrice: number;
  private living: readonly FleetNode[] | undefined;
  private cutShort = false;

  constructor(
    readonly input: ConsolidationInput,
    private readonly isOver: () => boolean,
  ) {
    const examined = examineNodes(input);
    this.removed = examined.flatMap((each) =>
      each.view.deleting && each.view.node !== undefined ? [{ ...each, nodePool: nodePoolOf(each) }] : [],
    );
    this.simulation = new Simulation(input, examined);
    this.held = [
      ...examined.flatMap(({ name, why }) => (why === undefined ? [] : [{ node: name, why }])),
      ...this.simulation.held,
    ];
    this.budgets = new Budgets(input);
    const left = this.budgets.left(this.counted(), 'Underutilized');
    for (const node of this.alive()) node.onlyEmpty ||= left(node) === 0;
    this.totalPrice = this.fleetPrice();
  }

  /** Price of all nodes, dollars per hour. */
  get price(): number {
    return this.totalPrice;
  }

  /** Whether the search was stopped early. */
  get wasCutShort(): boolean {
    return this.cutShort;
  }

  isEnough(): boolean {
    return this.isCutShort() || this.commands.length >= (this.input.mostCommands ?? Infinity);
  }

  private isCutShort(): boolean {
    return (this.cutShort ||= this.isOver());
  }

  alive(): readonly FleetNode[] {
    return (this.living ??= this.simulation.nodes.filter(({ gone }) => !gone));
  }

  /** The nodes that budgets and policies count. */
  counted(): readonly CountedNode[] {
    return [...this.alive(), ...this.removed];
  }

  private fleetPrice(): number {
    return priceOfAll(this.counted());
  }

  /** The first of these nodes that budgets allow to disrupt as underutilized now. */
  allowed(wanted: readonly FleetNode[]): FleetNode[] {
    return this.budgets.take(this.counted(), wanted, 'Underutilized', mostCandidates);
  }

  /** The average price of a node, dollars per hour. */
  averagePrice(): number {
    return this.price / Math.max(1, this.counted().length);
  }

  /** Whether a spot node may be replaced by spot only together with on-demand nodes. */
  get requiresOnDemand(): boolean {
    return this.input.spotToSpot !== true;
  }

  /** Makes all other open nodes targets for pods. */
  setTargetsWithout(going: readonly FleetNode[]): void {
    const set = new Set(going);
    this.simulation.setTargets(this.alive().filter((node) => node.open && !set.has(node)));
  }

  bySaving(): FleetNode[] {
    return this.alive()
      .filter((node) => !isFixed(node))
      .sort(byPricePerCost);
  }

  carryOut(outcome: DecidedOutcome, method?: ConsolidationMethod): FleetNode[] {
    const number = this.commands.length;
    const { candidates, launches, planned, placements } = outcome;
    const nameOf = (launch: number): string => `replacement-${number}-${launch}`;
    const priceBefore = this.totalPrice;
    const moves: PodMove[] = [];
    for (const { node, pods } of placements) {
      for (const pod of pods)
        if (!this.simulation.isWaiting(pod)) moves.push({ pod: fullName(pod), to: node.view.name });
    }
    launches.forEach(({ claim }, i) => {
      for (const { pods } of claim.members) {
        for (const pod of pods) {
          if (!this.simulation.isWaiting(pod)) moves.push({ pod: fullName(pod), to: nameOf(i) });
        }
      }
    });
    const launched = this.simulation.apply(outcome, nameOf);
    // A node that one command launches is not removed by a later one of the same search
    // (consolidation/parts-of-a-plan).
    for (const node of launched) node.removable = false;
    this.living = undefined;
    this.totalPrice = this.fleetPrice();
    this.commands.push({
      method: method ?? (candidates.length > 1 ? 'multi' : 'single'),
      decision: launches.length === 0 ? 'delete' : 'replace',
      candidates: candidates.map(({ name }) => name),
      replacements: planned,
      moves: moves.sort((a, b) => compareText(a.pod, b.pod)),
      priceBefore,
      priceAfter: this.totalPrice,
    });
    return launched;
  }
}
