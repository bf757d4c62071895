import type { NodePool } from '../api/karpenter/node-pool.js';
import type { RegistrationSubject } from '../core/registration-health.js';
import { nodeClassOf } from './cluster.js';
import type { ClusterDeps } from './deps.js';

/** The generations that registrations of the pool are about now. */
export function registrationSubject(deps: Pick<ClusterDeps, 'cloud' | 'cache'>, pool: NodePool): RegistrationSubject {
  return {
    poolGeneration: pool.metadata.generation,
    nodeClassGeneration: nodeClassOf(deps, pool.spec.template.spec.nodeClassRef)?.metadata.generation,
  };
}
