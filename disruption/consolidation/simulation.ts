import { labels } from '../../api/labels.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import type { Pod } from '../../api/kubernetes.js';
import { compile, type Compiled } from '../../packing/compiled.js';
import type { PodClass } from '../../packing/compile/classes.js';
import type { NodeView } from '../../packing/compile/nodes.js';
import { describeClaim, type ClaimContext, type OpenClaim } from '../../packing/output/claims.js';
import { withSpotRatios } from '../../packing/output/spot-ratios.js';
import { typeUse, type PoolLimit } from '../../packing/place/bin-problem.js';
import { Feasibility } from '../../packing/place/feasibility.js';
import { poolLimits } from '../../packing/place/limits.js';
import { hostRoom } from '../../packing/place/host-rules.js';
import { nodeStates, roomFor, type NodeState } from '../../packing/place/node-states.js';
import type { Member, Part } from '../../packing/place/part.js';
import { Groups } from '../../packing/topology/groups.js';
import { RuleBook, type Rules } from '../../packing/topology/rules.js';
import { bindRunning, countRunning } from '../../packing/topology/running.js';
import { Namespaces } from '../../packing/topology/selectors.js';
import { evictionCost } from '../costs.js';
import type { Blueprint } from './blueprint.js';
import type { Launch, Outcome, Purchase } from './outcome.js';
import type { ExaminedNode } from './eligibility.js';
import { addLoad, classesByPod, take, usedBy, type FleetNode } from './fleet.js';
import { Purchases } from './purchases.js';
import { standing } from './standing.js';
import { Journal, JournaledAssigner, JournaledLedger } from './journal.js';
import type { ConsolidationInput } from './types.js';
import { Worth } from './worth.js';

/**
 * The cluster while commands are tried on it and carried out: the engine's classes, profiles and topology counts are worked
 * out once, then kept up to date. `attempt` leaves its changes in place; `undo` takes them back, `settle` keeps them.
 */
export class Simulation {
  readonly compiled: Compiled;
  readonly feasibility: Feasibility;
  readonly nodes: FleetNode[] = [];
  readonly book: RuleBook;
  readonly worth: Worth;
  private readonly groups: Groups;
  private readonly ledger: JournaledLedger;
  private readonly limits: PoolLimit[];
  private readonly purchases: Purchases;
  private readonly journal = new Journal();
  private readonly order = new Map<PodClass, number>();
  private readonly byState = new Map<NodeState, FleetNode>();
  /** Pods that wait for room and are evicted by nobody. */
  private readonly waiting = new Set<Pod>();
  /** What claims of equal requirements may launch, worked out once. */
  private readonly launchable: ClaimContext['candidates'] = new Map();
  private assigner: JournaledAssigner;
  private targets: readonly NodeState[] = [];
  private pickyFirst = false;
  /** Where the landings of the last attempt begin. */
  private from = 0;

  constructor(input: ConsolidationInput, examined: readonly ExaminedNode[]) {
    const leaving = new Set(input.withoutNodes);
    for (const { name, why } of examined) if (why === undefined) leaving.add(name);
    this.compiled = standing(compile({ ...input, withoutNodes: leaving }), examined);
    this.feasibility = new Feasibility(this.compiled);
    const states = nodeStates(this.compiled);
    const { objects } = input;
    this.groups = new Groups(this.compiled.labelKeys, new Namespaces(objects.namespaces, namespacesOf(input)));
    this.book = new RuleBook(this.groups, this.compiled);
    this.purchases = new Purchases(this.compiled, this.book);
    this.ledger = new JournaledLedger(this.compiled, states);
    const owned = bindRunning(this.compiled, this.groups, this.book);
    countRunning(this.compiled, states, this.groups, this.ledger, owned);
    this.limits = poolLimits(this.compiled, objects.pods.length).map((limit) => ({ ...limit }));
    this.compiled.queue.forEach((podClass, i) => this.order.set(podClass, i));
    this.worth = Worth.of(this.compiled, this.feasibility);
    this.assigner = this.assignerOver(states);
    this.populate(states, examined);
    this.reserve(states);
  }

  demandOf = (podClass: PodClass): Float64Array => this.feasibility.demand(podClass);

  isWaiting(pod: Pod): boolean {
    return this.waiting.has(pod);
  }

  nodeOf(state: NodeState): FleetNode | undefined {
    return this.byState.get(state);
  }

  /**
   * Which nodes take pods from now on, the first ones first; and whether pods come first that must keep away from their like,
   * not those with the most CPU as in the scheduling queue.
   */
  aim(targets: readonly FleetNode[], pickyFirst = false): void {
    this.pickyFirst = pickyFirst;
    this.targets = targets.map(({ state }) => state);
    this.assigner = this.assignerOver(this.targets);
    this.from = 0;
  }

  /** Puts the pods of `candidates` on targets, and on new nodes where these may be bought; undefined when some find no place. */
  attempt(candidates: readonly FleetNode[], purchase?: Purchase): Outcome | undefined {
    this.ledger.journal = this.journal;
    this.assigner.journal = this.journal;
    const from = this.assigner.landings.length;
    for (const node of candidates) this.lift(node);
    const parts: Part[] = [];
    const placed = this.placeLoads(this.loadsOf(candidates), purchase !== undefined, parts);
    const launches = placed && parts.length > 0 ? this.launch(candidates, parts, purchase!) : [];
    if (!placed || launches === undefined) {
      this.undo();
      return undefined;
    }
    this.from = from;
    return { candidates, landings: this.assigner.landings.slice(from), launches };
  }

  /** The outcome of an attempt after `extend` took `more` nodes. */
  extended({ candidates, launches }: Outcome, more: readonly FleetNode[]): Outcome {
    const all = [...candidates, ...more];
    const gone = new Set(all.map(({ state }) => state));
    return {
      candidates: all,
      landings: this.assigner.landings.slice(this.from).filter(({ node }) => !gone.has(node)),
      launches,
    };
  }

  /**
   * Takes one more node after an attempt, with what the attempt put there, onto the other targets; nothing is bought. Says
   * whether that worked; if not, the attempt stands as before.
   */
  extend(node: FleetNode): boolean {
    const mark = this.journal.mark();
    const landed = this.assigner.landings.slice(this.from).filter((landing) => landing.node === node.state);
    const loads = new Map<PodClass, Pod[]>();
    for (const [podClass, pods] of node.loads) addLoad(loads, podClass, pods);
    for (const { podClass, pods } of landed) {
      addLoad(loads, podClass, pods);
      this.uncount(node.state, podClass, pods.length);
    }
    this.lift(node);
    if (this.placeLoads(loads, false, [])) return true;
    this.ledger.journal = undefined;
    this.assigner.journal = undefined;
    this.journal.rollback(mark);
    this.ledger.journal = this.journal;
    this.assigner.journal = this.journal;
    return false;
  }

  /** Puts the pods of `candidates` where the blueprint has them, opening its nodes as they are needed; undefined when rules forbid some step of that. */
  follow(candidates: readonly FleetNode[], blueprint: Blueprint): Outcome | undefined {
    this.ledger.journal = this.journal;
    this.assigner.journal = this.journal;
    const from = this.assigner.landings.length;
    for (const node of candidates) this.lift(node);
    const route = blueprint.route(this.loadsOf(candidates), this.worth, this.demandOf);
    if (route === undefined) {
      this.undo();
      return undefined;
    }
    const openings = new Map<number, { readonly state: NodeState; readonly members: Member[] }>();
    for (const { podClass, pods, to } of route) {
      let state: NodeState;
      if (typeof to !== 'number') state = to;
      else {
        let opening = openings.get(to);
        if (opening === undefined) {
          opening = { state: this.blank(blueprint.launches[to]!.claim.row, `opening ${to}`), members: [] };
          openings.set(to, opening);
        }
        state = opening.state;
        opening.members.push({ podClass, level: blueprint.levelOf(to, podClass), pods });
      }
      if (!this.putAll(state, podClass, pods)) {
        this.undo();
        return undefined;
      }
    }
    const temporary = new Set([...openings.values()].map(({ state }) => state));
    const landings = this.assigner.landings.slice(from);
    // Nodes to be launched are counted when they are registered.
    for (const { node, podClass, pods } of landings) if (temporary.has(node)) this.uncount(node, podClass, pods.length);
    return {
      candidates,
      landings: landings.filter(({ node }) => !temporary.has(node)),
      launches: [...openings].map(([index, { members }]) => blueprint.opening(index, members)),
      route,
    };
  }

  private putAll(state: NodeState, podClass: PodClass, pods: readonly Pod[]): boolean {
    const demand = this.demandOf(podClass);
    if (roomFor(state.free, demand, pods.length) < pods.length) return false;
    for (const level of this.compiled.ladders[podClass.shape.index]!) {
      const rules = this.book.of(podClass.shape, level);
      if (rules.hostAffinity.length > 0) return false;
      if (!this.feasibility.admitsKind(level, state.kind)) continue;
      const { ledger } = this;
      for (const pod of pods) {
        const inDomain = this.assigner.allows(rules, (key) => {
          const index = this.compiled.space.find(key);
          return index === undefined ? undefined : state.kind.values[index];
        });
        const comer = { podClass, rules, pod };
        if (!inDomain || hostRoom(state, comer, { ledger, volumes: this.compiled.volumes }, 1) === 0) return false;
        this.assigner.putOn(state, podClass, rules, [pod]);
      }
      return true;
    }
    return false;
  }

  undo(): void {
    // Undoing must not be noted itself.
    this.ledger.journal = undefined;
    this.assigner.journal = undefined;
    this.journal.rollback();
  }

  /** Makes the attempt's outcome the state of the cluster. `launched` are the nodes of its launches, in their order. */
  settle(outcome: Outcome, nameOf: (launch: number) => string): FleetNode[] {
    this.journal.clear();
    this.ledger.journal = undefined;
    this.assigner.journal = undefined;
    for (const { node: state, podClass, pods } of outcome.landings) {
      const node = this.byState.get(state)!;
      addLoad(node.loads, podClass, pods);
      node.cost += this.costOf(pods);
    }
    for (const node of outcome.candidates) {
      node.gone = true;
      node.loads.clear();
      this.creditLimits(node);
    }
    return outcome.launches.map((launch, i) => this.register(launch, nameOf(i)));
  }

  /** What evicting the pods costs (section 4.3); those that only wait for room are evicted by nobody. */
  private costOf(pods: readonly Pod[]): number {
    let cost = 0;
    for (const pod of pods) if (!this.waiting.has(pod)) cost += Math.max(0, evictionCost(pod));
    return cost;
  }

  private assignerOver(states: readonly NodeState[]): JournaledAssigner {
    return new JournaledAssigner(this.compiled, this.feasibility, states, this.book, this.ledger);
  }

  /** Notes what runs where. */
  private populate(states: readonly NodeState[], examined: readonly ExaminedNode[]): void {
    const byName = new Map(examined.map((each) => [each.name, each]));
    const classOf = classesByPod(this.compiled);
    for (const state of states) {
      const { view } = state;
      const known = byName.get(view.name)!;
      const loads = new Map<PodClass, Pod[]>();
      let removable = known.why === undefined;
      if (removable) {
        for (const pod of known.movable) {
          const podClass = classOf.get(pod);
          if (podClass === undefined || this.compiled.invalid.has(podClass)) removable = false;
          if (podClass === undefined)
            take(state.free, this.compiled.dimensions.vector(this.compiled.classes.demandOf(pod).amounts));
          else addLoad(loads, podClass, [pod]);
        }
      }
      const node: FleetNode = {
        name: view.name,
        state,
        nodePool: view.labels[labels.nodePool] ?? '',
        pool: known.pool,
        instanceType: view.labels[labels.instanceType] ?? '',
        capacityType: view.labels[labels.capacityType] ?? '',
        price: known.price,
        counted: known.counted,
        loads,
        removable,
        onlyEmpty: isOnlyEmpty(known.pool),
        open: view.node !== undefined && view.initialized,
        cost: known.cost,
        gone: false,
      };
      this.nodes.push(node);
      this.byState.set(state, node);
      for (const [podClass, pods] of loads) this.assigner.putOn(state, podClass, this.rulesOf(podClass), pods);
    }
    this.assigner.landings.length = 0;
  }

  private rulesOf({ shape }: PodClass): Rules {
    return this.book.of(shape, this.compiled.ladders[shape.index]!.at(-1)!);
  }

  /** Keeps the room that pending pods and capacity buffers have now. */
  private reserve(states: readonly NodeState[]): void {
    const onNodes = new Set(this.nodes.flatMap(({ loads }) => [...loads.values()].flat()));
    this.assigner = this.assignerOver(states);
    for (const podClass of this.compiled.queue) {
      if (this.compiled.invalid.has(podClass)) continue;
      const pods = podClass.pods.filter((pod) => !onNodes.has(pod));
      if (pods.length === 0) continue;
      for (const pod of pods) this.waiting.add(pod);
      const from = this.assigner.landings.length;
      this.ledger.journal = this.journal;
      const level = this.compiled.ladders[podClass.shape.index]!.at(-1)!;
      const rules = this.book.of(podClass.shape, level);
      const parts: Part[] = [];
      this.assigner.journal = this.journal;
      this.assigner.place({ podClass, level, rules, without: none }, pods, parts);
      if (parts.length > 0) {
        // Those that need new nodes are the business of provisioning: they hold no room here.
        this.undo();
        continue;
      }
      this.journal.clear();
      for (const landing of this.assigner.landings.slice(from)) {
        addLoad(this.byState.get(landing.node)!.loads, landing.podClass, landing.pods);
      }
    }
    this.ledger.journal = undefined;
    this.assigner.journal = undefined;
    this.assigner.landings.length = 0;
  }

  /** Takes a node's pods off it; nothing fits there any more. */
  private lift(node: FleetNode): void {
    const { state } = node;
    const before = state.free.slice();
    state.free.fill(-1);
    this.journal.note(() => {
      state.free.set(before);
    });
    for (const [podClass, pods] of node.loads) this.uncount(state, podClass, pods.length);
  }

  private uncount(state: NodeState, podClass: PodClass, pods: number): void {
    this.ledger.record(this.rulesOf(podClass), -pods, ({ hostname, key }) => {
      if (hostname) return state.host;
      const index = this.compiled.space.find(key);
      return index === undefined ? undefined : state.kind.values[index];
    });
  }

  private loadsOf(candidates: readonly FleetNode[]): Map<PodClass, Pod[]> {
    const loads = new Map<PodClass, Pod[]>();
    for (const node of candidates) for (const [podClass, pods] of node.loads) addLoad(loads, podClass, pods);
    return loads;
  }

  private placeLoads(loads: ReadonlyMap<PodClass, Pod[]>, launching: boolean, parts: Part[]): boolean {
    const ordered = [...loads].sort(
      ([a], [b]) =>
        (this.pickyFirst ? this.pickiness(b) - this.pickiness(a) : 0) || this.order.get(a)! - this.order.get(b)!,
    );
    const company: [PodClass, Pod[]][] = [];
    for (const [podClass, pods] of ordered) {
      if (this.wantsCompany(podClass)) company.push([podClass, pods]);
      else if (!this.placeClass(podClass, pods, launching, parts)) return false;
    }
    return company.every(([podClass, pods]) => this.placeClass(podClass, pods, launching, parts));
  }

  /** How hard it is to find the class a node. */
  private pickiness(podClass: PodClass): number {
    const { hostAntiAffinity, hostSpread } = this.rulesOf(podClass);
    return hostAntiAffinity.length + hostSpread.length;
  }

  private wantsCompany({ shape }: PodClass): boolean {
    return this.compiled.ladders[shape.index]!.some(({ affinity }) => affinity.length > 0);
  }

  private placeClass(podClass: PodClass, pods: readonly Pod[], launching: boolean, parts: Part[]): boolean {
    let rest = pods;
    for (const level of this.compiled.ladders[podClass.shape.index]!) {
      const rules = this.book.of(podClass.shape, level);
      rest = this.assigner.place({ podClass, level, rules, without: none }, rest, parts);
      if (parts.length > 0 && !launching) return false;
      if (rest.length === 0) return true;
    }
    return false;
  }

  /** Buys nodes for the parts; undefined when some find none. */
  private launch(
    candidates: readonly FleetNode[],
    parts: readonly Part[],
    { most, units }: Purchase,
  ): Launch[] | undefined {
    if (parts.reduce((sum, { demand, count }) => sum + this.worth.of(demand) * count, 0) >= most) return undefined;
    const limits = this.limits.map((limit) => ({ ...limit }));
    for (const node of candidates) for (const limit of limits) limit.remaining += usedBy(node, limit);
    const claims = this.purchases.buy(parts, limits, units);
    if (claims === undefined) return undefined;
    return this.describe(claims, limits);
  }

  private describe(claims: readonly OpenClaim[], limits: readonly PoolLimit[]): Launch[] | undefined {
    const { compiled, feasibility, launchable } = this;
    const context: ClaimContext = { compiled, feasibility, limits, candidates: launchable };
    const launches: Launch[] = [];
    for (const claim of withSpotRatios(context, claims)) {
      const planned = describeClaim(context, claim);
      if (planned === undefined) return undefined;
      launches.push({ claim, planned, counted: true });
    }
    return launches;
  }

  /** A new node of this row, with nothing on it but its daemons. */
  private blank(index: number, name: string): NodeState {
    const row = this.compiled.universe.rows[index]!;
    const { profile } = row;
    const { pool } = profile;
    const { overhead, daemonPorts } = this.compiled.offers.of(profile);
    const view: NodeView = {
      name,
      labels: {
        [labels.nodePool]: pool.name,
        [labels.instanceType]: row.type.name,
        [labels.zone]: row.zone,
        [labels.capacityType]: row.capacityType,
        [labels.hostname]: name,
      },
      taints: pool.taints,
      initialized: true,
      leaving: false,
      allocatable: {},
    };
    return {
      index: this.nodes.length,
      view,
      free: this.compiled.offers.allocatable(row.type).map((amount, d) => amount - overhead[d]!),
      kind: { index: -1 - this.nodes.length, values: profile.values, taints: pool.taints },
      ports: [...daemonPorts],
      pods: [],
      host: name,
      attach: undefined,
    };
  }

  /** The node that a launch becomes: its cheapest offering. */
  private register({ claim, planned, counted }: Launch, name: string): FleetNode {
    const { cheapest } = planned;
    const { rows } = this.compiled.universe;
    const own = rows[claim.row]!;
    const { pool } = own.profile;
    // The cheapest offering listed may be of another profile than the row that the solver bought.
    const row =
      rows.find(
        ({ type, zone, capacityType, offering, profile }) =>
          profile.pool === pool &&
          type.name === cheapest.instanceType &&
          zone === cheapest.zone &&
          capacityType === cheapest.capacityType &&
          offering.price === cheapest.pricePerHour &&
          (profile.reservation ?? '') === (own.profile.reservation ?? ''),
      ) ?? own;
    const { profile } = row;
    const state = this.blank(rows.indexOf(row), name);
    const node: FleetNode = {
      name,
      state,
      nodePool: pool.name,
      pool: pool.object,
      instanceType: row.type.name,
      capacityType: row.capacityType,
      price: cheapest.pricePerHour,
      counted: 'running',
      loads: new Map(),
      removable: true,
      onlyEmpty: isOnlyEmpty(pool.object),
      open: true,
      cost: 1,
      gone: false,
    };
    this.nodes.push(node);
    this.byState.set(state, node);
    for (const { podClass, pods } of claim.members) {
      const rules = this.rulesOf(podClass);
      addLoad(node.loads, podClass, pods);
      node.cost += this.costOf(pods);
      this.land(state, podClass, rules, pods, counted ? claim.pinnedKeys : noKeys);
    }
    for (const limit of this.limits) {
      if (limit.pool === pool.name) limit.remaining -= typeUse(limit, row.type);
      else if (limit.reservation !== undefined && limit.reservation === profile.reservation) limit.remaining--;
    }
    return node;
  }

  /** Pods on a node that was launched for them: what the pinned keys decide is counted already. */
  private land(
    state: NodeState,
    podClass: PodClass,
    rules: Rules,
    pods: readonly Pod[],
    pinnedKeys: ReadonlySet<string>,
  ): void {
    const demand = this.demandOf(podClass);
    for (let d = 0; d < demand.length; d++) state.free[d] = state.free[d]! - demand[d]! * pods.length;
    state.ports.push(...podClass.shape.hostPorts);
    this.ledger.record(rules, pods.length, ({ hostname, key }) => {
      if (hostname) return state.host;
      if (pinnedKeys.has(key) && rules.keys.includes(key)) return undefined;
      const index = this.compiled.space.find(key);
      return index === undefined ? undefined : state.kind.values[index];
    });
  }

  private creditLimits(node: FleetNode): void {
    for (const limit of this.limits) limit.remaining += usedBy(node, limit);
  }
}

const none: ReadonlySet<never> = new Set();
const noKeys: ReadonlySet<string> = new Set();

const isOnlyEmpty = (pool: NodePool | undefined): boolean => pool?.spec.disruption.consolidationPolicy === 'WhenEmpty';

function namespacesOf({ objects }: ConsolidationInput): Set<string> {
  return new Set(objects.pods.map(({ metadata }) => metadata.namespace ?? 'default'));
}
