import { isBufferPod } from '../../core/pods.js';
import type { Pod } from '../../api/kubernetes.js';
import {
  type Launch,
  type Member,
  type NodePlacement,
  type NodeState,
  type Part,
  plan,
  type Profile,
  type Trial,
} from '../../packing/trial.js';
import type { PlannedClaim } from '../../packing/types.js';
import type { FleetPlan } from './fleet-plan.js';
import {
  addLoad,
  allOf,
  copyOf,
  type FleetNode,
  isCountedWaiting,
  loadsOf,
  statesOf,
  takeOut,
  waitingOn,
} from './fleet.js';
import { fullName } from '../../core/names.js';
import type { Outcome, Purchase } from './outcome.js';

/**
 * The ways in which the pods of nodes to be removed can move. Each returns an outcome and leaves its changes in the
 * trial, to be undone or settled; if it returns undefined, nothing is changed.
 */
export class Attempts {
  /** The most that a launched node may cost, dollars per hour. */
  highestPrice = Infinity;
  /** Index of the first placement of the last attempt. */
  private from = 0;
  /** The nodes that the last attempt removes. */
  private going: readonly NodeState[] = [];

  /** `waiting`: pending pods with room on nodes; they are not evicted. */
  constructor(
    private readonly trial: Trial,
    private readonly waiting: ReadonlySet<Pod>,
  ) {}

  /**
   * Moves the pods of `candidates` to targets, and to new nodes if `purchase` is given; undefined if some have no
   * place.
   */
  byPlacing(
    candidates: readonly FleetNode[],
    purchase?: Purchase,
    full = this.trial.fullAfter(statesOf(candidates)),
  ): Outcome | undefined {
    const { trial } = this;
    const { landed, placed, parts } = this.place(candidates, purchase !== undefined, full);
    const isKnown =
      purchase?.onlyForRest === true && parts.length > 0 && trial.placer.placementsSince(landed).length === 0;
    const isFine = placed && !isKnown && this.shift(waitingOn(candidates), purchase === undefined ? undefined : parts);
    const bought =
      isFine && parts.length > 0
        ? trial.buy(parts, statesOf(candidates), { ...purchase!, dearest: this.highestPrice })
        : { launches: [], full };
    if (!isFine || bought.launches === undefined) {
      trial.undo();
      return bought.full.size > full.size ? this.byPlacing(candidates, purchase, bought.full) : undefined;
    }
    this.from = landed;
    return { candidates, placements: trial.placer.placementsSince(landed), launches: bought.launches };
  }

  /**
   * Moves the pods of `candidates` to targets as far as these have room, and the others to the cheapest single node for
   * less than `below` dollars per hour. Every zone and NodePool is tried for all of them together, while `byPlacing`
   * chooses zones class by class.
   */
  onOneNode(candidates: readonly FleetNode[], below: number): Outcome | undefined {
    const { trial } = this;
    const going = statesOf(candidates);
    const { landed: from, placed, parts } = this.place(candidates, true, trial.fullAfter(going));
    const placements = placed ? trial.placer.placementsSince(from) : [];
    trial.undo();
    const rest: FleetNode['loads'] = placed ? membersOf(parts) : loadsOf(candidates);
    if (trial.rowsHolding(rest, going, below).length === 0) return undefined;
    const { landed } = trial.begin();
    for (const node of candidates) this.takeAway(node);
    const buffers: Part[] = [];
    const isMoved =
      placements.every(({ node, podClass, pods }) => trial.placer.putAll(node, podClass, pods)) &&
      this.shift(waitingOn(candidates), buffers);
    const all = allOf([rest, membersOf(buffers)]);
    const one = isMoved ? trial.putOnOne(all, going, below) : undefined;
    if (one === undefined) {
      trial.undo();
      return undefined;
    }
    const { state, launch } = one;
    return { candidates, placements: this.placementsOnExisting(new Set([state]), landed), launches: [launch] };
  }

  /**
   * Moves the pods of `candidates` as provisioning would if these nodes and those that are gone had never been there: it
   * searches plans for few pods well. Only while no pod was moved.
   */
  byProvisioning(
    candidates: readonly FleetNode[],
    { targets, gone }: { readonly targets: readonly FleetNode[]; readonly gone: readonly FleetNode[] },
  ): Outcome | undefined {
    const { input } = this.trial;
    const withoutNodes = new Set([...(input.withoutNodes ?? []), ...[...candidates, ...gone].map(({ name }) => name)]);
    const { newNodeClaims, existingNodes } = plan({ ...input, withoutNodes });
    const moving = new Set([...loadsOf(candidates).values()].flat().map(fullName));
    const claims = newNodeClaims.filter(({ pods }) => pods.some((pod) => moving.has(pod)));
    const podsOn = new Map(existingNodes.map(({ node, pods }) => [node, new Set(pods)]));
    const moves = targets.flatMap(({ name, state }) => (podsOn.has(name) ? [[state, podsOn.get(name)!] as const] : []));
    return this.byDecision(candidates, claims, new Map(moves));
  }

  /** Begins: places the pods of `candidates` on targets; `parts` need new nodes. */
  private place(
    candidates: readonly FleetNode[],
    isLaunching: boolean,
    full: ReadonlySet<Profile>,
  ): { readonly landed: number; readonly placed: boolean; readonly parts: Part[] } {
    const { trial } = this;
    const { landed } = trial.begin();
    for (const node of candidates) this.takeAway(node);
    const parts: Part[] = [];
    this.going = statesOf(candidates);
    const placed = trial.placer.place(loadsOf(candidates), isLaunching, parts, full);
    return { landed, placed, parts };
  }

  /** The outcome of an attempt after `extend` added `more` nodes. */
  extended({ candidates, launches }: Outcome, more: readonly FleetNode[]): Outcome {
    const all = [...candidates, ...more];
    const gone = new Set(all.map(({ state }) => state));
    return {
      candidates: all,
      placements: this.trial.placer.placementsSince(this.from).filter(({ node }) => !gone.has(node)),
      launches,
    };
  }

  /**
   * Removes one more node after an attempt, moving its pods to the other targets without launches. Returns whether that
   * worked; if not, the attempt stays as before.
   */
  extend(node: FleetNode): boolean {
    const { trial } = this;
    const landed = trial.placer.placementsSince(this.from).filter((landing) => landing.node === node.state);
    const { mark } = trial.begin();
    const loads = loadsOf([node]);
    const waiting = copyOf(node.waiting);
    for (const { podClass, pods } of landed) {
      const isWaiting = this.waiting.has(pods[0]!);
      addLoad(isWaiting ? waiting : loads, podClass, pods);
      if (!isWaiting || isCountedWaiting(pods)) trial.uncount(node.state, podClass, pods.length);
    }
    this.takeAway(node);
    const going = [...this.going, node.state];
    if (trial.placer.place(loads, false, [], trial.fullAfter(going)) && this.shift([waiting])) {
      this.going = going;
      return true;
    }
    trial.backTo(mark);
    return false;
  }

  /**
   * Moves the pods of `candidates` as the fleet plan says, opening its launches as needed, `first` first; undefined if
   * rules forbid a step.
   */
  byPlan(candidates: readonly FleetNode[], fleetPlan: FleetPlan, first?: number): Outcome | undefined {
    const { trial } = this;
    const { landed } = trial.begin();
    for (const node of candidates) this.takeAway(node);
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
      if (!trial.placer.putAll(state, podClass, pods)) {
        trial.undo();
        return undefined;
      }
    }
    if (route === undefined || !this.shift(waitingOn(candidates))) {
      trial.undo();
      return undefined;
    }
    return {
      candidates,
      placements: this.placementsOnExisting(new Set([...openings.values()].map(({ state }) => state)), landed),
      launches: [...openings].map(([index, { members }]) => fleetPlan.opening(index, members)),
      route,
    };
  }

  /**
   * Moves the pods of `candidates` as a decision says: to its replacements as they can be launched now, and to the
   * targets that `moves` names for pods (`namespace/name`). Other pods go to any targets with room. Undefined if rules,
   * limits or prices forbid it.
   */
  byDecision(
    candidates: readonly FleetNode[],
    decided: readonly PlannedClaim[],
    moves: ReadonlyMap<NodeState, ReadonlySet<string>> = new Map(),
  ): Outcome | undefined {
    const { trial } = this;
    const { landed } = trial.begin();
    for (const node of candidates) this.takeAway(node);
    const rest = loadsOf(candidates);
    const waiting = allOf(waitingOn(candidates));
    const opened: { readonly open: Launch; readonly state: NodeState; readonly loads: FleetNode['loads'] }[] = [];
    const isThere = decided.every((planned, i) => {
      const open = trial.launchOf(planned);
      if (open === undefined) return false;
      const names = new Set(planned.pods);
      const loads = new Map([...takeOut(rest, names), ...takeOut(waiting, names)]);
      const state = trial.blank(open, `decided ${i}`);
      opened.push({ open, state, loads });
      return trial.placer.putTogether(state, loads);
    });
    const isAllowed =
      isThere &&
      trial.allows(
        opened.map(({ open }) => open),
        statesOf(candidates),
      );
    const isMoved =
      isAllowed && [...moves].every(([state, names]) => trial.placer.putTogether(state, takeOut(rest, names)));
    if (isMoved) for (const { state, loads } of opened) this.fillUp(state, rest, loads);
    if (!isMoved || !trial.placer.place(rest, false, []) || !this.shift([waiting])) {
      trial.undo();
      return undefined;
    }
    const launches = opened.map(({ open, loads }) => trial.filled(open, loads));
    const temporary = new Set(opened.map(({ state }) => state));
    return { candidates, placements: this.placementsOnExisting(temporary, landed), launches };
  }

  /**
   * Moves as many pods as have room from `rest` to the node, and adds them to its `loads`: a decision does not name all
   * of its pods.
   */
  private fillUp(state: NodeState, rest: FleetNode['loads'], loads: FleetNode['loads']): void {
    const { placer } = this.trial;
    for (const [podClass, pods] of placer.inOrder(rest)) {
      const put = placer.putMost(state, podClass, pods);
      if (put === 0) continue;
      addLoad(loads, podClass, pods.slice(0, put));
      if (put === pods.length) rest.delete(podClass);
      else rest.set(podClass, pods.slice(put));
    }
  }

  /** Removes the pods of a node, which then takes no other pods. */
  private takeAway({ state, loads, waiting }: FleetNode): void {
    const { trial } = this;
    trial.removePods(state, loads);
    for (const [podClass, pods] of waiting) if (isCountedWaiting(pods)) trial.uncount(state, podClass, pods.length);
  }

  /**
   * The placements since `landed`, without those on nodes to be launched, which are counted when they are registered.
   */
  private placementsOnExisting(temporary: ReadonlySet<NodeState>, landed: number): NodePlacement[] {
    const placements = this.trial.placer.placementsSince(landed);
    for (const { node, podClass, pods } of placements) {
      if (temporary.has(node)) this.trial.uncount(node, podClass, pods.length);
    }
    return placements.filter(({ node }) => !temporary.has(node));
  }

  /**
   * Finds other room for pending pods and capacity buffers; what has none is added to `parts`, if they are given.
   */
  private shift(waiting: readonly FleetNode['waiting'][], parts?: Part[]): boolean {
    const { trial } = this;
    for (const loads of waiting) {
      for (const [podClass, pods] of loads) {
        const { landed, mark } = trial.begin();
        const isBuffer = parts !== undefined && pods.every(isBufferPod);
        if (isBuffer || !trial.placer.placeWaiting(podClass, pods)) {
          trial.backTo(mark);
          if (parts === undefined || !trial.placer.place(new Map([[podClass, pods]]), true, parts)) return false;
        }
        if (isCountedWaiting(pods)) continue;
        for (const landing of trial.placer.placementsSince(landed))
          trial.uncount(landing.node, podClass, landing.pods.length);
      }
    }
    return true;
  }
}

function membersOf(parts: readonly Part[]): FleetNode['loads'] {
  const loads: FleetNode['loads'] = new Map();
  for (const { members } of parts) for (const { podClass, pods } of members) addLoad(loads, podClass, pods);
  return loads;
}
