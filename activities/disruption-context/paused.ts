import { nodeNameOf } from '../../cluster/cluster.js';
import type { NodeView } from '../../disruption/candidates/candidates.js';
import type { CandidateRef } from '../../workflows/messages.js';
import { poolNameOf } from './disruption-context.js';

/** The names by which the scope of a pause can select a node. */
export function pausableOf(view: NodeView): Pick<CandidateRef, 'node' | 'nodePool'> {
  return { node: nodeNameOf(view), nodePool: poolNameOf(view) };
}
