import { timeText } from '../../core/time.js';
import type { ExpireNodeInput } from '../messages.js';
import { searchAttributes } from '../messages.js';
import { Progress } from '../progress.js';

/** Summary, search attributes and facts of `expireNode` in Temporal. */
export function expirationProgress({ cluster, claim, nodePool, expiresAt }: ExpireNodeInput): Progress {
  return new Progress(
    `Expiration of ${claim.name}`,
    [
      { key: searchAttributes.cluster, value: cluster },
      { key: searchAttributes.nodePool, value: nodePool },
      { key: searchAttributes.nodeClaim, value: claim.name },
      { key: searchAttributes.reason, value: 'expired' },
    ],
    { NodeClaim: claim.name, NodePool: nodePool, expires: timeText(expiresAt) },
    'not due',
  );
}
