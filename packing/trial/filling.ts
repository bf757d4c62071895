import type { NodeOrdering } from '../place/assigner.js';
import { roomFor, type NodeState } from '../place/node-states.js';
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

/** Nodes whose unlikeness, 0 to 2, differs by less keep their order. */
const step = 1 / 8;

/** Those of the nodes that have room for the demand, those first whose room is made up like it. */
export function alikeFirst(worth: Worth): NodeOrdering {
  return (nodes, demand) => {
    const ranked: NodeState[][] = Array.from({ length: 2 / step + 1 }, () => []);
    for (const node of nodes) {
      if (roomFor(node.free, demand, 1) === 0) continue;
      ranked[Math.round(worth.unlikeness(demand, node.free) / step)]!.push(node);
    }
    return ranked.flat();
  };
}
