import { compareText } from '../../core/text.js';
import { byDisturbance, type FleetNode } from './fleet.js';
import type { Simulation } from './simulation.js';

/** The nodes of the final fleet. */
export interface FleetTarget {
  /** Nodes that stay, in the order in which they are filled. */
  readonly keep: readonly FleetNode[];
  /** Nodes to remove, highest saving per disruption cost first. */
  readonly remove: readonly FleetNode[];
}

/** The share of the room on remaining nodes that is assumed usable; some is always left over. */
const usable = 0.9;
/** Nodes stay up to this price, as a share of the price of new capacity. */
const dearest = 0.999;
/**
 * Nodes count as equally expensive if their prices for their capacity differ by less. Of these, nodes with the higher
 * disruption cost stay.
 */
const nearlyEqual = 1e-6;

interface Rated {
  readonly node: FleetNode;
  readonly load: number;
  readonly free: number;
  /** Its price per dollar of new capacity that it replaces. */
  readonly dearness: number;
}

/**
 * Estimates the cheapest fleet for all pods, with existing and new nodes: keeps existing nodes in ascending order of
 * price for their pods, while that is below the price of new capacity and until all pods have room.
 */
export function chooseTarget(simulation: Simulation): FleetTarget {
  const rated = simulation.nodes.filter(({ gone }) => !gone).map((node) => rate(simulation, node));
  const staying = rated.filter(({ node }) => isFixed(node));
  const optional = rated.filter(({ node }) => !isFixed(node));
  optional.sort((a, b) => a.dearness - b.dearness || byDisturbance(a.node, b.node));
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
  // Keeping a node disrupts no pod.
  const price = node.price - simulation.disruptionOf([node]);
  return {
    node,
    load: own,
    free,
    dearness: whole > 0 ? Math.round(price / whole / nearlyEqual) * nearlyEqual : Infinity,
  };
}

/** Saving per disruption cost of removing the node. */
const saving = ({ node, load }: Rated): number => (node.price - load) / node.cost;
