import { compareText } from '../../core/compare-text.js';
import type { Launch } from '../../packing/trial.js';
import { nearlyCheapest } from '../../packing/trial.js';
import { priceOfAll, type FleetNode } from './fleet.js';
import type { Outcome } from './outcome.js';
import type { Simulation } from './simulation.js';
import { isFixed } from './target.js';

/** Sizes of the groups of planned launches that are replaced together, tried in this order after trying all at once. */
const sizes = [16, 8, 4, 2];

/** Search units for each of them. */
const unitsEach = 150;

/**
 * Replaces the planned launches by fewer nodes, if the fleet's price stays within the margin (consolidation/fewest-nodes). No
 * existing pod is moved for that.
 */
export function launchFewer(
  simulation: Simulation,
  launches: ReadonlyMap<FleetNode, Launch>,
  settle: (outcome: Outcome) => void,
): void {
  let spare = priceOfAll(simulation.nodes.filter((node) => !node.gone && !isFixed(node))) * (nearlyCheapest - 1);
  for (const size of [launches.size, ...sizes.filter((each) => each < launches.size)]) {
    const open = [...launches.keys()].filter(({ gone }) => !gone).sort(byPrice);
    for (let from = 0; from < open.length; from += size) {
      const group = open.slice(from, from + size);
      const extra = group.length < 2 ? undefined : launchFewerFor(simulation, group, spare, settle);
      if (extra !== undefined) spare -= extra;
    }
  }
}

const byPrice = (a: FleetNode, b: FleetNode): number => a.price - b.price || compareText(a.name, b.name);

/** By how much fewer nodes instead of these would be more expensive; undefined if there are none within the margin. */
function launchFewerFor(
  simulation: Simulation,
  group: readonly FleetNode[],
  spare: number,
  settle: (outcome: Outcome) => void,
): number | undefined {
  const price = priceOfAll(group);
  const most = price + spare;
  simulation.setTargets(simulation.nodes.filter(({ gone, open }) => !gone && open));
  const outcome = simulation.attempts.byPlacing(group, {
    search: { units: unitsEach * group.length, most, fewest: nearlyCheapest },
    most: most + roundingError,
  });
  if (outcome === undefined) return undefined;
  const extra = priceOfAll(outcome.launches) - price;
  if (outcome.launches.length >= group.length || extra > spare + roundingError) {
    simulation.undo();
    return undefined;
  }
  settle(outcome);
  return extra;
}

const roundingError = 1e-9;
