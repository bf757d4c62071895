import { compareText } from '../../core/text.js';
import { describeRequirement, satisfiedBy, type Requirement } from '../requirements/requirement.js';
import { canonicalText, type Requirements } from '../requirements/requirements.js';

/** Requirements of a pod or DaemonSet, interned: equal ones are one object. */
export interface Constraint {
  readonly index: number;
  readonly requirements: Requirements;
  /** Indices of the keys in the key space, each with its requirement. */
  readonly keys: Int32Array;
  readonly tests: readonly Requirement[];
}

/** Maximum number of values of one label in a NodePool that become domains; values of pods or nodes are not limited. */
export const mostDomains = 128;

/**
 * The label keys that constraints, NodePools or topology rules refer to. Values of a key that all constraints treat
 * alike form one value class, so that instance types form few profiles even if they have many labels.
 */
export class KeySpace {
  readonly keys: string[] = [];
  readonly constraints: Constraint[] = [];
  private readonly index = new Map<string, number>();
  private readonly tests: Map<string, Requirement>[] = [];
  private readonly classes: Map<string | undefined, number>[] = [];
  private readonly masks: Map<string, number>[] = [];
  /** Results of `likeness`, by key and class. */
  private readonly texts: string[][] = [];
  private readonly exact = new Set<number>();
  private readonly onNodes = new Map<number, Set<string>>();
  private readonly byText = new Map<string, Constraint>();
  /** Constraints of pending pods; all others belong only to DaemonSets. */
  private readonly asked = new Set<Constraint>();
  private readonly askedTexts: Set<string>[] = [];
  private newNodeKeyCount = 0;

  /** The index of a key; adds it if needed. */
  key(name: string): number {
    let index = this.index.get(name);
    if (index === undefined) {
      index = this.keys.length;
      this.keys.push(name);
      this.index.set(name, index);
      this.tests.push(new Map());
      this.classes.push(new Map());
      this.masks.push(new Map());
      this.texts.push([]);
      this.askedTexts.push(new Set());
    }
    return index;
  }

  find(name: string): number | undefined {
    return this.index.get(name);
  }

  /** Makes each value of the key a separate class, because it is a topology key. */
  keepValues(name: string): void {
    this.exact.add(this.key(name));
  }

  /** Records the value of a node, for a key with more values in a NodePool than may become domains. */
  noteOnNode(key: number, value: string): void {
    let values = this.onNodes.get(key);
    if (values === undefined) this.onNodes.set(key, (values = new Set<string>()));
    values.add(value);
  }

  isOnNode(key: number, value: string): boolean {
    return this.onNodes.get(key)?.has(value) === true;
  }

  isExact(key: number): boolean {
    return this.exact.has(key);
  }

  /** The constraint of a pod that needs a node. */
  ask(requirements: Requirements): Constraint {
    const constraint = this.intern(requirements);
    if (this.asked.has(constraint)) return constraint;
    this.asked.add(constraint);
    for (const [i, key] of constraint.keys.entries())
      this.askedTexts[key]!.add(describeRequirement(constraint.tests[i]!));
    return constraint;
  }

  /** Constraints of pods that need a node. */
  get askedConstraints(): readonly Constraint[] {
    return this.constraints.filter((each) => this.asked.has(each));
  }

  /** Whether a pod that needs a node has a requirement on the key, or spreads by it. */
  isAsked(key: number): boolean {
    return this.exact.has(key) || this.askedTexts[key]!.size > 0;
  }

  intern(requirements: Requirements): Constraint {
    const text = canonicalText(requirements);
    let constraint = this.byText.get(text);
    if (constraint !== undefined) return constraint;
    const keys: number[] = [];
    const tests: Requirement[] = [];
    for (const [name, requirement] of requirements) {
      const key = this.key(name);
      keys.push(key);
      tests.push(requirement);
      this.tests[key]!.set(describeRequirement(requirement), requirement);
    }
    constraint = { index: this.constraints.length, requirements, keys: Int32Array.from(keys), tests };
    this.constraints.push(constraint);
    this.byText.set(text, constraint);
    return constraint;
  }

  /** A constraint for one lookup: not interned, and without unused keys. */
  probe(requirements: Requirements): Constraint {
    const keys: number[] = [];
    const tests: Requirement[] = [];
    for (const [name, requirement] of requirements) {
      const key = this.index.get(name);
      if (key === undefined) continue;
      keys.push(key);
      tests.push(requirement);
    }
    return { index: -1, requirements, keys: Int32Array.from(keys), tests };
  }

  /**
   * The value class of a value; undefined means that the label is missing. Call it only after all constraints are
   * added.
   */
  classOf(key: number, value: string | undefined): number {
    const classes = this.classes[key]!;
    const known = classes.get(value);
    if (known !== undefined) return known;
    const masks = this.masks[key]!;
    let mask = this.exact.has(key) ? (value ?? '\0') : '';
    if (!this.exact.has(key))
      for (const test of this.tests[key]!.values()) mask += satisfiedBy(test, value) ? '1' : '0';
    let index = masks.get(mask);
    if (index === undefined) {
      masks.set(mask, (index = masks.size));
      this.texts[key]!.push(mask);
    }
    classes.set(value, index);
    return index;
  }

  /** A key that is equal for values of one class; the value itself if each is a separate class. */
  likeness(key: number, value: string | undefined): string {
    return this.texts[key]![this.classOf(key, value)]!;
  }

  /**
   * Sorts the keys after all constraints are added, so that their indices do not depend on the order of the input. Keys
   * of labels that new nodes may have (`ofNewNodes`) come first: they are few among the tens of thousands that pods may
   * use. Returns a key that is equal for key spaces that classify values alike.
   */
  seal(ofNewNodes: ReadonlySet<string>): string {
    const isOfNewNode = this.keys.map((name) => ofNewNodes.has(name));
    this.newNodeKeyCount = isOfNewNode.filter((each) => each).length;
    const order = this.keys
      .map((_, k) => k)
      .sort((a, b) => Number(isOfNewNode[b]) - Number(isOfNewNode[a]) || compareText(this.keys[a]!, this.keys[b]!));
    const rank = new Int32Array(order.length);
    order.forEach((old, k) => (rank[old] = k));
    for (const { keys } of this.constraints) for (let i = 0; i < keys.length; i++) keys[i] = rank[keys[i]!]!;
    for (const list of [this.keys, this.tests, this.classes, this.masks, this.texts, this.askedTexts] as unknown[][]) {
      const before = [...list];
      order.forEach((old, k) => (list[k] = before[old]));
    }
    this.keys.forEach((name, k) => this.index.set(name, k));
    const exact = [...this.exact].map((old) => rank[old]!);
    this.exact.clear();
    for (const key of exact) this.exact.add(key);
    const onNodes = [...this.onNodes];
    this.onNodes.clear();
    for (const [old, values] of onNodes) this.onNodes.set(rank[old]!, values);
    let text = '';
    this.keys.forEach((name, k) => {
      const onNodes = [...(this.onNodes.get(k) ?? [])].sort().join('\u0001');
      const unasked = [...this.tests[k]!.keys()].filter((each) => !this.askedTexts[k]!.has(each));
      text += `${name}${this.exact.has(k) ? '!' : ''}${onNodes}${[...this.tests[k]!.keys()].sort().join('\u0001')}\u0002`;
      if (unasked.length > 0) text += `${unasked.sort().join('\u0001')}\u0004`;
    });
    return text;
  }

  /** The keys of labels that new nodes may have; these have the lowest indices. */
  newNodeKeys(): readonly string[] {
    return this.keys.slice(0, this.newNodeKeyCount);
  }

  /** Values in constraints on `key`; for bounds also the adjacent numbers. */
  mentioned(key: number): Set<string> {
    const values = new Set<string>();
    for (const { values: named, gte, lte } of this.tests[key]!.values()) {
      for (const value of named) values.add(value);
      for (const bound of [gte, lte]) if (bound !== undefined) for (const n of around(bound)) values.add(n);
    }
    return values;
  }
}

const around = (bound: bigint): string[] => [bound - 1n, bound, bound + 1n].filter((n) => n >= 0n).map(String);

/** Whether a node with these label values (by key index) satisfies the constraint. */
export function satisfies(constraint: Constraint, values: readonly (string | undefined)[]): boolean {
  const { keys, tests } = constraint;
  for (let i = 0; i < keys.length; i++) if (!satisfiedBy(tests[i]!, values[keys[i]!])) return false;
  return true;
}
