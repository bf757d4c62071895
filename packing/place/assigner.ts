import type { Pod } from '../../api/kubernetes.js';
import type { Compiled } from '../compile/compiled.js';
import type { PodClass } from '../compile/classes.js';
import { noProfiles } from '../compile/universe.js';
import type { Volumes } from '../compile/volumes.js';
import type { Group } from '../topology/groups.js';
import type { TopologyCounts } from '../topology/topology-counts.js';
import type { RuleBook, Rules } from '../topology/rules.js';
import { Cells, type Cell } from './cells.js';
import { HostAffinity } from './host-affinity.js';
import type { Feasibility } from './feasibility.js';
import { bestAffinityDomain } from './affinity-domain.js';
import { allows } from './admission.js';
import { hostRoom } from './host-rules.js';
import { placeOn, roomFor, type NodeState } from './node-states.js';
import { SpreadLookahead } from './spread-lookahead.js';
import type { Part, PlacementTarget } from './part.js';

/** The order in which pods with this demand try existing nodes. */
export type NodeOrdering = (nodes: readonly NodeState[], demand: Float64Array) => readonly NodeState[];

/**
 * Assigns each pod to an existing node, or to a topology domain of nodes to be launched. Counts are updated pod by pod, so that
 * each decision takes the earlier ones into account.
 */
export class Assigner {
  readonly volumes: Volumes;
  readonly cells: Cells;
  readonly lookahead: SpreadLookahead;
  /** The order in which existing nodes are tried; undefined for the order in which they are given. */
  ordering: NodeOrdering | undefined;
  private readonly hostAffinity: HostAffinity;
  private readonly affinityDomains = new Map<Group, string | undefined>();
  /** Ranks of the current and of the best cell. Reused, because cells are compared for every pod. */
  private rank = new Float64Array(4);
  private leastRank = new Float64Array(4);

  constructor(
    private readonly compiled: Compiled,
    private readonly feasibility: Feasibility,
    private readonly nodes: readonly NodeState[],
    private readonly book: RuleBook,
    readonly topologyCounts: TopologyCounts,
  ) {
    this.volumes = compiled.volumes;
    this.cells = new Cells(compiled, feasibility, nodes);
    this.lookahead = new SpreadLookahead(compiled, book, topologyCounts);
    this.hostAffinity = new HostAffinity(compiled, feasibility, nodes, book, this);
  }

  /** Places pods on one level. Appends parts to launch to `parts`; returns pods without a place. */
  place(target: PlacementTarget, pods: readonly Pod[], parts: Part[]): readonly Pod[] {
    const { podClass, level, rules, excluded } = target;
    if (rules.hostAffinity.length > 0) return this.hostAffinity.place(target, pods, parts);
    if (rules.keys.length > 0) return this.placeInCells(target, pods, parts);
    const rest = this.useNodes(target, pods);
    if (rest.length === 0) return rest;
    const usable = this.feasibility.holding(podClass, level, excluded);
    if (usable.length === 0) return rest;
    parts.push(this.partOf(target, rest, { profiles: this.feasibility.heaviest(usable), holding: usable }));
    return [];
  }

  private partOf(
    { podClass, level, rules }: PlacementTarget,
    pods: readonly Pod[],
    { profiles, holding }: Pick<Cell, 'profiles' | 'holding'>,
  ): Part {
    return {
      members: [{ podClass, level, pods }],
      together: false,
      profiles,
      ...(holding.length > profiles.length && { riding: holding }),
      pinnedKeys: rules.keys,
      demand: this.feasibility.demand(podClass),
      count: pods.length,
    };
  }

  /** Places pods on existing nodes, first fit; returns the rest. */
  private useNodes({ podClass, level, rules }: PlacementTarget, pods: readonly Pod[]): readonly Pod[] {
    const demand = this.feasibility.demand(podClass);
    let next = 0;
    for (const node of this.ordering?.(this.nodes, demand) ?? this.nodes) {
      if (next === pods.length) break;
      const fit = roomFor(node.free, demand, pods.length - next);
      if (fit === 0 || !this.feasibility.admitsKind(level, node.kind)) continue;
      for (let left = fit; left > 0;) {
        const room = hostRoom(node, { podClass, rules, pod: pods[next]! }, this, left);
        if (room === 0) break;
        this.putOn(node, podClass, rules, pods.slice(next, next + room));
        next += room;
        left -= room;
      }
    }
    return next === 0 ? pods : pods.slice(next);
  }

  /** Places pods on an existing node and counts them. */
  putOn(node: NodeState, podClass: PodClass, rules: Rules, pods: readonly Pod[]): void {
    placeOn(node, { podClass, rules, pods }, this.feasibility.demand(podClass), this.volumes);
    this.topologyCounts.record(rules, pods.length, node);
  }

  /** Places each pod in the best cell that the rules allow. */
  private placeInCells(target: PlacementTarget, pods: readonly Pod[], parts: Part[]): readonly Pod[] {
    const { podClass, rules } = target;
    const cells = this.cells.of(target);
    /** By index in `cells`. */
    const chosen: (Pod[] | undefined)[] = [];
    let next = 0;
    for (; next < pods.length; next++) {
      const pod = pods[next]!;
      const cell = this.choose(target, cells, pod);
      if (cell === undefined) break;
      const node = this.nextNode(target, cell, pod);
      if (node !== undefined) {
        this.putOn(node, podClass, rules, [pod]);
        continue;
      }
      this.topologyCounts.recordLaunch(rules, 1, cell.profiles[0]!);
      const at = cells.indexOf(cell);
      const there = chosen[at];
      if (there === undefined) chosen[at] = [pod];
      else there.push(pod);
    }
    for (let at = 0; at < chosen.length; at++) {
      const there = chosen[at];
      if (there !== undefined) parts.push(this.partOf(target, there, cells[at]!));
    }
    return next === 0 ? pods : pods.slice(next);
  }

  /** The best cell after which the next pod still has an allowed one; if there is none, the best cell. */
  private choose(target: PlacementTarget, cells: readonly Cell[], pod: Pod): Cell | undefined {
    const best = this.bestOf(target, cells, pod);
    if (best === undefined || !this.lookahead.concerns(target.rules)) return best;
    const usable = cells.filter((cell) => cell.profiles.length > 0 || this.nextNode(target, cell, pod) !== undefined);
    const places = usable.map(({ domainOf }) => domainOf);
    const rejected = new Set<Cell>();
    for (let next: Cell | undefined = best; next !== undefined;) {
      if (this.lookahead.leavesPlaceForNext(target.rules, next.domainOf, places)) return next;
      rejected.add(next);
      next = this.bestOf(
        target,
        usable.filter((cell) => !rejected.has(cell)),
        pod,
      );
    }
    return best;
  }

  /** The allowed cell with the least rank: added skew, existing nodes first, price or order of the node, fewest pods. */
  private bestOf(target: PlacementTarget, cells: readonly Cell[], pod: Pod): Cell | undefined {
    let best: Cell | undefined;
    for (const cell of cells) {
      if (!this.allows(target.rules, cell.domainOf)) continue;
      const node = this.nextNode(target, cell, pod);
      if (node === undefined && cell.profiles.length === 0) continue;
      const { rank, leastRank } = this;
      rank[0] = this.addedSkew(target.rules, cell);
      rank[1] = node === undefined ? 1 : 0;
      rank[2] = node === undefined ? cell.shareOfPrice : node.index;
      rank[3] = this.podsInDomains(target.rules, cell);
      if (best !== undefined && !isLess(rank, leastRank)) continue;
      best = cell;
      this.rank = leastRank;
      this.leastRank = rank;
    }
    return best;
  }

  /** Whether the rules allow one more pod there. */
  allows(rules: Rules, domainOf: (key: string) => string | undefined): boolean {
    return allows(this.topologyCounts, rules, domainOf, this.begins);
  }

  private readonly begins = (group: Group, domain: string): boolean => this.affinityDomain(group) === domain;

  /** The domain for the first pod of an affinity; computed once for each group. */
  private affinityDomain(group: Group): string | undefined {
    if (!this.affinityDomains.has(group)) {
      const members: PlacementTarget[] = [];
      for (const podClass of this.compiled.queue) {
        const level = this.compiled.levelsByShape[podClass.shape.index]![0]!;
        const rules = this.book.of(podClass.shape, level);
        if (rules.affinity.includes(group)) members.push({ podClass, level, rules, excluded: noProfiles });
      }
      this.affinityDomains.set(group, bestAffinityDomain(this.feasibility, this.cells, group, members));
    }
    return this.affinityDomains.get(group);
  }

  /** By how much one more pod would worsen the skew of other pods' rules, since those pods may still have to be placed. */
  private addedSkew(rules: Rules, cell: Cell): number {
    let skew = 0;
    for (const group of rules.matched) {
      if (group.kind !== 'spread' || !this.book.isBinding(group)) continue;
      const domain = cell.domains.get(group.key);
      if (domain === undefined) continue;
      skew += Math.max(
        0,
        this.topologyCounts.count(group, domain) + 1 - this.topologyCounts.least(group) - group.maxSkew,
      );
    }
    return skew;
  }

  /** The number of pods in the domains of the cell that the rules count: of equal cells the emptiest is taken. */
  private podsInDomains(rules: Rules, cell: Cell): number {
    return this.podsSelectedBy(rules.spread, cell) + this.podsSelectedBy(rules.matched, cell);
  }

  private podsSelectedBy(groups: readonly Group[], cell: Cell): number {
    let pods = 0;
    for (const group of groups) {
      const domain = cell.domains.get(group.key);
      if (domain !== undefined) pods += this.topologyCounts.count(group, domain);
    }
    return pods;
  }

  /** The first existing node of the cell with room. Nodes without room are not tried again. */
  private nextNode({ podClass, rules }: PlacementTarget, cell: Cell, pod: Pod): NodeState | undefined {
    const demand = this.feasibility.demand(podClass);
    for (; cell.next < cell.nodes.length; cell.next++) {
      const node = cell.nodes[cell.next]!;
      if (roomFor(node.free, demand, 1) > 0 && hostRoom(node, { podClass, rules, pod }, this, 1) > 0) return node;
    }
    return undefined;
  }
}

function isLess(a: Float64Array, b: Float64Array): boolean {
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return a[i]! < b[i]!;
  return false;
}
