import { compareText } from '../../core/text.js';
import { canonicalText } from '../requirements/requirements.js';
import { satisfiedBy } from '../requirements/requirement.js';
import type { Constraint } from './key-space.js';

/** A value that a label may get; undefined if the node may lack it. */
export interface LabelCandidate {
  readonly value: string | undefined;
  readonly valueClass: number;
}

/** The chosen values by key; keys with their first candidate are omitted. */
export type LabelChoice = ReadonlyMap<number, LabelCandidate>;

/** Chooses values for labels that a NodePool leaves open, if there are too many combinations to try all. */
export class LabelChoices {
  /** In an order that does not depend on the input. */
  private readonly constraints: readonly Constraint[];

  constructor(constraints: readonly Constraint[]) {
    this.constraints = constraints
      .map((each) => ({ each, text: canonicalText(each.requirements) }))
      .sort((a, b) => compareText(a.text, b.text))
      .map(({ each }) => each);
  }

  /**
   * The combinations that constraints require: first the default, then one for each constraint, then one for each
   * value; at most `most`.
   */
  asked(open: ReadonlyMap<number, readonly LabelCandidate[]>, most: number): readonly LabelChoice[] {
    const choices = new Map<string, LabelChoice>([['', new Map()]]);
    const add = (choice: LabelChoice): void => {
      const text = [...choice].map(([key, { valueClass }]) => `${key}=${valueClass}`).join();
      if (!choices.has(text)) choices.set(text, choice);
    };
    for (const constraint of this.constraints) {
      if (choices.size >= most) break;
      if (!constraint.keys.some((key) => open.has(key))) continue;
      const choice = choiceOf(constraint, open);
      if (choice !== undefined) add(choice);
    }
    for (const [key, candidates] of open) {
      for (const each of candidates.slice(1)) {
        if (choices.size >= most) break;
        add(new Map([[key, each]]));
      }
    }
    return [...choices.values()];
  }
}

/** For each key of the constraint the first candidate that satisfies it; undefined if none does. */
function choiceOf(
  { keys, tests }: Constraint,
  open: ReadonlyMap<number, readonly LabelCandidate[]>,
): LabelChoice | undefined {
  const chosen: (readonly [number, LabelCandidate])[] = [];
  for (const [i, key] of keys.entries()) {
    const candidates = open.get(key);
    if (candidates === undefined) continue;
    const found = candidates.find(({ value }) => satisfiedBy(tests[i]!, value));
    if (found === undefined) return undefined;
    if (found !== candidates[0]) chosen.push([key, found]);
  }
  return new Map(chosen.sort(([a], [b]) => a - b));
}
