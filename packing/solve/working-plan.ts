import type { Compiled } from '../compile/compiled.js';
import type { PodClass } from '../compile/classes.js';
import type { Level } from '../compile/relaxation-levels.js';
import type { Profile } from '../compile/universe.js';
import { Assigner } from '../place/assigner.js';
import { limitUse } from '../place/bin-problem.js';
import { type PoolLimit } from '../compile/pool-limits.js';
import { Feasibility } from '../place/feasibility.js';
import { countedNodes, nodeStates, type NodeState } from '../place/node-states.js';
import type { ClaimContext } from '../output/claim-context.js';
import type { OpenClaim } from '../place/open-claim.js';
import { rebalance } from '../place/rebalance.js';
import { groupsOf } from '../topology/groups.js';
import { TopologyCounts } from '../topology/topology-counts.js';
import { RuleBook } from '../topology/rules.js';
import { bindRunning, countRunning } from '../topology/running.js';
import { mostPods } from '../refine/exact-search.js';
import { Unplaced } from './unplaced.js';

/** Plans of up to this many pods are searched as a whole. */
export const mostSearched = 400;

/** A plan below this many times the bound is not searched further. */
export const nearEnough = 1.005;

/** A plan under construction: what is placed and bought so far, and the state that later steps change. */
export class WorkingPlan {
  readonly feasibility: Feasibility;
  readonly nodes: readonly NodeState[];
  /** Free amounts of nodes before anything is placed. */
  readonly free: readonly Float64Array[];
  readonly limits: PoolLimit[];
  readonly book: RuleBook;
  readonly topologyCounts: TopologyCounts;
  readonly assigner: Assigner;
  readonly unplaced: Unplaced;
  claims: OpenClaim[] = [];
  /** Descriptions of claims, by what determines them. */
  readonly described: NonNullable<ClaimContext['described']> = new Map();
  /** Profiles of pools with an exhausted limit. */
  readonly exhausted = new Set<Profile>();
  /** Surcharge of each node to launch, dollars per hour, once nodes were bought (provisioning/fewest-nodes). */
  surcharge: number | undefined;

  /** Whether every place of every pod is tried before the other searches: for few pods. */
  readonly isExact: boolean;

  constructor(readonly compiled: Compiled) {
    const pods = compiled.queue.reduce((sum, podClass) => sum + podClass.pods.length, 0);
    this.isExact = pods <= mostPods;
    this.nodes = nodeStates(compiled);
    this.free = this.nodes.map(({ free }) => Float64Array.from(free));
    this.limits = compiled.limits.map((limit) => ({ ...limit }));
    const groups = groupsOf(compiled);
    this.book = new RuleBook(groups, compiled);
    this.feasibility = new Feasibility(compiled, this.book);
    const counted = countedNodes(compiled, this.nodes);
    this.topologyCounts = new TopologyCounts(compiled, counted, this.book.daemonPods);
    const owned = bindRunning(compiled, groups, this.book);
    countRunning(compiled, counted, groups, this.topologyCounts, owned);
    this.topologyCounts.markRunning();
    this.assigner = new Assigner(compiled, this.feasibility, this.nodes, this.book, this.topologyCounts);
    this.unplaced = new Unplaced(this);
  }

  /** Charges this number of nodes of the row to the limits. */
  charge(row: number, nodes: number): void {
    for (const limit of this.limits) limit.remaining -= nodes * limitUse(this.compiled, row, limit);
  }

  /** Removes pods from the counts. Pods with them may have pinned more keys than these were counted by. */
  uncount(profile: Profile, podClass: PodClass, level: Level, pods: number): void {
    this.topologyCounts.recordLaunch(this.book.of(podClass.shape, level), -pods, profile);
  }

  /** Evens out the spread of the bought nodes after pods were left over or claims refused. */
  rebalance(): void {
    const { compiled, book, topologyCounts, nodes } = this;
    const { universe, space } = compiled;
    const before = this.claims;
    const demandOf = (podClass: PodClass): Float64Array => this.feasibility.demand(podClass);
    this.claims = rebalance({ universe, space, book, topologyCounts, nodes, demandOf }, before, (podClass, pods) =>
      this.unplaced.add(podClass, pods),
    );
    for (const { row } of before) this.charge(row, -1);
    for (const { row } of this.claims) this.charge(row, 1);
  }

  /** Number of placed pods by class. */
  placed(): Map<PodClass, number> {
    const placed = new Map<PodClass, number>();
    for (const podClass of this.compiled.queue) {
      const count = podClass.pods.length - this.unplaced.of(podClass).length;
      if (count > 0) placed.set(podClass, count);
    }
    return placed;
  }
}
