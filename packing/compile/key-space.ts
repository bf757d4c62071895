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

/** A label key, and what distinguishes its values. */
interface LabelKey {
  readonly name: string;
  /** The requirements on it, by their text. */
  readonly tests: Map<string, Requirement>;
  /** Those of `tests` that pending pods have; all others belong only to DaemonSets. */
  readonly asked: Set<string>;
  /** Whether each value is a separate class, because it is a topology key. */
  isExact: boolean;
  /** Values of nodes, for a key with more values in a NodePool than may become domains. */
  readonly onNodes: Set<string>;
  /** The class of each value known so far. */
  readonly classes: Map<string | undefined, number>;
  /** By class: which tests its values satisfy; the value itself if each is a separate class. */
  readonly masks: string[];
  readonly byMask: Map<string, number>;
}

/**
 * The label keys that constraints, NodePools or topology rules refer to. Values of a key that all constraints treat
 * alike form one value class, so that instance types form few profiles even if they have many labels.
 */
export class KeySpace {
  readonly keys: string[] = [];
  private readonly all: LabelKey[] = [];
  private readonly index = new Map<string, number>();
  private readonly constraints = new Map<string, Constraint>();
  /** Constraints of pending pods. */
  private readonly asked = new Set<Constraint>();
  private newNodeKeyCount = 0;

  /** The index of a key; adds it if needed. */
  key(name: string): number {
    let index = this.index.get(name);
    if (index === undefined) {
      index = this.keys.push(name) - 1;
      this.index.set(name, index);
      this.all.push({
        name,
        tests: new Map(),
        asked: new Set(),
        isExact: false,
        onNodes: new Set(),
        classes: new Map(),
        masks: [],
        byMask: new Map(),
      });
    }
    return index;
  }

  find(name: string): number | undefined {
    return this.index.get(name);
  }

  /** Makes each value of the key a separate class, because it is a topology key. */
  keepValues(name: string): void {
    this.all[this.key(name)]!.isExact = true;
  }

  /** Records the value of a node, for a key with more values in a NodePool than may become domains. */
  noteOnNode(key: number, value: string): void {
    this.all[key]!.onNodes.add(value);
  }

  isOnNode(key: number, value: string): boolean {
    return this.all[key]!.onNodes.has(value);
  }

  isExact(key: number): boolean {
    return this.all[key]!.isExact;
  }

  /** The constraint of a pod that needs a node. */
  ask(requirements: Requirements): Constraint {
    const constraint = this.intern(requirements);
    if (this.asked.has(constraint)) return constraint;
    this.asked.add(constraint);
    const { keys, tests } = constraint;
    for (const [i, key] of keys.entries()) this.all[key]!.asked.add(describeRequirement(tests[i]!));
    return constraint;
  }

  /** Constraints of pods that need a node. */
  get askedConstraints(): Iterable<Constraint> {
    return this.asked;
  }

  /** Whether a pod that needs a node has a requirement on the key, or spreads by it. */
  isAsked(key: number): boolean {
    const { isExact, asked } = this.all[key]!;
    return isExact || asked.size > 0;
  }

  intern(requirements: Requirements): Constraint {
    const text = canonicalText(requirements);
    let constraint = this.constraints.get(text);
    if (constraint !== undefined) return constraint;
    const tests = [...requirements.values()];
    const keys = Int32Array.from([...requirements.keys()].map((name) => this.key(name)));
    for (const [i, key] of keys.entries()) this.all[key]!.tests.set(describeRequirement(tests[i]!), tests[i]!);
    constraint = { index: this.constraints.size, requirements, keys, tests };
    this.constraints.set(text, constraint);
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
    const { tests, isExact, classes, masks, byMask } = this.all[key]!;
    const known = classes.get(value);
    if (known !== undefined) return known;
    let mask = isExact ? (value ?? '\0') : '';
    if (!isExact) for (const test of tests.values()) mask += satisfiedBy(test, value) ? '1' : '0';
    const index = byMask.get(mask) ?? masks.push(mask) - 1;
    byMask.set(mask, index);
    classes.set(value, index);
    return index;
  }

  /** A key that is equal for values of one class; the value itself if each is a separate class. */
  likeness(key: number, value: string | undefined): string {
    return this.all[key]!.masks[this.classOf(key, value)]!;
  }

  /**
   * Sorts the keys after all constraints are added, so that their indices do not depend on the order of the input. Keys
   * of labels that new nodes may have (`ofNewNodes`) come first: they are few among the tens of thousands that pods may
   * use. Returns a key that is equal for key spaces that classify values alike.
   */
  seal(ofNewNodes: ReadonlySet<string>): string {
    const isOfOthers = ({ name }: LabelKey): number => (ofNewNodes.has(name) ? 0 : 1);
    const before = [...this.keys];
    this.all.sort((a, b) => isOfOthers(a) - isOfOthers(b) || compareText(a.name, b.name));
    this.newNodeKeyCount = this.all.filter((each) => isOfOthers(each) === 0).length;
    this.all.forEach(({ name }, k) => {
      this.keys[k] = name;
      this.index.set(name, k);
    });
    for (const { keys } of this.constraints.values())
      for (let i = 0; i < keys.length; i++) keys[i] = this.index.get(before[keys[i]!]!)!;
    return this.all.map(keyText).join('\u0002');
  }

  /** The keys of labels that new nodes may have; these have the lowest indices. */
  newNodeKeys(): readonly string[] {
    return this.keys.slice(0, this.newNodeKeyCount);
  }

  /** Values in constraints on `key`; for bounds also the adjacent numbers. */
  mentioned(key: number): Set<string> {
    const values = new Set<string>();
    for (const { values: named, gte, lte } of this.all[key]!.tests.values()) {
      for (const value of named) values.add(value);
      for (const bound of [gte, lte]) if (bound !== undefined) for (const n of around(bound)) values.add(n);
    }
    return values;
  }
}

function keyText({ name, isExact, onNodes, tests, asked }: LabelKey): string {
  const sorted = (texts: Iterable<string>): string => [...texts].sort().join('\u0001');
  const unasked = [...tests.keys()].filter((each) => !asked.has(each));
  return [`${name}${isExact ? '!' : ''}`, sorted(onNodes), sorted(tests.keys()), sorted(unasked)].join('\u0004');
}

const around = (bound: bigint): string[] => [bound - 1n, bound, bound + 1n].filter((n) => n >= 0n).map(String);

/** Whether a node with these label values (by key index) satisfies the constraint. */
export function satisfies(constraint: Constraint, values: readonly (string | undefined)[]): boolean {
  const { keys, tests } = constraint;
  for (let i = 0; i < keys.length; i++) if (!satisfiedBy(tests[i]!, values[keys[i]!])) return false;
  return true;
}
