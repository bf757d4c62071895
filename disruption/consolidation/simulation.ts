import { labels } from '../../api/labels.js';
import type { Pod } from '../../api/kubernetes.js';
import {
  type TrialChange,
  type Filling,
  type NodeState,
  type PodClass,
  Trial,
  type Worth,
} from '../../packing/trial.js';
import type { PlannedClaim } from '../../packing/types.js';
import { evictionCost } from '../candidates/candidates.js';
import { isTerminal } from '../../core/pods.js';
import { Attempts } from './attempts.js';
import type { ExaminedNode } from './eligibility.js';
import { fleetOf, reserveRoom } from './fleet-setup.js';
import { addLoad, type FleetNode, isCountedWaiting, isOnlyEmpty, priceOfAll, statesOf } from './fleet.js';
import type { DecidedOutcome, Outcome } from './outcome.js';
import type { Consolidation, ConsolidationInput } from './types.js';

/**
 * The fleet on which commands are tried. `attempts` apply their changes; `undo` reverts them, `redo` makes them again,
 * `apply` keeps them.
 */
export class Simulation {
  readonly nodes: FleetNode[];
  readonly trial: Trial;
  readonly attempts: Attempts;
  /** Nodes that stay because a pod of theirs can be placed nowhere, and why. */
  readonly held: Consolidation['held'][number][] = [];
  /**
   * The surcharge of each node of a fleet, dollars per hour, so that fleets have fewer nodes; zero until a fleet was
   * planned (consolidation/fewest-nodes).
   */
  surcharge = 0;
  private readonly byState: Map<NodeState, FleetNode>;
  /** Pending pods with room on nodes; they are not evicted. */
  private readonly waiting: ReadonlySet<Pod>;
  /** The saving that a unit of RescheduleDisruptionCost must bring, dollars per hour. */
  private readonly disruptionRate: number;

  constructor(input: ConsolidationInput, examined: readonly ExaminedNode[]) {
    this.trial = new Trial(input, stayingPods(examined));
    this.nodes = fleetOf(this.trial, examined, this.held);
    this.byState = new Map(this.nodes.map((node) => [node.state, node]));
    this.waiting = reserveRoom(this.trial, this.byState);
    this.attempts = new Attempts(this.trial, this.waiting);
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
  setTargets(targets: readonly FleetNode[], filling?: Filling): void {
    this.trial.placer.setTargets(
      targets.map(({ state }) => state),
      filling,
    );
  }

  /** Removes the node; its pods are evicted without another place. */
  remove(node: FleetNode): void {
    this.trial.removePods(node.state, node.loads);
    node.loads = new Map();
    this.trial.commit();
  }

  /** Reverts the last attempt. Returns its changes, for `redo`. */
  undo(): readonly TrialChange[] {
    return this.trial.undo();
  }

  /** Makes the changes of an attempt again that was undone; nothing was applied since. */
  redo(changes: readonly TrialChange[]): void {
    this.trial.redo(changes);
  }

  /** The launches of an outcome as NodeClaims; undefined if they cannot be made. */
  describe({ candidates, launches }: Outcome): readonly PlannedClaim[] | undefined {
    return this.trial.describe(launches, statesOf(candidates));
  }

  /** Runs `run`, with no launch above `dearest`, and reverts everything that it applies. */
  withoutEffect<T>(dearest: number, run: () => T): T {
    this.attempts.highestPrice = dearest;
    const result = this.trial.withoutEffect(run);
    this.attempts.highestPrice = Infinity;
    return result;
  }

  /** Makes the outcome the new state of the fleet. Returns the nodes of its launches in order. */
  apply(outcome: Outcome & Partial<DecidedOutcome>, nameOf: (launch: number) => string): FleetNode[] {
    for (const { node: state, podClass, pods } of outcome.placements) {
      const node = this.byState.get(state)!;
      if (this.waiting.has(pods[0]!)) this.change(node, { waiting: withLoad(node.waiting, podClass, pods) });
      else this.change(node, { loads: withLoad(node.loads, podClass, pods), cost: node.cost + costOf(pods) });
    }
    for (const node of outcome.candidates) {
      this.change(node, { gone: true, loads: new Map(), waiting: new Map() });
      this.trial.release(node.state);
    }
    const launched = outcome.launches.map((_, i) => this.launch(outcome, i, nameOf(i)));
    this.trial.commit();
    return launched;
  }

  private change(node: FleetNode, to: Partial<FleetNode>): void {
    const { loads, waiting, cost, gone } = node;
    const redo = (): unknown => Object.assign(node, to);
    redo();
    this.trial.note({ undo: () => Object.assign(node, { loads, waiting, cost, gone }), redo });
  }

  private launch({ launches, planned }: Outcome & Partial<DecidedOutcome>, index: number, name: string): FleetNode {
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
        if (!isCountedWaiting(pods)) this.trial.uncount(state, podClass, pods.length);
        continue;
      }
      addLoad(node.loads, podClass, pods);
      node.cost += costOf(pods);
    }
    const add = (): void => {
      this.nodes.push(node);
      this.byState.set(state, node);
    };
    add();
    this.trial.note({ undo: () => this.byState.delete(this.nodes.pop()!.state), redo: add });
    return node;
  }
}

/** The loads with more pods. */
function withLoad(loads: FleetNode['loads'], podClass: PodClass, pods: readonly Pod[]): FleetNode['loads'] {
  return new Map(loads).set(podClass, [...(loads.get(podClass) ?? []), ...pods]);
}

/** The cost of evicting the pods (disruption-cost/of-a-pod). */
const costOf = (pods: readonly Pod[]): number => pods.reduce((sum, pod) => sum + Math.max(0, evictionCost(pod)), 0);

/** The value of a unit of disruption cost, if all of it together is worth this share of the fleet's price. */
function rateOf(nodes: readonly FleetNode[], weight: number): number {
  const cost = nodes.reduce((sum, each) => sum + Math.max(0, each.cost - 1), 0);
  return cost > 0 ? (weight * priceOfAll(nodes)) / cost : 0;
}

/** The pods that stay on their node as long as it exists, by the names of nodes that may be removed. */
function stayingPods(examined: readonly ExaminedNode[]): Map<string, readonly Pod[]> {
  const staying = new Map<string, readonly Pod[]>();
  for (const { name, why, pods, movable } of examined) {
    if (why !== undefined) continue;
    const moving = new Set(movable);
    staying.set(
      name,
      pods.filter((pod) => !moving.has(pod) && !isTerminal(pod)),
    );
  }
  return staying;
}
