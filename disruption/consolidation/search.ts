import { compareText } from '../../core/compare-text.js';
import { fullName } from '../../packing/names.js';
import { withoutCulprits } from '../../packing/set-aside.js';
import { isBalanced } from './balanced.js';
import type { PlannedClaim } from '../../packing/types.js';
import { makePlan, type Pays, type Plan } from './plan.js';
import { CommandBuilder, type CommandTools } from './command-builder.js';
import { Budgets } from './command-budgets.js';
import { hasOnDemand } from './on-demand-nodes.js';
import { examineNodes, poolNameOf } from './eligibility.js';
import { isEmptied, priceOf, type CountedNode, type FleetNode } from './fleet.js';
import { LaunchOptions, spotForSpot } from './launch-options.js';
import type { Decided, Outcome } from './outcome.js';
import { Rejections } from './rejections.js';
import { Simulation } from './simulation.js';
import { isFixed } from './target.js';
import type { Consolidation, ConsolidationCommand, ConsolidationInput, Method } from './types.js';

/** A command takes no more nodes than this, so that one failing launch holds up few. */
const mostCandidates = 100;

/** Units of search for what stands in for a group of nodes, and for one node. */
const groupUnits = 4_000;
const singleUnits = 2_000;

/** How much of the price of the nodes that may go at once a launch for them may take: not all of them serve it. */
const paidWith = 0.8;

/** Savings below this are noise of the sums, dollars per hour. */
const noise = 1e-9;

/** A fleet this near, as a share, to the price that was planned is as planned: no replacement may save less of what it replaces. */
const nearlyPlanned = 1.01;

/**
 * What replacements must save of what they replace: pods are not moved for pennies. Pods that are evicted come again under other
 * names, and kube-scheduler spreads them as it likes: of several nodes that are to be filled to the brim some pods are left over,
 * and what is launched for them eats a small saving up. More still for more nodes than before.
 */
function leastShare(launches: number, candidates: number): number {
  if (launches > candidates) return 0.25;
  return launches > 1 ? 0.1 : 0.01;
}

/** What it must save where pods would move a second time. */
const secondShare = 0.05;

/**
 * The commands that consolidate the cluster, in the order in which they would run, each on what the one before leaves
 * (consolidation/all-nodes-are-looked-at): every eligible node is considered. Pure: equal inputs give equal results, as long as `isOver` stays
 * false; once it is true the search ends with the commands that it has.
 */
export function consolidate(input: ConsolidationInput, isOver: () => boolean = never): Consolidation {
  const { result, setAside } = withoutCulprits(input, (each) => new Search(each, isOver).run());
  return setAside.length === 0 ? result : { ...result, setAside };
}

/**
 * What comes of taking exactly these nodes now (commands/validation): the command, or undefined when they may not all go, or when that
 * saves nothing any more.
 */
export function reconsider(input: ConsolidationInput, candidates: readonly string[]): ConsolidationCommand | undefined {
  return withoutCulprits(input, (each) => new Search(each).take(candidates)).result;
}

/** Why taking exactly this node comes to nothing now, in a person's words; undefined where it is taken. */
export function whyStays(input: ConsolidationInput, node: string): string | undefined {
  return withoutCulprits(input, (each) => new Search(each).whyStays(node)).result;
}

const never = (): boolean => false;

class Search {
  private readonly simulation: Simulation;
  private readonly options: LaunchOptions;
  private readonly budgets: Budgets;
  private readonly commands: ConsolidationCommand[] = [];
  private readonly rejections = new Rejections();
  /** Nodes that commands before launched. */
  private readonly launched = new Set<FleetNode>();
  private readonly held: Consolidation['held'][number][];
  /** Nodes that are on their way out already: they cost until they are gone, and budgets count them. */
  private readonly removed: readonly CountedNode[];
  private price: number;
  private living: readonly FleetNode[] | undefined;
  private cutShort = false;

  constructor(
    private readonly input: ConsolidationInput,
    private readonly isOver: () => boolean = never,
  ) {
    const examined = examineNodes(input);
    this.held = examined.flatMap(({ name, why }) => (why === undefined ? [] : [{ node: name, why }]));
    this.removed = examined.flatMap((each) =>
      each.view.deleting && each.view.node !== undefined ? [{ ...each, nodePool: poolNameOf(each) }] : [],
    );
    this.simulation = new Simulation(input, examined);
    this.options = new LaunchOptions(this.simulation.trial.launches, input.spotToSpot === true);
    this.budgets = new Budgets(input);
    this.protectEmpty();
    this.price = this.fleetPrice();
  }

  /** Empty nodes that budgets let stay empty go for no other reason either: pods may come to them, and they cost what they cost. */
  private protectEmpty(): void {
    const allowed = this.budgets.left(this.counted(), 'Empty');
    for (const node of this.alive()) {
      if (!node.removable || !isEmptied(node) || allowed(node) > 0) continue;
      node.removable = false;
      this.held.push({
        node: node.name,
        why: 'it is empty, and what bounds the disruption of empty nodes of its NodePool lets none go now',
      });
    }
  }

  run(): Consolidation {
    const nodesBefore = this.counted().length;
    const priceBefore = this.price;
    for (let isOpen = true; isOpen && !this.isEnough();) {
      const before = this.commands.length;
      this.removeEmpty(({ onlyEmpty }) => onlyEmpty);
      this.alive(); // as it is, not as it is imagined
      const plan = this.plan();
      // A node that is cheap for its size may be empty because nobody has moved there yet.
      this.removeEmpty(({ state }) => !plan.fleetPlan.filled.has(state));
      new CommandBuilder(this.tools, plan).run();
      const isReached = priceOf(this.alive()) <= plan.price * nearlyPlanned;
      const after = this.commands.length;
      if (after === before) this.gather();
      this.polish();
      this.removeEmpty(() => true);
      // A fleet that is as it was planned would be planned like this again.
      isOpen = isReached ? this.commands.length > after : this.commands.length > before;
    }
    return {
      nodesBefore,
      nodesAfter: this.counted().length,
      priceBefore,
      priceAfter: this.price,
      commands: this.commands,
      held: [...this.held, ...this.notLetGo()],
      rejected: this.rejections.among(this.alive()),
      ...(this.cutShort ? { cutShort: true } : {}),
    };
  }

  /** Nodes that nothing but their pool's budgets keeps, whatever they are taken for. */
  private notLetGo(): Consolidation['held'] {
    const fleet = this.counted();
    const [empty, underutilized] = [this.budgets.left(fleet, 'Empty'), this.budgets.left(fleet, 'Underutilized')];
    return this.alive()
      .filter((node) => node.removable && empty(node) === 0 && underutilized(node) === 0)
      .map(({ name }) => ({ node: name, why: 'what bounds the disruption of its NodePool lets none go now' }));
  }

  take(candidates: readonly string[]): ConsolidationCommand | undefined {
    const wanted = new Set(candidates);
    const nodes = this.alive().filter(({ name, removable }) => removable && wanted.has(name));
    const empty = nodes.filter(isEmptied);
    const isProtected = this.budgets.take(this.counted(), empty, 'Empty', empty.length).length < empty.length;
    if (nodes.length < wanted.size || isProtected) return undefined;
    this.aimBeside(nodes);
    const { decided, mostReplacements = Infinity } = this.input;
    const outcome = decided === undefined ? this.atBest(nodes, mostReplacements) : this.asDecided(nodes, decided);
    if (outcome === undefined) return undefined;
    this.carryOut(outcome);
    return this.commands.at(-1);
  }

  whyStays(node: string): string | undefined {
    const kept = this.held.find((one) => one.node === node);
    if (kept !== undefined) return kept.why;
    if (this.take([node]) !== undefined) return undefined;
    return this.rejections.of(node)?.why ?? nothingCheaper;
  }

  /** What is best for these nodes with at most so many launches, or with more where it cannot do with so few. */
  private atBest(nodes: readonly FleetNode[], most: number): Decided | undefined {
    const outcome = this.evaluate(nodes, groupUnits);
    if (outcome !== undefined && outcome.launches.length <= most) return outcome;
    if (outcome !== undefined) this.simulation.undo();
    return this.within(nodes, most) ?? (outcome && this.evaluate(nodes, groupUnits));
  }

  /** Exactly these replacements, at the prices of now; undefined when that may not be any more, or saves too little. */
  private asDecided(nodes: readonly FleetNode[], decided: readonly PlannedClaim[]): Decided | undefined {
    const outcome = this.simulation.repeat(nodes, decided);
    if (outcome === undefined) return undefined;
    const gain = priceOf(nodes);
    const saving = gain - priceOf(outcome.launches);
    const isTooLittle = this.isTooLittle(nodes, saving, this.leastFor(outcome)) || !this.isWorth(nodes, gain, saving);
    if (isTooLittle || this.isSpotForSpot(outcome)) return undefined;
    return { ...outcome, planned: decided };
  }

  /**
   * The same with at most so many launches: what was decided may be part of a larger plan, in which one node stands for several
   * commands, where these nodes by themselves would be replaced more cheaply by smaller ones.
   */
  private within(nodes: readonly FleetNode[], most: number): Decided | undefined {
    const ways: (() => Outcome | undefined)[] = [() => this.simulation.attempt(nodes)];
    if (most > 0) {
      this.alive();
      const { fleetPlan } = this.plan();
      ways.push(() => this.simulation.follow(nodes, fleetPlan));
      ways.push(() => this.simulation.attempt(nodes, { search: 'one node', most: priceOf(nodes) }));
    }
    for (const way of ways) {
      this.aimBeside(nodes);
      const outcome = way();
      if (outcome === undefined) continue;
      const decided = outcome.launches.length <= most ? this.decide(outcome) : undefined;
      if (decided !== undefined) return decided;
      this.simulation.undo();
    }
    return undefined;
  }

  private plan(): Plan {
    return makePlan(this.simulation, this.pays, this.affordable());
  }

  /** What the nodes cost at most that budgets let go at once, dollars per hour: a launch that costs more never pays. */
  private affordable(): number {
    const most = this.budgets.atMost(this.counted(), 'Underutilized');
    const taken = new Map<string, number>();
    const dearest = this.alive().filter((node) => !isFixed(node));
    dearest.sort((a, b) => b.price - a.price);
    const together = dearest.filter((node) => {
      const count = (taken.get(node.nodePool) ?? 0) + 1;
      taken.set(node.nodePool, count);
      return count <= most(node);
    });
    return Math.max(together[0]?.price ?? 0, paidWith * priceOf(together.slice(0, mostCandidates)));
  }

  private isEnough(): boolean {
    return this.isCutShort() || this.commands.length >= (this.input.mostCommands ?? Infinity);
  }

  private isCutShort(): boolean {
    return (this.cutShort ||= this.isOver());
  }

  private alive(): readonly FleetNode[] {
    return (this.living ??= this.simulation.nodes.filter(({ gone }) => !gone));
  }

  /** Those that budgets and policies count. */
  private counted(): readonly CountedNode[] {
    return [...this.alive(), ...this.removed];
  }

  private fleetPrice(): number {
    return priceOf(this.counted());
  }

  private removeEmpty(which: (node: FleetNode) => boolean): void {
    const kept = new Set<FleetNode>();
    const isMeant = (node: FleetNode): boolean => node.removable && node.cost <= 1 && which(node) && !kept.has(node);
    while (!this.isEnough()) {
      const empty = this.alive().filter(isMeant);
      empty.sort((a, b) => b.price / b.cost - a.price / a.cost || compareText(a.name, b.name));
      const group = this.budgets.take(this.counted(), empty, 'Empty', mostCandidates);
      if (group.length === 0) return;
      this.simulation.aim(this.alive().filter(({ open }) => open));
      let outcome = this.simulation.attempt(group);
      if (outcome === undefined) {
        // Pods that only wait are nobody's reason to keep a node: they go on waiting.
        for (const node of group) this.simulation.turnAway(node);
        outcome = this.simulation.attempt(group) ?? this.attemptEach(group, kept);
      }
      if (outcome !== undefined) this.carryOut({ ...outcome, planned: [] }, 'empty');
    }
  }

  /**
   * Those of the group that can go one by one, when not all can (consolidation/pods-without-weight): pods that weigh nothing and find no place are evicted
   * all the same, while capacity that a buffer keeps free is `kept`.
   */
  private attemptEach(group: readonly FleetNode[], kept: Set<FleetNode>): Outcome | undefined {
    const fine: FleetNode[] = [];
    for (const node of group) {
      if (this.simulation.attempt([...fine, node]) !== undefined) this.simulation.undo();
      else if (node.waiting.size === 0) this.simulation.letGo(node);
      else kept.add(node);
      if (!kept.has(node)) fine.push(node);
    }
    return fine.length === 0 ? undefined : this.simulation.attempt(fine);
  }

  /**
   * What comes of taking these nodes, when that is allowed and saves; it stays in place until it is undone or carried out.
   * Where several replacements are not allowed (consolidation/several-nodes), or pay too little, one for all of them may be.
   */
  private evaluate(candidates: readonly FleetNode[], units: number): Decided | undefined {
    const most = priceOf(candidates);
    const outcome = this.simulation.attempt(candidates, { search: { units, most }, most });
    if (outcome === undefined) return undefined;
    const decided = this.decide(outcome);
    if (decided !== undefined) return decided;
    this.simulation.undo();
    if (outcome.launches.length < 2) return undefined;
    const single = this.simulation.attempt(candidates, { search: 'one node', most });
    const allowed = single && this.decide(single);
    if (single !== undefined && allowed === undefined) this.simulation.undo();
    return allowed;
  }

  /** Whether spot is launched for spot beside nodes on demand alone. */
  private get requiresOnDemand(): boolean {
    return this.input.spotToSpot !== true;
  }

  private get tools(): CommandTools {
    return {
      simulation: this.simulation,
      letGo: (wanted) => this.budgets.take(this.counted(), wanted, 'Underutilized', mostCandidates),
      decide: (outcome) => this.decide(outcome),
      evaluate: (candidates) => this.evaluate(candidates, groupUnits),
      carryOut: (outcome) => this.carryOut(outcome),
      isEnough: () => this.isEnough(),
      requiresOnDemand: this.requiresOnDemand,
    };
  }

  private readonly pays: Pays = (outcome, isAccompanied) =>
    this.decide(outcome, isAccompanied === true && this.requiresOnDemand) !== undefined;

  /** The outcome as it would be carried out; `isAccompanied` where nodes on demand go with it, so that spot may be launched. */
  private decide(outcome: Outcome, isAccompanied = false): Decided | undefined {
    const { candidates, launches } = outcome;
    const gain = priceOf(candidates);
    const least = this.leastFor(outcome);
    if (launches.length === 0) {
      const pays = this.isWorth(candidates, gain, gain) && !this.isTooLittle(candidates, gain, least);
      return pays ? { ...outcome, planned: [] } : undefined;
    }
    const hoped = gain - priceOf(launches);
    const isForbidden = !isAccompanied && this.isSpotForSpot(outcome);
    if (this.isTooLittle(candidates, hoped, least)) return undefined;
    if (isForbidden) {
      this.rejections.note(candidates, hoped, () => spotForSpot);
      return undefined;
    }
    const described = this.simulation.describe(outcome);
    const planned = described && this.options.decide(described, candidates, isAccompanied);
    if (planned === undefined) {
      this.rejections.note(
        candidates,
        hoped,
        () => (described && this.options.whyNone(described, candidates, isAccompanied)) ?? 'its pods find no place',
      );
      return undefined;
    }
    const saving = gain - planned.reduce((sum, { cheapest }) => sum + cheapest.pricePerHour, 0);
    if (this.isTooLittle(candidates, saving, least) || !this.isWorth(candidates, gain, saving)) return undefined;
    return { ...outcome, planned };
  }

  /** What the outcome must save for the pods that it moves and for what it launches, dollars per hour. */
  private leastFor({ candidates, launches }: Outcome): number {
    const disruption = this.simulation.disruptionOf(candidates);
    if (launches.length === 0) return disruption;
    const isNew = candidates.some((node) => this.launched.has(node));
    const share = priceOf(candidates) * (isNew ? secondShare : leastShare(launches.length, candidates.length));
    const { leastSplitShare = 0, leastAgainShare = 0, movedTo } = this.input;
    const splits = launches.length > candidates.length ? leastSplitShare : 0;
    const again = candidates.some(({ name }) => movedTo?.has(name)) ? leastAgainShare : 0;
    return Math.max(share, disruption, Math.max(splits, again) * this.averagePrice());
  }

  /** What a node of the fleet costs, dollars per hour. */
  private averagePrice(): number {
    return this.price / Math.max(1, this.counted().length);
  }

  private isTooLittle(candidates: readonly FleetNode[], saving: number, least: number): boolean {
    if (saving > least) return false;
    const of = (): string =>
      saving <= noise ? nothingCheaper : `it would save ${dollars(saving)} of ${dollars(priceOf(candidates))} an hour`;
    this.rejections.note(candidates, saving, of);
    return true;
  }

  /** Whether the NodePools find what is saved worth what is disrupted. */
  private isWorth(candidates: readonly FleetNode[], gain: number, saving: number): boolean {
    if (saving <= noise) return false;
    for (const pool of new Set(candidates.map(({ nodePool }) => nodePool))) {
      const least = this.input.leastSavings?.get(pool);
      if (least === undefined || (saving >= gain * least.share - noise && saving >= least.dollarsPerHour)) continue;
      const asked = `${Math.round(least.share * 100)}% and ${dollars(least.dollarsPerHour)}`;
      this.rejections.note(
        candidates,
        saving,
        () => `it would save ${dollars(saving)} of ${dollars(gain)} an hour; NodePool ${pool} asks for ${asked}`,
      );
      return false;
    }
    if (isBalanced(this.counted(), candidates, saving)) return true;
    this.rejections.note(candidates, saving, () => 'consolidationPolicy: Balanced finds it not worth its disruption');
    return false;
  }

  private isSpotForSpot({ candidates, launches }: Outcome): boolean {
    if (!this.requiresOnDemand || !launches.some(isSpot)) return false;
    return !hasOnDemand(candidates);
  }

  /**
   * Several nodes at once for fewer, where the cheapest fleet as such is out of reach (consolidation/several-nodes): of the first so many by
   * saving for disruption, those that save most.
   */
  private gather(): void {
    if (this.isEnough()) return;
    const ranked = this.bySaving().filter(({ price }) => price > noise);
    const most = this.budgets.take(this.counted(), ranked, 'Underutilized', mostCandidates);
    let best: { readonly group: readonly FleetNode[]; readonly saving: number } | undefined;
    for (let size = most.length; size >= 2; size = Math.min(size - 1, Math.floor(size * 0.8))) {
      if (this.isEnough()) break;
      const group = most.slice(0, size);
      if (best !== undefined && priceOf(group) <= best.saving) break;
      this.aimBeside(group);
      const outcome = this.evaluate(group, singleUnits);
      if (outcome === undefined) continue;
      this.simulation.undo();
      const saving = priceOf(group) - outcome.planned.reduce((sum, { cheapest }) => sum + cheapest.pricePerHour, 0);
      if (best === undefined || saving > best.saving + noise) best = { group, saving };
    }
    if (best === undefined) return;
    this.aimBeside(best.group);
    const outcome = this.evaluate(best.group, singleUnits);
    if (outcome !== undefined) this.carryOut(outcome);
  }

  /** Everything that is open and stays takes pods in. */
  private aimBeside(going: readonly FleetNode[]): void {
    const set = new Set(going);
    this.simulation.aim(this.alive().filter((node) => node.open && !set.has(node)));
  }

  /** What is left to gain node by node: those that others can take in, then those that a cheaper one can stand in for. */
  private polish(): void {
    while (!this.isEnough() && this.deleteMore());
    const nodes = this.bySaving().filter((node) => this.mayReplace(node));
    for (const node of nodes) {
      if (this.isEnough()) return;
      if (this.budgets.take(this.counted(), [node], 'Underutilized', 1).length === 0) continue;
      this.aimBeside([node]);
      const outcome = this.evaluate([node], singleUnits);
      if (outcome !== undefined) this.carryOut(outcome);
    }
  }

  /** Deletes as many nodes at once as budgets and the room of the others allow. */
  private deleteMore(): boolean {
    const { simulation } = this;
    simulation.aim(this.alive().filter(({ open }) => open));
    let outcome: Outcome | undefined;
    const more: FleetNode[] = [];
    for (const node of this.bySaving()) {
      if (node.price <= Math.max(noise, simulation.disruptionOf([node]))) continue;
      const all = [...(outcome?.candidates ?? []), ...more, node];
      if (all.length > mostCandidates) break;
      if (this.budgets.take(this.counted(), all, 'Underutilized', mostCandidates).length < all.length) continue;
      if (!this.isWorth(all, priceOf(all), priceOf(all))) continue;
      if (outcome === undefined) outcome = simulation.attempt([node]);
      else if (simulation.extend(node)) more.push(node);
    }
    if (outcome === undefined) return false;
    this.carryOut({ ...simulation.extended(outcome, more), planned: [] });
    return true;
  }

  private bySaving(): FleetNode[] {
    const nodes = this.alive().filter((node) => !isFixed(node));
    return nodes.sort((a, b) => b.price / b.cost - a.price / a.cost || compareText(a.name, b.name));
  }

  /** Whether a replacement for this node alone could be allowed: spot is not replaced by spot unless asked for. */
  private mayReplace({ capacityType }: FleetNode): boolean {
    return capacityType !== 'spot' || this.input.spotToSpot === true || !this.options.offersSpot;
  }

  private carryOut(outcome: Decided, method?: Method): FleetNode[] {
    const number = this.commands.length;
    const { candidates, launches, planned, placements } = outcome;
    const nameOf = (launch: number): string => `replacement-${number}-${launch}`;
    const priceBefore = this.price;
    const moves: { pod: string; to: string }[] = [];
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
    const launched = this.simulation.settle(outcome, nameOf);
    for (const node of launched) this.launched.add(node);
    this.living = undefined;
    this.price = this.fleetPrice();
    this.commands.push({
      method: method ?? (candidates.length > 1 ? 'multi' : 'single'),
      decision: launches.length === 0 ? 'delete' : 'replace',
      candidates: candidates.map(({ name }) => name),
      replacements: planned,
      moves: moves.sort((a, b) => compareText(a.pod, b.pod)),
      priceBefore,
      priceAfter: this.price,
    });
    return launched;
  }
}

const nothingCheaper = 'its pods find no place that costs less';

const dollars = (amount: number): string => `${String(Math.round(amount * 1e4) / 1e4)} USD`;

const isSpot = ({ capacityType }: { readonly capacityType: string }): boolean => capacityType === 'spot';
