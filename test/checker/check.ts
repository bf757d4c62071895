import { type MachineType, readMachineTypes } from './catalogue.js';
import { type Cluster, isDeleting, readCluster } from './cluster.js';
import { checkCommitments } from './commitments.js';
import { lowerBound } from './lower-bound.js';
import { type Placement, place } from './placement.js';
import { podKey } from './pods.js';
import { type Preferences, preferencesKept } from './preferences.js';
import { checkAccounting } from './rules/accounting.js';
import { checkAffinity } from './rules/affinity.js';
import { checkAntiAffinity } from './rules/anti-affinity.js';
import { checkCapacity } from './rules/capacity.js';
import { checkNodeFit } from './rules/node-fit.js';
import { checkPools } from './rules/pools.js';
import { checkResources } from './rules/resources.js';
import { checkSpread, spreadNeedsOrder } from './rules/spread.js';
import { checkVolumes } from './rules/volumes.js';
import { checkWeights } from './rules/weights.js';
import type { CatalogueEntry, CommitmentJson, ObjectList, PlanJson, Violation } from './types.js';

export interface Verdict {
  readonly violations: readonly Violation[];
  readonly placedPods: number;
  readonly newNodes: number;
  /** No plan for the placed pods can cost less by resources alone, dollars per hour. */
  readonly lowerBound: number;
  /** How much of the weight of the placed pods' preferences the plan keeps. */
  readonly preferences: Preferences;
  /** See `spreadNeedsOrder`; computed when it is asked for. */
  readonly needsOrder: () => boolean;
}

/**
 * Judges a plan by Kubernetes' and the scheduler's own rules, sharing nothing with the engine that made it.
 * `movable` names pods that run now and may be placed anew; pods of nodes that are being deleted are so anyway.
 */
export function checkPlan(
  objects: ObjectList,
  catalogue: readonly CatalogueEntry[],
  plan: PlanJson,
  movable: ReadonlySet<string> = new Set(),
  commitments: readonly CommitmentJson[] = [],
): Verdict {
  const cluster = readCluster(objects, commitments);
  const { violations, placement } = violationsOf(cluster, readMachineTypes(catalogue), plan, movable);
  return {
    violations: [...violations, ...checkWeights(placement)],
    placedPods: [...plan.newNodeClaims, ...plan.existingNodes].reduce((sum, entry) => sum + entry.pods.length, 0),
    newNodes: plan.newNodeClaims.length,
    lowerBound: lowerBound(placement),
    preferences: preferencesKept(placement),
    needsOrder: () => spreadNeedsOrder(placement),
  };
}

/** The rules that a plan breaks, and the placement that they were read from. */
export function violationsOf(
  cluster: Cluster,
  types: ReadonlyMap<string, MachineType>,
  plan: PlanJson,
  movable: ReadonlySet<string> = new Set(),
): { violations: Violation[]; placement: Placement } {
  const deleting = new Set(movable);
  for (const pod of cluster.pods.values()) {
    const node = cluster.nodes.get(pod.spec.nodeName ?? '');
    if (node !== undefined && isDeleting(node, cluster.claims.get(node.metadata.name ?? ''))) deleting.add(podKey(pod));
  }
  const { placement, violations } = place(cluster, types, plan);
  const all = [
    ...checkAccounting(cluster, plan, deleting),
    ...violations,
    ...checkResources(placement),
    ...checkNodeFit(placement),
    ...checkVolumes(placement),
    ...checkAntiAffinity(placement),
    ...checkAffinity(placement),
    ...checkSpread(placement),
    ...checkPools(placement, plan),
    ...checkCapacity(placement),
    ...checkCommitments(placement),
  ];
  const { lowerBoundPerHour = 0, comparableLowerBoundPerHour = 0 } = plan;
  const stated = Math.max(lowerBoundPerHour, comparableLowerBoundPerHour);
  if (stated > plan.pricePerHour * (1 + 1e-6) + 1e-9) {
    const message = `claims that nothing costs less than ${stated}, but costs ${plan.pricePerHour}`;
    all.push({ rule: 'lower-bound', message });
  }
  return { violations: all, placement };
}
