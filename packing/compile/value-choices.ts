import { compareText } from '../../core/text.js';
import { accepts, isEmptyRequirement, type Requirement } from '../requirements/requirement.js';
import { freshValue } from './fresh-value.js';
import { mostDomains, type KeySpace } from './key-space.js';
import { LabelChoices, type LabelCandidate, type LabelChoice } from './label-choices.js';
import type { Tests } from './catalogue-terms.js';

export const anyValue: Requirement = { complement: true, values: [], absent: true };

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
  private choices: LabelChoices | undefined;

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

  /** If there are too many combinations: those that pods require, at most `most`. */
  askedOf(keys: readonly number[], joint: Tests, most: number): readonly LabelChoice[] {
    const candidates = this.ofEach(keys, joint);
    // Values that only DaemonSets distinguish are not choices of pods.
    const isOpen = (key: number, list: readonly LabelCandidate[]): boolean =>
      list.length > 1 && this.space.isAsked(key);
    const open = new Map(
      keys.map((key, i) => [key, candidates[i]!] as const).filter(([key, list]) => isOpen(key, list)),
    );
    const text = [...open.keys()].map((key) => `${key}:${this.of(key, joint.get(key)!).number}`).join();
    let found = this.asked.get(text);
    if (found === undefined) {
      this.choices ??= new LabelChoices(this.space.askedConstraints);
      this.asked.set(text, (found = this.choices.asked(open, most)));
    }
    return found;
  }
}
