import { compareText } from '../../core/compare-text.js';
import type { Launch } from '../../packing/trial.js';
import { priceOfAll, type FleetNode } from './fleet.js';
import type { Outcome } from './outcome.js';
import type { Simulation } from './simulation.js';
import { isFixed } from './target.js';

/** How many nodes are looked at together, one size after the other. */
const sizes = [1, 2, 3, 5, 8, 13];

/** Rounds over all sizes, as long as they improve something. */
const rounds = 2;

/** Units of search for each node of a group. */
const unitsEach = 150;

/**
 * The search that bought imagined nodes has torn down so many of them together: they are not bought anew as they are, and only
 * groups from here on are searched at all.
 */
const few = 5;

/** Nodes looked at in all, so that time stays in proportion. */
const mostLooks = 1500;

/** How much of the price of nodes that may go some of these must cost more than new capacity for their pods to be looked at. */
const leastWasteShare = 0.004;

/** What must be saved of the price of nodes that exist before their pods are moved for it. */
const leastShare = 0.01;

/**
 * Replaces a few nodes at a time of an imagined fleet by cheaper ones, or by room elsewhere: those first that are worth least
 * for their price. `launches` are the nodes that exist in imagination alone: changing these moves nobody.
 */
export function improve(
  simulation: Simulation,
  launches: ReadonlyMap<FleetNode, Launch>,
  { settle, pays }: { settle: (outcome: Outcome) => void; pays: (outcome: Outcome) => boolean },
): void {
  let looks = 0;
  const leastWaste = leastWasteShare * priceOfAll(simulation.nodes.filter((node) => !node.gone && !isFixed(node)));
  for (let round = 0; round < rounds; round++) {
    let improved = false;
    for (const size of sizes) {
      const open = simulation.nodes.filter(({ gone, open: takes }) => !gone && takes);
      simulation.aim(open);
      const ranked = byWaste(simulation, open);
      for (let from = 0; from < ranked.length && looks < mostLooks; from += Math.max(1, size >> 1)) {
        const group = ranked.slice(from, from + size).filter(({ gone }) => !gone);
        if (group.length < Math.min(size, ranked.length)) continue;
        looks += group.length;
        if (wasteOf(simulation, group) < leastWaste) continue;
        const price = priceOfAll(group);
        const there = group.filter((node) => !launches.has(node));
        const least = Math.max(leastShare * priceOfAll(there), simulation.disruptionOf(there));
        const most = price - least;
        const outcome = simulation.attempt(group, {
          search: { units: group.length < few ? 0 : unitsEach * group.length, most },
          most,
          onlyForRest: group.length <= few && group.every((node) => launches.has(node)),
        });
        if (outcome === undefined) continue;
        const isCheaper = priceOfAll(outcome.launches) < most - noise;
        if (!isCheaper || (group.every((node) => !launches.has(node)) && !pays(outcome))) {
          simulation.undo();
          continue;
        }
        settle(outcome);
        simulation.aim(simulation.nodes.filter(({ gone, open: takes }) => !gone && takes));
        improved = true;
      }
    }
    if (!improved) return;
  }
}

const noise = 1e-9;

/** Nodes by what their pods would cost less elsewhere. */
function byWaste(simulation: Simulation, nodes: readonly FleetNode[]): FleetNode[] {
  const waste = new Map(
    nodes
      .filter((node) => !isFixed(node) && node.price > noise)
      .map((node) => [node, node.price - simulation.worth.of(simulation.trial.loadOf(node.loads))]),
  );
  return [...waste.keys()].sort((a, b) => waste.get(b)! - waste.get(a)! || compareText(a.name, b.name));
}

/** What the nodes cost more than new capacity for their pods would at the least. */
function wasteOf(simulation: Simulation, group: readonly FleetNode[]): number {
  return group.reduce((sum, node) => sum + node.price - simulation.worth.of(simulation.trial.loadOf(node.loads)), 0);
}
