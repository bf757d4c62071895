import type { Pod } from '../../api/kubernetes.js';
import type { PodClass } from '../compile/classes.js';
import type { Level } from '../compile/relaxation-levels.js';
import { LevelFeasibility } from '../place/level-feasibility.js';
import type { Part } from '../place/part.js';
import type { WorkingPlan } from './working-plan.js';

/** Pods of a class that have no place yet. */
export interface Waiting {
  readonly podClass: PodClass;
  pods: readonly Pod[];
}

/** Decides the existing node, or the domain of a new one, of each pod. */
export class Assignment {
  private readonly levelFeasibility: LevelFeasibility;

  constructor(
    private readonly working: WorkingPlan,
    /** Whether pods that want to be with their like come after all others, as those do that want to be with others. */
    private readonly likeLast: boolean,
  ) {
    const { compiled, feasibility, topologyCounts, nodes } = working;
    this.levelFeasibility = new LevelFeasibility(compiled, feasibility, topologyCounts, nodes);
  }

  /** Returns what new nodes are to hold. Pods that want to be near others come after those. */
  assign(waiting: readonly Waiting[]): Part[] {
    const parts: Part[] = [];
    let later: Waiting[] = [];
    for (const each of waiting) {
      if (this.hasPodAffinity(each.podClass)) later.push(each);
      else this.settle(each, parts, true);
    }
    for (let progress = true; later.length > 0 && progress;) {
      progress = false;
      const still: Waiting[] = [];
      for (const each of later) {
        const before = each.pods.length;
        this.settle(each, parts, false);
        if (each.pods.length < before) progress = true;
        if (each.pods.length > 0) still.push(each);
      }
      later = still;
    }
    for (const each of later) this.settle(each, parts, true);
    return parts;
  }

  private hasPodAffinity(podClass: PodClass): boolean {
    const { affinities } = this.working;
    return this.likeLast ? affinities.forAnyone(podClass) : affinities.forOthers(podClass);
  }

  /** Puts what it can of a class somewhere, relaxing level by level when that may be; what is left over is unplaced. */
  private settle(each: Waiting, parts: Part[], relax: boolean): void {
    const { podClass } = each;
    const { compiled, unplaced } = this.working;
    const levels = compiled.levelsByShape[podClass.shape.index]!;
    for (const level of relax ? levels : levels.slice(0, 1)) {
      each.pods = this.place(podClass, level, each.pods, parts);
      if (each.pods.length === 0) return;
    }
    if (relax) unplaced.add(podClass, each.pods);
  }

  private place(podClass: PodClass, level: Level, pods: readonly Pod[], parts: Part[]): readonly Pod[] {
    const { book, exhausted, assigner } = this.working;
    const target = { podClass, level, rules: book.of(podClass.shape, level), without: exhausted };
    return this.levelFeasibility.isImpossible(target) ? pods : assigner.place(target, pods, parts);
  }
}
