import { compareText } from '../../core/compare-text.js';
import type { Group } from '../topology/groups.js';
import type { Cell, Cells } from './cells.js';
import type { Feasibility } from './feasibility.js';
import { roomFor, type NodeState } from './node-states.js';
import type { Target } from './part.js';

interface Prospect {
  pods: number;
  /** Price of fractions of nodes for what existing nodes do not hold. */
  price: number;
  readonly demand: Float64Array;
  readonly profiles: Set<Cell['profiles'][number]>;
  readonly free: Map<NodeState, Float64Array>;
}

/**
 * Where a group of pods that must share a topology domain should begin: the domain that can hold most of them, then the one
 * where what existing nodes cannot hold costs least, as one node if it fits one.
 */
export function bestSeed(
  feasibility: Feasibility,
  cells: Cells,
  group: Group,
  members: readonly Target[],
): string | undefined {
  const prospects = new Map<string, Prospect>();
  for (const target of members) {
    for (const cell of cells.of(target)) {
      const domain = cell.domains.get(group.key);
      if (domain !== undefined) consider(feasibility, target, cell, prospectOf(prospects, domain, feasibility, target));
    }
  }
  const price = new Map([...prospects].map(([domain, prospect]) => [domain, priceOf(feasibility, prospect)]));
  const ranked = [...prospects.keys()].sort(
    (a, b) => prospects.get(b)!.pods - prospects.get(a)!.pods || price.get(a)! - price.get(b)! || compareText(a, b),
  );
  return ranked[0];
}

function prospectOf(
  prospects: Map<string, Prospect>,
  domain: string,
  feasibility: Feasibility,
  { podClass }: Target,
): Prospect {
  let prospect = prospects.get(domain);
  if (prospect === undefined) {
    const demand = new Float64Array(feasibility.demand(podClass).length);
    prospects.set(domain, (prospect = { pods: 0, price: 0, demand, profiles: new Set(), free: new Map() }));
  }
  return prospect;
}

function consider(feasibility: Feasibility, { podClass }: Target, cell: Cell, prospect: Prospect): void {
  const demand = feasibility.demand(podClass);
  let left = podClass.pods.length;
  for (const node of cell.nodes) {
    if (left === 0) break;
    let free = prospect.free.get(node);
    if (free === undefined) prospect.free.set(node, (free = Float64Array.from(node.free)));
    const fit = roomFor(free, demand, left);
    for (let d = 0; d < free.length; d++) free[d] = free[d]! - fit * demand[d]!;
    left -= fit;
  }
  prospect.pods += podClass.pods.length - left;
  if (cell.profiles.length === 0) return;
  prospect.pods += left;
  prospect.price += cell.price * left;
  for (let d = 0; d < demand.length; d++) prospect.demand[d] = prospect.demand[d]! + left * demand[d]!;
  for (const profile of cell.profiles) prospect.profiles.add(profile);
}

function priceOf(feasibility: Feasibility, { demand, profiles, price }: Prospect): number {
  if (price === 0) return 0;
  let least = Infinity;
  for (const profile of profiles) least = Math.min(least, feasibility.priceOfOne(profile, demand));
  return least === Infinity ? price : least;
}
