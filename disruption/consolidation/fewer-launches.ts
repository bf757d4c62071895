import { compareText } from '../../core/text.js';
import type { Launch } from '../../packing/trial.js';
import { countedPrice, priceOfAll, type FleetNode } from './fleet.js';
import type { Outcome } from './outcome.js';
import type { Simulation } from './simulation.js';

/** Sizes of the groups of planned launches that are replaced together, tried in this order after trying all at once. */
const sizes = [16, 8, 4, 2];

/** Search units for each node of a group. */
const unitsEach = 150;

/**
 * Replaces planned launches by fewer nodes, if these cost no more than the surcharge of the nodes that are saved
 * (consolidation/fewest-nodes). No existing pod is moved for that.
 */
export function launchFewer(
  simulation: Simulation,
  launches: ReadonlyMap<FleetNode, Launch>,
  settle: (outcome: Outcome) => void,
): void {
  for (const size of [launches.size, ...sizes.filter((each) => each < launches.size)]) {
    const open = [...launches.keys()].filter(({ gone }) => !gone).sort(byPrice);
    for (let from = 0; from < open.length; from += size) {
      const group = open.slice(from, from + size);
      if (group.length >= 2) launchFewerFor(simulation, group, settle);
    }
  }
}

const byPrice = (a: FleetNode, b: FleetNode): number => a.price - b.price || compareText(a.name, b.name);

/** Replaces these planned launches by fewer nodes, if that is possible. */
function launchFewerFor(simulation: Simulation, group: readonly FleetNode[], settle: (outcome: Outcome) => void): void {
  const { surcharge } = simulation;
  const price = priceOfAll(group);
  simulation.setTargets(simulation.nodes.filter(({ gone, open }) => !gone && open));
  const outcome = simulation.attempts.byPlacing(group, {
    search: { units: unitsEach * group.length, most: countedPrice(group, surcharge), surcharge },
    most: price + surcharge * (group.length - 1) + roundingError,
  });
  if (outcome === undefined) return;
  const saved = group.length - outcome.launches.length;
  if (saved <= 0 || priceOfAll(outcome.launches) - price > surcharge * saved + roundingError) simulation.undo();
  else settle(outcome);
}

const roundingError = 1e-9;
