import type { Pod } from '../api/kubernetes.js';
import type { BinProblem, BinSolution, Effort } from './bins/problem.js';
import { solveWithBound } from './bins/solve.js';
import { compareText } from './compare.js';
import type { Compiled } from './compiled.js';
import { type PodClass } from './compile/classes.js';
import type { Level } from './compile/ladder.js';
import type { Profile } from './compile/universe.js';
import { blockersOf, sentence } from './output/blockers.js';
import { withSpotRatios } from './output/spot-ratios.js';
import { describeClaim, type ClaimContext, type OpenClaim } from './output/claims.js';
import { fullName } from './names.js';
import { Assigner } from './place/assigner.js';
import { limitUse, numberProblem, type PoolLimit } from './place/bin-problem.js';
import { topologyBlocker } from './place/explain.js';
import { packIntoFew } from './place/few-bins.js';
import { exclusionsOf } from './place/exclusions.js';
import { Feasibility } from './place/feasibility.js';
import { nodeStates, type NodeState } from './place/node-states.js';
import { rebalance } from './place/rebalance.js';
import type { Member, Part } from './place/part.js';
import { Groups } from './topology/groups.js';
import { Ledger } from './topology/ledger.js';
import { RuleBook } from './topology/rules.js';
import { bindRunning, countRunning } from './topology/running.js';
import { Namespaces } from './topology/selectors.js';
import type { Blocker, Plan, PlannedClaim, Unschedulable } from './types.js';

/** Units of search after a first packing: in proportion to the pods, so that time is too. */
const effortFor = (pods: number): Effort => ({ units: pods <= 500 ? 100_000 : Math.min(400_000, pods * 20) });

/** Places everything: on nodes that exist, then on new ones. */
export function solve(compiled: Compiled): Plan {
  const pass = new Pass(compiled);
  pass.run();
  return pass.plan();
}

/** The cheaper of what the search finds and of the fewest bins, which it can miss where there are few pods. */
function buy(problem: BinProblem, pods: number): { solution: BinSolution; lowerBound: number } {
  const found = solveWithBound(problem, effortFor(pods));
  const isNear = found.solution.price <= found.lowerBound * nearEnough;
  if (pods > fewPods || isNear || found.solution.unplaced.some((left) => left > 0)) return found;
  const few = packIntoFew(problem);
  return few !== undefined && few.price < found.solution.price ? { ...found, solution: few } : found;
}

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
  private claims: OpenClaim[] = [];
  /** Whether pods were left over once their domains were decided. */
  private short = false;
  private readonly unplaced = new Map<PodClass, readonly Pod[]>();
  /** Profiles of pools whose limits left pods over. */
  private readonly exhausted = new Set<Profile>();
  private readonly reasons = new Map<PodClass, Blocker>();
  private bound = 0;

  constructor(private readonly compiled: Compiled) {
    this.feasibility = new Feasibility(compiled);
    this.nodes = nodeStates(compiled);
    this.limits = compiled.limits.map((limit) => ({ ...limit }));
    const { objects } = compiled.input;
    const groups = new Groups(compiled.labelKeys, new Namespaces(objects.namespaces, namespacesOf(compiled)));
    this.book = new RuleBook(groups, compiled);
    this.ledger = new Ledger(compiled, this.nodes);
    const owned = bindRunning(compiled, groups, this.book);
    countRunning(compiled, this.nodes, groups, this.ledger, owned);
    this.assigner = new Assigner(compiled, this.feasibility, this.nodes, this.book, this.ledger);
  }

  run(): void {
    let waiting: Waiting[] = [];
    for (const podClass of this.compiled.queue) {
      if (this.compiled.invalid.has(podClass)) this.unplaced.set(podClass, podClass.pods);
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
    this.claims = rebalance({ universe, space, book, ledger, nodes }, this.claims, (podClass, pods) =>
      this.giveUp(podClass, pods),
    );
  }

  /** Decides nodes and domains. Pods that want to be near others come after those. */
  private assign(waiting: readonly Waiting[]): Part[] {
    const parts: Part[] = [];
    let later: Waiting[] = [];
    for (const each of waiting) {
      if (this.wantsCompany(each.podClass)) later.push(each);
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

  private wantsCompany({ shape }: PodClass): boolean {
    return this.compiled.ladders[shape.index]!.some(({ affinity }) => affinity.length > 0);
  }

  /** Puts what it can of a class somewhere, relaxing rung by rung when that may be; what is left over is unplaced. */
  private settle(each: Waiting, parts: Part[], relax: boolean): void {
    const { podClass } = each;
    const ladder = this.compiled.ladders[podClass.shape.index]!;
    for (const level of relax ? ladder : ladder.slice(0, 1)) {
      each.pods = this.place(podClass, level, each.pods, parts);
      if (each.pods.length === 0) return;
    }
    if (relax) {
      this.giveUp(podClass, each.pods);
      this.explain(podClass, ladder.at(-1)!);
    }
  }

  /** Notes why pods of the class found no place, while the counts are as they were then. */
  private explain(podClass: PodClass, level: Level): void {
    if (this.feasibility.holding(podClass, level).length === 0) return;
    const rules = this.book.of(podClass.shape, level);
    const target = { podClass, level, rules, without: this.exhausted };
    const blocker = topologyBlocker(rules, this.assigner.cells.of(target), this.ledger);
    if (blocker !== undefined && this.feasibility.holding(podClass, level, this.exhausted).length > 0) {
      this.reasons.set(podClass, blocker);
    }
  }

  private place(podClass: PodClass, level: Level, pods: readonly Pod[], parts: Part[]): readonly Pod[] {
    const rules = this.book.of(podClass.shape, level);
    return this.assigner.place({ podClass, level, rules, without: this.exhausted }, pods, parts);
  }

  /** Buys nodes for the parts; returns what limits left over, to be tried in other pools. */
  private launch(parts: readonly Part[]): Waiting[] {
    if (parts.length === 0) return [];
    const exclusions = exclusionsOf(parts, this.book);
    const { problem, rowOfOffer, perNode } = numberProblem(this.compiled, parts, exclusions, this.limits);
    const units = parts.reduce((sum, { count }) => sum + count, 0);
    const { solution, lowerBound } = buy(problem, units);
    // No plan has more nodes than pods, so the premium is at most that much of the bound.
    this.bound += Math.max(0, lowerBound - perNode * units);
    const given = new Int32Array(parts.length);
    for (const { offer, items, pods } of solution.bins) {
      const members: Member[] = [];
      const pinnedKeys = new Set<string>();
      items.forEach((item, k) => {
        const part = parts[item]!;
        const from = given[item]!;
        given[item] = from + pods[k]!;
        for (const key of part.pinnedKeys) pinnedKeys.add(key);
        if (part.together) members.push(...part.members);
        else for (const member of part.members) members.push({ ...member, pods: member.pods.slice(from, given[item]) });
      });
      const row = rowOfOffer[offer]!;
      for (const limit of this.limits) limit.remaining -= limitUse(this.compiled, row, limit);
      this.claims.push({ row, members, pinnedKeys });
    }
    return this.leftOver(parts, given);
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
        this.forget(part, podClass, level, rest.length);
      }
    });
    if (full.size === 0) return [];
    this.short = true;
    const before = this.exhausted.size;
    for (const profile of full) this.exhausted.add(profile);
    const list = [...waiting].map(([podClass, pods]) => ({ podClass, pods }));
    if (this.exhausted.size > before) return list;
    for (const { podClass, pods } of list) this.giveUp(podClass, pods);
    return [];
  }

  /** Takes pods out of the counts again that found no node in the end. */
  private forget(part: Part, podClass: PodClass, level: Level, pods: number): void {
    const values = part.profiles[0]!.values;
    const pinned = new Set(part.pinnedKeys);
    this.ledger.record(this.book.of(podClass.shape, level), -pods, ({ hostname, key }) =>
      hostname || !pinned.has(key) ? undefined : values[this.compiled.space.find(key)!],
    );
  }

  plan(): Plan {
    const newNodeClaims = this.describe();
    newNodeClaims.sort((a, b) => compareText(a.pods[0]!, b.pods[0]!));
    const pricePerHour = newNodeClaims.reduce((sum, { cheapest }) => sum + cheapest.pricePerHour, 0);
    return {
      newNodeClaims,
      existingNodes: this.nodes
        .filter(({ pods }) => pods.length > 0)
        .map(({ view, pods }) => ({ node: view.name, pods: pods.map(fullName).sort(compareText) })),
      unschedulable: this.unschedulable(),
      pricePerHour,
      lowerBoundPerHour: Math.min(this.bound, pricePerHour),
    };
  }

  /**
   * Describes the claims. Those that cannot list enough different types are not made (section 2.5); as their pods may
   * have kept a spread even, the others are looked through again then.
   */
  private describe(): PlannedClaim[] {
    for (;;) {
      const context: ClaimContext = {
        compiled: this.compiled,
        feasibility: this.feasibility,
        limits: this.limits.map((limit) => ({ ...limit })),
        candidates: new Map(),
        described: new Map(),
      };
      const made: PlannedClaim[] = [];
      const refused = new Set<OpenClaim>();
      withSpotRatios(context, this.claims).forEach((claim, i) => {
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

  private refuse({ row, members, pinnedKeys }: OpenClaim): void {
    const { name: nodePool } = this.compiled.universe.rows[row]!.profile.pool;
    const { values } = this.compiled.universe.rows[row]!.profile;
    const message = 'too few different instance types hold the pods for the minValues of the NodePool';
    for (const { podClass, level, pods } of members) {
      this.giveUp(podClass, pods);
      this.reasons.set(podClass, { nodePool, reason: 'MinValues', message });
      this.ledger.record(this.book.of(podClass.shape, level), -pods.length, ({ hostname, key }) =>
        hostname || !pinnedKeys.has(key) ? undefined : values[this.compiled.space.find(key)!],
      );
    }
  }

  private giveUp(podClass: PodClass, pods: readonly Pod[]): void {
    this.unplaced.set(podClass, [...(this.unplaced.get(podClass) ?? []), ...pods]);
  }

  private unschedulable(): Unschedulable[] {
    const list: Unschedulable[] = [];
    for (const [podClass, pods] of this.unplaced) {
      const blockers = blockersOf(this.compiled, this.feasibility, podClass, this.reasons.get(podClass));
      const reason = sentence(blockers);
      for (const pod of pods) list.push({ pod: fullName(pod), reason, blockers });
    }
    return list.sort((a, b) => compareText(a.pod, b.pod));
  }
}

function namespacesOf({ classes, bound }: Compiled): Set<string> {
  const names = new Set(classes.shapes.map(({ namespace }) => namespace));
  for (const pods of bound.values()) for (const { metadata } of pods) names.add(metadata.namespace ?? 'default');
  return names;
}
