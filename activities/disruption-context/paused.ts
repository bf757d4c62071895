import { nodeNameOf } from '../../cluster/cluster.js';
import type { NodeView } from '../../disruption/candidates/candidates.js';
import type { CandidateRef } from '../../workflows/messages.js';
import { poolNameOf } from './disruption-context.js';

/** The names of a node that a pause may have in its scope. */
export function pausableOf(view: NodeView): Pick<CandidateRef, 'node' | 'nodePool'> {
  return { node: nodeNameOf(view), nodePool: poolNameOf(view) };
}
