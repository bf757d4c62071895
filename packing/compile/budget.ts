import type { Pod } from '../../api/kubernetes.js';
import { compareText } from '../../core/text.js';
import type { Resume } from '../types.js';
import { crowdedKeys, crowdedValues, type OpenKeys } from './crowded-keys.js';
import { highCardinalityValues, type HighCardinalityTopology } from './high-cardinality-keys.js';
import { kindsOf, type PodKind } from './pod-kinds.js';
import { honouredTerms, isPlain, isStrange, isUsual } from './pod-terms.js';
import { namespaceOf, fullName } from '../../core/names.js';

/*
 * Bounds the work of a pass, so that no pod delays others. Work is counted in terms that have to be evaluated, once for
 * all pods with equal terms. Plain pods cost nothing, and usual pods one term, whatever rules they have. Each namespace
 * has a share of a pass: namespaces within their share are planned together, and the pods of the others take turns in
 * passes between (provisioning/share-of-a-pass). The unit is a term and not time, so that the same input gives the same
 * plan.
 */

interface TermLimits {
  /** The terms of a pass beyond one for each usual pod. */
  readonly pass: number;
  /** The terms that a namespace may use if other namespaces have fewer than twice as many usual pods. */
  readonly share: number;
  /**
   * Whether no pass follows: pods of namespaces beyond their share are then planned in this one, up to the terms of a
   * pass.
   */
  readonly isLast?: boolean;
}

export const limitsOfPass: TermLimits = { pass: 4096, share: 512 };
/**
 * Limits for simulations of disruption. They are higher, because a node whose pods are left out cannot be disrupted.
 */
export const limitsOfTrial: TermLimits = { pass: 65_536, share: 4096, isLast: true };

/** A namespace may use one more term for each group of so many usual pods of other namespaces. */
const othersPerTerm = 2;
/** The weight of a term of a strange pod. */
const strangeFactor = 16;
/** A term about a topology key with very many values counts once for each group of so many values. */
const valuesPerTerm = 32;

interface TermsAdmission {
  readonly admitted: readonly Pod[];
  readonly deferred: readonly Pod[];
  /** Where the next pass continues; undefined if every pod has been considered. */
  readonly resume: Resume | undefined;
}

interface AdmissionOptions {
  readonly resume?: Resume | undefined;
  /**
   * Pods (`namespace/name`) that the caller asks about: they are planned in this pass, up to the terms of a simulation.
   */
  readonly about?: ReadonlySet<string> | undefined;
  readonly limits?: TermLimits;
  readonly openKeys?: OpenKeys;
  readonly highCardinality?: HighCardinalityTopology;
}

/** Selects the pods that this pass plans for. */
export function admitWithinTerms(pods: readonly Pod[], options: AdmissionOptions = {}): TermsAdmission {
  const { resume, about, limits = limitsOfPass } = options;
  const termsOf = termsOfPods(pods, options);
  if (about !== undefined) {
    const [asked, others] = split(pods, (pod) => about.has(fullName(pod)));
    const kinds = kindsOf(asked, termsOf);
    const taken = takeTurns(kinds, '', limitsOfTrial.pass).admitted;
    const isCostly = kinds.reduce((sum, { terms }) => sum + terms, 0) > limits.pass;
    const beside = isCostly
      ? []
      : admitWithinTerms(others, { ...options, about: undefined, resume: undefined }).admitted;
    return only(pods, new Set([...beside, ...taken]), undefined);
  }
  const isAlone = new Set(pods.map(namespaceOf)).size <= 1;
  const apart = beyondShares(pods, termsOf, { ...limits, isAlone });
  if (apart.length === 0) return { admitted: pods, deferred: [], resume: undefined };
  const kept = new Set(apart.flatMap((kind) => kind.pods));
  const [, others] = split(pods, (pod) => kept.has(pod));
  if (limits.isLast === true)
    return only(pods, new Set([...others, ...takeTurns(apart, '', limits.pass).admitted]), undefined);
  const { from = '', isOfOthers = false } = resume ?? {};
  if (others.length > 0 && (resume === undefined || isOfOthers)) return only(pods, new Set(others), { from });
  const { admitted, next } = takeTurns(apart, from, isAlone ? limits.pass : limits.share);
  return only(pods, admitted, next === undefined ? undefined : { from: next, isOfOthers: true });
}

function split(pods: readonly Pod[], isFirst: (pod: Pod) => boolean): [Pod[], Pod[]] {
  const lists: [Pod[], Pod[]] = [[], []];
  for (const pod of pods) lists[isFirst(pod) ? 0 : 1].push(pod);
  return lists;
}

function only(pods: readonly Pod[], chosen: ReadonlySet<Pod>, resume: Resume | undefined): TermsAdmission {
  const [admitted, deferred] = split(pods, (pod) => chosen.has(pod));
  return { admitted, deferred, resume };
}

/** Returns the number of terms of a pod; a usual pod has one. */
function termsOfPods(
  pods: readonly Pod[],
  { openKeys, highCardinality = { keys: new Map(), runningAntiAffinity: [] } }: AdmissionOptions,
): (pod: Pod) => number {
  const crowdedFor = crowdedKeys(pods, openKeys);
  return (pod) => {
    const crowded = crowdedFor(namespaceOf(pod));
    const values = highCardinalityValues(pod, highCardinality);
    if (values === 0 && isUsual(pod.spec) && crowdedValues(pod.spec, crowded) === 0) return 1;
    // Work that a pod adds for others counts once: either because the pod is strange, or for the values of crowded keys
    // that it names.
    const strange = isStrange(pod.spec) ? Math.max(1, honouredTerms(pod.spec, new Map())) * strangeFactor : 1;
    return Math.max(strange, honouredTerms(pod.spec, crowded)) * Math.max(1, Math.ceil(values / valuesPerTerm));
  };
}

type Limits = TermLimits & { readonly isAlone: boolean };

/**
 * The pods of namespaces beyond their share, by kind, without plain pods. Usual pods are left out too if there is only
 * one namespace, so that no other one waits, or in a last pass.
 */
function beyondShares(pods: readonly Pod[], termsOf: (pod: Pod) => number, limits: Limits): PodKind[] {
  const each = pods.map((pod): PodKind => ({ namespace: namespaceOf(pod), pods: [pod], terms: termsOf(pod) }));
  // First counts every pod separately, which is an upper bound. Equal pods are searched only in the few namespaces that
  // are beyond their share by that.
  const suspects = overShare(each, limits);
  if (suspects.size === 0) return [];
  const ofSuspects = pods.filter((pod) => suspects.has(namespaceOf(pod)));
  const [plain, costly] = split(ofSuspects, isPlain);
  const kinds = kindsOf(costly, termsOf);
  const free = plain.map((pod): PodKind => ({ namespace: namespaceOf(pod), pods: [pod], terms: 0 }));
  const over = overShare([...each.filter(({ namespace }) => !suspects.has(namespace)), ...free, ...kinds], limits);
  const least = limits.isAlone || limits.isLast === true ? 2 : 1;
  return kinds.filter(({ namespace, terms }) => over.has(namespace) && terms >= least);
}

/**
 * The namespaces that cost more than the usual pods of others allow, or more than a fair part of the terms of a pass.
 */
function overShare(kinds: readonly PodKind[], { pass, share, isAlone }: Limits): ReadonlySet<string> {
  const costs = new Map<string, number>();
  const usual = new Map<string, number>();
  for (const { namespace, pods, terms } of kinds) {
    costs.set(namespace, (costs.get(namespace) ?? 0) + terms);
    if (terms <= 1) usual.set(namespace, (usual.get(namespace) ?? 0) + pods.length);
  }
  const allUsual = [...usual.values()].reduce((sum, count) => sum + count, 0);
  const over = new Set<string>();
  let left = pass + allUsual;
  let waiting = costs.size;
  let isFull = false;
  for (const [namespace, cost] of [...costs].sort(([, a], [, b]) => a - b)) {
    const most = isAlone ? left : Math.max(share, (allUsual - (usual.get(namespace) ?? 0)) / othersPerTerm);
    isFull ||= cost > left / waiting;
    if (isFull || cost > most) over.add(namespace);
    else left -= cost;
    waiting--;
  }
  return over;
}

/**
 * As many kinds as fit into the terms, at least one, beginning with the pod `from`; and the pod with which the next
 * pass begins.
 */
function takeTurns(
  kinds: readonly PodKind[],
  from: string,
  most: number,
): { readonly admitted: ReadonlySet<Pod>; readonly next: string | undefined } {
  const admitted = new Set<Pod>();
  let spent = 0;
  for (const { pods, terms } of kinds) {
    if (compareText(fullName(pods.at(-1)!), from) < 0) continue;
    if (spent > 0 && spent + terms > most) return { admitted, next: fullName(pods[0]!) };
    spent += terms;
    for (const pod of pods) admitted.add(pod);
  }
  return { admitted, next: undefined };
}
