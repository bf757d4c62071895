import type { NodePool } from '../../api/karpenter/node-pool.js';
import { disruptionPolicyIssues } from '../../api/stowage/disruption-policy-rules.js';
import { defaultDisruptionPolicySpec } from '../../api/stowage/disruption-policy.js';
import type { DisruptionPolicy, DisruptionPolicySpec } from '../../api/stowage/disruption-policy.js';
import { selects } from '../../packing/topology/selectors.js';

/** The policy that rules a NodePool. */
export interface Ruling {
  /** Absent where no policy selects the pool: what Karpenter does, with replace-first expiry. */
  readonly policy?: string;
  readonly spec: DisruptionPolicySpec;
  /** Why it cannot be followed, naming policy and field: nothing of the pool is disrupted then. */
  readonly broken?: string;
}

/** Of the policies that select the pool the heaviest, of equals the first by name. */
export function rulingOf(pool: NodePool, policies: readonly DisruptionPolicy[]): Ruling {
  const selecting = policies.filter(
    ({ spec }) => spec.nodePoolSelector === undefined || selects(spec.nodePoolSelector, pool.metadata.labels),
  );
  const [policy] = [...selecting].sort(byPrecedence);
  if (policy === undefined) return { spec: defaultDisruptionPolicySpec };
  const name = policy.metadata.name ?? '';
  const errors = disruptionPolicyIssues(policy).filter(({ severity }) => severity === 'error');
  if (errors.length === 0) return { policy: name, spec: policy.spec };
  const broken = `DisruptionPolicy ${name} is not valid: ${errors.map(({ message }) => message).join('; ')}`;
  return { policy: name, spec: policy.spec, broken };
}

function byPrecedence(a: DisruptionPolicy, b: DisruptionPolicy): number {
  const heavier = (b.spec.weight ?? 0) - (a.spec.weight ?? 0);
  if (heavier !== 0) return heavier;
  return (a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1;
}
