import type { Affinity, NodeSelectorTerm, Pod, PodAffinityTerm, PodSpec } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import { normaliseKey } from '../../core/labels.js';
import { crowdedValues, type CrowdedKeys } from './crowded-keys.js';
import { plainRequests } from './pod-key.js';
import { hostPorts } from '../../core/host-ports.js';
import { countPreferences, honouredPreferences, isSoft } from './preferences.js';

const none: readonly never[] = [];

/** Cost in terms of a value of a crowded key. */
const termsPerCrowdedValue = 32;

/** The number of terms that have to be evaluated to place a pod; of preferences, those that are honoured. */
export const honouredTerms = (spec: PodSpec, crowded: CrowdedKeys): number =>
  requiredTermsOf(spec) +
  Math.min(honouredPreferences, countPreferences(spec)) +
  tolerationTerms(spec) +
  crowdedValues(spec, crowded) * termsPerCrowdedValue;

function requiredTermsOf({ affinity, topologySpreadConstraints = [], nodeSelector = {} }: PodSpec): number {
  let terms = Object.keys(nodeSelector).length;
  for (const each of topologySpreadConstraints) if (!isSoft(each)) terms += selectorCost(each);
  return affinity === undefined ? terms : terms + affinityCost(affinity);
}

function affinityCost({ nodeAffinity, podAffinity, podAntiAffinity }: Affinity): number {
  const nodeTerms = nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? none;
  const near = podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? none;
  const apart = podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? none;
  let cost = 0;
  for (const term of nodeTerms) cost += nodeTermCost(term);
  for (const term of near) cost += selectorCost(term);
  for (const term of apart) cost += selectorCost(term);
  return cost;
}

/** This many values of one expression cost as much as a term. */
const valuesPerTerm = 64;

function nodeTermCost({ matchExpressions = [] }: NodeSelectorTerm): number {
  let cost = 1;
  for (const { values } of matchExpressions) cost += 1 + Math.floor((values?.length ?? 0) / valuesPerTerm);
  return cost;
}

/** A term with one label, as nearly all have, counts once. */
function selectorCost({ labelSelector }: Pick<PodAffinityTerm, 'labelSelector'>): number {
  const { matchLabels = {}, matchExpressions = none } = labelSelector ?? {};
  return Math.max(1, Object.keys(matchLabels).length + matchExpressions.length);
}

/** Pods with more terms than this are unusual. */
const cheapTerms = 12;
/** Pods with more terms than this are strange. */
const demandingTerms = 64;
/** This many tolerations cost as much as a term. */
const tolerationsPerTerm = 64;

/** Keys of most topology rules. They have few domains, which the catalogue distinguishes anyway. */
export const usualKeys: ReadonlySet<string> = new Set([labels.hostname, labels.zone, labels.capacityType]);

const tolerationTerms = ({ tolerations = [] }: PodSpec): number => Math.floor(tolerations.length / tolerationsPerTerm);

/** Whether the pod has few terms, and topology rules only about usual keys, as ordinary pods have. */
export function isUsual(spec: PodSpec): boolean {
  const { affinity, topologySpreadConstraints = none, nodeSelector } = spec;
  if (tolerationTerms(spec) > 0) return false;
  if (affinity === undefined && topologySpreadConstraints.length === 0 && nodeSelector === undefined) return true;
  // The cheapest count comes first, which suffices for most unusual pods.
  if (countTerms(spec) > cheapTerms || requiredTermsOf(spec) + countPreferences(spec) > cheapTerms) return false;
  return topologyKeysOf(spec).every((key) => usualKeys.has(normaliseKey(key)));
}

/**
 * Whether the terms of the pod add work for other pods: it has very many terms, or topology rules about unusual keys.
 */
export const isStrange = (spec: PodSpec): boolean =>
  tolerationTerms(spec) > 0 ||
  countTerms(spec) > demandingTerms ||
  requiredTermsOf(spec) + countPreferences(spec) > demandingTerms ||
  topologyKeysOf(spec).some((key) => !usualKeys.has(normaliseKey(key)));

/** A lower bound of the pod's terms, without reading any of them. */
function countTerms(spec: PodSpec): number {
  const { nodeAffinity, podAffinity, podAntiAffinity } = spec.affinity ?? {};
  return (
    countPreferences(spec) +
    (nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms.length ?? 0) +
    (podAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.length ?? 0) +
    (podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.length ?? 0)
  );
}

/** Whether the pod requests only CPU and memory and has no other rules, so that it may run wherever it has room. */
export function isPlain(pod: Pod): boolean {
  const { affinity, nodeSelector, topologySpreadConstraints = [], tolerations = [], volumes = [] } = pod.spec;
  return (
    affinity === undefined &&
    nodeSelector === undefined &&
    topologySpreadConstraints.length + tolerations.length + volumes.length === 0 &&
    plainRequests(pod) !== undefined &&
    hostPorts(pod).length === 0
  );
}

/** The topology keys of all rules of the pod, required and preferred, as it writes them. */
export function topologyKeysOf({ affinity, topologySpreadConstraints = [] }: PodSpec): readonly string[] {
  const keys = topologySpreadConstraints.map(({ topologyKey }) => topologyKey);
  for (const each of [affinity?.podAffinity, affinity?.podAntiAffinity]) {
    for (const { topologyKey } of each?.requiredDuringSchedulingIgnoredDuringExecution ?? none) keys.push(topologyKey);
    for (const { podAffinityTerm } of each?.preferredDuringSchedulingIgnoredDuringExecution ?? none)
      keys.push(podAffinityTerm.topologyKey);
  }
  return keys;
}
