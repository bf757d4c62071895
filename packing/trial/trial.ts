import type { NodePool } from '../../api/karpenter/node-pool.js';
import type { Pod } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import { compareText } from '../../core/compare-text.js';
import { compile, type Compiled } from '../compile/compiled.js';
import { coverageOf, type Coverage } from '../compile/coverage.js';
import { commitmentId } from '../compile/catalogue-terms.js';
import { termsPerTrial } from '../compile/budget.js';
import { fullName } from '../names.js';
import type { PodClass } from '../compile/classes.js';
import { describeClaim, type ClaimContext } from '../output/claims.js';
import type { OpenClaim } from '../place/open-claim.js';
import { withSpotRatios } from '../output/spot-ratios.js';
import { rowUse, type PoolLimit } from '../compile/pool-limit.js';
import { Feasibility } from '../place/feasibility.js';
import { capacityOf, poolLimits } from '../compile/pool-limits.js';
import { hostRoom } from '../place/host-rules.js';
import { nodeStates, roomFor, type NodeState } from '../place/node-states.js';
import type { Part } from '../place/part.js';
import { PodAffinities } from '../place/pod-affinities.js';
import { Groups } from '../topology/groups.js';
import { RuleBook, type Rules } from '../topology/rules.js';
import { counted } from '../../core/plurals.js';
import { bindRunning, countRunning } from '../topology/running.js';
import { Namespaces } from '../topology/selectors.js';
import type { PackingInput, PlannedClaim } from '../types.js';
import { alikeFirst, type Filling } from './filling.js';
import { Journal, JournaledAssigner, JournaledLedger, type NodePlacement } from './journal.js';
import { Launches } from './launches.js';
import { Purchases } from './purchases.js';
import type { PurchaseSearch } from './purchases.js';
import { atLevel } from './standing.js';
import { Worth } from './worth.js';

export type Loads = ReadonlyMap<PodClass, readonly Pod[]>;

/** A node to be launched: what it holds, before it is written out as a NodeClaim. */
export interface Launch {
  readonly claim: OpenClaim;
  /** With what will come to it later, where it is launched for that too. */
  readonly whole?: OpenClaim;
  /** Instance type. */
  readonly type: string;
  readonly capacityType: string;
  /** Dollars per hour. */
  readonly price: number;
  /** Whether topology counts have its pods already, as far as pinned keys decide their domain. */
  readonly counted: boolean;
}

/**
 * The cluster while things are tried on it: classes, profiles and topology counts are worked out once, then kept up to date.
 * Everything done after `begin` is taken back by `undo`, or made lasting by `keep`.
 */
export class Trial {
  /** Nodes that are there and take pods, or may be taken away. */
  readonly nodes: readonly NodeState[];
  readonly worth: Worth;
  readonly launches: Launches;
  private readonly compiled: Compiled;
  private readonly feasibility: Feasibility;
  private readonly book: RuleBook;
  private readonly affinities: PodAffinities;
  private readonly ledger: JournaledLedger;
  private readonly limits: PoolLimit[];
  private readonly purchases: Purchases;
  private readonly journal = new Journal();
  private readonly order = new Map<PodClass, number>();
  private readonly classes = new Map<Pod, PodClass>();
  /** What launched nodes use of a limit. */
  private readonly launched = new Map<NodeState, (limit: PoolLimit) => number>();
  /** What claims of equal requirements may launch, worked out once. */
  private readonly launchable: ClaimContext['candidates'] = new Map();
  private assigner: JournaledAssigner;
  private filling: Filling = 'queue';
  /** Set while imagining: what was kept so far. */
  private floor: number | undefined;

  /** `staying`: by the names of nodes that may be taken away, the pods there that stay as long as the node does. */
  constructor(input: PackingInput, staying: ReadonlyMap<string, readonly Pod[]>) {
    const withoutNodes = new Set([...(input.withoutNodes ?? []), ...staying.keys()]);
    const compiled = atLevel(compile({ ...input, withoutNodes }, termsPerTrial), staying);
    this.compiled = { ...compiled, coverage: withOpen(coverageOf(input), compiled.coverage) };
    this.feasibility = new Feasibility(this.compiled);
    const states = nodeStates(this.compiled);
    this.nodes = states;
    const { objects } = input;
    const namespaces = new Set(objects.pods.map(({ metadata }) => metadata.namespace ?? 'default'));
    const groups = new Groups(this.compiled.labelKeys, new Namespaces(objects.namespaces, namespaces));
    this.book = new RuleBook(groups, this.compiled);
    this.affinities = new PodAffinities(this.compiled, this.book);
    this.purchases = new Purchases(this.compiled, this.book);
    this.launches = new Launches(this.compiled);
    this.ledger = new JournaledLedger(this.compiled, states);
    countRunning(this.compiled, states, groups, this.ledger, bindRunning(this.compiled, groups, this.book));
    this.limits = poolLimits(this.compiled, objects.pods.length).map((limit) => ({ ...limit }));
    this.compiled.queue.forEach((podClass, i) => this.order.set(podClass, i));
    for (const podClass of this.compiled.classes.all) for (const pod of podClass.pods) this.classes.set(pod, podClass);
    this.worth = Worth.of(this.compiled, this.feasibility);
    this.assigner = this.assignerOver(states);
  }

  /** Classes of pods that need a place, largest first. */
  get queue(): readonly PodClass[] {
    return this.compiled.queue.filter((podClass) => !this.compiled.invalid.has(podClass));
  }

  /** The class of a pod that can be placed. */
  classOf(pod: Pod): PodClass | undefined {
    const podClass = this.classes.get(pod);
    return podClass === undefined || this.compiled.invalid.has(podClass) ? undefined : podClass;
  }

  /** A NodePool that nodes are launched of. */
  poolOf(name: string): NodePool | undefined {
    return this.compiled.pools.find((pool) => pool.name === name)?.object;
  }

  readonly demandOf = (podClass: PodClass): Float64Array => this.feasibility.demand(podClass);

  /** What pods ask for together. */
  loadOf(loads: Loads): Float64Array {
    const load = new Float64Array(this.compiled.dimensions.count);
    for (const [podClass, pods] of loads) {
      const demand = this.demandOf(podClass);
      for (let d = 0; d < load.length; d++) load[d] = load[d]! + demand[d]! * pods.length;
    }
    return load;
  }

  /** Takes what the pods ask for off the node: they are there, and nobody moves them. */
  occupy({ free }: NodeState, pods: readonly Pod[]): void {
    for (const pod of pods) {
      const vector = this.compiled.dimensions.vector(this.compiled.classes.demandOf(pod).amounts);
      for (let d = 0; d < free.length; d++) free[d] = free[d]! - vector[d]!;
    }
  }

  /** Puts pods where they are. */
  settleOn(node: NodeState, loads: Loads): void {
    for (const [podClass, pods] of loads) this.assigner.putOn(node, podClass, this.rulesOf(podClass), pods);
    this.assigner.placements.length = 0;
  }

  /** Which nodes take pods from now on, the first ones first, and how they are filled. */
  aim(targets: readonly NodeState[], filling: Filling = 'queue'): void {
    this.filling = filling;
    this.assigner = this.assignerOver(targets);
    if (filling === 'alike') this.assigner.ordering = alikeFirst(this.worth);
  }

  /** Notes what is done from now on. Gives a point to go back to, and the number of landings so far. */
  begin(): { readonly mark: number; readonly landed: number } {
    this.ledger.journal = this.journal;
    this.assigner.journal = this.journal;
    return { mark: this.journal.mark(), landed: this.assigner.placements.length };
  }

  /** Where pods were put since. */
  placementsSince(landed: number): readonly NodePlacement[] {
    return this.assigner.placements.slice(landed);
  }

  /** Takes back what was done since the mark; what is done next is noted as before. */
  backTo(mark: number): void {
    this.ledger.journal = undefined;
    this.assigner.journal = undefined;
    this.journal.rollback(mark);
    this.begin();
  }

  /** Takes back everything since the first `begin`, or since what was kept last. */
  undo(): void {
    // Undoing must not be noted itself.
    this.ledger.journal = undefined;
    this.assigner.journal = undefined;
    this.journal.rollback(this.floor);
  }

  /** Makes everything since the first `begin` lasting; while imagining, until that ends. */
  keep(): void {
    if (this.floor === undefined) this.journal.clear();
    else this.floor = this.journal.mark();
    this.ledger.journal = undefined;
    this.assigner.journal = undefined;
  }

  /** Lets things be kept for as long as `run` takes, and takes them back then. */
  imagine<T>(run: () => T): T {
    this.floor = 0;
    try {
      return run();
    } finally {
      this.floor = undefined;
      this.undo();
    }
  }

  /** Takes a node's pods off it; nothing fits there any more. */
  lift(node: NodeState, loads: Loads): void {
    const before = node.free.slice();
    node.free.fill(-1);
    this.journal.note(() => {
      node.free.set(before);
    });
    for (const [podClass, pods] of loads) this.uncount(node, podClass, pods.length);
  }

  /** Takes pods out of the counts of topology. */
  uncount(node: NodeState, podClass: PodClass, pods: number): void {
    this.ledger.record(this.rulesOf(podClass), -pods, node);
  }

  /** Puts pods on targets; what they have no room for becomes parts to buy nodes for. Says whether all have a place. */
  place(loads: Loads, launching: boolean, parts: Part[]): boolean {
    const ordered = [...loads].sort(
      ([a, podsA], [b, podsB]) =>
        this.precedence(b, podsB.length) - this.precedence(a, podsA.length) || this.order.get(a)! - this.order.get(b)!,
    );
    const withAffinity: [PodClass, readonly Pod[]][] = [];
    for (const [podClass, pods] of ordered) {
      if (this.affinities.forAnyone(podClass)) withAffinity.push([podClass, pods]);
      else if (!this.placeClass(podClass, pods, launching, parts)) return false;
    }
    return withAffinity.every(([podClass, pods]) => this.placeClass(podClass, pods, launching, parts));
  }

  /** Puts pods of a class on this very node, if the rules let all of them be there. */
  putAll(node: NodeState, podClass: PodClass, pods: readonly Pod[]): boolean {
    if (roomFor(node.free, this.demandOf(podClass), pods.length) < pods.length) return false;
    const { ledger } = this;
    const { volumes } = this.compiled;
    for (const level of this.compiled.levelsByShape[podClass.shape.index]!) {
      const rules = this.book.of(podClass.shape, level);
      if (rules.hostAffinity.length > 0) return false;
      if (!this.feasibility.admitsKind(level, node.kind)) continue;
      for (const pod of pods) {
        const inDomain = this.assigner.allows(rules, (key) => this.valueAt(node, key));
        const isRoom = inDomain && hostRoom(node, { podClass, rules, pod }, { ledger, volumes }, 1) > 0;
        if (!isRoom) return false;
        this.assigner.putOn(node, podClass, rules, [pod]);
      }
      return true;
    }
    return false;
  }

  /** Puts pods that only wait on nodes, in their order; false and nothing done where some would need new ones. */
  placeWaiting(podClass: PodClass, pods: readonly Pod[]): boolean {
    const level = this.compiled.levelsByShape[podClass.shape.index]!.at(-1)!;
    const rules = this.book.of(podClass.shape, level);
    const parts: Part[] = [];
    const rest = this.assigner.place({ podClass, level, rules, without: none }, pods, parts);
    return parts.length === 0 && rest.length === 0;
  }

  /**
   * Nodes for the parts, with the limits that the nodes to go give back; undefined when some find none, or when the pods are
   * worth more than `most` dollars per hour: then it could not end below. No node costs more than `dearest`.
   */
  buy(
    parts: readonly Part[],
    going: readonly NodeState[],
    { most, search, dearest }: { most: number; search: PurchaseSearch; dearest?: number },
  ): Launch[] | undefined {
    if (parts.reduce((sum, { demand, count }) => sum + this.worth.of(demand) * count, 0) >= most) return undefined;
    const claims = this.purchases.buy(parts, this.limitsWithout(going), search, dearest);
    const { rows } = this.compiled.universe;
    return claims?.map((claim) => {
      const { type, capacityType, offering } = rows[claim.row]!;
      return { claim, type: type.name, capacityType, price: offering.price, counted: true };
    });
  }

  /** The launches as NodeClaims list them; undefined when a pool's minValues cannot be met. */
  describe(launches: readonly Launch[], going: readonly NodeState[]): PlannedClaim[] | undefined {
    const { compiled, feasibility, launchable } = this;
    const limits = this.limitsWithout(going);
    const context: ClaimContext = { compiled, feasibility, limits, candidates: launchable };
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

  /** A node of the launch's row that is there for the time of a trial. */
  blank({ claim }: Launch, name: string): NodeState {
    return this.launches.blank(this.compiled.universe.rows[claim.row]!, name, this.nodes.length + this.launched.size);
  }

  /** The node that a launch becomes, with its pods on it; without a NodeClaim, of the row that was bought. */
  launch({ claim, counted }: Launch, planned: PlannedClaim | undefined, name: string): NodeState {
    this.begin();
    const row = planned === undefined ? this.compiled.universe.rows[claim.row]! : this.launches.rowFor(claim, planned);
    const state = this.launches.blank(row, name, this.nodes.length + this.launched.size);
    for (const { podClass, pods } of claim.members) {
      this.land(state, podClass, pods.length, counted ? claim.pinnedKeys : noKeys);
    }
    const use = (limit: PoolLimit): number => rowUse(row, limit);
    this.launched.set(state, use);
    this.journal.note(() => this.launched.delete(state));
    for (const limit of this.limits) this.count(limit, -use(limit));
    this.keep();
    return state;
  }

  /** Gives back what a node that is gone used of limits. */
  release(node: NodeState): void {
    for (const limit of this.limits) this.count(limit, this.usedBy(node, limit));
    this.keep();
  }

  /** The claim as it may be launched now, with nothing on it yet; undefined where one of its types is not offered any more. */
  launchOf(planned: PlannedClaim): Launch | undefined {
    const row = this.launches.cheapestRow(planned);
    if (row === undefined) return undefined;
    const { index, type, capacityType, offering } = row;
    const claim = { row: index, members: [], pinnedKeys: noKeys };
    return { claim, type: type.name, capacityType, price: offering.price, counted: false };
  }

  /** The launch with whatever its node holds by now. */
  filled(launch: Launch, loads: Loads): Launch {
    const levelOf = new Map(launch.claim.members.map(({ podClass, level }) => [podClass, level]));
    const pinnedKeys = new Set(launch.claim.pinnedKeys);
    const members = [...loads].map(([podClass, pods]) => {
      const levels = this.compiled.levelsByShape[podClass.shape.index]!;
      for (const key of this.rulesOf(podClass).keys) pinnedKeys.add(key);
      return { podClass, level: levelOf.get(podClass) ?? levels.at(-1)!, pods };
    });
    return { ...launch, claim: { ...launch.claim, members, pinnedKeys } };
  }

  private count(limit: PoolLimit, amount: number): void {
    if (amount === 0) return;
    limit.remaining += amount;
    this.journal.note(() => {
      limit.remaining -= amount;
    });
  }

  private limitsWithout(going: readonly NodeState[]): PoolLimit[] {
    return this.limits.map((limit) => ({
      ...limit,
      remaining: going.reduce((sum, node) => sum + this.usedBy(node, limit), limit.remaining),
    }));
  }

  private usedBy(node: NodeState, limit: PoolLimit): number {
    const use = this.launched.get(node);
    if (use !== undefined) return use(limit);
    const { view } = node;
    if (limit.reservation !== undefined) return this.coveredOf(view.name, limit.reservation);
    if (limit.pool === undefined || limit.pool !== view.labels[poolKey]) return 0;
    return limit.resource === 'nodes' ? 1 : capacityOf(view, limit.resource);
  }

  private coveredOf(node: string, reservation: string): number {
    for (const [name, amount] of this.compiled.coverage.nodes.get(node)?.taken ?? []) {
      if (commitmentId(name) === reservation) return amount;
    }
    return 0;
  }

  /** Pods on a node that was launched for them: what the pinned keys decide is counted already. */
  private land(state: NodeState, podClass: PodClass, pods: number, pinnedKeys: ReadonlySet<string>): void {
    const rules = this.rulesOf(podClass);
    const demand = this.demandOf(podClass);
    for (let d = 0; d < demand.length; d++) state.free[d] = state.free[d]! - demand[d]! * pods;
    state.ports.push(...podClass.shape.hostPorts);
    this.ledger.record(rules, pods, state, (key) => !pinnedKeys.has(key) || !rules.keys.includes(key));
  }

  private valueAt({ kind }: NodeState, key: string): string | undefined {
    const index = this.compiled.space.find(key);
    return index === undefined ? undefined : kind.values[index];
  }

  private assignerOver(states: readonly NodeState[]): JournaledAssigner {
    return new JournaledAssigner(this.compiled, this.feasibility, states, this.book, this.ledger);
  }

  private rulesOf({ shape }: PodClass): Rules {
    return this.book.of(shape, this.compiled.levelsByShape[shape.index]!.at(-1)!);
  }

  /** How much earlier than in the queue so many pods of the class are placed: how hard it is to find them nodes. */
  private precedence(podClass: PodClass, pods: number): number {
    if (this.filling === 'queue') return 0;
    const { hostAntiAffinity, hostSpread } = this.rulesOf(podClass);
    const pickiness = hostAntiAffinity.length + hostSpread.length;
    // Between 0 and 1, so that it decides among the equally picky alone.
    const scarcity = this.filling === 'scarcest' && pickiness > 0 ? pods / (pods + 1) : 0;
    return pickiness + scarcity;
  }

  private placeClass(podClass: PodClass, pods: readonly Pod[], launching: boolean, parts: Part[]): boolean {
    let rest = pods;
    for (const level of this.compiled.levelsByShape[podClass.shape.index]!) {
      const rules = this.book.of(podClass.shape, level);
      rest = this.assigner.place({ podClass, level, rules, without: none }, rest, parts);
      if (parts.length > 0 && !launching) return false;
      if (rest.length === 0) return true;
    }
    return false;
  }
}

/** With those open that would be if every node went that may: nodes that go give back what they use. */
function withOpen(coverage: Coverage, { open }: Coverage): Coverage {
  return { ...coverage, open };
}

/** The claim as it is launched for the first of its pods. */
function firstOf(planned: PlannedClaim, { members }: OpenClaim): PlannedClaim {
  const pods = members.flatMap((member) => member.pods.map(fullName)).sort(compareText);
  const more = planned.pods.length - pods.length;
  if (more === 0) return planned;
  return { ...planned, pods, why: `${planned.why}, with ${counted(more, 'more pod')} to come in later steps` };
}

const poolKey = labels.nodePool;
const none: ReadonlySet<never> = new Set();
const noKeys: ReadonlySet<string> = new Set();
