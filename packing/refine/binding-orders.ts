import type { HostPort } from '../../core/host-ports.js';
import type { PodClass } from '../compile/classes.js';
import type { Level } from '../compile/relaxation-levels.js';
import { rulesAdmit } from '../place/admission.js';
import { removePorts, roomFor, type NodeState } from '../place/node-states.js';
import type { Rules } from '../topology/rules.js';
import { siteOf, type Site } from '../topology/topology-counts.js';
import { Xorshift } from '../xorshift.js';
import type { PlacementState } from './placement-state.js';
import type { ClassAtLevel, TentativeNode } from './tentative-node.js';

/** Number of random orders that are simulated in addition to the two fixed ones. */
const shuffles = 3;

/** A node of the plan during the simulated binding. */
interface BindingNode {
  readonly host: string;
  readonly kind: Site['kind'];
  /** Which volumes a node can attach is not simulated. */
  readonly attach: undefined;
  readonly ports: HostPort[];
  readonly free: Float64Array;
  readonly domainOf: (key: string) => string | undefined;
  readonly admits: (podClass: PodClass, level: Level) => boolean;
  /** Adds this number of pods with these rules to the topology counts; a negative number removes them. */
  readonly count: (rules: Rules, pods: number) => void;
}

/** Pods of one class that the plan has on one node. */
interface PlannedPods {
  readonly node: BindingNode;
  readonly podClass: PodClass;
  /** The rules by which the plan counts them. */
  readonly rules: Rules;
  readonly pods: number;
}

/** A pod to be bound, with its required rules. */
interface WaitingPod {
  readonly atLevel: ClassAtLevel;
  readonly planned: BindingNode;
}

/**
 * Whether kube-scheduler can bind all pods of the plan to its nodes although it does not know the plan and takes pods
 * in another order (topology/any-binding-order). Simulates some orders. In each, a pod goes to its planned node if the
 * rules allow that at that time, otherwise to another node with room; otherwise it waits for other pods. Domains
 * without a node do not count, since kube-scheduler does not know them. Leaves the state unchanged.
 *
 * Example: two pods `a` are spread over zones with `maxSkew: 1`; the rule also counts five pods `b`, which may be
 * anywhere. The plan has a node with one `a` in each of two zones, and all `b` in the first zone. If the `b` are bound
 * first, no `a` may go to the first zone, since the second has five pods less. Both `a` then have to go to the second
 * zone. If its node has room for only one of them, the plan depends on the order.
 */
export function bindsInAnyOrder(state: PlacementState): boolean {
  const planned = plannedPods(state);
  for (const { node, rules, pods } of planned) node.count(rules, -pods);
  const waiting = planned.flatMap(({ node, podClass, pods }): WaitingPod[] => {
    const atLevel = state.atLastLevel(podClass);
    return Array.from({ length: isRuled(atLevel.rules) ? pods : 0 }, () => ({ atLevel, planned: node }));
  });
  for (const { atLevel, planned: node } of waiting) take(state, node, atLevel.podClass, -1);
  const nodes = [...new Set(planned.map(({ node }) => node))];
  const binds = state.context.topologyCounts.withLaunched(
    nodes.map(({ kind }) => kind),
    () => ordersOf(waiting).every((order) => new Binding(state, nodes, order).isComplete()),
  );
  for (const { node, rules, pods } of planned) node.count(rules, pods);
  return binds;
}

/** Whether any topology rule restricts or counts these pods; other pods can be bound at any time. */
const isRuled = ({
  matched,
  spread,
  affinity,
  antiAffinity,
  hostSpread,
  hostAffinity,
  hostAntiAffinity,
}: Rules): boolean =>
  [matched, spread, affinity, antiAffinity, hostSpread, hostAffinity, hostAntiAffinity].some(
    ({ length }) => length > 0,
  );

function plannedPods(state: PlacementState): PlannedPods[] {
  const { tentativeNodes, context } = state;
  const launched = tentativeNodes.flatMap((tentative) => {
    const node = launchedNode(state, tentative);
    return tentative.members.map(({ podClass, rules, pods }) => ({ node, podClass, rules, pods: pods.length }));
  });
  const existing = context.nodes.flatMap((nodeState) => {
    const node = existingNode(state, nodeState);
    return (nodeState.placed ?? []).map(({ podClass, rules }) => ({ node, podClass, rules, pods: 1 }));
  });
  return [...launched, ...existing];
}

/** The node as launched with its cheapest planned type, with its pods. */
function launchedNode({ context }: PlacementState, { row, usage, host, ports, profiles }: TentativeNode): BindingNode {
  const { compiled, feasibility, topologyCounts } = context;
  const { profile } = compiled.universe.rows[row]!;
  const { rows, capacity } = compiled.offers.of(profile);
  const at = rows.indexOf(row) * usage.length;
  return {
    host,
    kind: siteOf(profile).kind,
    attach: undefined,
    ports: [...ports],
    free: usage.map((amount, d) => capacity[at + d]! - amount),
    domainOf: (key) => valueOf(profile.values, compiled.space.find(key)),
    admits: (podClass, level) => feasibility.profiles(podClass.shape, level).includes(profile),
    count: (rules, pods) => topologyCounts.recordLaunch(rules, pods, profiles[0]!, host),
  };
}

function existingNode({ context }: PlacementState, node: NodeState): BindingNode {
  const { compiled, feasibility, topologyCounts } = context;
  return {
    host: node.host,
    kind: node.kind,
    attach: undefined,
    ports: [...node.ports],
    free: node.free.slice(),
    domainOf: (key) => valueOf(node.kind.values, compiled.space.find(key)),
    admits: (_, level) => feasibility.admitsKind(level, node.kind),
    count: (rules, pods) => topologyCounts.record(rules, pods, node),
  };
}

const valueOf = (values: readonly (string | undefined)[], key: number | undefined): string | undefined =>
  key === undefined ? undefined : values[key];

/** Pods without restricting rules first, the reverse, and some random orders. */
function ordersOf(pods: readonly WaitingPod[]): WaitingPod[][] {
  const restricted = ({ atLevel: { rules } }: WaitingPod): boolean => rules.keys.length > 0 && rules.spread.length > 0;
  const freeFirst = [...pods.filter((pod) => !restricted(pod)), ...pods.filter(restricted)];
  const random = new Xorshift(0x9e3779b9);
  const shuffled = Array.from({ length: shuffles }, () =>
    pods
      .map((pod) => ({ pod, rank: random.next() }))
      .sort((a, b) => a.rank - b.rank)
      .map(({ pod }) => pod),
  );
  return [freeFirst, [...freeFirst].reverse(), ...shuffled];
}

/** Simulates binding pods one after the other. */
class Binding {
  private readonly bound: { readonly node: BindingNode; readonly atLevel: ClassAtLevel }[] = [];

  constructor(
    private readonly state: PlacementState,
    private readonly nodes: readonly BindingNode[],
    private readonly pods: readonly WaitingPod[],
  ) {}

  /** Whether all pods get bound. Unbinds them afterwards. */
  isComplete(): boolean {
    let waiting = this.pods;
    for (let before = Infinity; waiting.length > 0 && waiting.length < before;) {
      before = waiting.length;
      waiting = this.bindThose(waiting);
    }
    for (const { node, atLevel } of this.bound) this.bind(node, atLevel, -1);
    return waiting.length === 0;
  }

  /** Binds each pod that can be bound now; returns the others. */
  private bindThose(pods: readonly WaitingPod[]): WaitingPod[] {
    return pods.filter(({ atLevel, planned }) => {
      const node = [planned, ...this.nodes].find((each) => this.admits(each, atLevel));
      if (node === undefined) return true;
      this.bind(node, atLevel, 1);
      this.bound.push({ node, atLevel });
      return false;
    });
  }

  private admits(node: BindingNode, { podClass, level, rules }: ClassAtLevel): boolean {
    const { compiled, feasibility, topologyCounts } = this.state.context;
    this.state.work++;
    return (
      roomFor(node.free, feasibility.demand(podClass), 1) > 0 &&
      node.admits(podClass, level) &&
      rulesAdmit(
        { topologyCounts, volumes: compiled.volumes },
        node,
        { podClass, rules, pod: podClass.pods[0]! },
        node.domainOf,
      )
    );
  }

  private bind(node: BindingNode, { podClass, rules }: ClassAtLevel, pods: 1 | -1): void {
    take(this.state, node, podClass, pods);
    node.count(rules, pods);
  }
}

/** Uses the room of one pod of the class on the node, or frees it. */
function take({ context }: PlacementState, { free, ports }: BindingNode, podClass: PodClass, pods: 1 | -1): void {
  const demand = context.feasibility.demand(podClass);
  for (let d = 0; d < demand.length; d++) free[d] = free[d]! - pods * demand[d]!;
  const { hostPorts } = podClass.shape;
  if (pods > 0) ports.push(...hostPorts);
  else removePorts(ports, hostPorts);
}
