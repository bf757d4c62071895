import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import { defaultDisruptionPolicySpec } from '../../api/stowage/disruption-policy.js';
import type { DisruptionPolicy, DisruptionPolicySpec } from '../../api/stowage/disruption-policy.js';
import { parseDuration } from '../../core/durations.js';
import { hashText } from '../../core/hash.js';
import { effectivePolicyOf } from '../policies/effective-policy.js';
import { rulesOf, whyOnlyRecommended } from '../policies/pool-rules.js';

/** When an expiring node is removed; milliseconds since the epoch. */
export interface ExpirationTimes {
  /** When replacing it begins; under `Forceful` when it is deleted. */
  readonly beginAt: number;
  /** When it is removed even if blocked; absent without a deadline in the policy. */
  readonly mustGoAt?: number;
}

/**
 * When the expiration of a node begins and must end (expiration/begins-early): `lead` before expireAfter, and earlier
 * by up to `jitter`, to spread nodes. The jitter is a hash of the claim's UID, so that it is always the same. A lead
 * longer than half of the node's life is limited to that: otherwise nodes would be replaced endlessly.
 */
export function expirationTimes(
  { mode, lead, jitter, hardDeadline }: DisruptionPolicySpec['expiration'],
  { uid, createdAt, expiresAt }: { readonly uid: string; readonly createdAt: number; readonly expiresAt: number },
): ExpirationTimes {
  if (mode === 'Forceful') return { beginAt: expiresAt };
  // Hashed twice: UIDs that differ only in the last digit would get adjacent values.
  const share = Number.parseInt(hashText(hashText(uid)).slice(0, 8), 16) / 2 ** 32;
  const ahead = parseDuration(lead, 'expiration.lead') + share * parseDuration(jitter, 'expiration.jitter');
  const beginAt = Math.round(expiresAt - Math.min(ahead, Math.max(0, expiresAt - createdAt) / 2));
  if (hardDeadline === undefined) return { beginAt };
  return { beginAt, mustGoAt: expiresAt + parseDuration(hardDeadline, 'expiration.hardDeadline') };
}

interface ExpirationTerms extends ExpirationTimes {
  readonly mode: DisruptionPolicySpec['expiration']['mode'];
  /** Why the policy does not allow expiration, such as `mode: Recommend`. */
  readonly leftAlone?: string;
}

/**
 * How and when a node expires, by the policy of its NodePool. While the policy is invalid or only recommends, the node
 * stays, even past its hard deadline.
 */
export function expirationTerms(
  pool: NodePool | undefined,
  policies: readonly DisruptionPolicy[],
  { metadata }: NodeClaim,
  expiresAt: number,
): ExpirationTerms {
  const { spec, invalid } = effectivePolicyOf(pool, policies);
  const leftAlone = whyOnlyRecommended(rulesOf(pool, policies)) ?? invalid;
  const life = { uid: metadata.uid ?? '', createdAt: Date.parse(metadata.creationTimestamp ?? ''), expiresAt };
  if (leftAlone === undefined) return { mode: spec.expiration.mode, ...expirationTimes(spec.expiration, life) };
  const { beginAt } = expirationTimes(defaultDisruptionPolicySpec.expiration, life);
  return { mode: 'ReplaceFirst', beginAt, leftAlone };
}
