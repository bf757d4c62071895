import type { PodSpec } from '../../../api/kubernetes.js';
import type { MachineType } from '../catalogue.js';
import type { Pool } from '../cluster.js';
import { daemonsOn, fitsLabels, launchesOf, totalRequests, type Placement } from '../placement.js';
import { addAmounts, type PodClass } from '../pods.js';
import { fixedLabels } from '../prices.js';
import { policyOf } from '../policies.js';
import { normalKey, untolerated } from '../selectors.js';
import type { Violation } from '../types.js';
import { lacking } from './resources.js';
import { termSelects } from './where.js';

const weightOf = ({ spec }: Pool): number => spec.weight ?? 0;

/**
 * Each launched node has a pod that no NodePool with a higher weight can hold: the others may ride there. Where rules of a pod (topology, volumes, host ports,
 * preferences) or of a NodePool (limits, minValues, a spot ratio, preferred taints) can be a reason too, it is taken for one.
 */
export function checkWeights(placement: Placement): Violation[] {
  const pools = [...placement.cluster.pools.values()];
  const known = new Map<Pool, Map<PodClass, boolean>>();
  const canHold = (pool: Pool, podClass: PodClass): boolean => {
    let ofPool = known.get(pool);
    if (ofPool === undefined) known.set(pool, (ofPool = new Map<PodClass, boolean>()));
    let answer = ofPool.get(podClass);
    if (answer === undefined) ofPool.set(podClass, (answer = holds(placement, pool, podClass)));
    return answer;
  };
  return placement.nodes.flatMap(({ claim, pool, placed, name }): Violation[] => {
    if (claim === undefined || pool === undefined || placed.size === 0) return [];
    const heavier = pools.filter((other) => weightOf(other) > weightOf(pool) && isUnrestricted(placement, other));
    const needsPool = (podClass: PodClass): boolean =>
      hasOtherRules(placement, podClass) || !heavier.some((other) => canHold(other, podClass));
    if (heavier.length === 0 || [...placed.keys()].some(needsPool)) return [];
    const message = `NodePools with a weight above ${weightOf(pool)} can hold each of its pods`;
    return [{ rule: 'weight', node: name, message }];
  });
}

function isUnrestricted({ cluster }: Placement, pool: Pool): boolean {
  const { spec, status, metadata } = pool;
  const { requirements = [], taints = [] } = spec.template.spec;
  return (
    metadata.deletionTimestamp === undefined &&
    spec.replicas === undefined &&
    Object.keys(spec.limits ?? {}).length === 0 &&
    requirements.every(({ minValues }) => minValues === undefined) &&
    taints.every(({ effect }) => effect !== 'PreferNoSchedule') &&
    (status?.conditions ?? []).every((condition) => condition.status !== 'False') &&
    policyOf(cluster, pool)?.spec.spotRatio === undefined
  );
}

/** Whether the pod has rules besides labels, taints and resources. */
function hasOtherRules(placement: Placement, podClass: PodClass): boolean {
  const { affinity, topologySpreadConstraints = [], volumes = [] } = podClass.spec;
  return (
    topologySpreadConstraints.length > 0 ||
    (affinity?.podAffinity ?? affinity?.podAntiAffinity) !== undefined ||
    hasAlternatives(affinity?.nodeAffinity) ||
    volumes.some(({ persistentVolumeClaim, ephemeral }) => (persistentVolumeClaim ?? ephemeral) !== undefined) ||
    podClass.ports.length > 0 ||
    isKeptAway(placement, podClass)
  );
}

type NodeAffinity = NonNullable<PodSpec['affinity']>['nodeAffinity'];

/** Preferences, and terms that are tried one after the other. */
const hasAlternatives = (affinity: NodeAffinity): boolean =>
  (affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).length > 0 ||
  (affinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []).length > 1;

/** Whether an anti-affinity of other pods selects it. */
function isKeptAway({ cluster, classes }: Placement, podClass: PodClass): boolean {
  return classes.all.some((owner) =>
    (owner.spec.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []).some((term) =>
      termSelects(cluster, term, owner, podClass),
    ),
  );
}

/** Whether some instance that the NodePool can launch, outside of capacity reservations, holds the pod. */
function holds(placement: Placement, pool: Pool, podClass: PodClass): boolean {
  const { taints = [], requirements = [] } = pool.spec.template.spec;
  if (untolerated(taints, podClass.spec.tolerations) !== undefined) return false;
  const types: readonly MachineType[] = [...placement.typesOf(pool).values()];
  const asked = new Set(keysAsked(podClass));
  const name = 'a new node';
  return launchesOf(types, fixedLabels(pool, undefined, name), requirements).some(({ type, offer, labels }) => {
    // A label of which the NodePool leaves the value open is there all the same.
    const isOpen = requirements.some(({ key }) => asked.has(normalKey(key)) && labels(normalKey(key)) === undefined);
    if (offer.reserved !== undefined || isOpen || !fitsLabels(podClass.spec, labels, name)) return false;
    const needs = { ...podClass.requests };
    addAmounts(needs, totalRequests(daemonsOn(placement.cluster.daemonSets, labels, taints, name)));
    return lacking(needs, type.resources) === undefined;
  });
}

/** Label keys that the pod's node selector and required node affinity name. */
function keysAsked({ spec }: PodClass): string[] {
  const { nodeSelectorTerms = [] } = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? {};
  const inTerms = nodeSelectorTerms.flatMap(({ matchExpressions }) => (matchExpressions ?? []).map(({ key }) => key));
  return [...Object.keys(spec.nodeSelector ?? {}), ...inTerms].map(normalKey);
}
