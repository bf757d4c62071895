import type { NodePool } from '../api/karpenter/node-pool.js';
import type { RegistrationSubject } from '../core/registration-health.js';
import { conditionOf } from '../core/conditions.js';
import { nodeClassOf } from './cluster.js';
import type { ClusterDeps } from './deps.js';

/** The current generations of the pool and its node class, for its registration health. */
export function registrationSubject(deps: Pick<ClusterDeps, 'cloud' | 'cache'>, pool: NodePool): RegistrationSubject {
  const { conditions, nodeClassObservedGeneration } = pool.status ?? {};
  const nodeClassGeneration = nodeClassOf(deps, pool.spec.template.spec.nodeClassRef)?.metadata.generation;
  const poolGeneration = pool.metadata.generation;
  const said = conditionOf(conditions, 'NodeRegistrationHealthy');
  const isOfNow = said?.observedGeneration === poolGeneration && nodeClassObservedGeneration === nodeClassGeneration;
  return { poolGeneration, nodeClassGeneration, ...(said !== undefined && isOfNow ? { said } : {}) };
}
