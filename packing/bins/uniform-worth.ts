import type { CompiledProblem } from './compile.js';
import type { Demands, FeasibleWorth } from './resource-lp.js';
import { CoveringSimplex } from './simplex.js';

/** Maximum number of offers entered into a program; few are needed, as only resources have rows. */
const mostRounds = 200;

/**
 * Resource worth that is equal for all items which share offers, directly or through other items: the exact duals of
 * buying their total demand at the lowest price. Coarser than a worth for each set, but exact however many sets there
 * are.
 */
export function uniformWorth(compiled: CompiledProblem, demands: Demands): FeasibleWorth {
  const { dims, sets, capMax, supply } = compiled;
  const resource = new Float64Array(sets * dims);
  const component = componentsOf(compiled);
  for (const root of new Set(component)) {
    const own = Array.from(component.keys()).filter((set) => component[set] === root);
    const offers = offersIn(compiled, (k) => supply.sets[k]!.some((set) => component[set] === root));
    const total = new Float64Array(dims);
    for (const set of own) for (let d = 0; d < dims; d++) total[d] = total[d]! + demands.resource[set * dims + d]!;
    const worth = worthOf(compiled, offers, total);
    for (const set of own) resource.set(worth, set * dims);
  }
  return { resource, cap: new Float64Array(capMax.length) };
}

/** By set: the first set of its component, connected by shared offers. */
function componentsOf({ sets, supply }: CompiledProblem): Int32Array {
  const parent = Int32Array.from({ length: sets }, (_, set) => set);
  const root = (set: number): number => {
    let at = set;
    while (parent[at] !== at) at = parent[at] = parent[parent[at]!]!;
    return at;
  };
  for (const [first, ...others] of supply.sets) {
    for (const other of others) {
      const [a, b] = [root(first!), root(other)];
      parent[Math.max(a, b)] = Math.min(a, b);
    }
  }
  return parent.map((_, set) => root(set));
}

function offersIn({ offers, supply }: CompiledProblem, isIn: (supply: number) => boolean): number[] {
  const known = Array.from({ length: supply.count }, (_, k) => isIn(k));
  return Array.from({ length: offers }, (_, o) => o).filter((o) => known[supply.of[o]!]);
}

/** Worth of a unit of each resource if the total is bought from these offers in fractions. */
function worthOf(
  { dims, capacity, price }: CompiledProblem,
  offers: readonly number[],
  total: Float64Array,
): Float64Array {
  const wanted = Array.from(total.keys()).filter((d) => total[d]! > 0);
  const worth = new Float64Array(dims);
  if (wanted.length === 0 || offers.length === 0) return worth;
  const rate = wanted.map((d) => Math.min(...offers.map((o) => price[o]! / Math.max(capacity[o * dims + d]!, 1e-9))));
  // In units of the demand, so that rows have the same scale.
  const simplex = new CoveringSimplex(
    new Float64Array(wanted.length).fill(1),
    new Float64Array(wanted.length).fill(1),
    Float64Array.from(wanted, (d, row) => rate[row]! * total[d]!),
  );
  const index = wanted.map((_, row) => row);
  const columnOf = (o: number): number[] => wanted.map((d) => capacity[o * dims + d]! / total[d]!);
  for (let round = 0; round < mostRounds; round++) {
    let best = -1;
    let most = 1 + 1e-9;
    for (const o of offers) {
      let held = 0;
      for (let row = 0; row < wanted.length; row++)
        held += (simplex.duals[row]! * capacity[o * dims + wanted[row]!]!) / total[wanted[row]!]!;
      if (held <= most * price[o]!) continue;
      most = held / price[o]!;
      best = o;
    }
    let moved = best >= 0 && simplex.enter(index, columnOf(best), price[best]!, best);
    while (simplex.enterSurplus()) moved = true;
    if (!moved) break;
  }
  wanted.forEach((d, row) => (worth[d] = Math.max(0, simplex.duals[row]! / total[d]!)));
  return worth;
}
