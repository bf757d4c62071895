import { compareText } from '../../core/text.js';
import { surchargeOf, type PurchaseSearch } from '../../packing/trial.js';
import { byPricePerCost, countedPrice, priceOfAll, type FleetNode } from './fleet.js';
import type { Outcome } from './outcome.js';
import type { Simulation } from './simulation.js';
import { chooseTarget, isFixed, type FleetTarget } from './target.js';

/** Search units for the whole plan. */
const finalUnits = 10_000;
/** For a first estimate nothing is searched. */
const firstSearch: PurchaseSearch = { units: 0 };

/**
 * The surcharge of a node in consolidation, as a share of the surcharge in provisioning. It is lower, because with
 * fewer nodes more pods move.
 */
const shareOfSurcharge = 0.5;

/**
 * The outcome of removing all nodes that the cheapest fleet does not need: by the estimate of `chooseTarget`, or the
 * `given` target, and further nodes if the remaining ones have room for their pods. It stays applied; undefined, with
 * nothing applied, if no node is to be removed.
 */
export function planFleet(simulation: Simulation, given = chooseTarget(simulation)): Outcome | undefined {
  const estimate = attempt(simulation, given, firstSearch);
  if (estimate === undefined) return undefined;
  const more = removeMore(simulation, given.keep);
  const first = simulation.attempts.extended(estimate, more);
  const changes = simulation.undo();
  if (first.candidates.length === 0) return undefined;
  const removed = new Set(more);
  const target = { keep: given.keep.filter((node) => !removed.has(node)), remove: first.candidates };
  const surcharge = surchargeIn(simulation, target, first);
  simulation.surcharge = surcharge;
  const outcome = attempt(simulation, target, { units: finalUnits, surcharge });
  const counted = ({ launches }: Outcome): number => countedPrice(launches, surcharge);
  if (outcome !== undefined && counted(outcome) < counted(first)) return outcome;
  if (outcome !== undefined) simulation.undo();
  simulation.redo(changes);
  return first;
}

/** Removes further nodes of those that stay, as far as the others have room for their pods. */
function removeMore(simulation: Simulation, keep: readonly FleetNode[]): FleetNode[] {
  return keep
    .filter((node) => !isFixed(node) && node.price > simulation.disruptionOf([node]))
    .sort(byPricePerCost)
    .filter((node) => simulation.attempts.extend(node));
}

/** The surcharge for the fleet that the outcome leaves. */
function surchargeIn({ nodes, worth }: Simulation, { remove }: FleetTarget, { launches }: Outcome): number {
  const removed = new Set(remove);
  const staying = nodes.filter((node) => !node.gone && !removed.has(node));
  const fleet = { price: priceOfAll(staying) + priceOfAll(launches), nodes: staying.length + launches.length };
  return shareOfSurcharge * surchargeOf(fleet, worth.leastNodes);
}

/** With more nodes than this the fleet is planned once. */
const largeFleet = 2000;

export const isLarge = ({ nodes }: Simulation): boolean => nodes.length > largeFleet;

function attempt(simulation: Simulation, { keep, remove }: FleetTarget, search: PurchaseSearch): Outcome | undefined {
  simulation.setTargets(fullestFirst(simulation, keep), 'alike');
  return simulation.attempts.byPlacing(remove, { search, most: priceOfAll(remove) });
}

/** Nodes with less room first, so that nodes with more room are left for pods that need it. */
function fullestFirst({ worth }: Simulation, nodes: readonly FleetNode[]): FleetNode[] {
  const free = new Map(nodes.map((node) => [node, worth.of(node.state.free)]));
  return [...nodes].sort((a, b) => free.get(a)! - free.get(b)! || compareText(a.name, b.name));
}
