import type { LabelSelector, Namespace, PodAffinityTerm } from '../../api/kubernetes.js';
import { selects } from '../../core/labels.js';
import { lookUp } from '../../core/own.js';
import { nameOf } from '../../core/names.js';

type Labels = Readonly<Record<string, string>> | undefined;

/** A selector with the requirements that `matchLabelKeys` and `mismatchLabelKeys` add from the pod's labels. */
export function withLabelKeys(
  selector: LabelSelector | undefined,
  labels: Labels,
  match: readonly string[] | undefined,
  mismatch?: readonly string[],
): LabelSelector | undefined {
  if (selector === undefined || ((match?.length ?? 0) === 0 && (mismatch?.length ?? 0) === 0)) return selector;
  const expressions = [...(selector.matchExpressions ?? [])];
  for (const [keys, operator] of [
    [match, 'In'],
    [mismatch, 'NotIn'],
  ] as const) {
    for (const key of keys ?? []) {
      const value = lookUp(labels, key);
      if (value !== undefined) expressions.push({ key, operator, values: [value] });
    }
  }
  return { ...selector, matchExpressions: expressions };
}

/** What a pod affinity term selects. */
export interface Chosen {
  /** Undefined stands for every namespace. */
  readonly namespaces: readonly string[] | undefined;
  readonly selector: LabelSelector | undefined;
}

/** What all of the terms select together. */
export function chosenByAll(terms: readonly Chosen[]): Chosen {
  const [first, ...others] = distinct(terms);
  return others.reduce((all, each) => ({ namespaces: inBoth(all, each), selector: selectedByBoth(all, each) }), first!);
}

function distinct(terms: readonly Chosen[]): Chosen[] {
  return [...new Map(terms.map((term) => [JSON.stringify(term), term])).values()];
}

function inBoth({ namespaces: some }: Chosen, { namespaces: others }: Chosen): Chosen['namespaces'] {
  if (some === undefined || others === undefined) return some ?? others;
  return some.filter((namespace) => others.includes(namespace));
}

function selectedByBoth({ selector: one }: Chosen, { selector: other }: Chosen): LabelSelector | undefined {
  // An absent selector selects nothing.
  if (one === undefined || other === undefined) return undefined;
  const same = Object.entries(other.matchLabels ?? {}).map(([key, value]) => ({
    key,
    operator: 'In' as const,
    values: [value],
  }));
  return { ...one, matchExpressions: [...(one.matchExpressions ?? []), ...same, ...(other.matchExpressions ?? [])] };
}

/** The namespaces of the cluster, for terms with a namespace selector. */
export class Namespaces {
  private readonly labels = new Map<string, Labels>();

  constructor(namespaces: readonly Namespace[] | undefined, mentioned: Iterable<string>) {
    for (const name of mentioned) this.labels.set(name, { 'kubernetes.io/metadata.name': name });
    for (const namespace of namespaces ?? []) {
      const name = nameOf(namespace);
      this.labels.set(name, { 'kubernetes.io/metadata.name': name, ...namespace.metadata.labels });
    }
  }

  /**
   * The namespaces of a pod affinity term, sorted; undefined for all (topology/namespaces). Its list and its selector are
   * combined; without both it is the pod's own namespace.
   */
  of(term: PodAffinityTerm, own: string): readonly string[] | undefined {
    const { namespaces, namespaceSelector: selector } = term;
    if (selector === undefined)
      return namespaces === undefined || namespaces.length === 0 ? [own] : [...namespaces].sort();
    const empty = Object.keys(selector.matchLabels ?? {}).length + (selector.matchExpressions?.length ?? 0) === 0;
    if (empty) return undefined;
    const found = new Set(namespaces);
    for (const [name, labels] of this.labels) if (selects(selector, labels)) found.add(name);
    return [...found].sort();
  }
}
