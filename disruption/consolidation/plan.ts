import { compareText } from '../../core/compare-text.js';
import type { Landing, Launch } from '../../packing/trial.js';
import { Blueprint } from './blueprint.js';
import { drawUp } from './draw-up.js';
import { priceOf, type FleetNode } from './fleet.js';
import { improve } from './improve.js';
import type { Outcome } from './outcome.js';
import type { Simulation } from './simulation.js';

/** The fleet to end with, and how everything comes there. */
export interface Plan {
  /** Nodes that stay, in the order in which they are to be filled. */
  readonly keep: readonly FleetNode[];
  /** Nodes to go, the best saving for its disruption first. */
  readonly leave: readonly FleetNode[];
  readonly blueprint: Blueprint;
  /** Of the fleet to end with, dollars per hour. */
  readonly price: number;
}

/**
 * The cheapest fleet that is found, as if everything could go at once: drawn up, then improved a few nodes at a time. What
 * comes of it when pods have moved twice in the making is written down as one move each. `pays` says whether an outcome would
 * be allowed.
 */
export function makePlan(simulation: Simulation, pays: (outcome: Outcome) => boolean): Plan {
  const before = simulation.nodes.filter(({ gone }) => !gone);
  const counts = before.map(({ loads }) => new Map([...loads].map(([podClass, pods]) => [podClass, pods.length])));
  return simulation.imagine(() => {
    const launches = new Map<FleetNode, Launch>();
    const settle = (outcome: Outcome): void => {
      const nodes = simulation.settle(outcome, (i) => `imagined ${launches.size + i}`);
      nodes.forEach((node, i) => launches.set(node, outcome.launches[i]!));
    };
    const drawn = drawUp(simulation, pays);
    if (drawn !== undefined) settle(drawn);
    improve(simulation, launches, { settle, pays });
    const landings: Landing[] = [];
    before.forEach((node, i) => {
      if (node.gone) return;
      for (const [podClass, pods] of node.loads) {
        const come = pods.slice(counts[i]!.get(podClass) ?? 0);
        if (come.length > 0) landings.push({ node: node.state, podClass, pods: come });
      }
    });
    const opened: Launch[] = [];
    for (const [node, launch] of launches) if (!node.gone) opened.push(simulation.trial.filled(launch, node.loads));
    return {
      keep: before.filter(({ gone, open }) => !gone && open),
      leave: inOrder(simulation, before, opened),
      blueprint: new Blueprint({ landings, launches: opened }),
      price: priceOf(simulation.nodes.filter(({ gone }) => !gone)),
    };
  });
}

/** Nodes of a type that is launched come last: what goes with them may not be replaced by it (section 4.8). */
function inOrder(simulation: Simulation, before: readonly FleetNode[], launches: readonly Launch[]): FleetNode[] {
  const types = new Set(launches.map(({ type }) => type));
  const isLate = ({ instanceType }: FleetNode): number => (types.has(instanceType) ? 1 : 0);
  return before
    .filter(({ gone }) => gone)
    .sort(
      (a, b) => isLate(a) - isLate(b) || simulation.savingOf(b) - simulation.savingOf(a) || compareText(a.name, b.name),
    );
}
