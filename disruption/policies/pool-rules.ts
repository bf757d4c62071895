import type { NodePool } from '../../api/karpenter/node-pool.js';
import { defaultDisruptionPolicySpec } from '../../api/stowage/disruption-policy.js';
import type { DisruptionPolicy, DisruptionPolicySpec } from '../../api/stowage/disruption-policy.js';
import { parseDuration } from '../../core/durations.js';
import { effectivePolicyOf } from './effective-policy.js';
import type { DisruptionReason } from '../../api/disruption-reasons.js';

/** Requirements on moves from the DisruptionPolicy of a NodePool; without one, Karpenter's behaviour. */
export interface PoolRules {
  /** Absent if no policy selects the pool. */
  readonly policy?: string;
  readonly mode: 'Act' | 'Recommend';
  readonly leastShare: number;
  readonly leastDollarsPerHour: number;
  /** How long a node that pods were moved to is not disrupted, milliseconds. */
  readonly coolDownMs: number;
  /** Infinity if chains are not limited. */
  readonly maxMoveChain: number;
  readonly approval: (reason: DisruptionReason) => Approval | undefined;
}

interface Approval {
  readonly timeoutMs: number;
  readonly onTimeout: 'Approve' | 'Reject';
}

export function rulesOf(
  pool: Pick<NodePool, 'metadata'> | undefined,
  policies: readonly DisruptionPolicy[],
): PoolRules {
  const { policy, spec, invalid } = effectivePolicyOf(pool, policies);
  // An invalid policy's fields are not used; nothing in the pool is disrupted anyway (`limitOf`).
  const { mode, savings, coolDown, maxMoveChain, approval } =
    invalid === undefined ? spec : defaultDisruptionPolicySpec;
  return {
    ...(policy === undefined ? {} : { policy }),
    mode,
    leastShare: savings.minimumPercent / 100,
    leastDollarsPerHour: Number(savings.minimumDollarsPerHour),
    coolDownMs: parseDuration(coolDown, 'coolDown'),
    maxMoveChain: maxMoveChain ?? Number.POSITIVE_INFINITY,
    approval: (reason) => approvalFor(approval, reason),
  };
}

/** The approval that a policy requires: the first entry for this reason or for all reasons applies. */
export function approvalFor(entries: DisruptionPolicySpec['approval'], reason: DisruptionReason): Approval | undefined {
  const entry = entries?.find(({ reasons }) => reasons === undefined || reasons.includes(reason));
  if (entry === undefined) return undefined;
  return { timeoutMs: parseDuration(entry.timeout, 'approval.timeout'), onTimeout: entry.onTimeout };
}

/** Why a policy that only recommends keeps all nodes, in words; undefined if it acts. */
export function whyOnlyRecommended({ policy = '', mode }: Pick<PoolRules, 'policy' | 'mode'>): string | undefined {
  return mode === 'Recommend' ? `DisruptionPolicy ${policy} has mode Recommend` : undefined;
}

/** The rules for a move of nodes in several pools: the strictest of each. */
export function strictest(
  rules: readonly PoolRules[],
  reason: DisruptionReason,
): {
  readonly policy?: string;
  readonly recommendOnly: boolean;
  readonly approval?: Approval;
} {
  const asked = rules.flatMap((each) => {
    const approval = each.approval(reason);
    return approval === undefined ? [] : [approval];
  });
  const named = [...new Set(rules.flatMap(({ policy }) => (policy === undefined ? [] : [policy])))].sort().join(', ');
  return {
    ...(named === '' ? {} : { policy: named }),
    recommendOnly: rules.some(({ mode }) => mode === 'Recommend'),
    ...(asked.length === 0
      ? {}
      : {
          approval: {
            timeoutMs: Math.min(...asked.map(({ timeoutMs }) => timeoutMs)),
            onTimeout: asked.some(({ onTimeout }) => onTimeout === 'Reject')
              ? ('Reject' as const)
              : ('Approve' as const),
          },
        }),
  };
}
