import type { NodePool } from '../../api/karpenter/node-pool.js';
import { disruptionPolicyIssues } from '../../api/stowage/disruption-policy-rules.js';
import {
  defaultDisruptionPolicySpec,
  type DisruptionPolicy,
  type DisruptionPolicySpec,
} from '../../api/stowage/disruption-policy.js';
import { nameOf } from '../../core/names.js';
import { compareText } from '../../core/text.js';
import { selects } from '../../core/labels.js';

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

/**
 * The policy that applies to a pool: of those that select it the one with the highest weight; of equal weights the
 * first by name. Often none.
 */
export function policyOf(
  pool: Pick<NodePool, 'metadata'> | undefined,
  policies: readonly DisruptionPolicy[],
): DisruptionPolicy | undefined {
  if (pool === undefined) return undefined;
  return policies
    .filter(({ spec }) => spec.nodePoolSelector === undefined || selects(spec.nodePoolSelector, pool.metadata.labels))
    .sort((a, b) => (b.spec.weight ?? 0) - (a.spec.weight ?? 0) || compareText(nameOf(a), nameOf(b)))[0];
}
