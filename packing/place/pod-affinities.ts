import type { Compiled } from '../compile/compiled.js';
import type { PodClass } from '../compile/classes.js';
import { hasPodAffinity } from '../compile/relaxation-levels.js';
import type { Group } from '../topology/groups.js';
import { selectingOthers, type RuleBook } from '../topology/rules.js';
import { selectsOwn } from './host-rules.js';

/** The required and preferred pod affinity of pods. */
export class PodAffinities {
  private mixed: ReadonlySet<Group> | undefined;

  constructor(
    private readonly compiled: Compiled,
    private readonly book: RuleBook,
  ) {}

  forAnyone({ shape }: PodClass): boolean {
    return this.compiled.levelsByShape[shape.index]!.some(hasPodAffinity);
  }

  /** Whether the affinity selects pods without this affinity. */
  forOthers({ shape }: PodClass): boolean {
    this.mixed ??= this.mixedGroups();
    return this.compiled.levelsByShape[shape.index]!.some((level) => {
      const rules = this.book.of(shape, level);
      return [...rules.affinity, ...rules.hostAffinity].some(
        (group) => !selectsOwn(rules, group) || this.mixed!.has(group),
      );
    });
  }

  private mixedGroups(): Set<Group> {
    const { queue, levelsByShape } = this.compiled;
    const required = queue.map(({ shape }) => this.book.of(shape, levelsByShape[shape.index]!.at(-1)!));
    return selectingOthers('affinity', required);
  }
}
