import type { Pod, PodAffinityTerm } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import type { InstanceType } from '../../core/instance-type.js';
import { selects, normaliseKey } from '../../core/labels.js';
import type { Requirements } from '../requirements/requirements.js';
import { mostDomains } from './key-space.js';
import { topologyKeysOf } from './pod-terms.js';
import { namespaceOf } from '../../core/names.js';

/**
 * Each value of a topology key is a separate domain. With a key of very many values, such as the instance type, every
 * offering is distinct, which makes the whole pass expensive, even for a thousand ordinary pods in it.
 */

/** Keys with more values than this have high cardinality. */
const fewDomains = 32;

/** Keys that never count as high cardinality, because most pods spread by them. */
const ordinary: ReadonlySet<string> = new Set([labels.hostname, labels.zone, labels.capacityType, labels.nodePool]);

type Values = ReadonlyMap<string, ReadonlySet<string>>;

const known = new WeakMap<readonly InstanceType[], Values>();

/**
 * The label keys with so many values in catalogues or NodePools that topology rules with them are expensive, with the
 * number of values.
 */
export function highCardinalityKeys(
  catalogues: Iterable<readonly InstanceType[]>,
  pools: readonly { readonly requirements: Requirements }[],
): ReadonlyMap<string, number> {
  const highCardinality = new Map<string, number>();
  const note = (key: string, values: number): void => {
    if (values > fewDomains) highCardinality.set(key, Math.max(values, highCardinality.get(key) ?? 0));
  };
  for (const types of new Set(catalogues)) for (const [key, values] of valuesOf(types)) note(key, values.size);
  for (const { requirements } of pools)
    for (const [key, { values }] of requirements) note(key, Math.min(values.length, mostDomains));
  for (const key of ordinary) highCardinality.delete(key);
  return highCardinality;
}

/** The keys for which no instance type has a value. */
export function undecidedKeys(
  keys: Iterable<string>,
  pools: readonly { readonly types: readonly InstanceType[] }[],
): readonly string[] {
  const catalogues = new Set(pools.map(({ types }) => types));
  return [...keys].filter((key) => ![...catalogues].some((types) => valuesOf(types).has(key)));
}

/**
 * Label keys that new nodes of these NodePools may have: those of every node, and those that a NodePool or its
 * catalogue defines.
 */
export function newNodeKeys(
  wellKnown: Iterable<string>,
  pools: readonly { readonly types: readonly InstanceType[]; readonly requirements: Requirements }[],
): ReadonlySet<string> {
  const keys = new Set(wellKnown);
  for (const types of new Set(pools.map((pool) => pool.types))) for (const key of valuesOf(types).keys()) keys.add(key);
  for (const { requirements } of pools) for (const key of requirements.keys()) keys.add(key);
  return keys;
}

function valuesOf(types: readonly InstanceType[]): Values {
  let values = known.get(types);
  if (values === undefined) known.set(types, (values = readValues(types)));
  return values;
}

function readValues(types: readonly InstanceType[]): Values {
  const found = new Map<string, Set<string>>();
  for (const { requirements, offerings } of types) {
    for (const list of [requirements, ...offerings.map((each) => each.requirements)]) {
      for (const { key, values = [] } of list) {
        const name = normaliseKey(key);
        let there = found.get(name);
        if (there === undefined) found.set(name, (there = new Set<string>()));
        for (const value of values) there.add(value);
      }
    }
  }
  return found;
}

/**
 * The largest number of values of a high-cardinality key that a topology rule of the pod uses, preferred rules included; 0 if
 * none.
 */
function mostValues({ spec }: Pick<Pod, 'spec'>, highCardinality: HighCardinalityKeys): number {
  const { affinity, topologySpreadConstraints = [] } = spec;
  if (highCardinality.size === 0 || (affinity === undefined && topologySpreadConstraints.length === 0)) return 0;
  let most = 0;
  for (const key of topologyKeysOf(spec)) most = Math.max(most, highCardinality.get(normaliseKey(key)) ?? 0);
  return most;
}

/** Anti-affinity of a running pod with a high-cardinality topology key. */
interface RunningAntiAffinity {
  readonly pod: Pod;
  readonly term: PodAffinityTerm;
}

/** High-cardinality keys with their number of values. */
type HighCardinalityKeys = ReadonlyMap<string, number>;

export interface HighCardinalityTopology {
  readonly keys: HighCardinalityKeys;
  readonly runningAntiAffinity: readonly RunningAntiAffinity[];
}

export function runningAntiAffinityOf(
  running: Iterable<readonly Pod[]>,
  highCardinality: HighCardinalityKeys,
): readonly RunningAntiAffinity[] {
  const runningAntiAffinity: RunningAntiAffinity[] = [];
  for (const pods of running) {
    for (const pod of pods) {
      pod.spec.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.forEach((term) => {
        if (highCardinality.has(normaliseKey(term.topologyKey))) runningAntiAffinity.push({ pod, term });
      });
    }
  }
  return runningAntiAffinity;
}

/** Whether the rule may select the pod. Fields that only narrow the selection are ignored. */
export function mayKeepAway({ term, pod }: RunningAntiAffinity, other: Pod): boolean {
  const { namespaces = [], namespaceSelector, labelSelector } = term;
  const namespace = namespaceOf(other);
  const isThere =
    namespaceSelector !== undefined ||
    (namespaces.length === 0 ? namespace === namespaceOf(pod) : namespaces.includes(namespace));
  return isThere && selects(labelSelector, other.metadata.labels);
}

/**
 * The number of values of the high-cardinality key in a rule that concerns the pod, of the pod or of a running pod; 0
 * if none.
 */
export function highCardinalityValues(pod: Pod, { keys, runningAntiAffinity }: HighCardinalityTopology): number {
  let most = mostValues(pod, keys);
  for (const running of runningAntiAffinity) {
    const values = keys.get(normaliseKey(running.term.topologyKey)) ?? 0;
    if (values > most && mayKeepAway(running, pod)) most = values;
  }
  return most;
}
