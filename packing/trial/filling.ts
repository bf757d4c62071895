import type { NodeOrdering } from '../place/assigner.js';
import type { NodeState } from '../place/node-states.js';
import type { Worth } from './worth.js';

/**
 * How nodes that exist are filled.
 *
 * - `queue`: pods come in the order of the scheduling queue.
 * - `pickiest`: pods come first that must keep away from their like.
 * - `scarcest`: of those, the ones come first of which there are most, for they need most nodes.
 * - `alike`: as `pickiest`, and each pod tries those nodes first whose room is made up like what it asks for, so that no
 *   resource is left where another has run out.
 */
export type Filling = 'queue' | 'pickiest' | 'scarcest' | 'alike';

/** Nodes whose likeness differs by less keep their order. */
const likenessStep = 1 / 8;

/** Nodes with room that is made up like the demand first. */
export function alikeFirst(worth: Worth): NodeOrdering {
  return (nodes, demand) => {
    const rank = new Map<NodeState, number>();
    for (const node of nodes) rank.set(node, Math.round(worth.unlikeness(demand, node.free) / likenessStep));
    return [...nodes].sort((a, b) => rank.get(a)! - rank.get(b)!);
  };
}
