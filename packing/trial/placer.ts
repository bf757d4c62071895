import type { Pod } from '../../api/kubernetes.js';
import type { PodClass } from '../compile/classes.js';
import { hasPodAffinity, type Level } from '../compile/relaxation-levels.js';
import type { Compiled } from '../compile/compiled.js';
import { noProfiles, type Profile } from '../compile/universe.js';
import type { Feasibility } from '../place/feasibility.js';
import { rulesAdmit } from '../place/admission.js';
import { roomFor, type NodeState } from '../place/node-states.js';
import type { Part } from '../place/part.js';
import type { RuleBook, Rules } from '../topology/rules.js';
import { alikeFirst, type Filling } from './filling.js';
import { JournaledAssigner, type Journal, type JournaledTopologyCounts, type NodePlacement } from './journal.js';
import type { Worth } from './worth.js';

export type Loads = ReadonlyMap<PodClass, readonly Pod[]>;

/** The parts of a pass that placement needs. */
interface Pass {
  readonly compiled: Compiled;
  readonly feasibility: Feasibility;
  readonly book: RuleBook;
  readonly topologyCounts: JournaledTopologyCounts;
  readonly worth: Worth;
  readonly journal: Journal;
}

/** Places pods on nodes of a trial. */
export class Placer {
  private readonly compiled: Compiled;
  private readonly feasibility: Feasibility;
  private readonly book: RuleBook;
  private readonly topologyCounts: JournaledTopologyCounts;
  private readonly worth: Worth;
  private readonly journal: Journal;
  private readonly order = new Map<PodClass, number>();
  private assigner: JournaledAssigner;
  private filling: Filling = 'queue';

  constructor({ compiled, feasibility, book, topologyCounts, worth, journal }: Pass, nodes: readonly NodeState[]) {
    this.compiled = compiled;
    this.feasibility = feasibility;
    this.book = book;
    this.topologyCounts = topologyCounts;
    this.worth = worth;
    this.journal = journal;
    compiled.queue.forEach((podClass, i) => this.order.set(podClass, i));
    this.assigner = this.assignerOver(nodes);
  }

  /** Placements since the last `setTargets`. */
  get placements(): readonly NodePlacement[] {
    return this.assigner.placements;
  }

  /** Placements after the first `count`. */
  placementsSince(count: number): readonly NodePlacement[] {
    return this.assigner.placements.slice(count);
  }

  /** Places pods on the node without checks: they run there. */
  settleOn(node: NodeState, loads: Loads): void {
    for (const [podClass, pods] of loads) this.assigner.putOn(node, podClass, this.rulesOf(podClass), pods);
    this.assigner.placements.length = 0;
  }

  /** Sets the nodes that take pods from now on, in order, and how they are filled. */
  setTargets(targets: readonly NodeState[], filling: Filling = 'queue'): void {
    this.filling = filling;
    this.assigner = this.assignerOver(targets);
    if (filling === 'alike') this.assigner.ordering = alikeFirst(this.worth);
  }

  /**
   * Places pods on the targets; pods without room become parts to buy nodes for, but not of the `full` profiles. Returns
   * whether all have a place. Pods give up preferences that only a new node would meet that limits forbid.
   */
  place(loads: Loads, launching: boolean, parts: Part[], full = noProfiles): boolean {
    const placeClass = (podClass: PodClass, pods: readonly Pod[]): readonly Pod[] =>
      this.placeClass(podClass, pods, { launching, full }, parts);
    const withAffinity: [PodClass, readonly Pod[]][] = [];
    for (const [podClass, pods] of this.inOrder(loads)) {
      if (this.compiled.levelsByShape[podClass.shape.index]!.some(hasPodAffinity)) withAffinity.push([podClass, pods]);
      else if (placeClass(podClass, pods).length > 0) return false;
    }
    // Pods may have affinity to others that come later in this order.
    for (let waiting = withAffinity, before = Infinity; waiting.length > 0;) {
      const left = waiting.map(([podClass, pods]): [PodClass, readonly Pod[]] => [
        podClass,
        placeClass(podClass, pods),
      ]);
      if (parts.length > 0 && !launching) return false;
      waiting = left.filter(([, pods]) => pods.length > 0);
      const count = waiting.reduce((sum, [, pods]) => sum + pods.length, 0);
      if (count >= before) return false;
      before = count;
    }
    return true;
  }

  /** The order in which pods are placed. */
  inOrder(loads: Loads): readonly (readonly [PodClass, readonly Pod[]])[] {
    return [...loads].sort(
      ([a, podsA], [b, podsB]) =>
        this.precedence(b, podsB.length) - this.precedence(a, podsA.length) || this.order.get(a)! - this.order.get(b)!,
    );
  }

  /** Places all pods of a class on this node, if the rules allow all of them there. */
  putAll(node: NodeState, podClass: PodClass, pods: readonly Pod[]): boolean {
    if (this.roomOn(node, podClass, pods.length) < pods.length) return false;
    return this.putByRules(node, podClass, pods) === pods.length;
  }

  /** Places all these pods on this node in an order that the rules allow, if there is one. */
  putTogether(node: NodeState, loads: Loads, levels?: (podClass: PodClass) => readonly Level[]): boolean {
    for (let rest = [...loads], before = Infinity; rest.length > 0;) {
      rest = rest.flatMap(([podClass, pods]) => {
        const fit = this.roomOn(node, podClass, pods.length);
        const put = fit < pods.length ? 0 : this.putByRules(node, podClass, pods, levels?.(podClass));
        return put === pods.length ? [] : [[podClass, pods.slice(put)] as const];
      });
      const left = rest.reduce((sum, [, pods]) => sum + pods.length, 0);
      if (left >= before) return false;
      before = left;
    }
    return true;
  }

  /** Places as many pods of a class on this node as fit and the rules allow, in order. Returns their number. */
  putMost(node: NodeState, podClass: PodClass, pods: readonly Pod[]): number {
    return this.putByRules(node, podClass, pods.slice(0, this.roomOn(node, podClass, pods.length)));
  }

  private roomOn({ free }: NodeState, podClass: PodClass, most: number): number {
    return roomFor(free, this.feasibility.demand(podClass), most);
  }

  /** Places pods that fit by resources, up to the first that the rules forbid. Returns their number. */
  private putByRules(
    node: NodeState,
    podClass: PodClass,
    pods: readonly Pod[],
    levels = this.compiled.levelsByShape[podClass.shape.index]!,
  ): number {
    const context = { topologyCounts: this.topologyCounts, volumes: this.compiled.volumes };
    for (const level of levels) {
      const rules = this.book.of(podClass.shape, level);
      if (!this.feasibility.admitsKind(level, node.kind)) continue;
      let put = 0;
      for (const pod of pods) {
        if (!rulesAdmit(context, node, { podClass, rules, pod }, (key) => this.valueAt(node, key))) return put;
        this.assigner.putOn(node, podClass, rules, [pod]);
        put++;
      }
      return put;
    }
    return 0;
  }

  /** Places pending pods on nodes, in order. Returns false and changes nothing if some would need new nodes. */
  placeWaiting(podClass: PodClass, pods: readonly Pod[]): boolean {
    const level = this.compiled.levelsByShape[podClass.shape.index]!.at(-1)!;
    const rules = this.book.of(podClass.shape, level);
    const parts: Part[] = [];
    const rest = this.assigner.place({ podClass, level, rules, excluded: noProfiles }, pods, parts);
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
    return new JournaledAssigner(this.journal, this.compiled, this.feasibility, states, this.book, this.topologyCounts);
  }

  /**
   * How far ahead of its queue position a class with this number of pods is placed: how hard it is to find nodes for
   * it.
   */
  private precedence(podClass: PodClass, pods: number): number {
    if (this.filling === 'queue') return 0;
    const { hostAntiAffinity, hostSpread } = this.rulesOf(podClass);
    const pickiness = hostAntiAffinity.length + hostSpread.length;
    // Between 0 and 1, so that it only breaks ties of pickiness.
    const scarcity = pickiness > 0 ? pods / (pods + 1) : 0;
    return pickiness + scarcity;
  }

  /** Returns the pods without a place; some, if pods need a new node and none may be launched. */
  private placeClass(
    podClass: PodClass,
    pods: readonly Pod[],
    { launching, full }: { readonly launching: boolean; readonly full: ReadonlySet<Profile> },
    parts: Part[],
  ): readonly Pod[] {
    let rest = pods;
    for (const level of this.compiled.levelsByShape[podClass.shape.index]!) {
      const rules = this.book.of(podClass.shape, level);
      rest = this.assigner.place({ podClass, level, rules, excluded: full }, rest, parts);
      if (parts.length > 0 && !launching) return pods;
      if (rest.length === 0) break;
    }
    return rest;
  }
}
