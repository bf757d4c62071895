import { compareText } from '../../core/text.js';
import type { Group } from '../topology/groups.js';
import type { Cell, Cells } from './cells.js';
import type { Feasibility } from './feasibility.js';
import { roomFor, type NodeState } from './node-states.js';
import type { PlacementTarget } from './part.js';

/** How the pods of a group fit into one domain. */
interface DomainOption {
  /** How many of them have room there, on existing or new nodes. */
  pods: number;
  /** Price of the pods that existing nodes have no room for, as fractions of nodes. */
  price: number;
  readonly demand: Float64Array;
  readonly profiles: Set<Cell['profiles'][number]>;
  readonly free: Map<NodeState, Float64Array>;
}

/**
 * The topology domain for pods that must share one because of pod affinity: the one with room for most of them; of
 * equals, the one where pods without room on existing nodes cost least. Undefined if no domain is possible.
 */
export function bestAffinityDomain(
  feasibility: Feasibility,
  cells: Cells,
  group: Group,
  members: readonly PlacementTarget[],
): string | undefined {
  const options = new Map<string, DomainOption>();
  for (const target of members) {
    for (const cell of cells.of(target)) {
      const domain = cell.domains.get(group.key);
      if (domain !== undefined) consider(feasibility, target, cell, optionOf(options, domain, feasibility, target));
    }
  }
  const price = new Map([...options].map(([domain, option]) => [domain, priceOf(feasibility, option)]));
  const ranked = [...options.keys()].sort(
    (a, b) => options.get(b)!.pods - options.get(a)!.pods || price.get(a)! - price.get(b)! || compareText(a, b),
  );
  return ranked[0];
}

function optionOf(
  options: Map<string, DomainOption>,
  domain: string,
  feasibility: Feasibility,
  { podClass }: PlacementTarget,
): DomainOption {
  let option = options.get(domain);
  if (option === undefined) {
    const demand = new Float64Array(feasibility.demand(podClass).length);
    options.set(domain, (option = { pods: 0, price: 0, demand, profiles: new Set(), free: new Map() }));
  }
  return option;
}

function consider(feasibility: Feasibility, { podClass }: PlacementTarget, cell: Cell, option: DomainOption): void {
  const demand = feasibility.demand(podClass);
  let left = podClass.pods.length;
  for (const node of cell.nodes) {
    if (left === 0) break;
    let free = option.free.get(node);
    if (free === undefined) option.free.set(node, (free = Float64Array.from(node.free)));
    const fit = roomFor(free, demand, left);
    for (let d = 0; d < free.length; d++) free[d] = free[d]! - fit * demand[d]!;
    left -= fit;
  }
  option.pods += podClass.pods.length - left;
  if (cell.profiles.length === 0) return;
  option.pods += left;
  option.price += cell.shareOfPrice * left;
  for (let d = 0; d < demand.length; d++) option.demand[d] = option.demand[d]! + left * demand[d]!;
  for (const profile of cell.profiles) option.profiles.add(profile);
}

function priceOf(feasibility: Feasibility, { demand, profiles, price }: DomainOption): number {
  if (price === 0) return 0;
  let least = Infinity;
  for (const profile of profiles) least = feasibility.rowOfOne(profile, demand, least)?.offering.price ?? least;
  return least === Infinity ? price : least;
}
