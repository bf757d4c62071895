import type { NodePoolTemplate } from '../../api/karpenter/node-pool.js';
import { specHash } from '../../core/drift-hash.js';
import { parseNillableDuration } from '../../core/durations.js';

/**
 * The version that stands beside the hash. It differs from Karpenter's own (`v3`) because the algorithm does:
 * on adoption, and on going back, the foreign version makes the hash be rewritten instead of compared, so that no
 * node drifts for it (node-pools/hash-version).
 */
export const nodePoolHashVersion = 'stowage-v1';

/** A duration as milliseconds, so that `60m` and `1h` are one. */
function milliseconds(duration: string | undefined): number | string | undefined {
  if (duration === undefined) return undefined;
  return duration === 'Never' ? duration : parseNillableDuration(duration);
}

/**
 * The hash of what a NodePool's nodes are made from, for annotation `karpenter.sh/nodepool-hash` (node-pools/template-hash): the
 * whole template but its requirements.
 */
export function nodePoolHash(template: NodePoolTemplate): string {
  let hash = hashes.get(template);
  if (hash === undefined) hashes.set(template, (hash = hashOf(template)));
  return hash;
}

/** It is asked for again and again, every few seconds for each NodePool. */
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
