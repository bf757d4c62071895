import type { Pod, PodSpec } from '../../api/kubernetes.js';
import { compareText } from '../../core/text.js';
import { fullName, namespaceOf } from '../names.js';
import type { Resume, Tier } from '../types.js';
import { crowdedKeys, crowdedValues, type CrowdedKeys, type OpenKeys } from './crowded-keys.js';
import { highCardinalityValues, type HighCardinalityTopology } from './high-cardinality-keys.js';
import { kindsOf, type PodKind } from './pod-kinds.js';
import { cheapTerms, honouredTerms, isPlain, isUsual, requiredTermsOf, tolerationTerms } from './pod-terms.js';
import { countPreferences } from './preferences.js';

/*
 * Bounds what one pass plans, so that no pod makes others wait. The cost of a pod is the number of terms that have to be
 * evaluated to place it. Most pods have few terms and are in every pass. Those with many share a budget (tier `demanding`), those
 * with very many a smaller one (tier `heavy`); pods beyond the budget are left for the next pass. Pods with equal terms are
 * counted once. The unit is a term and not time, so that the same input gives the same plan.
 *
 * A namespace whose pods cost no more than its fair share of a budget is in every pass; the other namespaces take turns with the
 * rest of the budget.
 *
 * Two sorts of pods make everything in the same pass more expensive. They have passes of their own (tier `apart`), which
 * alternate with those of all other pods: pods with a rule about a topology key with many values, and the pods of a namespace
 * that has more unusual pods, or more terms, than its share, but for those that ask for CPU and memory alone.
 */

/** Pods with more terms than this are `heavy`. */
const demandingTerms = 64;
/** Budget of each tier in one pass, in terms. The first kind of pods is planned even if it exceeds the budget. */
export const termsPerPass: Readonly<Record<Tier, number>> = { demanding: 4096, heavy: 256, apart: 256 };
/** The terms of unusual pods that a pass can bear beside others, and how many usual pods justify one more. */
const unusualTerms = 32;
const usualPodsPerTerm = 64;
/** The terms of a namespace that a pass can bear beside others, and how many pods of others justify one more. */
const termsOfNamespace = 512;
const otherPodsPerTerm = 2;
/** A term about a key with many values counts at least `leastFineFactor`-fold, and once more for each further group of values. */
const leastFineFactor = 4;
const valuesPerFactor = 32;

/**
 * Budgets of a simulation for disruption. It has no next pass, and the nodes of pods that it leaves out cannot be disrupted, so
 * the budgets are larger. Tier `apart` is left out altogether.
 */
export const termsPerTrial: Readonly<Record<Tier, number>> = { demanding: 65_536, heavy: 1024, apart: 0 };

/** Budget for pods that a person asks about (`stowage why`): larger than that of any other pass. */
const termsPerQuestion = 4096;

export interface TermsAdmission {
  readonly admitted: readonly Pod[];
  readonly deferred: readonly Pod[];
  /** Where the next pass goes on; undefined if no pods are left over. */
  readonly resume: Resume | undefined;
  /** Pods of tier `apart` are left for passes of their own: what they alone may use concerns nobody in this one. */
  readonly besideApart?: true;
}

export interface AdmissionOptions {
  readonly resume?: Resume | undefined;
  /** Pods (`namespace/name`) that a person asks about: they are in this pass. */
  readonly about?: ReadonlySet<string> | undefined;
  readonly budgets?: Readonly<Record<Tier, number>>;
  readonly openKeys?: OpenKeys;
  /** Topology keys with many values. Pods with rules about them have passes of their own. */
  readonly highCardinality?: HighCardinalityTopology;
}

/** Selects the pods that this pass plans for. */
export function admitWithinTerms(pods: readonly Pod[], options: AdmissionOptions = {}): TermsAdmission {
  const { resume = {}, budgets = termsPerPass, highCardinality, openKeys = new Map() } = options;
  const factors = new Map<Pod, number>();
  if (highCardinality !== undefined)
    for (const pod of pods) addFactor(factors, pod, highCardinalityValues(pod, highCardinality));
  if (options.about !== undefined) return admitAsked(pods, { ...options, about: options.about }, factors);
  const isShared = budgets.apart > 0 && addCostlyForOthers(pods, resume, factors);
  if (factors.size === 0) return admitByTiers(pods, options);
  const apart = [...factors.keys()];
  const others = pods.filter((pod) => !factors.has(pod));
  if (budgets.apart === 0) {
    const { admitted, deferred } = admitByTiers(others, options);
    return { admitted, deferred: [...deferred, ...apart], resume: undefined };
  }
  const { resume: next, ...admission } =
    others.length === 0 || resume.turn === 'apart'
      ? admitApart(factors, others, { resume, budgets, openKeys })
      : besideApart(admitByTiers(others, options), apart, resume);
  return { ...admission, resume: next && isShared ? { ...next, shared: true } : next };
}

/** Notes the factor by which the terms of a pod about a key with many values count. */
function addFactor(factors: Map<Pod, number>, pod: Pod, values: number): void {
  if (values > 0) factors.set(pod, Math.max(leastFineFactor, Math.ceil(values / valuesPerFactor)));
}

/**
 * Notes the pods of namespaces that exceed their share of what may be planned beside others, but for plain pods, and returns whether there are any: by unusual pods,
 * or by very many different ones. Pods of a single namespace are never apart, since no others have to wait.
 */
function addCostlyForOthers(pods: readonly Pod[], { shared }: Resume, factors: Map<Pod, number>): boolean {
  const others = pods.filter((pod) => !factors.has(pod));
  const first = others[0] && namespaceOf(others[0]);
  if (shared !== true && others.every((pod) => namespaceOf(pod) === first)) return false;
  const unusual = others.filter(({ spec }) => !isUsual(spec));
  const budget = unusualTerms + (others.length - unusual.length) / usualPodsPerTerm;
  const kinds = kindsOf(unusual, (pod) => termsApart(pod, noKeys));
  const pressing = new Set(crowding(others));
  if (sumOf(kinds) > budget) for (const { namespace } of fairShares(kinds, budget).taking) pressing.add(namespace);
  for (const pod of others) if (pressing.has(namespaceOf(pod)) && !isPlain(pod)) factors.set(pod, 1);
  return pressing.size > 0;
}

/** The namespaces whose pods ask for more terms than half as many as there are pods of others, beyond what every namespace may. */
function crowding(pods: readonly Pod[]): string[] {
  const byNamespace = new Map<string, Pod[]>();
  for (const pod of pods) {
    const there = byNamespace.get(namespaceOf(pod));
    if (there === undefined) byNamespace.set(namespaceOf(pod), [pod]);
    else there.push(pod);
  }
  return [...byNamespace].flatMap(([namespace, own]) => {
    const most = Math.max(termsOfNamespace, (pods.length - own.length) / otherPodsPerTerm);
    const asking = own.length * cheapTerms > most ? own.filter((pod) => !isPlain(pod)) : [];
    return sumOf(kindsOf(asking, (pod) => termsApart(pod, noKeys))) > most ? [namespace] : [];
  });
}

const termsApart = ({ spec }: Pod, crowded: CrowdedKeys): number =>
  Math.max(1, honouredTerms(spec, crowded) + tolerationTerms(spec));

/**
 * The pass for a person's question: the pods asked about, with the other pods that a usual pass would plan first. Pods of tier
 * `apart` are planned alone.
 */
function admitAsked(
  pods: readonly Pod[],
  { about, budgets, openKeys }: AdmissionOptions & { readonly about: ReadonlySet<string> },
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
    addCostlyForOthers(others, {}, factors);
    for (const pod of others) if (factors.has(pod)) deferred.add(pod);
    const rest = others.filter((pod) => !factors.has(pod));
    for (const pod of admitByTiers(rest, { ...(budgets && { budgets }), ...(openKeys && { openKeys }) }).deferred)
      deferred.add(pod);
  }
  return { admitted: pods.filter((pod) => !deferred.has(pod)), deferred: [...deferred], resume: undefined };
}

/** A pass of all pods but those apart, which have the next pass unless all of them had theirs. */
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
  return {
    admitted,
    deferred: [...deferred, ...apart],
    resume: isThrough ? undefined : next,
    besideApart: true,
  };
}

/** A pass of the pods apart. The next pass is again for the others. */
function admitApart(
  factors: ReadonlyMap<Pod, number>,
  others: readonly Pod[],
  { resume, budgets, openKeys }: { readonly resume: Resume } & Required<Pick<AdmissionOptions, 'budgets' | 'openKeys'>>,
): TermsAdmission {
  const apart = [...factors.keys()];
  const deferred = new Set<Pod>(others);
  const crowded = crowdedKeys(apart, openKeys);
  // A key with many values makes everything else in the pass as expensive.
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
 * If the pods of a tier exceed its budget, they take turns in the order of their names. Each pass goes on where the last one
 * ended, even if pods were added or removed meanwhile, so that every pod has its turn.
 */
function admitByTiers(
  pods: readonly Pod[],
  { resume = {}, budgets = termsPerPass, openKeys }: AdmissionOptions,
): TermsAdmission {
  const tiers: Record<'demanding' | 'heavy' | 'cheap', Pod[]> = { cheap: [], demanding: [], heavy: [] };
  for (const pod of pods) tiers[tierOf(pod.spec)].push(pod);
  // Heavy pods are left out here: their own budget bounds the values that they name.
  const crowded = crowdedKeys([...tiers.cheap, ...tiers.demanding], openKeys);
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

/** The pods of namespaces that cost more than their fair share of the budget, and what the other namespaces leave of it. */
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

/** Adds to `deferred` the pods beyond the budget; returns the pod that the next pass begins with. */
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

/** The tier of a pod by its terms, and by the values that it names of crowded keys. */
function tierOf(spec: PodSpec): 'demanding' | 'heavy' | 'cheap' {
  const { affinity, topologySpreadConstraints, nodeSelector } = spec;
  if ((affinity ?? topologySpreadConstraints ?? nodeSelector) === undefined) return 'cheap';
  const terms = requiredTermsOf(spec) + countPreferences(spec);
  if (terms <= cheapTerms) return 'cheap';
  return terms <= demandingTerms ? 'demanding' : 'heavy';
}
