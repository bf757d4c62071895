import type { LabelSelector, PodAffinityTerm, Taint, TopologySpreadConstraint } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import { selects, normaliseKey } from '../../core/labels.js';
import { namespaceOf } from '../../core/names.js';
import type { Compiled } from '../compile/compiled.js';
import { satisfies } from '../compile/key-space.js';
import type { Level } from '../compile/relaxation-levels.js';
import { untolerated } from '../../core/taints.js';
import { labelText } from '../compile/label-text.js';
import { selectorText } from '../compile/pod-key.js';
import { filtered, mapped } from '../lists.js';
import { chosenByAll, Namespaces, withLabelKeys, type Chosen } from './selectors.js';
import { lookUp } from '../../core/own.js';

/** The namespace and labels of pods, which are all that selectors read. */
export interface Identity {
  readonly index: number;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>> | undefined;
}

/**
 * A topology rule: a spread constraint, affinity or anti-affinity term (topology/rules). Equal rules of different pods are one
 * group.
 */
export interface Group {
  readonly index: number;
  readonly kind: 'spread' | 'affinity' | 'antiAffinity';
  readonly key: string;
  readonly hostname: boolean;
  /** Undefined: all namespaces. */
  readonly namespaces: readonly string[] | undefined;
  readonly selector: LabelSelector | undefined;
  readonly maxSkew: number;
  readonly minDomains: number;
  /** The nodes that a spread constraint counts; undefined if it counts all. */
  readonly filter: NodeFilter | undefined;
}

interface NodeFilter {
  /** Node terms of the pod under `nodeAffinityPolicy: Honor`; undefined under Ignore. */
  readonly terms: Level['own'] | undefined;
  /** Tolerations of the pod under `nodeTaintsPolicy: Honor`; undefined under Ignore. */
  readonly tolerations: Level['tolerations'] | undefined;
}

/** All topology rules of a pass, equal ones once, and the pods that each selects. */
export class Groups {
  readonly all: Group[] = [];
  readonly identities: Identity[] = [];
  private readonly byText = new Map<string, Group>();
  private readonly identityIndex = new Map<string, Identity>();
  /** Groups whose selector requires a label value, by that value; other groups are in a separate list. */
  private readonly byLabel = new Map<string, Group[]>();
  private readonly unlabelled: Group[] = [];
  private readonly matched: (readonly Group[] | undefined)[] = [];

  constructor(
    private readonly labelKeys: readonly string[],
    private readonly namespaces: Namespaces,
  ) {}

  identity(namespace: string, podLabels: Readonly<Record<string, string>> | undefined): Identity {
    let text = namespace;
    if (podLabels !== undefined) text += labelText(podLabels, this.labelKeys);
    let identity = this.identityIndex.get(text);
    if (identity === undefined) {
      identity = { index: this.identities.length, namespace, labels: podLabels };
      this.identities.push(identity);
      this.identityIndex.set(text, identity);
    }
    return identity;
  }

  spread(constraint: TopologySpreadConstraint, level: Level, own: Identity): Group {
    const { maxSkew, minDomains, nodeAffinityPolicy, nodeTaintsPolicy } = constraint;
    // A term without requirements matches every node.
    const honoursTerms = nodeAffinityPolicy !== 'Ignore' && level.own.every(({ keys }) => keys.length > 0);
    const honoursTaints = nodeTaintsPolicy === 'Honor';
    return this.intern({
      kind: 'spread',
      ...keyOf(constraint.topologyKey),
      namespaces: [own.namespace],
      selector: withLabelKeys(constraint.labelSelector, own.labels, constraint.matchLabelKeys),
      maxSkew,
      minDomains: minDomains ?? 1,
      filter:
        honoursTerms || honoursTaints
          ? {
              terms: honoursTerms ? level.own : undefined,
              tolerations: honoursTaints ? level.tolerations : undefined,
            }
          : undefined,
    });
  }

  /**
   * Groups of required pod affinity. If a pod has several terms, kube-scheduler counts only pods that all of them select, for the
   * topology key of each. Karpenter counts each term separately, and so plans nodes that kube-scheduler then does not use.
   */
  affinity(terms: readonly PodAffinityTerm[], own: Identity): Group[] {
    if (terms.length <= 1) return mapped(terms, (term) => this.term('affinity', term, own));
    const chosen = mapped(terms, (term) => this.chosenBy(term, own));
    const whom = chosenByAll(chosen);
    return [...new Set(mapped(terms, ({ topologyKey }) => this.near('affinity', topologyKey, whom)))];
  }

  /** The group of a term that counts separately: anti-affinity, or preferred affinity. */
  term(kind: 'affinity' | 'antiAffinity', term: PodAffinityTerm, own: Identity): Group {
    return this.near(kind, term.topologyKey, this.chosenBy(term, own));
  }

  private chosenBy(term: PodAffinityTerm, own: Identity): Chosen {
    return {
      namespaces: this.namespaces.of(term, own.namespace),
      selector: withLabelKeys(term.labelSelector, own.labels, term.matchLabelKeys, term.mismatchLabelKeys),
    };
  }

  private near(kind: 'affinity' | 'antiAffinity', topologyKey: string, { namespaces, selector }: Chosen): Group {
    return this.intern({
      kind,
      ...keyOf(topologyKey),
      namespaces,
      selector,
      maxSkew: 0,
      minDomains: 0,
      filter: undefined,
    });
  }

  /** The groups that select pods with this identity. Call it only after all groups are added. */
  matching(identity: Identity): readonly Group[] {
    let groups = this.matched[identity.index];
    if (groups === undefined) {
      const found = filtered(this.unlabelled, (group) => groupSelects(group, identity));
      for (const key in identity.labels) {
        for (const group of this.byLabel.get(`${key}=${lookUp(identity.labels, key)!}`) ?? []) {
          if (groupSelects(group, identity)) found.push(group);
        }
      }
      this.matched[identity.index] = groups = found;
    }
    return groups;
  }

  private intern(group: Omit<Group, 'index'>): Group {
    const text = textOf(group);
    let known = this.byText.get(text);
    if (known === undefined) {
      known = { index: this.all.length, ...group };
      this.all.push(known);
      this.byText.set(text, known);
      const [key, value] = Object.entries(group.selector?.matchLabels ?? {})[0] ?? [];
      if (key === undefined) this.unlabelled.push(known);
      else {
        const label = `${key}=${value!}`;
        const there = this.byLabel.get(label);
        if (there === undefined) this.byLabel.set(label, [known]);
        else there.push(known);
      }
      this.matched.length = 0;
    }
    return known;
  }
}

/** Without rules yet. */
export function groupsOf({ labelKeys, input: { objects } }: Compiled): Groups {
  const { pods, daemonSets = [], capacityBuffers = [] } = objects;
  const mentioned = new Set([...pods, ...daemonSets, ...capacityBuffers].map(namespaceOf));
  return new Groups(labelKeys, new Namespaces(objects.namespaces, mentioned));
}

/** A key that is equal for equal rules. */
function textOf({ kind, key, namespaces, selector, maxSkew, minDomains, filter }: Omit<Group, 'index'>): string {
  const text = `${kind} ${key} ${maxSkew} ${minDomains} ${namespaces?.join() ?? '*'} ${selectorText(selector)}`;
  if (filter === undefined) return text;
  const terms = filter.terms?.map(({ index }) => index).join() ?? '*';
  return `${text} ${terms} ${JSON.stringify(filter.tolerations)}`;
}

function keyOf(topologyKey: string): { key: string; hostname: boolean } {
  const key = normaliseKey(topologyKey);
  return { key, hostname: key === labels.hostname };
}

/** Whether the group selects pods with this identity. */
export function groupSelects({ namespaces, selector }: Group, { namespace, labels: podLabels }: Identity): boolean {
  return (namespaces === undefined || namespaces.includes(namespace)) && selects(selector, podLabels);
}

/** Whether a spread rule counts nodes with these labels and taints. */
export function includesNode(
  { filter }: Group,
  values: readonly (string | undefined)[],
  taints: readonly Taint[],
): boolean {
  if (filter === undefined) return true;
  if (filter.terms?.some((term) => satisfies(term, values)) === false) return false;
  return filter.tolerations === undefined || untolerated(taints, filter.tolerations, false) === undefined;
}
