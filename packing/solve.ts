import type { Pod } from '../api/kubernetes.js';
import { compareText } from '../core/compare-text.js';
import type { BinProblem, BinSolution, Effort } from './bins/problem.js';
import { nearlyCheapest } from './bins/fewer.js';
import { solveWithBound } from './bins/solve.js';
import type { Compiled } from './compile/compiled.js';
import { type PodClass } from './compile/classes.js';
import type { Level } from './compile/relaxation-levels.js';
import { varietiesOf } from './compile/min-values.js';
import { type Profile } from './compile/universe.js';
import { withSpotRatios } from './output/spot-ratios.js';
import { leftOutOf } from './output/left-out.js';
import { Likenesses } from './output/likeness.js';
import { describeClaim, varietyReserve, type ClaimContext } from './output/claims.js';
import type { OpenClaim } from './place/open-claim.js';
import { fullName } from './names.js';
import { Assigner } from './place/assigner.js';
import { limitUse, numberProblem, type PoolLimit } from './place/bin-problem.js';
import { packIntoFew } from './place/few-bins.js';
import { exclusionsOf } from './place/exclusions.js';
import { Feasibility } from './place/feasibility.js';
import { nodeStates, type NodeState } from './place/node-states.js';
import { LevelFeasibility } from './place/level-feasibility.js';
import { rebalance } from './place/rebalance.js';
import { leftOutOfBound } from './place/bound-gaps.js';
import { boundOfAll } from './place/whole-bound.js';
import { PodAffinities } from './place/pod-affinities.js';
import { podsIn, someOfMember, type Member, type Part } from './place/part.js';
import { Board } from './refine/board.js';
import { Incumbent } from './refine/incumbent.js';
import { searchWhole } from './refine/whole-search.js';
import { Groups } from './topology/groups.js';
import { Ledger } from './topology/ledger.js';
import { RuleBook } from './topology/rules.js';
import { bindRunning, countRunning } from './topology/running.js';
import { Namespaces } from './topology/selectors.js';
import { namespacesOf } from './compile/pod-namespaces.js';
import { Unplaced } from './unplaced.js';
import type { Plan, PlannedClaim } from './types.js';

/** Plans of up to so many pods are searched as a whole. */
const mostSearched = 400;

/** Units of search after a first packing: in proportion to the pods, so that time is too. Few pods are searched as a whole afterwards. */
const effortFor = (pods: number, fewest: number): Effort => ({
  units: pods <= 500 ? 100_000 : Math.min(400_000, pods * 20),
  ...(pods > mostSearched && fewest > 1 && { fewest }),
});

/**
 * Places everything: on nodes that exist, then on new ones. Where rules of topology left pods out of a small plan, pods that want to be
 * with their like are tried in their turn too, not after all others, who may have taken every domain from them.
 */
export function solve(compiled: Compiled): Plan {
  const pass = new Pass(compiled);
  pass.run();
  const plan = pass.plan();
  if (!pass.isWorthAnother()) return plan;
  const other = new Pass(compiled, { likeLast: false });
  other.run();
  const another = other.plan();
  return another.unschedulable.length < plan.unschedulable.length ? another : plan;
}

/** The cheaper of what the search finds and of the fewest bins, which it can miss where there are few pods. */
function buy(problem: BinProblem, pods: number, fewest: number): { solution: BinSolution; lowerBound: number } {
  const found = solveWithBound(problem, effortFor(pods, fewest));
  const isNear = found.solution.price <= found.lowerBound * nearEnough;
  if (pods > fewPods || isNear || found.solution.unplaced.some((left) => left > 0)) return found;
  const few = packIntoFew(problem);
  return few !== undefined && few.price < found.solution.price ? { ...found, solution: few } : found;
}

/** Plans so many times dearer than their bound say what the bound leaves out. */
const explainedAbove = 1.03;

const fewPods = 600;
const nearEnough = 1.005;

interface Waiting {
  readonly podClass: PodClass;
  pods: readonly Pod[];
}

class Pass {
  private readonly feasibility: Feasibility;
  private readonly nodes: readonly NodeState[];
  private readonly limits: PoolLimit[];
  private readonly book: RuleBook;
  private readonly ledger: Ledger;
  private readonly assigner: Assigner;
  private readonly unplaced: Unplaced;
  private readonly affinities: PodAffinities;
  private readonly levelFeasibility: LevelFeasibility;
  private claims: OpenClaim[] = [];
  /** Whether pods were left over once their domains were decided. */
  private short = false;
  /** Profiles of pools whose limits left pods over. */
  private readonly exhausted = new Set<Profile>();
  private bound = 0;
  /** Whether pods were put into domains or onto nodes that they might have left to others: `bound` is of the rest then. */
  private chosen = false;
  /** How often nodes were bought: what each of several purchases costs at least is no bound of them together, for pods of both may share nodes. */
  private purchases = 0;
  private readonly free: readonly Float64Array[];
  /** How many times the cheapest price a plan with fewer nodes may cost (provisioning/fewest-nodes). */
  private readonly fewest: number;

  constructor(
    private readonly compiled: Compiled,
    /** Whether pods that want to be with their like come after all others, as those do that want to be with others. */
    private readonly order: { readonly likeLast: boolean } = { likeLast: true },
  ) {
    const { fewestWithin } = compiled.input.settings;
    this.fewest = fewestWithin === undefined ? nearlyCheapest : 1 + fewestWithin;
    this.feasibility = new Feasibility(compiled);
    this.nodes = nodeStates(compiled);
    this.free = this.nodes.map(({ free }) => Float64Array.from(free));
    this.limits = compiled.limits.map((limit) => ({ ...limit }));
    const { objects } = compiled.input;
    const groups = new Groups(compiled.labelKeys, new Namespaces(objects.namespaces, namespacesOf(compiled)));
    this.book = new RuleBook(groups, compiled);
    this.ledger = new Ledger(compiled, this.nodes);
    const owned = bindRunning(compiled, groups, this.book);
    countRunning(compiled, this.nodes, groups, this.ledger, owned);
    this.ledger.begin();
    this.affinities = new PodAffinities(compiled, this.book);
    this.levelFeasibility = new LevelFeasibility(compiled, this.feasibility, this.ledger, this.nodes);
    this.assigner = new Assigner(compiled, this.feasibility, this.nodes, this.book, this.ledger);
    const { feasibility, limits, book, ledger, assigner, exhausted } = this;
    this.unplaced = new Unplaced({ compiled, feasibility, limits, book, ledger, assigner, exhausted });
  }

  run(): void {
    let waiting: Waiting[] = [];
    for (const podClass of this.compiled.queue) {
      if (this.compiled.invalid.has(podClass)) this.unplaced.add(podClass, podClass.pods);
      else waiting.push({ podClass, pods: podClass.pods });
    }
    while (waiting.length > 0) {
      const parts = this.assign(waiting);
      waiting = this.launch(parts);
    }
    if (this.short) this.rebalance();
  }

  private rebalance(): void {
    const { compiled, book, ledger, nodes } = this;
    const { universe, space } = compiled;
    const before = this.claims;
    const demandOf = (podClass: PodClass): Float64Array => this.feasibility.demand(podClass);
    this.claims = rebalance({ universe, space, book, ledger, nodes, demandOf }, before, (podClass, pods) =>
      this.unplaced.add(podClass, pods),
    );
    for (const { row } of before) this.charge(row, -1);
    for (const { row } of this.claims) this.charge(row, 1);
  }

  /** Decides nodes and domains. Pods that want to be near others come after those. */
  private assign(waiting: readonly Waiting[]): Part[] {
    const parts: Part[] = [];
    let later: Waiting[] = [];
    for (const each of waiting) {
      if (this.hasPodAffinity(each.podClass)) later.push(each);
      else this.settle(each, parts, true);
    }
    for (let progress = true; later.length > 0 && progress;) {
      progress = false;
      const still: Waiting[] = [];
      for (const each of later) {
        const before = each.pods.length;
        this.settle(each, parts, false);
        if (each.pods.length < before) progress = true;
        if (each.pods.length > 0) still.push(each);
      }
      later = still;
    }
    for (const each of later) this.settle(each, parts, true);
    return parts;
  }

  private hasPodAffinity(podClass: PodClass): boolean {
    return this.order.likeLast ? this.affinities.forAnyone(podClass) : this.affinities.forOthers(podClass);
  }

  /** Whether the plan is small and leaves out pods that some type holds, while others want to be with their like. */
  isWorthAnother(): boolean {
    const { compiled, unplaced, feasibility } = this;
    const isHeld = unplaced.classes.some(
      (podClass) =>
        !compiled.invalid.has(podClass) &&
        feasibility.holding(podClass, compiled.levelsByShape[podClass.shape.index]!.at(-1)!).length > 0,
    );
    return (
      isHeld &&
      compiled.queue.reduce((sum, { pods }) => sum + pods.length, 0) <= mostSearched &&
      compiled.queue.some((podClass) => this.affinities.forAnyone(podClass) && !this.affinities.forOthers(podClass))
    );
  }

  /** Puts what it can of a class somewhere, relaxing level by level when that may be; what is left over is unplaced. */
  private settle(each: Waiting, parts: Part[], relax: boolean): void {
    const { podClass } = each;
    const levels = this.compiled.levelsByShape[podClass.shape.index]!;
    for (const level of relax ? levels : levels.slice(0, 1)) {
      each.pods = this.place(podClass, level, each.pods, parts);
      if (each.pods.length === 0) return;
    }
    if (relax) {
      this.unplaced.add(podClass, each.pods);
      this.unplaced.explain(podClass, levels.at(-1)!);
    }
  }

  private place(podClass: PodClass, level: Level, pods: readonly Pod[], parts: Part[]): readonly Pod[] {
    const target = { podClass, level, rules: this.book.of(podClass.shape, level), without: this.exhausted };
    return this.levelFeasibility.isImpossible(target) ? pods : this.assigner.place(target, pods, parts);
  }

  /** Buys nodes for the parts; returns what limits left over, to be tried in other pools. */
  private launch(parts: readonly Part[]): Waiting[] {
    if (parts.length === 0) return [];
    const exclusions = exclusionsOf(parts, this.book);
    const { problem, rowOfOffer, perNode } = numberProblem(this.compiled, parts, exclusions, this.limits);
    const units = parts.reduce((sum, { count }) => sum + count, 0);
    this.chosen ||= parts.some(({ pinnedKeys, together }) => together || pinnedKeys.length > 0);
    const { solution, lowerBound } = buy(problem, units, this.fewest);
    // No plan has more nodes than pods, so the premium is at most that much of the bound.
    this.bound += Math.max(0, lowerBound - perNode * units);
    this.purchases++;
    const given = new Int32Array(parts.length);
    for (const { offer, items, pods } of solution.bins) {
      const members: Member[] = [];
      const pinnedKeys = new Set<string>();
      items.forEach((item, k) => {
        const part = parts[item]!;
        const from = given[item]!;
        given[item] = from + pods[k]!;
        for (const key of part.pinnedKeys) pinnedKeys.add(key);
        for (const member of part.members)
          members.push(part.together ? member : someOfMember(member, from, given[item]));
      });
      const row = rowOfOffer[offer]!;
      this.charge(row, 1);
      this.claims.push({ row, members, pinnedKeys });
    }
    return this.leftOver(parts, given);
  }

  /** Counts so many nodes of the row against the limits. */
  private charge(row: number, nodes: number): void {
    for (const limit of this.limits) limit.remaining -= nodes * limitUse(this.compiled, row, limit);
  }

  private leftOver(parts: readonly Part[], given: Int32Array): Waiting[] {
    const waiting = new Map<PodClass, Pod[]>();
    const full = new Set<Profile>();
    parts.forEach((part, item) => {
      const left = part.count - given[item]!;
      if (left === 0) return;
      for (const profile of part.profiles) full.add(profile);
      for (const { podClass, level, pods } of part.members) {
        const rest = part.together ? pods : pods.slice(given[item]);
        const there = waiting.get(podClass);
        if (there === undefined) waiting.set(podClass, [...rest]);
        else there.push(...rest);
        this.uncount(part.profiles[0]!, podClass, level, rest.length);
      }
    });
    if (full.size === 0) return [];
    this.short = true;
    const before = this.exhausted.size;
    for (const profile of full) this.exhausted.add(profile);
    const list = [...waiting].map(([podClass, pods]) => ({ podClass, pods }));
    if (this.exhausted.size > before) return list;
    for (const { podClass, pods } of list) this.unplaced.add(podClass, pods);
    return [];
  }

  plan(): Plan {
    let newNodeClaims = this.describe();
    if (this.improve()) newNodeClaims = this.describe();
    newNodeClaims.sort((a, b) => compareText(a.pods[0]!, b.pods[0]!));
    const pricePerHour = newNodeClaims.reduce((sum, { cheapest }) => sum + cheapest.pricePerHour, 0);
    const placed = this.placed();
    const lowerBoundPerHour = Math.min(this.lowerBound(placed), pricePerHour);
    const isFar = pricePerHour > lowerBoundPerHour * explainedAbove;
    return {
      newNodeClaims,
      existingNodes: this.nodes
        .filter(({ pods }) => pods.length > 0)
        .map(({ view, pods }) => ({ node: view.name, pods: pods.map(fullName).sort(compareText) })),
      ...this.unplaced.described(),
      ...leftOutOf(this.compiled),
      pricePerHour,
      lowerBoundPerHour,
      ...(isFar && { boundLeavesOut: leftOutOfBound(this.compiled, this.book, placed) }),
    };
  }

  /**
   * Describes the claims. Those that cannot list enough different types are not made (min-values/strict-and-best-effort); as their pods may
   * have kept a spread even, the others are looked through again then.
   */
  private describe(): PlannedClaim[] {
    for (;;) {
      const context: ClaimContext = {
        compiled: this.compiled,
        feasibility: this.feasibility,
        limits: this.limits.map((limit) => ({ ...limit })),
        candidates: new Map(),
        described: new Likenesses(),
      };
      const made: PlannedClaim[] = [];
      const refused = new Set<OpenClaim>();
      const bound = withSpotRatios(context, this.claims);
      const reserves = bound.map((claim, i) => {
        const reserve = this.isVaried(claim) ? varietyReserve(context, claim) : [];
        if (reserve === undefined) refused.add(this.claims[i]!);
        reserve?.forEach((amount, l) => (context.limits[l]!.remaining -= amount));
        return reserve ?? [];
      });
      bound.forEach((claim, i) => {
        if (refused.has(this.claims[i]!)) return;
        reserves[i]!.forEach((amount, l) => (context.limits[l]!.remaining += amount));
        const described = describeClaim(context, claim);
        if (described === undefined) refused.add(this.claims[i]!);
        else made.push(described);
      });
      if (refused.size === 0) return made;
      for (const claim of refused) this.refuse(claim);
      this.claims = this.claims.filter((claim) => !refused.has(claim));
      this.rebalance();
    }
  }

  /** What the pods that are placed cost at least. */
  private lowerBound(placed = this.placed()): number {
    const isCovered = this.compiled.coverage.open.length > 0;
    const isWhole = !isCovered && !this.chosen && this.purchases <= 1;
    if (isWhole && this.nodes.every(({ pods }) => pods.length === 0)) return this.bound;
    const { compiled, feasibility, book, nodes, free } = this;
    return boundOfAll({ compiled, feasibility, book, nodes, free }, placed);
  }

  /** How many pods of each class have a place. */
  private placed(): Map<PodClass, number> {
    const placed = new Map<PodClass, number>();
    for (const podClass of this.compiled.queue) {
      const count = podClass.pods.length - this.unplaced.of(podClass).length;
      if (count > 0) placed.set(podClass, count);
    }
    return placed;
  }

  /**
   * Places what is left over one by one where that can be, and searches on where the plan is small: bins are bought for once
   * domains are decided, and decide nothing for limits and minValues. Whether there was anything to try.
   */
  private improve(): boolean {
    const left = this.unplaced.worthAnotherTry();
    const pods = left.length + this.claims.reduce((sum, { members }) => sum + podsIn(members), 0);
    const target = pods <= mostSearched ? this.lowerBound() * nearEnough : 0;
    const isSmall = pods <= mostSearched && left.length + this.claims.length > 1;
    if (!isSmall && left.length === 0) return false;
    const { compiled, feasibility, book, ledger, exhausted, nodes, limits } = this;
    const claims: ClaimContext = { compiled, feasibility, limits, candidates: new Map() };
    const reserveOf = (claim: OpenClaim): readonly number[] | undefined => varietyReserve(claims, claim);
    const { lookahead } = this.assigner;
    const board = new Board({ compiled, feasibility, book, ledger, exhausted, nodes, lookahead, limits, reserveOf });
    for (const claim of inNameOrder(compiled, this.claims)) board.adopt(claim);
    const best = new Incumbent(board, left);
    const { nodeCost = 0 } = compiled.input.settings;
    searchWhole(best, {
      target: isSmall ? target : undefined,
      rulesOfPod: this.rulesOfPod(),
      nodeCost,
      fewest: this.fewest,
    });
    this.claims = board.claims();
    board.release();
    this.unplaced.forget(new Set(left.map(({ pod }) => pod)));
    for (const { podClass, pod } of best.left) this.unplaced.add(podClass, [pod]);
    return true;
  }

  /** How many rules select a pod, on average. */
  private rulesOfPod(): number {
    let pods = 0;
    let rules = 0;
    for (const podClass of this.compiled.queue) {
      const level = this.compiled.levelsByShape[podClass.shape.index]!.at(-1)!;
      pods += podClass.pods.length;
      rules += podClass.pods.length * this.book.of(podClass.shape, level).matched.length;
    }
    return rules / Math.max(1, pods);
  }

  /** Whether limits and minValues both have a say in what the claim lists. */
  private isVaried({ row }: OpenClaim): boolean {
    const { pool } = this.compiled.universe.rows[row]!.profile;
    return this.limits.some((limit) => limit.pool === pool.name) && varietiesOf(pool.requirements).length > 0;
  }

  private refuse({ row, members }: OpenClaim): void {
    const { profile } = this.compiled.universe.rows[row]!;
    this.charge(row, -1);
    const message = 'too few different instance types hold the pods for the minValues of the NodePool';
    for (const { podClass, level, pods } of members) {
      this.unplaced.add(podClass, pods);
      this.unplaced.because(podClass, { nodePool: profile.pool.name, reason: 'MinValues', message });
      this.uncount(profile, podClass, level, pods.length);
    }
  }

  /** Takes pods out of the counts again. Others with them may have pinned more keys than these were counted by. */
  private uncount(profile: Profile, podClass: PodClass, level: Level, pods: number): void {
    this.ledger.recordLaunch(this.book.of(podClass.shape, level), -pods, profile);
  }
}

/** Claims by their first pod, their members as in the queue: the order of the input has no say in what is made of them. */
function inNameOrder({ queue }: Compiled, claims: readonly OpenClaim[]): OpenClaim[] {
  const rank = new Map(queue.map((podClass, i) => [podClass, i]));
  const keyed = claims.map((claim) => {
    const members = claim.members
      .map((member) => ({ ...member, pods: [...member.pods].sort((a, b) => compareText(fullName(a), fullName(b))) }))
      .sort((a, b) => rank.get(a.podClass)! - rank.get(b.podClass)!);
    const names = members.map(({ pods }) => fullName(pods[0]!)).sort(compareText);
    return { claim: { ...claim, members }, first: names[0]! };
  });
  return keyed.sort((a, b) => compareText(a.first, b.first)).map(({ claim }) => claim);
}
