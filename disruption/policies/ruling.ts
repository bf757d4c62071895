import type { NodePool } from '../../api/karpenter/node-pool.js';
import { disruptionPolicyIssues } from '../../api/stowage/disruption-policy-rules.js';
import { defaultDisruptionPolicySpec } from '../../api/stowage/disruption-policy.js';
import type { DisruptionPolicy, DisruptionPolicySpec } from '../../api/stowage/disruption-policy.js';
import { policyOf } from './policies.js';

/** The policy that rules a NodePool. */
export interface Ruling {
  /** Absent where no policy selects the pool: what Karpenter does, with replace-first expiration. */
  readonly policy?: string;
  readonly spec: DisruptionPolicySpec;
  /** Why it cannot be followed, naming policy and field: nothing of the pool is disrupted then. */
  readonly broken?: string;
}

/** What rules a pool; a policy with errors is not followed, and says so. */
export function rulingOf(
  pool: Pick<NodePool, 'metadata'> | undefined,
  policies: readonly DisruptionPolicy[] = [],
): Ruling {
  const policy = policyOf(pool, policies);
  if (policy === undefined) return { spec: defaultDisruptionPolicySpec };
  let ruling = judged.get(policy);
  if (ruling === undefined) judged.set(policy, (ruling = judge(policy)));
  return ruling;
}

const judged = new WeakMap<DisruptionPolicy, Ruling>();

function judge(policy: DisruptionPolicy): Ruling {
  const name = policy.metadata.name ?? '';
  const errors = disruptionPolicyIssues(policy).filter(({ severity }) => severity === 'error');
  if (errors.length === 0) return { policy: name, spec: policy.spec };
  const broken = `DisruptionPolicy ${name} is not valid: ${errors.map(({ message }) => message).join('; ')}`;
  return { policy: name, spec: policy.spec, broken };
}
