import { compareText } from '../../core/compare-text.js';
import { canonicalText } from '../requirements/requirements.js';
import { satisfiedBy } from '../requirements/requirement.js';
import type { Constraint } from './key-space.js';

/** A value that a label may get; undefined where the node may lack it. */
export interface LabelCandidate {
  readonly value: string | undefined;
  readonly valueClass: number;
}

/** By key, where it is not the first candidate. */
export type LabelChoice = ReadonlyMap<number, LabelCandidate>;

/** The choices of values for labels that a NodePool leaves open, where all of them together are too many. */
export class LabelChoices {
  /** In an order that the input does not decide. */
  private readonly constraints: readonly Constraint[];

  constructor(constraints: readonly Constraint[]) {
    this.constraints = constraints
      .map((each) => ({ each, text: canonicalText(each.requirements) }))
      .sort((a, b) => compareText(a.text, b.text))
      .map(({ each }) => each);
  }

  /** Those that constraints ask for: first that of no key, then those of each constraint, then each value by itself; no more than `most`. */
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

/** For each key that the constraint names, the first candidate that it takes; undefined where it takes none. */
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
