import { compareText } from '../../core/text.js';
import type { Launch } from '../../packing/trial.js';
import { countedPrice, type FleetNode, priceOfAll, roundingError } from './fleet.js';
import type { Outcome } from './outcome.js';
import type { Simulation } from './simulation.js';
import { isFixed } from './target.js';

/** Sizes of the groups of nodes that are tried, in this order. */
const sizes = [1, 2, 3, 5, 8, 13];

/** Search units for each node of a group. */
const unitsEach = 150;

/**
 * The search that planned the launches has already tried replacing this many of them together, so smaller groups of
 * launches are not searched again.
 */
const few = 5;

/** The most nodes tried in all, to bound the time; a round over all sizes without improvement is the last. */
const mostTried = 1500;

/**
 * A group is tried only if it costs this share of the price of all removable nodes more than new capacity for its pods.
 */
const leastWasteShare = 0.004;

/** The least saving, as a share of the price, for which pods of existing nodes are moved. */
const leastShare = 0.01;

/**
 * Replaces a few nodes at a time of the planned fleet by cheaper ones or by room on others, beginning with the nodes
 * that cost most in excess of new capacity for their pods. `launches` are nodes that are only planned: changing these
 * moves no pod.
 */
export function improve(
  simulation: Simulation,
  launches: ReadonlyMap<FleetNode, Launch>,
  { settle, pays }: { settle: (outcome: Outcome) => void; pays: (outcome: Outcome) => boolean },
): void {
  let looks = 0;
  const leastWaste = leastWasteShare * priceOfAll(simulation.nodes.filter((node) => !node.gone && !isFixed(node)));
  for (let improved = true; improved;) {
    improved = false;
    for (const size of sizes) {
      const open = simulation.nodes.filter(({ gone, open: takes }) => !gone && takes);
      simulation.setTargets(open);
      const ranked = byWaste(simulation, open);
      for (let from = 0; from < ranked.length && looks < mostTried; from += Math.max(1, size >> 1)) {
        const group = ranked.slice(from, from + size).filter(({ gone }) => !gone);
        if (group.length < Math.min(size, ranked.length)) continue;
        looks += group.length;
        if (wasteOf(simulation, group) < leastWaste) continue;
        const before = priceOfAll(group);
        const there = group.filter((node) => !launches.has(node));
        const least = Math.max(leastShare * priceOfAll(there), simulation.disruptionOf(there));
        const most = before - least;
        const { surcharge } = simulation;
        const mostCounted = most + surcharge * group.length;
        const outcome = simulation.attempts.byPlacing(group, {
          search: { units: group.length < few ? 0 : unitsEach * group.length, most: mostCounted, surcharge },
          most,
          onlyForRest: group.length <= few && group.every((node) => launches.has(node)),
        });
        if (outcome === undefined) continue;
        const price = priceOfAll(outcome.launches);
        const isCheaper =
          Math.max(price - most, countedPrice(outcome.launches, surcharge) - mostCounted) < -roundingError;
        if (!isCheaper || (group.every((node) => !launches.has(node)) && !pays(outcome))) {
          simulation.undo();
          continue;
        }
        settle(outcome);
        simulation.setTargets(simulation.nodes.filter(({ gone, open: takes }) => !gone && takes));
        improved = true;
      }
    }
  }
}

/** Nodes by how much cheaper their pods would be elsewhere. */
function byWaste(simulation: Simulation, nodes: readonly FleetNode[]): FleetNode[] {
  const waste = new Map(
    nodes
      .filter((node) => !isFixed(node) && node.price > roundingError)
      .map((node) => [node, node.price - simulation.worth.of(simulation.trial.loadOf(node.loads))]),
  );
  return [...waste.keys()].sort((a, b) => waste.get(b)! - waste.get(a)! || compareText(a.name, b.name));
}

/** By how much the nodes are more expensive than the lower bound for new capacity for their pods. */
function wasteOf(simulation: Simulation, group: readonly FleetNode[]): number {
  return group.reduce((sum, node) => sum + node.price - simulation.worth.of(simulation.trial.loadOf(node.loads)), 0);
}
