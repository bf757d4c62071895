import { compareText } from '../../core/text.js';
import { accepts, freshValue, isEmptyRequirement, satisfiedBy, type Requirement } from '../requirements/requirement.js';
import { mostDomains, type Constraint, type KeySpace } from './key-space.js';
import { canonicalText } from '../requirements/requirements.js';
import type { Tests } from './catalogue-terms.js';

export const anyValue: Requirement = { complement: true, values: [], absent: true };

/** A value that a label may get; undefined if the node may lack it. */
export interface LabelCandidate {
  readonly value: string | undefined;
  readonly valueClass: number;
}

/** The chosen values by key; keys with their first candidate are omitted. */
type LabelChoice = ReadonlyMap<number, LabelCandidate>;

/** Possible values of a label, one for each class of values, with a number that identifies these classes. */
interface Candidates {
  readonly list: readonly LabelCandidate[];
  readonly number: number;
}

/** The possible values of labels, one for each class of values that constraints distinguish. */
export class ValueChoices {
  private readonly candidateLists: Map<Requirement, Candidates>[] = [];
  /** Numbers for lists of value classes. */
  private readonly classesNumbers = new Map<string, number>();
  /** Cached by the possible choices. */
  private readonly asked = new Map<string, readonly LabelChoice[]>();
  /** Constraints of pending pods, in an order that does not depend on the input. */
  private constraints: readonly Constraint[] | undefined;

  constructor(
    private readonly space: KeySpace,
    keyCount: number,
  ) {
    for (let k = 0; k < keyCount; k++) this.candidateLists.push(new Map());
  }

  /** One value for each class of values that the requirement allows. */
  of(key: number, requirement: Requirement): Candidates {
    const known = this.candidateLists[key]!.get(requirement);
    if (known !== undefined) return known;
    const offered: (string | undefined)[] = [];
    if (!requirement.complement) offered.push(...this.domainsOf(key, requirement.values));
    else {
      const mentioned = this.space.mentioned(key);
      if (requirement === anyValue) offered.push(undefined);
      else offered.push(freshValue(requirement, mentioned));
      for (const value of [...mentioned].sort()) if (accepts(requirement, value)) offered.push(value);
    }
    if (requirement.absent && (requirement.complement || isEmptyRequirement(requirement))) offered.push(undefined);
    const byClass = new Map<number, LabelCandidate>();
    for (const value of offered) {
      const valueClass = this.space.classOf(key, value);
      if (!byClass.has(valueClass)) byClass.set(valueClass, { value, valueClass });
    }
    const candidates = { list: [...byClass.values()], number: this.numberOfClasses([...byClass.keys()].join()) };
    this.candidateLists[key]!.set(requirement, candidates);
    return candidates;
  }

  private numberOfClasses(text: string): number {
    let number = this.classesNumbers.get(text);
    if (number === undefined) this.classesNumbers.set(text, (number = this.classesNumbers.size));
    return number;
  }

  /**
   * The values of a topology key that are domains: all, if they are not very many; otherwise those used by pods or
   * nodes, and the first ones. Each domain multiplies the offerings of a NodePool.
   */
  private domainsOf(key: number, values: readonly string[]): readonly string[] {
    if (values.length <= mostDomains || !this.space.isExact(key)) return values;
    const named = this.space.mentioned(key);
    const chosen = new Set(values.filter((value) => named.has(value) || this.space.isOnNode(key, value)));
    for (const value of values) {
      if (chosen.size >= mostDomains) break;
      chosen.add(value);
    }
    return [...chosen].sort(compareText);
  }

  ofEach(keys: readonly number[], joint: Tests): readonly (readonly LabelCandidate[])[] {
    return keys.map((key) => this.of(key, joint.get(key)!).list);
  }

  /**
   * If there are too many combinations, those that pods require, at most `most`: first the default, then one for each
   * constraint, then one for each value.
   */
  askedOf(keys: readonly number[], joint: Tests, most: number): readonly LabelChoice[] {
    const open = new Map<number, readonly LabelCandidate[]>();
    let text = '';
    for (const key of keys) {
      const { list, number } = this.of(key, joint.get(key)!);
      // Values that only DaemonSets distinguish are not choices of pods.
      if (list.length <= 1 || !this.space.isAsked(key)) continue;
      open.set(key, list);
      text += `${key}:${number} `;
    }
    let found = this.asked.get(text);
    if (found === undefined) this.asked.set(text, (found = this.chosenFrom(open, most)));
    return found;
  }

  private chosenFrom(open: ReadonlyMap<number, readonly LabelCandidate[]>, most: number): readonly LabelChoice[] {
    const choices = new Map<string, LabelChoice>([['', new Map()]]);
    const add = (choice: LabelChoice): void => {
      const text = [...choice].map(([key, { valueClass }]) => `${key}=${valueClass}`).join();
      if (choices.size < most && !choices.has(text)) choices.set(text, choice);
    };
    this.constraints ??= [...this.space.askedConstraints]
      .map((each) => ({ each, text: canonicalText(each.requirements) }))
      .sort((a, b) => compareText(a.text, b.text))
      .map(({ each }) => each);
    for (const constraint of this.constraints) {
      if (choices.size >= most) break;
      const choice = choiceOf(constraint, open);
      if (choice !== undefined) add(choice);
    }
    for (const [key, candidates] of open) for (const each of candidates.slice(1)) add(new Map([[key, each]]));
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
