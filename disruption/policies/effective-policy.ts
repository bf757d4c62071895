import type { NodePool } from '../../api/karpenter/node-pool.js';
import { disruptionPolicyIssues } from '../../api/stowage/disruption-policy-rules.js';
import { defaultDisruptionPolicySpec } from '../../api/stowage/disruption-policy.js';
import type { DisruptionPolicy, DisruptionPolicySpec } from '../../api/stowage/disruption-policy.js';
import { policyOf } from './policies.js';

/** The policy that rules a NodePool. */
export interface EffectivePolicy {
  /** Absent where no policy selects the pool: what Karpenter does, with replace-first expiration. */
  readonly policy?: string;
  readonly spec: DisruptionPolicySpec;
  /** Why it cannot be followed, naming policy and field: nothing of the pool is disrupted then. */
  readonly invalid?: string;
}

/** What rules a pool; a policy with errors is not followed, and says so. */
export function effectivePolicyOf(
  pool: Pick<NodePool, 'metadata'> | undefined,
  policies: readonly DisruptionPolicy[] = [],
): EffectivePolicy {
  const policy = policyOf(pool, policies);
  if (policy === undefined) return { spec: defaultDisruptionPolicySpec };
  let effective = known.get(policy);
  if (effective === undefined) known.set(policy, (effective = validated(policy)));
  return effective;
}

const known = new WeakMap<DisruptionPolicy, EffectivePolicy>();

function validated(policy: DisruptionPolicy): EffectivePolicy {
  const name = policy.metadata.name ?? '';
  const errors = disruptionPolicyIssues(policy).filter(({ severity }) => severity === 'error');
  if (errors.length === 0) return { policy: name, spec: policy.spec };
  const invalid = `DisruptionPolicy ${name} is not valid: ${errors.map(({ message }) => message).join('; ')}`;
  return { policy: name, spec: policy.spec, invalid };
}
