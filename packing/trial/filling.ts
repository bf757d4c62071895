import type { NodeOrdering } from '../place/assigner.js';
import { roomFor, type NodeState } from '../place/node-states.js';
import type { Worth } from './worth.js';

/**
 * How existing nodes are filled.
 *
 * - `queue`: pods in the order of the scheduling queue.
 * - `alike`: pods first that must not share a node with equal pods; of those, the largest groups first, since they need most nodes. Each pod
 *   first tries the nodes whose free resources have proportions similar to its request, so that no resource is left where another has run out.
 */
export type Filling = 'queue' | 'alike';

/** Nodes whose dissimilarity, 0 to 2, differs by less than this keep their order. */
const step = 1 / 8;

/** The nodes with room for the demand, those with the most similar proportions first. */
export function alikeFirst(worth: Worth): NodeOrdering {
  return (nodes, demand) => {
    const ranked: NodeState[][] = Array.from({ length: 2 / step + 1 }, () => []);
    for (const node of nodes) {
      if (roomFor(node.free, demand, 1) === 0) continue;
      ranked[Math.round(worth.dissimilarity(demand, node.free) / step)]!.push(node);
    }
    return ranked.flat();
  };
}
