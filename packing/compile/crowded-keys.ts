import type { NodeSelectorTerm, Pod, PodSpec } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import { lookUp } from '../../core/own.js';
import { isOpen } from '../requirements/requirement.js';
import type { Requirements } from '../requirements/requirements.js';
import { namespaceOf } from '../../core/names.js';

/*
 * If a NodePool leaves a label open, each value that a pod names multiplies everything that the NodePool offers. So a
 * value costs as much as such a copy, and not as one term.
 */

/** Keys of which pods name more values than this are crowded. */
const fewValues = 128;

/** A namespace may name so many values of a crowded key without extra cost. */
const fewOwnValues = 8;

/** Keys whose values instance types decide, whatever pods name. */
const decided: ReadonlySet<string> = new Set([
  labels.hostname,
  labels.zone,
  labels.instanceType,
  labels.arch,
  labels.os,
  labels.capacityType,
  labels.nodePool,
]);

/** Up to so many copies of a NodePool's offers (NodePools times values), keys are not crowded. */
const fewCopies = 128;

/** By label key, how many NodePools leave its value open. */
export type OpenKeys = ReadonlyMap<string, number>;

/** `undecided`: well-known keys that no instance type decides; every NodePool leaves these open. */
export function openKeysOf(
  pools: readonly { readonly requirements: Requirements }[],
  undecided: readonly string[],
): OpenKeys {
  const openKeys = new Map<string, number>();
  for (const { requirements } of pools) {
    for (const [key, each] of requirements) if (isOpen(each)) openKeys.set(key, (openKeys.get(key) ?? 0) + 1);
  }
  for (const key of undecided) openKeys.set(key, pools.length);
  for (const key of decided) openKeys.delete(key);
  return openKeys;
}

/** Crowded label keys, each with the number of copies that one value costs. */
export type CrowdedKeys = ReadonlyMap<string, number>;

/**
 * The crowded label keys of these pods for a namespace: only those of which the namespace itself names more than a few
 * values. If the pods name very many values of several keys together that NodePools leave open, all of these keys are
 * crowded, because open labels multiply.
 */
export function crowdedKeys(pods: readonly Pod[], openKeys: OpenKeys = new Map()): (namespace: string) => CrowdedKeys {
  const values = new Map<string, Map<string, Set<string>>>();
  for (const pod of pods) {
    const { spec } = pod;
    if (spec.nodeSelector === undefined && spec.affinity?.nodeAffinity === undefined) continue;
    const namespace = namespaceOf(pod);
    forEachValue(spec, (key, value) => {
      if (decided.has(key)) return;
      let named = values.get(key);
      if (named === undefined) values.set(key, (named = new Map<string, Set<string>>()));
      const there = named.get(value);
      if (there === undefined) named.set(value, new Set([namespace]));
      else there.add(namespace);
    });
  }
  let copies = 0;
  for (const [key, named] of values) copies += (named.size - 1) * (openKeys.get(key) ?? 0);
  const isCrowded = ([key, named]: [string, Map<string, unknown>]): boolean =>
    named.size > fewValues || (copies > fewCopies && named.size > 1 && openKeys.has(key));
  const crowded = [...values].filter(isCrowded);
  const counts = new Map<string, Map<string, number>>();
  for (const [key, named] of crowded) {
    for (const namespace of [...named.values()].flatMap((each) => [...each])) {
      const own = counts.get(namespace) ?? new Map<string, number>();
      counts.set(namespace, own.set(key, (own.get(key) ?? 0) + 1));
    }
  }
  const none: CrowdedKeys = new Map();
  const found = new Map(
    [...counts].map(([namespace, own]): [string, CrowdedKeys] => [
      namespace,
      new Map([...own].filter(([, count]) => count > fewOwnValues).map(([key]) => [key, openKeys.get(key) ?? 1])),
    ]),
  );
  return (namespace) => found.get(namespace) ?? none;
}

/** Cost of the values of crowded keys that the pod names, in copies. */
export function crowdedValues(spec: PodSpec, crowded: CrowdedKeys): number {
  let count = 0;
  if (crowded.size > 0) forEachValue(spec, (key) => void (count += crowded.get(key) ?? 0));
  return count;
}

/** All values of one expression count as one, since they are distinguished only from values outside it. */
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
