import type { DisruptionPolicySpec } from '../../api/stowage/disruption-policy.js';
import { parseDuration } from '../../core/durations.js';
import { hashText } from '../../core/hash.js';

/** When an expiring node goes; milliseconds of the epoch. */
export interface ExpirationTimes {
  /** When replacing it begins; under `Forceful` when it is deleted. */
  readonly beginAt: number;
  /** When it goes whatever it waits for; absent where a policy sets no end to that. */
  readonly mustGoAt?: number;
}

/**
 * When the expiration of a node begins and must end (expiration/begins-early): `lead` before expireAfter, spread
 * over the nodes by up to `jitter` before that. The spread is a hash of the claim's UID, the same whoever asks. A lead longer than
 * half of the node's life counts as that: a node that begins to go as it comes up would be replaced for ever.
 */
export function expirationTimes(
  { mode, lead, jitter, hardDeadline }: DisruptionPolicySpec['expiration'],
  { uid, createdAt, expiresAt }: { readonly uid: string; readonly createdAt: number; readonly expiresAt: number },
): ExpirationTimes {
  if (mode === 'Forceful') return { beginAt: expiresAt };
  // Hashed twice: UIDs that differ in their last digit alone would lie side by side.
  const share = Number.parseInt(hashText(hashText(uid)).slice(0, 8), 16) / 2 ** 32;
  const ahead = parseDuration(lead, 'expiration.lead') + share * parseDuration(jitter, 'expiration.jitter');
  const beginAt = Math.round(expiresAt - Math.min(ahead, Math.max(0, expiresAt - createdAt) / 2));
  if (hardDeadline === undefined) return { beginAt };
  return { beginAt, mustGoAt: expiresAt + parseDuration(hardDeadline, 'expiration.hardDeadline') };
}
