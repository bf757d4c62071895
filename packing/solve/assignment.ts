import type { Pod } from '../../api/kubernetes.js';
import type { PodClass } from '../compile/classes.js';
import { hasPodAffinity, type Level } from '../compile/relaxation-levels.js';
import { LevelFeasibility } from '../place/level-feasibility.js';
import type { Part } from '../place/part.js';
import type { WorkingPlan } from './working-plan.js';

/** Pods of a class without a place so far. */
export interface Waiting {
  readonly podClass: PodClass;
  pods: readonly Pod[];
}

/** Decides for each pod the existing node, or the domain of a new one. */
export class Assignment {
  private readonly levelFeasibility: LevelFeasibility;

  constructor(private readonly working: WorkingPlan) {
    const { compiled, feasibility, topologyCounts, nodes } = working;
    this.levelFeasibility = new LevelFeasibility(compiled, feasibility, topologyCounts, nodes);
  }

  /** Returns the parts that new nodes are to hold. Pods with affinity come after those without. */
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

  private hasPodAffinity({ shape }: PodClass): boolean {
    return this.working.compiled.levelsByShape[shape.index]!.some(hasPodAffinity);
  }

  /** Places as many pods of a class as possible, relaxing level by level if allowed; the rest is unplaced. */
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
    const target = { podClass, level, rules: book.of(podClass.shape, level), excluded: exhausted };
    return this.levelFeasibility.isImpossible(target) ? pods : assigner.place(target, pods, parts);
  }
}
