import type { NodePool } from '../../api/karpenter/node-pool.js';
import type { Pod } from '../../api/kubernetes.js';
import { compareText, counted } from '../../core/text.js';
import { compile, type Compiled } from '../compile/compiled.js';
import { coverageOf, type Coverage } from '../compile/coverage.js';
import { limitsOfTrial } from '../compile/budget.js';
import type { PoolLimit } from '../compile/pool-limits.js';
import type { PodClass } from '../compile/classes.js';
import type { Level } from '../compile/relaxation-levels.js';
import { noProfiles, type Profile, type Row } from '../compile/universe.js';
import { describeClaim } from '../output/claims.js';
import type { ClaimContext } from '../output/claim-context.js';
import type { OpenClaim } from '../place/open-claim.js';
import { withSpotRatios } from '../output/spot-ratios.js';
import { Feasibility } from '../place/feasibility.js';
import { isBroken } from '../place/rebalance.js';
import { countedNodes, nodeStates, type NodeState } from '../place/node-states.js';
import type { Part } from '../place/part.js';
import { groupsOf } from '../topology/groups.js';
import { RuleBook } from '../topology/rules.js';
import { bindRunning, countRunning } from '../topology/running.js';
import type { PackingInput, PlannedClaim } from '../types.js';
import { type TrialChange, Journal, JournaledTopologyCounts } from './journal.js';
import { Launches } from './launches.js';
import { TrialLimits } from './limits.js';
import { Placer, type Loads } from './placer.js';
import { Purchases, type PurchaseSearch } from './purchases.js';
import { Worth } from './worth.js';
import { fullName } from '../../core/names.js';

/** A node to be launched and its content, before it is written as a NodeClaim. */
export interface Launch {
  readonly claim: OpenClaim;
  /** Including the pods that come in later steps, if it is launched for those too. */
  readonly whole?: OpenClaim;
  /** Instance type. */
  readonly type: string;
  readonly capacityType: string;
  /** Dollars per hour. */
  readonly price: number;
  /** Whether topology counts include its pods already, as far as pinned keys decide their domain. */
  readonly counted: boolean;
}

/**
 * The cluster during what-if simulation. Classes, profiles and topology counts are computed once, then kept up to date.
 * Everything since the last `commit` is reverted by `undo`, and after that made again by `redo`.
 */
export class Trial {
  /** Existing nodes that take pods or may be removed. */
  readonly nodes: readonly NodeState[];
  readonly worth: Worth;
  readonly launches: Launches;
  readonly placer: Placer;
  private readonly compiled: Compiled;
  private readonly feasibility: Feasibility;
  private readonly book: RuleBook;
  private readonly topologyCounts: JournaledTopologyCounts;
  private readonly limits: TrialLimits;
  private readonly purchases: Purchases;
  private readonly journal = new Journal();
  private readonly classes = new Map<Pod, PodClass>();
  /** Set during `withoutEffect`: the journal position up to which changes were committed. */
  private floor: number | undefined;

  /** `staying`: by the name of each node that may be removed, the pods that stay there as long as the node does. */
  constructor(
    readonly input: PackingInput,
    staying: ReadonlyMap<string, readonly Pod[]>,
  ) {
    const withoutNodes = new Set([...(input.withoutNodes ?? []), ...staying.keys()]);
    const compiled = withCandidates(compile({ ...input, withoutNodes }, limitsOfTrial), staying);
    this.compiled = { ...compiled, coverage: withOpen(coverageOf(input), compiled.coverage) };
    const states = nodeStates(this.compiled);
    this.nodes = states;
    const groups = groupsOf(this.compiled);
    this.book = new RuleBook(groups, this.compiled);
    this.feasibility = new Feasibility(this.compiled, this.book);
    this.purchases = new Purchases(this.compiled, this.book);
    this.launches = new Launches(this.compiled);
    const counted = countedNodes(this.compiled, states);
    this.topologyCounts = new JournaledTopologyCounts(this.journal, this.compiled, counted, this.book.daemonPods);
    countRunning(this.compiled, counted, groups, this.topologyCounts, bindRunning(this.compiled, groups, this.book));
    this.limits = new TrialLimits(this.compiled, this.journal, input.objects.pods.length);
    for (const podClass of this.compiled.classes.all) for (const pod of podClass.pods) this.classes.set(pod, podClass);
    this.worth = Worth.of(this.compiled, this.feasibility, this.limits.fullAfter([]));
    const { feasibility, book, topologyCounts, worth } = this;
    this.placer = new Placer(
      { compiled: this.compiled, feasibility, book, topologyCounts, worth, journal: this.journal },
      states,
    );
    this.commit();
  }

  /** Classes of pods that need a node, largest first. */
  get queue(): readonly PodClass[] {
    return this.compiled.queue.filter((podClass) => !this.compiled.invalid.has(podClass));
  }

  /** The class of a pod that can be placed. */
  classOf(pod: Pod): PodClass | undefined {
    const podClass = this.classes.get(pod);
    return podClass === undefined || this.compiled.invalid.has(podClass) ? undefined : podClass;
  }

  /** Why the pod can be placed on no node, in words. */
  whyNowhere(pod: Pod): string {
    const podClass = this.classes.get(pod);
    const invalid = podClass && this.compiled.invalid.get(podClass);
    return invalid === undefined ? 'it is not planned' : `${invalid.subject}: ${invalid.message}`;
  }

  /** A NodePool in which nodes are launched. */
  poolOf(name: string): NodePool | undefined {
    return this.compiled.pools.find((pool) => pool.name === name)?.object;
  }

  readonly demandOf = (podClass: PodClass): Float64Array => this.feasibility.demand(podClass);

  /** The total requests of these pods. */
  loadOf(loads: Loads): Float64Array {
    const load = new Float64Array(this.compiled.dimensions.count);
    for (const [podClass, pods] of loads) {
      const demand = this.demandOf(podClass);
      for (let d = 0; d < load.length; d++) load[d] = load[d]! + demand[d]! * pods.length;
    }
    return load;
  }

  /** Deducts the requests of pods that run on the node and are not moved. */
  occupy({ free }: NodeState, pods: readonly Pod[]): void {
    for (const pod of pods) {
      const vector = this.compiled.dimensions.vector(this.compiled.classes.demandOf(pod).amounts);
      for (let d = 0; d < free.length; d++) free[d] = free[d]! - vector[d]!;
    }
  }

  /** The journal position and the number of placements so far. */
  begin(): { readonly mark: number; readonly landed: number } {
    return { mark: this.journal.mark(), landed: this.placer.placements.length };
  }

  /** Records a change that the caller has made to its own state. */
  note(change: TrialChange): void {
    this.journal.note(change);
  }

  /** Reverts everything since the mark. */
  backTo(mark: number): void {
    this.journal.rollback(mark);
  }

  /** Reverts everything since the last commit. Returns what was reverted, for `redo`. */
  undo(): readonly TrialChange[] {
    return this.journal.rollback(this.floor);
  }

  /** Makes changes again that `undo` has reverted from the state as it is now. */
  redo(changes: readonly TrialChange[]): void {
    this.journal.replay(changes);
  }

  /** Makes everything so far permanent; inside `withoutEffect`, until that ends. */
  commit(): void {
    if (this.floor === undefined) this.journal.clear();
    else this.floor = this.journal.mark();
  }

  /** Runs `run`, in which changes can be committed, and reverts all of them afterwards. */
  withoutEffect<T>(run: () => T): T {
    this.floor = 0;
    try {
      return run();
    } finally {
      this.floor = undefined;
      this.undo();
    }
  }

  /** Removes the pods of a node; nothing fits there any more. */
  removePods(node: NodeState, loads: Loads): void {
    const before = node.free.slice();
    node.free.fill(-1);
    this.journal.note({ undo: () => node.free.set(before), redo: () => node.free.fill(-1) });
    for (const [podClass, pods] of loads) this.uncount(node, podClass, pods.length);
  }

  /** Removes pods from the topology counts. */
  uncount(node: NodeState, podClass: PodClass, pods: number): void {
    this.topologyCounts.record(this.placer.rulesOf(podClass), -pods, node);
  }

  /**
   * Nodes for the parts, within limits that include the refund of `going` nodes. No launches if the pods are worth more
   * than `most` dollars per hour, so that the price would exceed it, or if some parts find no node: `full` profiles then
   * have no room in limits. No node costs more than `dearest`.
   */
  buy(
    parts: readonly Part[],
    going: readonly NodeState[],
    { most, search, dearest }: { most: number; search: PurchaseSearch; dearest?: number },
  ): { readonly launches?: Launch[]; readonly full: ReadonlySet<Profile> } {
    const worth = parts.reduce((sum, { demand, count }) => sum + this.worth.of(demand) * count, 0);
    if (worth >= most) return { full: noProfiles };
    const { claims, isShort } = this.purchases.buy(parts, this.limits.afterRemoving(going), search, dearest);
    const { rows } = this.compiled.universe;
    if (isShort)
      return {
        full: this.limits.fullAfter(
          going,
          claims.map(({ row }) => rows[row]!),
        ),
      };
    const launches = claims.map((claim) => {
      const { type, capacityType, offering } = rows[claim.row]!;
      return { claim, type: type.name, capacityType, price: offering.price, counted: true };
    });
    return { launches, full: noProfiles };
  }

  /**
   * The launches as NodeClaims; undefined if they exceed limits that include the refund of `going` nodes, if the
   * minValues of a pool cannot be met, or if the DaemonSet pods of the new nodes break a rule of the pods that move.
   */
  describe(launches: readonly Launch[], going: readonly NodeState[]): PlannedClaim[] | undefined {
    const { compiled, feasibility } = this;
    const limits = this.limitsAfter(launches, going);
    if (limits === undefined || !this.admitsDaemonsOf(launches)) return undefined;
    const context: ClaimContext = { compiled, feasibility, limits };
    const planned: PlannedClaim[] = [];
    const claims = withSpotRatios(
      context,
      launches.map(({ claim, whole }) => whole ?? claim),
    );
    for (const [i, claim] of claims.entries()) {
      const described = describeClaim(context, claim);
      if (described === undefined) return undefined;
      planned.push(launches[i]!.whole === undefined ? described : firstOf(described, launches[i]!.claim));
    }
    return planned;
  }

  /**
   * All these pods on one new node: the cheapest below `below` dollars per hour on which all their rules and
   * preferences hold, in any zone and of any NodePool. They are placed on it; undefined, with nothing changed, if there
   * is none.
   */
  putOnOne(
    loads: Loads,
    going: readonly NodeState[],
    below: number,
  ): { readonly launch: Launch; readonly state: NodeState } | undefined {
    const levelOf = (podClass: PodClass): Level => this.compiled.levelsByShape[podClass.shape.index]![0]!;
    for (const row of this.rowsHolding(loads, going, below)) {
      const launch = asLaunch(row);
      if (!this.allows([launch], going)) continue;
      const { mark } = this.begin();
      const state = this.blank(launch, 'single replacement');
      if (this.placer.putTogether(state, loads, (podClass) => [levelOf(podClass)])) {
        return { launch: this.filled(launch, loads, levelOf), state };
      }
      this.backTo(mark);
    }
    return undefined;
  }

  /**
   * For each zone and NodePool that admits all these pods the cheapest row with room for them, below a price; cheapest
   * first. One of the pods launches the node, by the weight of NodePools, and the others may be on it.
   */
  rowsHolding(loads: Loads, going: readonly NodeState[], below: number): Row[] {
    const load = this.loadOf(loads);
    if (loads.size === 0 || this.worth.of(load) >= below) return [];
    const full = this.limits.fullAfter(going);
    const held = [...loads.keys()].map((podClass) =>
      this.feasibility.holding(podClass, this.compiled.levelsByShape[podClass.shape.index]![0]!, full),
    );
    const heaviest = new Set(held.flatMap((profiles) => this.feasibility.heaviest(profiles)));
    const { rank } = this.compiled.universe;
    return held[0]!
      .filter((profile) => heaviest.has(profile) && held.every((profiles) => profiles.includes(profile)))
      .flatMap((profile) => this.feasibility.rowOfOne(profile, load, below) ?? [])
      .sort((a, b) => rank[a.index]! - rank[b.index]!);
  }

  /** Whether the rules of all pods that move hold with the DaemonSet pods of the launched nodes (topology/daemon-pods). */
  private admitsDaemonsOf(launches: readonly Launch[]): boolean {
    if (!this.book.daemonPods.arePartners) return true;
    const { topologyCounts, compiled, placer } = this;
    const profiles = launches.map(({ claim }) => compiled.universe.rows[claim.row]!.profile);
    const domainsOf =
      (values: Profile['values']) =>
      ({ key }: { readonly key: string }): string | undefined =>
        values[compiled.space.find(key)!];
    for (const profile of profiles) topologyCounts.recordDaemons(profile, 1);
    const isBrokenOnNew = launches.some(({ claim: { members } }, i) =>
      members.some(({ podClass, level }) =>
        isBroken(this.book.of(podClass.shape, level), topologyCounts, domainsOf(profiles[i]!.values)),
      ),
    );
    const isAnyBroken =
      isBrokenOnNew ||
      placer.placements.some(({ node, podClass }) =>
        isBroken(placer.rulesOf(podClass), topologyCounts, domainsOf(node.kind.values)),
      );
    for (const profile of profiles) topologyCounts.recordDaemons(profile, -1);
    return !isAnyBroken;
  }

  /** The profiles that have no room in limits after `going` nodes are removed. */
  fullAfter(going: readonly NodeState[]): ReadonlySet<Profile> {
    return this.limits.fullAfter(going);
  }

  /** Whether limits allow the launches, with the refund of `going` nodes: a plan or decision may have had that of others too. */
  allows(launches: readonly Launch[], going: readonly NodeState[]): boolean {
    return this.limitsAfter(launches, going) !== undefined;
  }

  private limitsAfter(launches: readonly Launch[], going: readonly NodeState[]): PoolLimit[] | undefined {
    const { rows } = this.compiled.universe;
    return this.limits.afterReplacing(
      going,
      launches.map(({ claim }) => rows[claim.row]!),
    );
  }

  /** An empty node of the launch's row, for the time of a trial. */
  blank({ claim }: Launch, name: string): NodeState {
    return this.launches.blank(this.compiled.universe.rows[claim.row]!, name, this.nodes.length + this.limits.launches);
  }

  /** The node that a launch becomes, with its pods. Without a NodeClaim it has the row that was bought. */
  launch({ claim, counted }: Launch, planned: PlannedClaim | undefined, name: string): NodeState {
    const row = planned === undefined ? this.compiled.universe.rows[claim.row]! : this.launches.rowFor(claim, planned);
    const state = this.launches.blank(row, name, this.nodes.length + this.limits.launches);
    for (const { podClass, pods } of claim.members) {
      this.land(state, podClass, pods.length, counted ? claim.pinnedKeys : noKeys);
    }
    this.topologyCounts.recordDaemons(row.profile, 1);
    this.limits.take(state, row);
    return state;
  }

  /** Refunds the limits that a removed node used. */
  release(node: NodeState): void {
    this.limits.release(node);
  }

  /** The claim as a launch at current offerings, without pods; undefined if one of its types is no longer offered. */
  launchOf(planned: PlannedClaim): Launch | undefined {
    const row = this.launches.cheapestRow(planned);
    return row && asLaunch(row);
  }

  /** The launch with the current content of its node, on the levels that it has or else on these. */
  filled(
    launch: Launch,
    loads: Loads,
    otherwise = (podClass: PodClass): Level => this.compiled.levelsByShape[podClass.shape.index]!.at(-1)!,
  ): Launch {
    const levelOf = new Map(launch.claim.members.map(({ podClass, level }) => [podClass, level]));
    const pinnedKeys = new Set(launch.claim.pinnedKeys);
    const members = [...loads].map(([podClass, pods]) => {
      const level = levelOf.get(podClass) ?? otherwise(podClass);
      for (const key of this.book.of(podClass.shape, level).keys) pinnedKeys.add(key);
      return { podClass, level, pods };
    });
    return { ...launch, claim: { ...launch.claim, members, pinnedKeys } };
  }

  /** Adds pods to the node launched for them. Domains of pinned keys are counted already. */
  private land(state: NodeState, podClass: PodClass, pods: number, pinnedKeys: ReadonlySet<string>): void {
    const rules = this.placer.rulesOf(podClass);
    const demand = this.demandOf(podClass);
    for (let d = 0; d < demand.length; d++) state.free[d] = state.free[d]! - demand[d]! * pods;
    state.ports.push(...podClass.shape.hostPorts);
    this.topologyCounts.record(rules, pods, state, (key) => !pinnedKeys.has(key) || !rules.keys.includes(key));
  }
}

/** The compiled pass with the candidates still present, and with the pods that stay on them. */
function withCandidates(compiled: Compiled, candidates: ReadonlyMap<string, readonly Pod[]>): Compiled {
  const bound = new Map(compiled.bound);
  for (const [name, fixed] of candidates) {
    if (fixed.length > 0) bound.set(name, fixed);
    for (const pod of fixed) compiled.classes.demandOf(pod);
  }
  const nodes = compiled.nodes.map((view) => (candidates.has(view.name) ? { ...view, deleting: false } : view));
  return { ...compiled, bound, nodes };
}

/** The coverage as if every node that may be removed were removed: these nodes free their commitments. */
function withOpen(coverage: Coverage, { open }: Coverage): Coverage {
  return { ...coverage, open };
}

/** The claim as launched for the first of its pods. */
function firstOf(planned: PlannedClaim, { members }: OpenClaim): PlannedClaim {
  const pods = members.flatMap((member) => member.pods.map(fullName)).sort(compareText);
  const more = planned.pods.length - pods.length;
  if (more === 0) return planned;
  return { ...planned, pods, why: `${planned.why}, with ${counted(more, 'more pod')} to come in later steps` };
}

const noKeys: ReadonlySet<string> = new Set();

/** A node of this row without pods. */
function asLaunch({ index, type, capacityType, offering }: Row): Launch {
  const claim = { row: index, members: [], pinnedKeys: noKeys };
  return { claim, type: type.name, capacityType, price: offering.price, counted: false };
}
