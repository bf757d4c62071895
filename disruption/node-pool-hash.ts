import type { NodePool } from '../api/karpenter/node-pool.js';
import { nodePoolHash as templateHash } from '../core/drift-hash.js';

export { nodePoolHashVersion } from '../core/drift-hash.js';

/** Hash of what makes a node drift when its pool's template changes (section 1.1): all but the requirements. */
export function nodePoolHash({ spec }: NodePool): string {
  return templateHash(spec.template);
}
