import type { NodePool } from '../../api/karpenter/node-pool.js';
import { disruptionPolicyIssues } from '../../api/stowage/disruption-policy-rules.js';
import { defaultDisruptionPolicySpec } from '../../api/stowage/disruption-policy.js';
import type { DisruptionPolicy, DisruptionPolicySpec } from '../../api/stowage/disruption-policy.js';
import { policyOf } from './policies.js';
import { nameOf } from '../../core/names.js';

/** The policy that applies to a NodePool. */
export interface EffectivePolicy {
  /** Absent if no policy selects the pool: Karpenter's behaviour, with replace-first expiration. */
  readonly policy?: string;
  readonly spec: DisruptionPolicySpec;
  /** Why it is invalid, naming policy and field: nothing in the pool is disrupted then. */
  readonly invalid?: string;
}

/** The policy of a pool; a policy with errors is not applied, and has `invalid` set. */
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
  const name = nameOf(policy);
  const errors = disruptionPolicyIssues(policy).filter(({ severity }) => severity === 'error');
  if (errors.length === 0) return { policy: name, spec: policy.spec };
  const invalid = `DisruptionPolicy ${name} is not valid: ${errors.map(({ message }) => message).join('; ')}`;
  return { policy: name, spec: policy.spec, invalid };
}
