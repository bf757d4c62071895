import { isOpen } from '../requirements/requirement.js';
import type { Tests } from './catalogue-terms.js';
import { undecidedKeys } from './high-cardinality-keys.js';
import type { KeySpace } from './key-space.js';
import type { Pool } from './pools.js';
import type { LabelCandidate, ValueChoices } from './value-choices.js';

/** Maximum number of profiles for domains of NodePools that no pod of the pass tolerates. */
const mostDomainProfiles = 20_000;

/**
 * Each combination of values for the labels that a NodePool leaves open multiplies its offerings. With several such
 * labels the combinations multiply too, so a few pods could require more copies than fit in memory.
 */

/** Maximum number of copied offerings of all NodePools together. */
const mostRows = 640_000;
const mostVariantsOfPool = 256;
/** Maximum number of values for labels that no pod of the pass uses. */
const mostUnasked = 8;
/** The default combination, and one for a pod's constraint. */
const leastVariantsOfPool = 2;

/** How many combinations of label values each NodePool may have. */
export function mostVariantsOf(pools: readonly Pool[], space: KeySpace, wellKnown: ReadonlySet<string>): number {
  // Every NodePool leaves labels open that no instance type determines.
  const isOpenToAll = undecidedKeys(wellKnown, pools).some((key) => {
    const index = space.find(key);
    return index !== undefined && space.mentioned(index).size > 1;
  });
  let offered = 0;
  for (const { requirements, types } of pools) {
    if (!isOpenToAll && ![...requirements].some(([key, each]) => isOpen(each) && space.find(key) !== undefined))
      continue;
    for (const { offerings } of types) offered += offerings.length;
  }
  return Math.max(leastVariantsOfPool, Math.min(mostVariantsOfPool, Math.floor(mostRows / Math.max(1, offered))));
}

/** A combination of values: that of `key`, in addition to the previous ones. */
export interface Variant {
  /** Identifies the pool and the classes of all its values. */
  readonly id: number;
  readonly before?: Variant;
  readonly key: number;
  readonly value: string | undefined;
}

/** The empty combination. */
const noChoice = (id: number): Variant => ({ id, key: -1, value: undefined });

/** By key of the key space; undefined means that nodes lack the label. */
export function variantValues(variant: Variant, keys: number): (string | undefined)[] {
  const values = new Array<string | undefined>(keys).fill(undefined);
  for (let each = variant; each.before !== undefined; each = each.before) values[each.key] = each.value;
  return values;
}

/**
 * The combinations of values for the labels that a NodePool and its types leave open. Equal combinations have the same
 * id.
 */
export class LabelVariants {
  /** Numbers for sequences of value classes: the next number by number and class. */
  private readonly folds = new Map<number, number>();
  private readonly poolIds = new Map<string, number>();
  private nextId = 1;
  /** Topology domains of unused pools, by key and value class. */
  private readonly domainValues = new Set<number>();
  private domainsNoted = 0;

  /** `keyCount`: number of keys that new nodes may have; `mostVariants`: limit per NodePool. */
  constructor(
    private readonly space: KeySpace,
    private readonly values: ValueChoices,
    private readonly bounds: { readonly keyCount: number; readonly mostVariants: number },
  ) {}

  /** Identifies the pool; only its taints if it is unused. */
  idOf({ index, taints }: Pool, isUsed: boolean): number {
    const text = isUsed ? String(index) : JSON.stringify(taints);
    let id = this.poolIds.get(text);
    if (id === undefined) this.poolIds.set(text, (id = this.nextId++));
    return id;
  }

  /**
   * All combinations of values for these keys if they are not too many; otherwise those that pods require, one key or
   * one constraint at a time.
   */
  all(id: number, keys: readonly number[], joint: Tests): readonly Variant[] {
    const candidates = this.choicesOf(keys, joint);
    let count = 1;
    for (const each of candidates) count *= each.length;
    if (count > this.bounds.mostVariants) {
      return this.values.askedOf(keys, joint, this.bounds.mostVariants).map((choice) =>
        this.variant(
          id,
          keys,
          keys.map((key, i) => choice.get(key) ?? candidates[i]![0]!),
        ),
      );
    }
    let variants: readonly Variant[] = [noChoice(id)];
    for (const [i, key] of keys.entries()) variants = this.choose(variants, key, candidates[i]!);
    return variants;
  }

  /** The possible values of each label. Values that only DaemonSets distinguish are reduced to one if they are many. */
  private choicesOf(keys: readonly number[], joint: Tests): readonly (readonly LabelCandidate[])[] {
    const candidates = this.values.ofEach(keys, joint);
    let unasked = 1;
    for (const [i, key] of keys.entries()) if (!this.space.isAsked(key)) unasked *= candidates[i]!.length;
    if (unasked <= mostUnasked) return candidates;
    return candidates.map((list, i) => (this.space.isAsked(keys[i]!) ? list : list.slice(0, 1)));
  }

  /**
   * Each value of each topology key, one key at a time; one value of each other open key. Values that occur in many
   * NodePools are recorded once.
   */
  domainsOnly(id: number, keys: readonly number[], joint: Tests): readonly Variant[] {
    const candidates = this.values.ofEach(keys, joint);
    const first = candidates.map((each) => each[0]!);
    const variants = [this.variant(id, keys, first)];
    for (const [i, key] of keys.entries()) {
      if (!this.space.isExact(key)) continue;
      for (const each of candidates[i]!.slice(1)) {
        const domain = key * 65536 + each.valueClass;
        if (this.domainsNoted >= mostDomainProfiles && this.domainValues.has(domain)) continue;
        this.domainValues.add(domain);
        this.domainsNoted += 1;
        variants.push(this.variant(id, keys, first.with(i, each)));
      }
    }
    return variants;
  }

  /** One value for each of these keys. */
  private variant(id: number, keys: readonly number[], chosen: readonly LabelCandidate[]): Variant {
    let variant = noChoice(id);
    for (const [i, key] of keys.entries()) variant = this.after(variant, key, chosen[i]!);
    return variant;
  }

  /** Each variant combined with each candidate for one more key. */
  choose(variants: readonly Variant[], key: number, candidates: readonly LabelCandidate[]): Variant[] {
    return variants.flatMap((before) => candidates.map((each) => this.after(before, key, each)));
  }

  private after(before: Variant, key: number, { value, valueClass }: LabelCandidate): Variant {
    const fold = (before.id * this.bounds.keyCount + key) * 65536 + valueClass;
    let id = this.folds.get(fold);
    if (id === undefined) this.folds.set(fold, (id = this.nextId++));
    return { id, before, key, value };
  }
}
