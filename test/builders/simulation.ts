import { examineNodes } from '../../disruption/consolidation/eligibility.js';
import type { FleetNode } from '../../disruption/consolidation/fleet.js';
import type { Outcome } from '../../disruption/consolidation/outcome.js';
import { Simulation } from '../../disruption/consolidation/simulation.js';
import type { ConsolidationInput } from '../../disruption/consolidation/types.js';
import { input, type World } from './consolidation.js';

/** The fleet of a world as commands are tried on it. */
export function simulationOf(world: World, more: Partial<ConsolidationInput> = {}): Simulation {
  const all = { ...input(world), ...more };
  return new Simulation(all, examineNodes(all));
}

/** The nodes of these names, in the order of the names. */
export const named = ({ nodes }: Pick<Simulation, 'nodes'>, ...names: string[]): FleetNode[] =>
  names.map((name) => nodes.find((node) => node.name === name)!);

/** The existing nodes of an outcome's placements, each with its pods: `n0: web-0, web-1`. */
export function placed({ placements }: Outcome): string[] {
  const pods = new Map<string, string[]>();
  for (const { node, pods: some } of placements) {
    const there = pods.get(node.view.name) ?? [];
    pods.set(node.view.name, [...there, ...some.map(({ metadata }) => metadata.name!)]);
  }
  return [...pods].map(([name, there]) => `${name}: ${there.sort().join(', ')}`).sort();
}

/** The launches of an outcome, each with its pods: `small: web-0, web-1`. */
export const bought = ({ launches }: Outcome): string[] =>
  launches
    .map(({ type, claim: { members } }) => {
      const pods = members.flatMap((member) => member.pods.map(({ metadata }) => metadata.name!));
      return `${type}: ${pods.sort().join(', ')}`;
    })
    .sort();
