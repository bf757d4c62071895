import type { Affinity, NodeSelectorTerm, PodAffinityTerm, PodSpec } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import { normaliseKey } from '../requirements/requirements.js';
import { crowdedValues, type CrowdedKeys } from './crowded-keys.js';
import { countPreferences, honouredPreferences, isSoft } from './preferences.js';

const none: readonly never[] = [];

/** Cost in terms of a value of a crowded key. */
const termsPerCrowdedValue = 32;

/** The number of terms that have to be evaluated to place a pod; of preferences, those that are honoured. */
export const honouredTerms = (spec: PodSpec, crowded: CrowdedKeys): number =>
  requiredTermsOf(spec) +
  Math.min(honouredPreferences, countPreferences(spec)) +
  crowdedValues(spec, crowded) * termsPerCrowdedValue;

export function requiredTermsOf({ affinity, topologySpreadConstraints = [], nodeSelector = {} }: PodSpec): number {
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
const usualTerms = 3;
/** This many tolerations cost as much as a term. */
const tolerationsPerTerm = 64;

/** Keys of most topology rules. They have few domains, which the catalogue distinguishes anyway. */
const usualKeys: ReadonlySet<string> = new Set([labels.hostname, labels.zone, labels.capacityType]);

export const tolerationTerms = ({ tolerations = [] }: PodSpec): number =>
  Math.floor(tolerations.length / tolerationsPerTerm);

/** Whether the pod has few terms, and topology rules only about usual keys. */
export function isUsual(spec: PodSpec): boolean {
  const { affinity, topologySpreadConstraints = none, nodeSelector } = spec;
  if (tolerationTerms(spec) > 0) return false;
  if (affinity === undefined && topologySpreadConstraints.length === 0 && nodeSelector === undefined) return true;
  if (requiredTermsOf(spec) + countPreferences(spec) > usualTerms) return false;
  const isOfUsualKey = ({ topologyKey }: { readonly topologyKey: string }): boolean =>
    usualKeys.has(normaliseKey(topologyKey));
  return topologySpreadConstraints.every(isOfUsualKey) && podTermsOf(affinity).every(isOfUsualKey);
}

/** All terms of pod affinity and anti-affinity, required and preferred. */
export const podTermsOf = ({ podAffinity, podAntiAffinity }: Affinity = {}): readonly PodAffinityTerm[] =>
  [podAffinity, podAntiAffinity].flatMap((each) => [
    ...(each?.requiredDuringSchedulingIgnoredDuringExecution ?? none),
    ...(each?.preferredDuringSchedulingIgnoredDuringExecution ?? none).map(({ podAffinityTerm }) => podAffinityTerm),
  ]);
