import type { Pod } from '../../api/kubernetes.js';
import { compareText } from '../../core/text.js';
import type { PodClass } from '../compile/classes.js';
import type { Compiled } from '../compile/compiled.js';
import type { Level } from '../compile/relaxation-levels.js';
import { noProfiles, type Profile } from '../compile/universe.js';
import { blockersOf, sentence } from '../output/blockers.js';
import { Explaining, notExplained } from '../output/explaining.js';
import { TypeExplainer } from '../output/type-groups.js';
import type { Assigner } from '../place/assigner.js';
import type { PoolLimit } from '../compile/pool-limits.js';
import type { Cell } from '../place/cells.js';
import { topologyBlocker } from '../place/explain.js';
import { roomFor, type NodeState } from '../place/node-states.js';
import type { Feasibility } from '../place/feasibility.js';
import type { UnplacedPod } from '../refine/unplaced-pods.js';
import type { TopologyCounts } from '../topology/topology-counts.js';
import type { RuleBook } from '../topology/rules.js';
import type { Blocker, TypesExplanation, Plan, Unschedulable } from '../types.js';
import { fullName } from '../../core/names.js';

/** Maximum number of left-over pods that are tried again one by one, in total and per class. */
const mostUnplaced = 2000;
const mostUnplacedOfClass = 200;

interface PassState {
  readonly compiled: Compiled;
  readonly feasibility: Feasibility;
  readonly limits: readonly PoolLimit[];
  readonly book: RuleBook;
  readonly topologyCounts: TopologyCounts;
  readonly assigner: Assigner;
  readonly nodes: readonly NodeState[];
  /** Free amounts of nodes before anything is placed. */
  readonly free: readonly Float64Array[];
  /** Profiles of pools with an exhausted limit. */
  readonly exhausted: ReadonlySet<Profile>;
}

/** The pods without a place in a pass, and why. */
export class Unplaced {
  private readonly unplaced = new Map<PodClass, readonly Pod[]>();
  private readonly reasons = new Map<PodClass, Blocker>();
  /** Classes whose topology rules admit some domain. */
  private readonly admitted = new Set<PodClass>();

  constructor(private readonly pass: PassState) {}

  get classes(): readonly PodClass[] {
    return [...this.unplaced.keys()];
  }

  of(podClass: PodClass): readonly Pod[] {
    return this.unplaced.get(podClass) ?? [];
  }

  /** Records why the class found no place, where the caller knows it. */
  because(podClass: PodClass, blocker: Blocker): void {
    this.reasons.set(podClass, blocker);
  }

  /** Removes pods that were tried again. */
  forget(tried: ReadonlySet<Pod>): void {
    for (const [podClass, list] of [...this.unplaced]) {
      const rest = list.filter((pod) => !tried.has(pod));
      if (rest.length > 0) this.unplaced.set(podClass, rest);
      else this.unplaced.delete(podClass);
    }
  }

  /** Unplaced pods that some node could hold; a sample if there are many. */
  worthAnotherTry(): UnplacedPod[] {
    const unplaced: UnplacedPod[] = [];
    for (const podClass of this.pass.compiled.queue) {
      const pods = this.unplaced.get(podClass);
      if (pods === undefined || this.pass.compiled.invalid.has(podClass) || unplaced.length >= mostUnplaced) continue;
      const lastLevel = this.pass.compiled.levelsByShape[podClass.shape.index]!.length - 1;
      const level = this.pass.compiled.levelsByShape[podClass.shape.index]![lastLevel]!;
      if (!this.isHeld(podClass, level)) continue;
      const named = [...pods].sort((a, b) => compareText(fullName(a), fullName(b)));
      for (const pod of named.slice(0, mostUnplacedOfClass)) unplaced.push({ podClass, pod, lastLevel });
    }
    return unplaced;
  }

  /** Whether a new node could hold a pod of the class, or an existing one without the pods that this plan places there. */
  private isHeld(podClass: PodClass, level: Level): boolean {
    const { feasibility, nodes, free } = this.pass;
    if (feasibility.holding(podClass, level).length > 0) return true;
    const demand = feasibility.demand(podClass);
    return nodes.some(
      ({ kind, pods }, i) => pods.length > 0 && feasibility.admitsKind(level, kind) && roomFor(free[i]!, demand, 1) > 0,
    );
  }

  /** Records why pods of the class have no place in the finished plan. */
  private explain(podClass: PodClass, level: Level): void {
    if (this.pass.feasibility.holding(podClass, level).length === 0) return;
    const rules = this.pass.book.of(podClass.shape, level);
    const cellsWithout = (excluded: ReadonlySet<Profile>): readonly Cell[] =>
      this.pass.assigner.cells.of({ podClass, level, rules, excluded });
    // If some domain admits the pods, limits or minValues keep them out.
    const admits = ({ domainOf }: Cell): boolean => this.pass.assigner.allows(rules, domainOf);
    const isOpen = (cell: Cell): boolean => cell.profiles.length > 0 && admits(cell);
    if (rules.hostAffinity.length === 0 && cellsWithout(noProfiles).some(isOpen)) this.admitted.add(podClass);
    const cells = cellsWithout(this.pass.exhausted);
    if (rules.hostAffinity.length === 0 && cells.some(isOpen)) return;
    const blocker = topologyBlocker(rules, cells, this.pass.topologyCounts, admits);
    if (blocker !== undefined && this.pass.feasibility.holding(podClass, level, this.pass.exhausted).length > 0) {
      this.reasons.set(podClass, blocker);
    }
  }

  add(podClass: PodClass, pods: readonly Pod[]): void {
    this.unplaced.set(podClass, [...(this.unplaced.get(podClass) ?? []), ...pods]);
  }

  private blockersOf(podClass: PodClass): readonly Blocker[] {
    const { compiled, feasibility, limits } = this.pass;
    if (!this.reasons.has(podClass)) this.explain(podClass, compiled.levelsByShape[podClass.shape.index]!.at(-1)!);
    const topology = { known: this.reasons.get(podClass), isAdmitted: this.admitted.has(podClass) };
    return blockersOf({ compiled, feasibility, limits }, podClass, topology);
  }

  described(): Pick<Plan, 'unschedulable' | 'explanations'> {
    const { compiled, feasibility } = this.pass;
    const explaining = new Explaining(compiled);
    const explainer =
      compiled.input.settings.explainTypes === true ? new TypeExplainer(compiled, feasibility) : undefined;
    const list: { readonly left: Unschedulable; readonly types: TypesExplanation | undefined }[] = [];
    for (const [podClass, pods] of this.unplaced) {
      const isTold = explaining.takes(podClass);
      const blockers = isTold ? this.blockersOf(podClass) : notExplained;
      const reason = sentence(blockers);
      const types = isTold && explaining.takesTypes(podClass) ? explainer?.explain(podClass, blockers) : undefined;
      for (const pod of pods) list.push({ left: { pod: fullName(pod), reason, blockers }, types });
    }
    list.sort((a, b) => compareText(a.left.pod, b.left.pod));
    if (explainer === undefined) return { unschedulable: list.map(({ left }) => left) };
    const places = new Map<TypesExplanation, number>();
    const unschedulable = list.map(({ left, types }) => {
      if (types === undefined) return left;
      if (!places.has(types)) places.set(types, places.size);
      return { ...left, explanation: places.get(types)! };
    });
    return { unschedulable, explanations: [...places.keys()] };
  }
}
