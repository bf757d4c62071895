import type { NodeSelectorTerm, Pod, PodSpec } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import { lookUp } from '../../core/own.js';
import { isOpen } from '../requirements/requirement.js';
import type { Requirements } from '../requirements/requirements.js';

/*
 * Where a NodePool leaves a label open, each value that a pod names is a node of its own kind, with all that the NodePool offers:
 * that is what a value costs, not the term that names it.
 */

/** Keys of which pods name more values than this are crowded. */
const fewValues = 128;

/** Instance types decide these, whatever pods name. */
const decided: ReadonlySet<string> = new Set([
  labels.hostname,
  labels.zone,
  labels.instanceType,
  labels.arch,
  labels.os,
  labels.capacityType,
  labels.nodePool,
]);

/** NodePools times values that are few: each is a copy of what a NodePool offers. */
const fewCopies = 128;

/** By label key, how many NodePools leave open which value it has. */
export type Openings = ReadonlyMap<string, number>;

/** `undecided`: well-known keys that no instance type decides, which every NodePool leaves open. */
export function openingsOf(
  pools: readonly { readonly requirements: Requirements }[],
  undecided: readonly string[],
): Openings {
  const openings = new Map<string, number>();
  for (const { requirements } of pools) {
    for (const [key, each] of requirements) if (isOpen(each)) openings.set(key, (openings.get(key) ?? 0) + 1);
  }
  for (const key of undecided) openings.set(key, pools.length);
  for (const key of decided) openings.delete(key);
  return openings;
}

/** By label key of which pods name very many values, how many copies one value costs. */
export type CrowdedKeys = ReadonlyMap<string, number>;

/**
 * The label keys of which these pods name very many values; where all together name very many of those that NodePools leave open,
 * these are crowded too, for what labels leave open multiplies.
 */
export function crowdedKeys(pods: readonly Pod[], openings: Openings = new Map()): CrowdedKeys {
  const values = new Map<string, Set<string>>();
  for (const { spec } of pods) {
    if (spec.nodeSelector === undefined && spec.affinity?.nodeAffinity === undefined) continue;
    forEachValue(spec, (key, value) => {
      if (decided.has(key)) return;
      const there = values.get(key);
      if (there === undefined) values.set(key, new Set([value]));
      else there.add(value);
    });
  }
  let copies = 0;
  for (const [key, named] of values) copies += (named.size - 1) * (openings.get(key) ?? 0);
  const isCrowded = ([key, named]: [string, Set<string>]): boolean =>
    named.size > fewValues || (copies > fewCopies && named.size > 1 && openings.has(key));
  return new Map([...values].filter(isCrowded).map(([key]) => [key, openings.get(key) ?? 1]));
}

/** How many copies the values of crowded keys cost that the pod names. */
export function crowdedValues(spec: PodSpec, crowded: CrowdedKeys): number {
  let count = 0;
  if (crowded.size > 0) forEachValue(spec, (key) => void (count += crowded.get(key) ?? 0));
  return count;
}

/** Values of one expression are told apart from others alone: they count once. */
function forEachValue({ nodeSelector, affinity }: PodSpec, take: (key: string, value: string) => void): void {
  for (const key in nodeSelector) take(key, lookUp(nodeSelector, key)!);
  const { requiredDuringSchedulingIgnoredDuringExecution: required, preferredDuringSchedulingIgnoredDuringExecution } =
    affinity?.nodeAffinity ?? {};
  const ofTerm = ({ matchExpressions = [] }: NodeSelectorTerm): void => {
    for (const { key, values = [] } of matchExpressions) if (values.length > 0) take(key, values.join());
  };
  required?.nodeSelectorTerms.forEach(ofTerm);
  preferredDuringSchedulingIgnoredDuringExecution?.forEach(({ preference }) => ofTerm(preference));
}
