import type { Pod, PodAffinityTerm } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import type { InstanceType } from '../../core/instance-type.js';
import { selects } from '../../core/label-selector.js';
import { namespaceOf } from '../names.js';
import { normaliseKey } from '../requirements/requirements.js';
import type { Requirements } from '../requirements/requirements.js';
import { mostDomains } from './key-space.js';
import { podTermsOf } from './pod-terms.js';

/*
 * Each value of a topology key is a domain, told apart from all others. A key of which the catalogue has very many values, such as
 * the instance type, makes every offering one of its kind: whatever is planned beside it, be it a thousand ordinary pods, costs as much
 * more.
 */

/** A key of which there are more values than this is of high cardinality. */
const fewDomains = 32;

/** Never of high cardinality: what everybody spreads by. */
const ordinary: ReadonlySet<string> = new Set([labels.hostname, labels.zone, labels.capacityType, labels.nodePool]);

type Values = ReadonlyMap<string, ReadonlySet<string>>;

const known = new WeakMap<readonly InstanceType[], Values>();

/**
 * The label keys of which the catalogues or NodePools name so many values that rules of topology had better not be about them, each
 * with how many.
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

/** Those of these keys that no instance type has a value of. */
export function undecidedKeys(
  keys: Iterable<string>,
  pools: readonly { readonly types: readonly InstanceType[] }[],
): readonly string[] {
  const catalogues = new Set(pools.map(({ types }) => types));
  return [...keys].filter((key) => ![...catalogues].some((types) => valuesOf(types).has(key)));
}

/** The keys of labels that nodes of these pools may have: those that any node may, and those that a pool or its catalogue names. */
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

/** The most values that a high-cardinality key has of those that rules of the pod are about, preferred ones included; else 0. */
function mostValues({ spec }: Pick<Pod, 'spec'>, highCardinality: HighCardinalityKeys): number {
  const { affinity, topologySpreadConstraints = [] } = spec;
  if (highCardinality.size === 0 || (affinity === undefined && topologySpreadConstraints.length === 0)) return 0;
  let most = 0;
  for (const { topologyKey } of [...topologySpreadConstraints, ...podTermsOf(affinity)])
    most = Math.max(most, highCardinality.get(normaliseKey(topologyKey)) ?? 0);
  return most;
}

/** A rule of a running pod that keeps others away by a high-cardinality key. */
export interface RunningAntiAffinity {
  readonly pod: Pod;
  readonly term: PodAffinityTerm;
}

/** High-cardinality keys with how many values each has. */
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

/** Whether the rule may be about the pod; what only narrows it is left out of account. */
export function mayKeepAway({ term, pod }: RunningAntiAffinity, other: Pod): boolean {
  const { namespaces = [], namespaceSelector, labelSelector } = term;
  const namespace = namespaceOf(other);
  const isThere =
    namespaceSelector !== undefined ||
    (namespaces.length === 0 ? namespace === namespaceOf(pod) : namespaces.includes(namespace));
  return isThere && selects(labelSelector, other.metadata.labels);
}

/** How many values the high-cardinality key has that a rule about the pod is about, its own or of a pod that runs; else 0. */
export function highCardinalityValues(pod: Pod, { keys, runningAntiAffinity }: HighCardinalityTopology): number {
  let most = mostValues(pod, keys);
  for (const running of runningAntiAffinity) {
    const values = keys.get(normaliseKey(running.term.topologyKey)) ?? 0;
    if (values > most && mayKeepAway(running, pod)) most = values;
  }
  return most;
}
