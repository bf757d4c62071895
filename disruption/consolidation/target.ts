import { compareText } from '../../core/compare-text.js';
import type { FleetNode } from './fleet.js';
import type { Simulation } from './simulation.js';

/** Which nodes to end with. */
export interface FleetTarget {
  /** Nodes that stay, in the order in which they are to be filled. */
  readonly keep: readonly FleetNode[];
  /** Nodes to go, the best saving for its disruption first. */
  readonly remove: readonly FleetNode[];
}

/** How to estimate. */
export interface Estimate {
  /** Which share of the room of nodes that stay is counted on: some is always left over. */
  readonly usable: number;
  /** Up to which price nodes stay, as a share of that of new capacity. */
  readonly dearest: number;
}

interface Rated {
  readonly node: FleetNode;
  readonly load: number;
  readonly free: number;
  /** What it costs for each dollar of new capacity that it stands for. */
  readonly dearness: number;
}

/**
 * The cheapest fleet for everything that runs, nodes that exist and new ones alike: existing nodes are kept by ascending
 * price for what they hold, while that is below the price of new capacity and until they hold everything.
 */
export function chooseTarget(simulation: Simulation, { usable, dearest }: Estimate): FleetTarget {
  const rated = simulation.nodes.filter(({ gone }) => !gone).map((node) => rate(simulation, node));
  const staying = rated.filter(({ node }) => isFixed(node));
  const optional = rated.filter(({ node }) => !isFixed(node));
  optional.sort((a, b) => a.dearness - b.dearness || compareText(a.node.name, b.node.name));
  let wanted = optional.reduce((sum, { load }) => sum + load, 0);
  for (const { node, free } of staying) if (node.open) wanted -= free * usable;
  const kept: Rated[] = [];
  const removed: Rated[] = [];
  for (const each of optional) {
    if (wanted > 0 && each.dearness <= dearest) {
      kept.push(each);
      wanted -= each.load + each.free * usable;
    } else removed.push(each);
  }
  removed.sort((a, b) => saving(b) - saving(a) || compareText(a.node.name, b.node.name));
  return {
    keep: [...staying, ...kept].filter(({ node }) => node.open).map(({ node }) => node),
    remove: removed.map(({ node }) => node),
  };
}

export const isFixed = ({ removable, onlyEmpty }: FleetNode): boolean => !removable || onlyEmpty;

function rate(simulation: Simulation, node: FleetNode): Rated {
  const { worth } = simulation;
  const load = simulation.trial.loadOf(node.loads);
  const free = worth.of(node.state.free);
  const own = worth.of(load);
  const whole = own + free;
  // A node that stays disturbs nobody.
  const price = node.price - simulation.disruptionOf([node]);
  return { node, load: own, free, dearness: whole > 0 ? price / whole : Infinity };
}

/** What the node saves for what it disrupts, if its load is bought anew. */
const saving = ({ node, load }: Rated): number => (node.price - load) / node.cost;
