import { labels } from '../../api/labels.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import type { Pod } from '../../api/kubernetes.js';
import { fullName } from '../../packing/names.js';
import {
  Trial,
  type Filling,
  type NodePlacement,
  type Launch,
  type Member,
  type NodeState,
  type Part,
  type PodClass,
  type Worth,
} from '../../packing/trial.js';
import type { PlannedClaim } from '../../packing/types.js';
import { evictionCost } from '../candidates/disruption-cost.js';
import { isTerminal } from '../../core/pods.js';
import type { FleetPlan } from './fleet-plan.js';
import { isBuffer, type ExaminedNode } from './eligibility.js';
import { addLoad, priceOfAll, type FleetNode } from './fleet.js';
import type { Decided, Outcome, Purchase } from './outcome.js';
import type { ConsolidationInput } from './types.js';

/** The fleet on which commands are tried. `attempt` applies its changes; `undo` reverts them, `settle` keeps them. */
export class Simulation {
  readonly nodes: FleetNode[] = [];
  readonly trial: Trial;
  private readonly byState = new Map<NodeState, FleetNode>();
  /** Pending pods with room on nodes; they are not evicted. */
  private readonly waiting = new Set<Pod>();
  /** Index of the first landing of the last attempt. */
  private from = 0;
  /** The most that a launched node may cost, dollars per hour. */
  private dearest = Infinity;
  /** The saving that a unit of RescheduleDisruptionCost must bring, dollars per hour. */
  private readonly disruptionRate: number;

  constructor(input: ConsolidationInput, examined: readonly ExaminedNode[]) {
    const staying = new Map<string, readonly Pod[]>();
    for (const { name, why, pods, movable } of examined) {
      if (why !== undefined) continue;
      const moving = new Set(movable);
      staying.set(
        name,
        pods.filter((pod) => !moving.has(pod) && !isTerminal(pod)),
      );
    }
    this.trial = new Trial(input, staying);
    this.populate(examined);
    this.reserve();
    this.disruptionRate = rateOf(this.nodes, input.disruptionWeight ?? 0);
  }

  get worth(): Worth {
    return this.trial.worth;
  }

  /** Saving per disruption cost of removing the node, if its pods get new capacity. */
  savingOf({ price, loads, cost }: FleetNode): number {
    return (price - this.worth.of(this.trial.loadOf(loads))) / cost;
  }

  /** The least saving for evicting the pods of these nodes, dollars per hour. */
  disruptionOf(nodes: readonly FleetNode[]): number {
    return nodes.reduce((sum, { cost }) => sum + this.disruptionRate * Math.max(0, cost - 1), 0);
  }

  isWaiting(pod: Pod): boolean {
    return this.waiting.has(pod);
  }

  /** Sets the nodes that take pods from now on, in order, and how they are filled. */
  aim(targets: readonly FleetNode[], filling?: Filling): void {
    this.trial.aim(
      targets.map(({ state }) => state),
      filling,
    );
    this.from = 0;
  }

  /** Moves the pods of `candidates` to targets, and to new nodes if `purchase` is given; undefined if some have no place. */
  attempt(candidates: readonly FleetNode[], purchase?: Purchase): Outcome | undefined {
    const { trial } = this;
    const { landed } = trial.begin();
    for (const { state, loads } of candidates) trial.lift(state, loads);
    const parts: Part[] = [];
    const placed = trial.place(loadsOf(candidates), purchase !== undefined, parts);
    const isKnown = purchase?.onlyForRest === true && parts.length > 0 && trial.placementsSince(landed).length === 0;
    const isFine = placed && !isKnown && this.shift(waitingOn(candidates), purchase === undefined ? undefined : parts);
    const launches =
      isFine && parts.length > 0 ? trial.buy(parts, statesOf(candidates), { ...purchase!, dearest: this.dearest }) : [];
    if (!isFine || launches === undefined) {
      this.undo();
      return undefined;
    }
    this.from = landed;
    return { candidates, placements: trial.placementsSince(landed), launches };
  }

  /** The outcome of an attempt after `extend` added `more` nodes. */
  extended({ candidates, launches }: Outcome, more: readonly FleetNode[]): Outcome {
    const all = [...candidates, ...more];
    const gone = new Set(all.map(({ state }) => state));
    return {
      candidates: all,
      placements: this.trial.placementsSince(this.from).filter(({ node }) => !gone.has(node)),
      launches,
    };
  }

  /**
   * Removes one more node after an attempt, moving its pods to the other targets without launches. Returns whether that worked;
   * if not, the attempt stays as before.
   */
  extend(node: FleetNode): boolean {
    const { trial } = this;
    const landed = trial.placementsSince(this.from).filter((landing) => landing.node === node.state);
    const { mark } = trial.begin();
    const loads = loadsOf([node]);
    const waiting = copyOf(node.waiting);
    for (const { podClass, pods } of landed) {
      const isWaiting = this.waiting.has(pods[0]!);
      addLoad(isWaiting ? waiting : loads, podClass, pods);
      if (!isWaiting) trial.uncount(node.state, podClass, pods.length);
    }
    trial.lift(node.state, node.loads);
    if (trial.place(loads, false, []) && this.shift([waiting])) return true;
    trial.backTo(mark);
    return false;
  }

  /**
   * Moves the pods of `candidates` as the fleet plan says, opening its launches as needed, `first` first; undefined if rules
   * forbid a step.
   */
  follow(candidates: readonly FleetNode[], fleetPlan: FleetPlan, first?: number): Outcome | undefined {
    const { trial } = this;
    const { landed } = trial.begin();
    for (const { state, loads } of candidates) trial.lift(state, loads);
    const route = fleetPlan.route(loadsOf(candidates), trial.worth, trial.demandOf, first);
    const openings = new Map<number, { readonly state: NodeState; readonly members: Member[] }>();
    for (const { podClass, pods, to } of route ?? []) {
      let state: NodeState;
      if (typeof to !== 'number') state = to;
      else {
        let opening = openings.get(to);
        if (opening === undefined) {
          opening = { state: trial.blank(fleetPlan.launches[to]!, `opening ${to}`), members: [] };
          openings.set(to, opening);
        }
        state = opening.state;
        opening.members.push({ podClass, level: fleetPlan.levelOf(to, podClass), pods });
      }
      if (!trial.putAll(state, podClass, pods)) {
        this.undo();
        return undefined;
      }
    }
    if (route === undefined || !this.shift(waitingOn(candidates))) {
      this.undo();
      return undefined;
    }
    return {
      candidates,
      placements: this.landingsBeside(new Set([...openings.values()].map(({ state }) => state)), landed),
      launches: [...openings].map(([index, { members }]) => fleetPlan.opening(index, members)),
      route,
    };
  }

  /**
   * Moves the pods of `candidates` as a decision says, to its replacements as they can be launched now and to targets; undefined
   * if rules or prices forbid it.
   */
  repeat(candidates: readonly FleetNode[], decided: readonly PlannedClaim[]): Outcome | undefined {
    const { trial } = this;
    const { landed } = trial.begin();
    for (const { state, loads } of candidates) trial.lift(state, loads);
    const rest = loadsOf(candidates);
    const waiting = allOf(waitingOn(candidates));
    const launches: Launch[] = [];
    const temporary = new Set<NodeState>();
    const isThere = decided.every((planned, i) => {
      const open = trial.launchOf(planned);
      if (open === undefined) return false;
      const names = new Set(planned.pods);
      const loads = new Map([...takeOut(rest, names), ...takeOut(waiting, names)]);
      const launch = trial.filled(open, loads);
      const state = trial.blank(launch, `decided ${i}`);
      launches.push(launch);
      temporary.add(state);
      return [...loads].every(([podClass, pods]) => trial.putAll(state, podClass, pods));
    });
    if (!isThere || !trial.place(rest, false, []) || !this.shift([waiting])) {
      this.undo();
      return undefined;
    }
    return { candidates, placements: this.landingsBeside(temporary, landed), launches };
  }

  /** The placements since `landed`, without those on nodes to be launched, which are counted when they are registered. */
  private landingsBeside(temporary: ReadonlySet<NodeState>, landed: number): NodePlacement[] {
    const placements = this.trial.placementsSince(landed);
    for (const { node, podClass, pods } of placements) {
      if (temporary.has(node)) this.trial.uncount(node, podClass, pods.length);
    }
    return placements.filter(({ node }) => !temporary.has(node));
  }

  /**
   * Finds other room for pending pods. Nothing is launched for them, except for capacity buffers if `parts` is given
   * (capacity-buffers/nodes-are-not-empty).
   */
  private shift(waiting: readonly FleetNode['waiting'][], parts?: Part[]): boolean {
    const { trial } = this;
    for (const loads of waiting) {
      for (const [podClass, pods] of loads) {
        const { landed } = trial.begin();
        const isBought = parts !== undefined && pods.every(isBuffer);
        const isPlaced = isBought
          ? trial.place(new Map([[podClass, pods]]), true, parts)
          : trial.placeWaiting(podClass, pods);
        if (!isPlaced) return false;
        for (const landing of trial.placementsSince(landed)) trial.uncount(landing.node, podClass, landing.pods.length);
      }
    }
    return true;
  }

  /** Drops the pending pods of the node, but keeps capacity buffers (capacity-buffers/nodes-are-not-empty). */
  turnAway(node: FleetNode): void {
    node.waiting = new Map([...node.waiting].filter(([, pods]) => pods.some(isBuffer)));
  }

  /** Removes the node; its pods are evicted without another place. */
  letGo(node: FleetNode): void {
    this.trial.begin();
    this.trial.lift(node.state, node.loads);
    this.trial.keep();
    node.loads = new Map();
  }

  undo(): void {
    this.trial.undo();
  }

  /** The launches of an outcome as NodeClaims; undefined if they cannot be made. */
  describe({ candidates, launches }: Outcome): readonly PlannedClaim[] | undefined {
    return launches.length === 0 ? [] : this.trial.describe(launches, statesOf(candidates));
  }

  /** Runs `run` on a copy of the state, with no launch above `dearest`, and reverts everything that it settles. */
  imagine<T>(dearest: number, run: () => T): T {
    const count = this.nodes.length;
    const before = this.nodes.map(({ loads, waiting, cost, gone }) => {
      return { loads: copyOf(loads), waiting: copyOf(waiting), cost, gone };
    });
    this.dearest = dearest;
    const result = this.trial.imagine(run);
    this.dearest = Infinity;
    for (const { state } of this.nodes.splice(count)) this.byState.delete(state);
    this.nodes.forEach((node, i) => Object.assign(node, before[i]!));
    return result;
  }

  /** Makes the outcome the new state of the fleet. Returns the nodes of its launches in order. */
  settle(outcome: Outcome & Partial<Decided>, nameOf: (launch: number) => string): FleetNode[] {
    this.trial.keep();
    for (const { node: state, podClass, pods } of outcome.placements) {
      const node = this.byState.get(state)!;
      const isWaiting = this.waiting.has(pods[0]!);
      addLoad(isWaiting ? node.waiting : node.loads, podClass, pods);
      if (!isWaiting) node.cost += costOf(pods);
    }
    for (const node of outcome.candidates) {
      node.gone = true;
      node.loads = new Map();
      node.waiting = new Map();
      this.trial.release(node.state);
    }
    return outcome.launches.map((_, i) => this.launch(outcome, i, nameOf(i)));
  }

  private launch({ launches, planned }: Outcome & Partial<Decided>, index: number, name: string): FleetNode {
    const launch = launches[index]!;
    const claim = planned?.[index];
    const state = this.trial.launch(launch, claim, name);
    const own = state.view.labels;
    const nodePool = own[labels.nodePool]!;
    const pool = this.trial.poolOf(nodePool);
    const node: FleetNode = {
      name,
      state,
      nodePool,
      pool,
      instanceType: own[labels.instanceType]!,
      capacityType: own[labels.capacityType]!,
      price: claim?.cheapest.pricePerHour ?? launch.price,
      counted: 'running',
      loads: new Map(),
      waiting: new Map(),
      removable: true,
      onlyEmpty: isOnlyEmpty(pool),
      open: true,
      cost: 1,
      gone: false,
    };
    for (const { podClass, pods } of launch.claim.members) {
      if (this.waiting.has(pods[0]!)) {
        addLoad(node.waiting, podClass, pods);
        this.trial.uncount(state, podClass, pods.length);
        continue;
      }
      addLoad(node.loads, podClass, pods);
      node.cost += costOf(pods);
    }
    this.nodes.push(node);
    this.byState.set(state, node);
    return node;
  }

  /** Places the running pods. */
  private populate(examined: readonly ExaminedNode[]): void {
    const { trial } = this;
    const byName = new Map(examined.map((each) => [each.name, each]));
    for (const state of trial.nodes) {
      const { view } = state;
      const known = byName.get(view.name)!;
      const loads = new Map<PodClass, Pod[]>();
      let removable = known.why === undefined;
      if (removable) {
        const stuck: Pod[] = [];
        for (const pod of known.movable) {
          const podClass = trial.classOf(pod);
          if (podClass === undefined) stuck.push(pod);
          else addLoad(loads, podClass, [pod]);
        }
        trial.occupy(state, stuck);
        removable = stuck.length === 0;
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
        waiting: new Map(),
        removable,
        onlyEmpty: isOnlyEmpty(known.pool),
        open: view.node !== undefined && view.initialized && known.settled,
        cost: known.cost,
        gone: false,
      };
      this.nodes.push(node);
      this.byState.set(state, node);
      trial.settleOn(state, loads);
    }
  }

  /** Reserves the room that pending pods and capacity buffers have now. Those without room are left to provisioning. */
  private reserve(): void {
    const { trial } = this;
    const onNodes = new Set(this.nodes.flatMap(({ loads }) => [...loads.values()].flat()));
    for (const podClass of trial.queue) {
      const pods = podClass.pods.filter((pod) => !onNodes.has(pod));
      if (pods.length === 0) continue;
      for (const pod of pods) this.waiting.add(pod);
      const { landed } = trial.begin();
      if (!trial.placeWaiting(podClass, pods)) {
        trial.undo();
        continue;
      }
      for (const { node, pods: there } of trial.placementsSince(landed)) {
        addLoad(this.byState.get(node)!.waiting, podClass, there);
        trial.uncount(node, podClass, there.length);
      }
      trial.keep();
    }
  }
}

/** The cost of evicting the pods (disruption-cost/of-a-pod). */
const costOf = (pods: readonly Pod[]): number => pods.reduce((sum, pod) => sum + Math.max(0, evictionCost(pod)), 0);

/** The value of a unit of disruption cost, if all of it together is worth this share of the fleet's price. */
function rateOf(nodes: readonly FleetNode[], weight: number): number {
  const cost = nodes.reduce((sum, each) => sum + Math.max(0, each.cost - 1), 0);
  return cost > 0 ? (weight * priceOfAll(nodes)) / cost : 0;
}

const statesOf = (nodes: readonly FleetNode[]): NodeState[] => nodes.map(({ state }) => state);

const waitingOn = (nodes: readonly FleetNode[]): FleetNode['waiting'][] => nodes.map(({ waiting }) => waiting);

function allOf(each: readonly FleetNode['waiting'][]): FleetNode['waiting'] {
  const all: FleetNode['waiting'] = new Map();
  for (const loads of each) for (const [podClass, pods] of loads) addLoad(all, podClass, pods);
  return all;
}

const copyOf = (loads: FleetNode['loads']): FleetNode['loads'] =>
  new Map([...loads].map(([podClass, pods]) => [podClass, [...pods]]));

function loadsOf(nodes: readonly FleetNode[]): Map<PodClass, Pod[]> {
  const loads = new Map<PodClass, Pod[]>();
  for (const node of nodes) for (const [podClass, pods] of node.loads) addLoad(loads, podClass, pods);
  return loads;
}

/** Removes the named pods (`namespace/name`) from the loads. */
function takeOut(loads: Map<PodClass, Pod[]>, names: ReadonlySet<string>): Map<PodClass, Pod[]> {
  const taken = new Map<PodClass, Pod[]>();
  for (const [podClass, pods] of loads) {
    const named = pods.filter((pod) => names.has(fullName(pod)));
    if (named.length === 0) continue;
    taken.set(podClass, named);
    const others = pods.filter((pod) => !names.has(fullName(pod)));
    if (others.length === 0) loads.delete(podClass);
    else loads.set(podClass, others);
  }
  return taken;
}

const isOnlyEmpty = (pool: NodePool | undefined): boolean => pool?.spec.disruption.consolidationPolicy === 'WhenEmpty';
