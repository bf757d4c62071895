import type { Pod } from '../../api/kubernetes.js';
import type { PodClass } from '../compile/classes.js';
import type { Compiled } from '../compile/compiled.js';
import type { Feasibility } from '../place/feasibility.js';
import { hostRoom } from '../place/host-rules.js';
import { roomFor, type NodeState } from '../place/node-states.js';
import type { Part } from '../place/part.js';
import { PodAffinities } from '../place/pod-affinities.js';
import type { RuleBook, Rules } from '../topology/rules.js';
import { alikeFirst, type Filling } from './filling.js';
import { JournaledAssigner, type Journal, type JournaledTopologyCounts, type NodePlacement } from './journal.js';
import type { Worth } from './worth.js';

export type Loads = ReadonlyMap<PodClass, readonly Pod[]>;

/** What a pass is made of, where pods are placed. */
interface Pass {
  readonly compiled: Compiled;
  readonly feasibility: Feasibility;
  readonly book: RuleBook;
  readonly topologyCounts: JournaledTopologyCounts;
  readonly worth: Worth;
}

/** Puts pods on nodes of a trial. */
export class Placer {
  private readonly compiled: Compiled;
  private readonly feasibility: Feasibility;
  private readonly book: RuleBook;
  private readonly topologyCounts: JournaledTopologyCounts;
  private readonly worth: Worth;
  private readonly order = new Map<PodClass, number>();
  private readonly affinities: PodAffinities;
  private assigner: JournaledAssigner;
  private filling: Filling = 'queue';

  constructor({ compiled, feasibility, book, topologyCounts, worth }: Pass, nodes: readonly NodeState[]) {
    this.compiled = compiled;
    this.feasibility = feasibility;
    this.book = book;
    this.topologyCounts = topologyCounts;
    this.worth = worth;
    compiled.queue.forEach((podClass, i) => this.order.set(podClass, i));
    this.affinities = new PodAffinities(compiled, book);
    this.assigner = this.assignerOver(nodes);
  }

  /** Where pods were put since the nodes that take pods were chosen. */
  get placements(): readonly NodePlacement[] {
    return this.assigner.placements;
  }

  /** Where pods were put since there were so many placements. */
  placementsSince(count: number): readonly NodePlacement[] {
    return this.assigner.placements.slice(count);
  }

  /** What notes placements from now on; undefined: nobody. */
  set journal(journal: Journal | undefined) {
    this.assigner.journal = journal;
  }

  /** Puts pods where they are. */
  settleOn(node: NodeState, loads: Loads): void {
    for (const [podClass, pods] of loads) this.assigner.putOn(node, podClass, this.rulesOf(podClass), pods);
    this.assigner.placements.length = 0;
  }

  /** Which nodes take pods from now on, the first ones first, and how they are filled. */
  setTargets(targets: readonly NodeState[], filling: Filling = 'queue'): void {
    this.filling = filling;
    this.assigner = this.assignerOver(targets);
    if (filling === 'alike') this.assigner.ordering = alikeFirst(this.worth);
  }

  /** Puts pods on targets; what they have no room for becomes parts to buy nodes for. Says whether all have a place. */
  place(loads: Loads, launching: boolean, parts: Part[]): boolean {
    const withAffinity: [PodClass, readonly Pod[]][] = [];
    for (const [podClass, pods] of this.inOrder(loads)) {
      if (this.affinities.forAnyone(podClass)) withAffinity.push([podClass, pods]);
      else if (!this.placeClass(podClass, pods, launching, parts)) return false;
    }
    return withAffinity.every(([podClass, pods]) => this.placeClass(podClass, pods, launching, parts));
  }

  /** The order in which pods are placed. */
  inOrder(loads: Loads): readonly (readonly [PodClass, readonly Pod[]])[] {
    return [...loads].sort(
      ([a, podsA], [b, podsB]) =>
        this.precedence(b, podsB.length) - this.precedence(a, podsA.length) || this.order.get(a)! - this.order.get(b)!,
    );
  }

  /** Puts pods of a class on this very node, if the rules let all of them be there. */
  putAll(node: NodeState, podClass: PodClass, pods: readonly Pod[]): boolean {
    if (this.roomOn(node, podClass, pods.length) < pods.length) return false;
    return this.putByRules(node, podClass, pods) === pods.length;
  }

  /** Puts as many pods of a class on this very node as have room there by the rules, the first ones. Gives their number. */
  putMost(node: NodeState, podClass: PodClass, pods: readonly Pod[]): number {
    return this.putByRules(node, podClass, pods.slice(0, this.roomOn(node, podClass, pods.length)));
  }

  private roomOn({ free }: NodeState, podClass: PodClass, most: number): number {
    return roomFor(free, this.feasibility.demand(podClass), most);
  }

  /** Puts pods for which there are resources, up to the first that the rules forbid. Gives their number. */
  private putByRules(node: NodeState, podClass: PodClass, pods: readonly Pod[]): number {
    const { topologyCounts } = this;
    const { volumes } = this.compiled;
    for (const level of this.compiled.levelsByShape[podClass.shape.index]!) {
      const rules = this.book.of(podClass.shape, level);
      if (rules.hostAffinity.length > 0) return 0;
      if (!this.feasibility.admitsKind(level, node.kind)) continue;
      let put = 0;
      for (const pod of pods) {
        const inDomain = this.assigner.allows(rules, (key) => this.valueAt(node, key));
        const isRoom = inDomain && hostRoom(node, { podClass, rules, pod }, { topologyCounts, volumes }, 1) > 0;
        if (!isRoom) return put;
        this.assigner.putOn(node, podClass, rules, [pod]);
        put++;
      }
      return put;
    }
    return 0;
  }

  /** Puts pods that only wait on nodes, in their order; false and nothing done where some would need new ones. */
  placeWaiting(podClass: PodClass, pods: readonly Pod[]): boolean {
    const level = this.compiled.levelsByShape[podClass.shape.index]!.at(-1)!;
    const rules = this.book.of(podClass.shape, level);
    const parts: Part[] = [];
    const rest = this.assigner.place({ podClass, level, rules, without: none }, pods, parts);
    return parts.length === 0 && rest.length === 0;
  }

  /** The rules of the class at its last level of relaxation. */
  rulesOf({ shape }: PodClass): Rules {
    return this.book.of(shape, this.compiled.levelsByShape[shape.index]!.at(-1)!);
  }

  private valueAt({ kind }: NodeState, key: string): string | undefined {
    const index = this.compiled.space.find(key);
    return index === undefined ? undefined : kind.values[index];
  }

  private assignerOver(states: readonly NodeState[]): JournaledAssigner {
    return new JournaledAssigner(this.compiled, this.feasibility, states, this.book, this.topologyCounts);
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

const none: ReadonlySet<never> = new Set();
