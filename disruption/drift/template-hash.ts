import type { NodePoolTemplate } from '../../api/karpenter/node-pool.js';
import { specHash } from '../../core/drift-hash.js';
import { parseNillableDuration } from '../../core/durations.js';

/**
 * The version of the hash. It differs from Karpenter's (`v3`) because the algorithm does: when an installation changes
 * between Karpenter and Stowage, a hash with another version is rewritten instead of compared, so that no node drifts
 * (node-pools/hash-version).
 */
export const nodePoolHashVersion = 'stowage-v1';

/** A duration in milliseconds, so that `60m` equals `1h`. */
function milliseconds(duration: string | undefined): number | string | undefined {
  if (duration === undefined) return undefined;
  return duration === 'Never' ? duration : parseNillableDuration(duration);
}

/**
 * The hash of a NodePool's template for annotation `karpenter.sh/nodepool-hash` (node-pools/template-hash): everything
 * except requirements.
 */
export function nodePoolHash(template: NodePoolTemplate): string {
  let hash = hashes.get(template);
  if (hash === undefined) hashes.set(template, (hash = hashOf(template)));
  return hash;
}

/** Cached, since it is needed every few seconds for each NodePool. */
const hashes = new WeakMap<NodePoolTemplate, string>();

function hashOf(template: NodePoolTemplate): string {
  const { expireAfter, terminationGracePeriod } = template.spec;
  const hashed = {
    metadata: template.metadata,
    spec: {
      ...template.spec,
      requirements: undefined,
      expireAfter: milliseconds(expireAfter),
      terminationGracePeriod: milliseconds(terminationGracePeriod),
    },
  };
  return specHash(hashed);
}
