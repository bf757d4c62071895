import { expect, test } from '@jest/globals';
import { Xorshift } from '../xorshift.js';
import { compileProblem } from './compile.js';
import { capReach, demandsOf, roomForCaps } from './resource-lp.js';
import { scaledToFeasible } from './feasible-worth.js';
import { relax } from './relaxation.js';
import { uniformWorth } from './uniform-worth.js';
import type { BinProblem } from './problem.js';

const offers = 24;
/** CPU and memory of one that asks for much CPU, and of one that asks for much memory; two of them together fill what they take. */
const turns = [450, 200, 50, 1800];
const rates = [0.05, 0.055, 0.06];

/** Items that each may use offers of their own choice: every offer costs its CPUs at some rate, with 4 GiB for each. */
function manySets(items: number): BinProblem {
  const random = new Xorshift(7);
  const cpus = Array.from({ length: offers }, (_, o) => 2 ** (1 + (o % 4)));
  return {
    dimensions: 2,
    offers: {
      count: offers,
      price: Float64Array.from(cpus, (cpu, o) => cpu * rates[o % rates.length]!),
      capacity: Float64Array.from(cpus.flatMap((cpu) => [cpu * 1000, cpu * 4000])),
    },
    items: {
      count: items,
      pods: new Int32Array(items).fill(10),
      demand: Float64Array.from({ length: items * 2 }, (_, k) => turns[k % 4]!),
      // All have the first offers; which of the others is up to each.
      allowed: Array.from({ length: items }, () => Uint32Array.of(0xfff | (random.next() & 0xfff000))),
    },
    caps: [],
    conflicts: [],
    limits: [],
    openBins: [],
  };
}

test('uniformWorth: with more sets than the exact program takes, the bound is that of one price per resource', () => {
  const problem = manySets(150);
  const compiled = compileProblem(problem);
  const { items, bound } = relax(problem, compiled);
  expect(roomForCaps(compiled, demandsOf(compiled, compiled.pods, items))).toBeLessThan(0);
  const atCheapestRate = 150 * 10 * 0.25 * rates[0]!;
  expect(bound).toBeCloseTo(atCheapestRate, 6);
});

test('uniformWorth: no offer holds more worth than its price, and items without a common offer have separate worths', () => {
  const problem = manySets(40);
  const [one, other] = [Uint32Array.of(0b1), Uint32Array.of(0b100)];
  const allowed = problem.items.allowed.map((_, item) => (item % 4 < 2 ? one : other));
  const compiled = compileProblem({ ...problem, items: { ...problem.items, allowed } });
  const { items } = relax(problem, compiled);
  const demands = demandsOf(compiled, compiled.pods, items);
  const worth = uniformWorth(compiled, demands);
  const scaled = scaledToFeasible(compiled, worth, capReach(compiled));
  worth.resource.forEach((each, k) => expect(scaled.resource[k]).toBeCloseTo(each, 9));
  const total = demands.resource.reduce((sum, amount, k) => sum + amount * worth.resource[k]!, 0);
  expect(total).toBeCloseTo(20 * 10 * 0.25 * (rates[0]! + rates[2]!), 6);
});
