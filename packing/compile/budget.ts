import type { Pod, PodSpec } from '../../api/kubernetes.js';
import { compareText } from '../../core/compare-text.js';
import { fullName, namespaceOf } from '../names.js';
import type { Resume, Tier } from '../types.js';
import { crowdedKeys, crowdedValues, type CrowdedKeys, type Openings } from './crowded-keys.js';
import { highCardinalityValues, type HighCardinalityTopology } from './high-cardinality-keys.js';
import { kindsOf, type PodKind } from './pod-kinds.js';
import { honouredTerms, isUsual, requiredTermsOf, tolerationTerms } from './pod-terms.js';
import { countPreferences } from './preferences.js';

/*
 * What one pass plans is bounded before it begins, so that no pod makes others wait. A pod's cost is the number of terms
 * that have to be looked at to place it. Most pods have few and are in every pass. Those with many share a budget, those
 * with very many a smaller one of their own; whoever does not fit is left for the next pass. Pods that are alike in their
 * terms are paid for once. The unit is a term, never a time: the same input gives the same plan.
 *
 * A namespace whose pods cost no more than its fair share of a budget is in every pass; the others take turns with what that leaves.
 *
 * Two sorts of pods make all that is planned beside them dear, and have passes of their own, in turn with those of all others: pods
 * with a rule about a topology key of many values, and unusual pods of a namespace that would cost the pods of others more than they cost
 * themselves.
 */

/** Pods of so many terms at most are in every pass. */
const cheapTerms = 12;
/** Pods of more terms than this are heavy. */
const demandingTerms = 64;
/** Terms that pods of a tier have together in one pass; one kind of pods is looked at whatever it has. */
export const termsPerPass: Readonly<Record<Tier, number>> = { demanding: 4096, heavy: 256, apart: 256 };
/** Terms of unusual pods that cost no more than a pass has to, and those that are worth as much as so many usual pods. */
const unusualTerms = 32;
const usualPodsPerTerm = 64;
/** A term about a key of many values counts for so many at least, and for one more with every so many values that the key has. */
const leastFineFactor = 4;
const valuesPerFactor = 32;

/**
 * The same for a simulation of disruption, which has no next pass: nodes with pods that it leaves out stay as they are, so that it
 * leaves out as few as it can. Those of no budget it leaves out.
 */
export const termsPerTrial: Readonly<Record<Tier, number>> = { demanding: 65_536, heavy: 1024, apart: 0 };

/** Of pods that somebody asks about, what those that are not in every pass have together: more than any other pass looks at. */
const termsPerQuestion = 4096;

export interface TermsAdmission {
  readonly admitted: readonly Pod[];
  readonly deferred: readonly Pod[];
  /** Where the next pass goes on; undefined where every pod has had its turn. */
  readonly resume: Resume | undefined;
}

export interface AdmissionOptions {
  readonly resume?: Resume | undefined;
  /** Pods (`namespace/name`) that somebody asks about: they have their turn in this pass. */
  readonly about?: ReadonlySet<string> | undefined;
  readonly budgets?: Readonly<Record<Tier, number>>;
  readonly openings?: Openings;
  /** Pods that this is about have passes of their own. */
  readonly highCardinality?: HighCardinalityTopology;
}

/** The pods that this pass looks at. */
export function admitWithinTerms(pods: readonly Pod[], options: AdmissionOptions = {}): TermsAdmission {
  const { resume = {}, budgets = termsPerPass, highCardinality, openings = new Map() } = options;
  const factors = new Map<Pod, number>();
  if (highCardinality !== undefined)
    for (const pod of pods) noteFactor(factors, pod, highCardinalityValues(pod, highCardinality));
  if (options.about !== undefined) return admitAsked(pods, { ...options, about: options.about }, factors);
  const isShared = budgets.apart > 0 && notePressing(pods, resume, factors);
  if (factors.size === 0) return admitByTiers(pods, options);
  const apart = [...factors.keys()];
  const others = pods.filter((pod) => !factors.has(pod));
  if (budgets.apart === 0) {
    const { admitted, deferred } = admitByTiers(others, options);
    return { admitted, deferred: [...deferred, ...apart], resume: undefined };
  }
  const { resume: next, ...admission } =
    others.length === 0 || resume.turn === 'apart'
      ? admitApart(factors, others, { resume, budgets, openings })
      : besideApart(admitByTiers(others, options), apart, resume);
  return { ...admission, resume: next && isShared ? { ...next, shared: true } : next };
}

/** Notes by what factor the terms of a pod count that is about a key of so many values. */
function noteFactor(factors: Map<Pod, number>, pod: Pod, values: number): void {
  if (values > 0) factors.set(pod, Math.max(leastFineFactor, Math.ceil(values / valuesPerFactor)));
}

/**
 * Notes the unusual pods of namespaces that exceed their fair share of what unusual pods may cost beside others. Whether there are
 * any; where pods of one namespace pend alone there are no others to wait for them.
 */
function notePressing(pods: readonly Pod[], { shared }: Resume, factors: Map<Pod, number>): boolean {
  const others = pods.filter((pod) => !factors.has(pod));
  const first = others[0] && namespaceOf(others[0]);
  if (shared !== true && others.every((pod) => namespaceOf(pod) === first)) return false;
  const unusual = others.filter(({ spec }) => !isUsual(spec));
  const budget = unusualTerms + (others.length - unusual.length) / usualPodsPerTerm;
  const kinds = kindsOf(unusual, (pod) => termsApart(pod, noKeys));
  if (sumOf(kinds) <= budget) return false;
  for (const kind of fairShares(kinds, budget).taking) for (const pod of kind.pods) factors.set(pod, 1);
  return true;
}

const termsApart = ({ spec }: Pod, crowded: CrowdedKeys): number =>
  honouredTerms(spec, crowded) + tolerationTerms(spec);

/**
 * The pass of a question: the pods that it is about, beside those of other pods that a pass of most pods looks at first. Pods that would make
 * all that is planned beside them dear are planned by themselves.
 */
function admitAsked(
  pods: readonly Pod[],
  { about, budgets, openings }: AdmissionOptions & { readonly about: ReadonlySet<string> },
  factors: Map<Pod, number>,
): TermsAdmission {
  const deferred = new Set<Pod>();
  const own = pods.filter((pod) => about.has(fullName(pod)));
  const factor = Math.max(1, ...own.map((pod) => factors.get(pod) ?? 1));
  const costly = own.filter((pod) => factors.has(pod) || tierOf(pod.spec) !== 'cheap');
  const kinds = kindsOf(costly, (pod) => termsApart(pod, noKeys) * factor);
  deferSome(kinds, { budget: termsPerQuestion, from: '' }, deferred);
  const others = pods.filter((pod) => !about.has(fullName(pod)));
  const unusual = kindsOf(own.filter(({ spec }) => !isUsual(spec)), (pod) => termsApart(pod, noKeys)); // prettier-ignore
  if (factor > 1 || sumOf(unusual) > unusualTerms) for (const pod of others) deferred.add(pod);
  else {
    notePressing(others, {}, factors);
    for (const pod of others) if (factors.has(pod)) deferred.add(pod);
    const rest = others.filter((pod) => !factors.has(pod));
    for (const pod of admitByTiers(rest, { ...(budgets && { budgets }), ...(openings && { openings }) }).deferred)
      deferred.add(pod);
  }
  return { admitted: pods.filter((pod) => !deferred.has(pod)), deferred: [...deferred], resume: undefined };
}

/** The pass of most pods: those apart have the next one, unless they have all had their turn. */
function besideApart(
  { admitted, deferred, resume }: TermsAdmission,
  apart: readonly Pod[],
  before: Resume,
): TermsAdmission {
  const isThrough = before.apart === null && resume === undefined;
  const { demanding = null, heavy = null } = resume ?? {};
  const from = before.apart ?? '';
  const next: Resume =
    before.apart === null ? { ...resume, apart: null } : { demanding, heavy, apart: from, turn: 'apart' };
  return { admitted, deferred: [...deferred, ...apart], resume: isThrough ? undefined : next };
}

/** The pass of those apart; afterwards others come, if only to be looked at again. */
function admitApart(
  factors: ReadonlyMap<Pod, number>,
  others: readonly Pod[],
  { resume, budgets, openings }: { readonly resume: Resume } & Required<Pick<AdmissionOptions, 'budgets' | 'openings'>>,
): TermsAdmission {
  const apart = [...factors.keys()];
  const deferred = new Set<Pod>(others);
  const crowded = crowdedKeys(apart, openings);
  // A key of many values makes all that is planned beside it as dear.
  const factor = Math.max(...new Set(factors.values()));
  const kinds = kindsOf(apart, (pod) => termsApart(pod, crowded) * factor);
  const { taking, left } = fairShares(kinds, budgets.apart);
  const rest = deferSome(taking, { budget: left, from: resume.apart ?? '' }, deferred);
  const { demanding = null, heavy = null } = resume;
  const isThrough = rest === undefined && demanding === null && heavy === null;
  return {
    admitted: apart.filter((pod) => !deferred.has(pod)),
    deferred: [...deferred],
    resume: isThrough ? undefined : { demanding, heavy, apart: rest ?? null },
  };
}

/**
 * A tier that exceeds its budget is gone through by name, from `resume` on: each pass goes on where the one before ended, whatever
 * became of the pods in between, so that every pod has its turn.
 */
function admitByTiers(
  pods: readonly Pod[],
  { resume = {}, budgets = termsPerPass, openings }: AdmissionOptions,
): TermsAdmission {
  const tiers: Record<'demanding' | 'heavy' | 'cheap', Pod[]> = { cheap: [], demanding: [], heavy: [] };
  for (const pod of pods) tiers[tierOf(pod.spec)].push(pod);
  // Heavy pods have a budget that bounds their values too, and make no key crowded for others.
  const crowded = crowdedKeys([...tiers.cheap, ...tiers.demanding], openings);
  for (const pod of tiers.cheap) if (crowdedValues(pod.spec, crowded) > 0) tiers.demanding.push(pod);
  const deferred = new Set<Pod>();
  const next: { demanding?: string | null; heavy?: string | null } = {};
  for (const tier of ['demanding', 'heavy'] as const) {
    const keys = tier === 'heavy' ? noKeys : crowded;
    const kinds = kindsOf(tiers[tier], ({ spec }) => honouredTerms(spec, keys));
    if (sumOf(kinds) <= budgets[tier]) continue;
    const { taking, left } = fairShares(kinds, budgets[tier]);
    const rest = deferSome(taking, { budget: left, from: resume[tier] ?? '' }, deferred);
    next[tier] = resume[tier] === null ? null : (rest ?? null);
  }
  const isThrough = Object.values(next).every((from) => from === null);
  if (deferred.size === 0) return { admitted: pods, deferred: [], resume: undefined };
  return {
    admitted: pods.filter((pod) => !deferred.has(pod)),
    deferred: [...deferred],
    resume: isThrough ? undefined : next,
  };
}

const noKeys: CrowdedKeys = new Map();

const sumOf = (kinds: readonly PodKind[]): number => kinds.reduce((sum, { terms }) => sum + terms, 0);

/** The kinds of namespaces that cost more than their fair share of the budget, and what the others leave of it. */
function fairShares(
  kinds: readonly PodKind[],
  budget: number,
): { readonly taking: readonly PodKind[]; readonly left: number } {
  const costs = new Map<string, number>();
  for (const { namespace, terms } of kinds) costs.set(namespace, (costs.get(namespace) ?? 0) + terms);
  let left = budget;
  let others = costs.size;
  const small = new Set<string>();
  for (const [namespace, cost] of [...costs].sort(([, a], [, b]) => a - b)) {
    if (cost > left / others) break;
    small.add(namespace);
    left -= cost;
    others--;
  }
  return { taking: kinds.filter(({ namespace }) => !small.has(namespace)), left };
}

/** Notes in `deferred` what the budget leaves over; gives the pod that the next pass begins with. */
function deferSome(
  kinds: readonly PodKind[],
  { budget, from }: { readonly budget: number; readonly from: string },
  deferred: Set<Pod>,
): string | undefined {
  let spent = 0;
  let resume: string | undefined;
  for (const { pods, terms } of kinds) {
    const isBefore = compareText(fullName(pods.at(-1)!), from) < 0;
    if (!isBefore && resume === undefined && (spent === 0 || spent + terms <= budget)) {
      spent += terms;
      continue;
    }
    if (!isBefore) resume ??= fullName(pods[0]!);
    for (const pod of pods) deferred.add(pod);
  }
  return resume;
}

/** Cheap pods are in every pass, unless the values that they name are very many. */
function tierOf(spec: PodSpec): 'demanding' | 'heavy' | 'cheap' {
  const { affinity, topologySpreadConstraints, nodeSelector } = spec;
  if ((affinity ?? topologySpreadConstraints ?? nodeSelector) === undefined) return 'cheap';
  const terms = requiredTermsOf(spec) + countPreferences(spec);
  if (terms <= cheapTerms) return 'cheap';
  return terms <= demandingTerms ? 'demanding' : 'heavy';
}
