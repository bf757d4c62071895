import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { NodePool } from '../api/karpenter/node-pool.js';
import type { Node } from '../api/kubernetes.js';
import type { DisruptionPolicy } from '../api/stowage/disruption-policy.js';
import type { NodeClass } from '../cloud/port.js';
import type { FeatureGates } from '../core/feature-gates.js';
import type { RepairPolicy } from '../core/conditions.js';

/** A workflow that has to run, with its input. */
export interface WorkflowStart {
  readonly workflowId: string;
  readonly type: string;
  readonly input: object;
  readonly summary: string;
  readonly details?: string | undefined;
  /**
   * Meaning of a completed run. `startAgain`: start it again, since the objects show that the work is not done.
   * `keepCompleted`: its result is valid until the object changes; only a run that failed is started again.
   */
  readonly afterCompletion: 'startAgain' | 'keepCompleted';
}

/** Input of the reconciler from Kubernetes and settings. */
export interface ObservedCluster {
  readonly cluster: string;
  readonly gates: Pick<FeatureGates, 'NodeRepair' | 'StaticCapacity'>;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** NodeClaims and NodePools whose node class is of this provider. */
  readonly claims: readonly NodeClaim[];
  readonly pools: readonly NodePool[];
  readonly policies: readonly DisruptionPolicy[];
  readonly repairPolicies: readonly RepairPolicy[];
  nodeOf(claim: NodeClaim): Node | undefined;
  nodeClassOf(pool: NodePool): NodeClass | undefined;
}
