import type { Compiled } from '../compile/compiled.js';
import type { Feasibility } from '../place/feasibility.js';
import { isFree, rulesAdmit } from '../place/admission.js';
import type { IncomingPod } from '../place/host-rules.js';
import { placeOn, roomFor, removeFrom, type PlacedPod, type NodeState } from '../place/node-states.js';
import type { TopologyCounts } from '../topology/topology-counts.js';
import type { Rules } from '../topology/rules.js';

interface ExistingNodesContext {
  readonly compiled: Compiled;
  readonly feasibility: Feasibility;
  readonly topologyCounts: TopologyCounts;
  readonly nodes: readonly NodeState[];
}

/** With more nodes only the first are used. */
const mostNodes = 200;

/** Existing nodes while pods are placed on them and removed. Their room is free. Keeps topology counts up to date. */
export class ExistingNodes {
  readonly nodes: readonly NodeState[];
  private checks = 0;

  constructor(
    private readonly context: ExistingNodesContext,
    private readonly undoSteps: (() => void)[],
  ) {
    this.nodes = context.nodes.slice(0, mostNodes);
  }

  /**
   * Nodes from which all pods of this pass can be removed. Pods with volumes cannot be removed, since their volumes
   * stay attached.
   */
  occupied(): NodeState[] {
    return this.nodes.filter(
      ({ pods, attach: attached }) =>
        pods.length > 0 && (attached === undefined || pods.every(({ spec }) => (spec.volumes?.length ?? 0) === 0)),
    );
  }

  /** Number of nodes checked since the last call. */
  takeChecks(): number {
    const { checks } = this;
    this.checks = 0;
    return checks;
  }

  /** The first node that admits the pod and whose domains are allowed. */
  find(
    incoming: IncomingPod,
    suits: (domainOf: (key: string) => string | undefined) => boolean,
  ): NodeState | undefined {
    return this.nodes.find((node) => this.admits(node, incoming) && suits((key) => this.domain(node, key)));
  }

  /** The domains of nodes with room for a pod of the class. */
  places({ podClass, rules }: Omit<IncomingPod, 'pod'>): ((key: string) => string | undefined)[] {
    const { feasibility } = this.context;
    const demand = feasibility.demand(podClass);
    return this.nodes
      .filter(({ free, kind }) => roomFor(free, demand, 1) > 0 && feasibility.admitsKind(rules.level, kind))
      .map((node) => (key) => this.domain(node, key));
  }

  /** Whether the pod can be placed on this node. */
  admits(node: NodeState, { podClass, rules, pod }: IncomingPod): boolean {
    const { feasibility, topologyCounts, compiled } = this.context;
    if (roomFor(node.free, feasibility.demand(podClass), 1) === 0) return false;
    this.checks++;
    return (
      feasibility.admitsKind(rules.level, node.kind) &&
      rulesAdmit({ topologyCounts, volumes: compiled.volumes }, node, { podClass, rules, pod }, (key) =>
        this.domain(node, key),
      )
    );
  }

  /** Whether the pod can be removed alone: no pod on the node needs it by pod affinity. */
  isFree({ placed = [], host }: NodeState, { rules, pod }: PlacedPod): boolean {
    const others = placed.filter((other) => other.pod !== pod);
    return isFree(this.context.topologyCounts, rules, host, others);
  }

  put(node: NodeState, { podClass, rules, pod }: IncomingPod): void {
    const { feasibility, compiled } = this.context;
    const demand = feasibility.demand(podClass);
    const attached = node.attach === undefined ? undefined : [...node.attach.attached].map(copied);
    placeOn(node, { podClass, rules, pods: [pod] }, demand, compiled.volumes);
    this.record(node, rules, 1);
    this.undoSteps.push(() => {
      this.record(node, rules, -1);
      removeFrom(node, { podClass, rules, pod }, demand);
      if (attached === undefined) return;
      node.attach!.attached.clear();
      for (const [driver, volumes] of attached) node.attach!.attached.set(driver, volumes);
    });
  }

  take(node: NodeState, placed: PlacedPod): void {
    const before = {
      free: node.free.slice(),
      pods: [...node.pods],
      ports: [...node.ports],
      placed: [...node.placed!],
      placedWithRules: [...node.placedWithRules!],
    };
    removeFrom(node, placed, this.context.feasibility.demand(placed.podClass));
    this.record(node, placed.rules, -1);
    this.undoSteps.push(() => {
      this.record(node, placed.rules, 1);
      node.free.set(before.free);
      for (const key of ['pods', 'ports', 'placed', 'placedWithRules'] as const) {
        (node[key] as unknown[]).splice(0, Infinity, ...before[key]);
      }
    });
  }

  private record(node: NodeState, rules: Rules, pods: number): void {
    this.context.topologyCounts.record(rules, pods, node);
  }

  private domain({ kind }: NodeState, key: string): string | undefined {
    const index = this.context.compiled.space.find(key);
    return index === undefined ? undefined : kind.values[index];
  }
}

const copied = ([driver, volumes]: [string, Set<string>]): [string, Set<string>] => [driver, new Set(volumes)];
