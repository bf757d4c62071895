import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { CaseItem, CaseOffer } from '../../test/builders/bin-cases.js';
import {
  genericCase,
  linearCatalogue,
  mixCase,
  problemOf,
  realisticCase,
  seeded,
} from '../../test/builders/bin-cases.js';
import { check, ffd } from '../../test/builders/bin-check.js';
import type { BinProblem, BinSolution, Effort } from './problem.js';
import { solveWithBound } from './solve.js';

const solveBins = (problem: BinProblem, effort: Effort): BinSolution => solveWithBound(problem, effort).solution;

const effort = { units: 200_000 };

function offer(price: number, capacity: number[], more: Partial<CaseOffer> = {}): CaseOffer {
  return { price, capacity, zone: 0, onDemand: true, ...more };
}

/** A valid solution that is not below its bound, and the bound. */
function bounded(problem: BinProblem, units = effort.units): { solution: BinSolution; lowerBound: number } {
  const both = solveWithBound(problem, { units });
  expect(check(problem, both.solution)).toEqual([]);
  if (problem.limits.length === 0) expect(both.solution.price).toBeGreaterThanOrEqual(both.lowerBound);
  return both;
}

function solved(problem: BinProblem): BinSolution {
  return bounded(problem).solution;
}

/** The least price of any packing, by trying every way to split the pods; infinite where some pod fits nowhere. */
function bruteForce(problem: BinProblem): number {
  const { items, offers, dimensions } = problem;
  const pods = Array.from(items.pods).flatMap((count, item) => new Array<number>(count).fill(item));
  const groups: number[][] = [];
  const cost = (group: readonly number[]): number => {
    for (const cap of problem.caps) {
      if (group.filter((item) => cap.items.includes(item)).length > cap.max) return Infinity;
    }
    for (const [a, b] of problem.conflicts) if (a !== b && group.includes(a) && group.includes(b)) return Infinity;
    let least = Infinity;
    for (let o = 0; o < offers.count; o++) {
      const fits = Array.from({ length: dimensions }).every((_, d) => {
        const sum = group.reduce((total, item) => total + items.demand[item * dimensions + d]!, 0);
        return sum <= offers.capacity[o * dimensions + d]!;
      });
      const allowed = group.every((item) => ((items.allowed[item]![o >>> 5]! >>> (o & 31)) & 1) === 1);
      if (fits && allowed) least = Math.min(least, offers.price[o]!);
    }
    return least;
  };
  let best = Infinity;
  const place = (n: number): void => {
    if (n === pods.length) {
      best = Math.min(best, groups.reduce((sum, group) => sum + cost(group), 0)); // prettier-ignore
      return;
    }
    for (const group of groups) {
      group.push(pods[n]!);
      place(n + 1);
      group.pop();
    }
    groups.push([pods[n]!]);
    place(n + 1);
    groups.pop();
  };
  place(0);
  return best;
}

const smallProblem = fc
  .record({
    offers: fc.array(
      fc.record({
        price: fc.integer({ min: 1, max: 12 }),
        capacity: fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 2, maxLength: 2 }),
        zone: fc.integer({ min: 0, max: 1 }),
        onDemand: fc.boolean(),
      }),
      { minLength: 1, maxLength: 6 },
    ),
    items: fc.array(
      fc.record(
        {
          demand: fc.array(fc.integer({ min: 0, max: 7 }), { minLength: 2, maxLength: 2 }),
          pods: fc.integer({ min: 1, max: 2 }),
          zone: fc.integer({ min: 0, max: 1 }),
          onDemandOnly: fc.boolean(),
        },
        { requiredKeys: ['demand', 'pods'] },
      ),
      { minLength: 1, maxLength: 3 },
    ),
    cap: fc.option(fc.integer({ min: 1, max: 2 }), { nil: undefined }),
    conflict: fc.boolean(),
  })
  .map(({ offers, items, cap, conflict }) =>
    problemOf(offers, items, {
      caps: cap === undefined ? [] : [{ items: Int32Array.from(items.keys()).slice(0, 2), max: cap }],
      conflicts: conflict && items.length > 1 ? [[0, items.length - 1]] : [],
    }),
  );

/** Larger problems with everything in them. */
const anyProblem = fc.integer({ min: 1, max: 1 << 30 }).map((seed) => randomProblem(seed));

function randomProblem(seed: number): BinProblem {
  const random = seeded(seed);
  const int = (limit: number): number => Math.floor(random() * limit);
  const offers = Array.from({ length: 1 + int(20) }, () => {
    const size = 1 + int(30);
    return offer(size * (0.5 + random()), [size * 10, size * (5 + int(10)), 1 + int(40)], {
      zone: int(3),
      onDemand: int(2) === 0,
    });
  });
  const items = Array.from({ length: 1 + int(15) }, (): CaseItem => {
    return {
      demand: [int(60), int(60), 1],
      pods: int(4) === 0 ? int(40) : int(6),
      ...(int(3) === 0 ? { zone: int(3) } : {}),
      onDemandOnly: int(4) === 0,
    };
  });
  const some = (): Int32Array => Int32Array.from(items.keys()).filter(() => int(3) === 0);
  const caps = Array.from({ length: int(3) }, () => ({ items: some(), max: int(4) }));
  return problemOf(offers, items, {
    caps,
    conflicts: Array.from({ length: int(6) }, (): [number, number] => [int(items.length), int(items.length)]),
    limits: Array.from({ length: int(3) }, () => ({
      use: Float64Array.from(offers, () => int(3)),
      remaining: int(30),
    })),
  });
}

describe('solveBins on small problems', () => {
  test('uses one bin of the cheapest offer that holds everything', () => {
    const offers = [offer(9, [10, 10]), offer(5, [5, 5]), offer(2, [2, 2])];
    const solution = solved(problemOf(offers, [{ demand: [1, 1], pods: 5 }]));
    expect(solution.bins).toEqual([{ offer: 1, items: Int32Array.of(0), pods: Int32Array.of(5) }]);
    expect(solution.price).toBe(5);
  });

  test('puts items together that fill a bin, instead of packing the largest first', () => {
    const offers = [offer(10, [10, 10])];
    const items = [
      { demand: [7, 3], pods: 2 },
      { demand: [3, 7], pods: 2 },
    ];
    expect(solved(problemOf(offers, items)).price).toBe(20);
  });

  test('keeps the pods of a cap in separate bins and fills these with other pods', () => {
    const offers = [offer(1, [2, 2]), offer(2, [4, 4])];
    const items = [
      { demand: [1, 1], pods: 3 },
      { demand: [1, 1], pods: 3 },
    ];
    const problem = problemOf(offers, items, { caps: [{ items: Int32Array.of(0), max: 1 }] });
    const solution = solved(problem);
    expect(solution.price).toBe(3);
    expect(solution.bins).toHaveLength(3);
  });

  test('leaves a pod that no offer holds unplaced, and places the others', () => {
    const solution = solved(problemOf([offer(1, [4, 4])], [{ demand: [5, 1], pods: 3 }, { demand: [1, 1], pods: 4 }])); // prettier-ignore
    expect([...solution.unplaced]).toEqual([3, 0]);
    expect(solution.price).toBe(1);
  });

  test('buys fewer, dearer bins where a limit forbids as many cheap ones', () => {
    const offers = [offer(1, [2, 2]), offer(5, [8, 8])];
    const problem = problemOf(offers, [{ demand: [1, 1], pods: 8 }], {
      limits: [{ use: Float64Array.of(1, 1), remaining: 2 }],
    });
    const solution = solved(problem);
    expect([...solution.unplaced]).toEqual([0]);
    expect(solution.bins.length).toBeLessThanOrEqual(2);
  });

  test('does no more work for a million pods that no offer holds than for one', () => {
    const solution = solved(problemOf([offer(1, [4, 4])], [{ demand: [5, 1], pods: 1_000_000 }]));
    expect([...solution.unplaced]).toEqual([1_000_000]);
  });

  test('uses offers at no price first, as far as their limit allows', () => {
    const offers = [offer(0, [4, 4]), offer(3, [8, 8])];
    const reserved = { use: Float64Array.of(1, 0), remaining: 2 };
    const items = [{ demand: [1, 1], pods: 12 }];
    expect(solved(problemOf(offers, items)).price).toBe(0);
    expect(solved(problemOf(offers, items, { limits: [reserved] })).price).toBe(3);
  });

  test('gives an empty solution where there is nothing to pack', () => {
    const solution = solved(problemOf([offer(1, [4, 4])], []));
    expect(solution).toEqual({ bins: [], unplaced: new Int32Array(0), price: 0 });
  });
});

describe('solveBins on random problems', () => {
  test('places every pod, costs no less than the best packing, and has a lower bound at or below that', () => {
    fc.assert(
      fc.property(smallProblem, (problem) => {
        const { solution, lowerBound: bound } = bounded(problem, 20_000);
        const best = bruteForce(problem);
        if (best === Infinity) return;
        expect(solution.unplaced.every((pods) => pods === 0)).toBe(true);
        expect(solution.price).toBeGreaterThanOrEqual(best - 1e-9);
        expect(bound).toBeLessThanOrEqual(best);
      }),
      { numRuns: 200 },
    );
  });

  test('finds the best packing nearly always', () => {
    // A fixed seed: how near a heuristic comes is no law.
    const problems = fc.sample(smallProblem, { numRuns: 300, seed: 20 });
    let packed = 0;
    let missed = 0;
    for (const problem of problems) {
      const best = bruteForce(problem);
      if (best === Infinity) continue;
      const { price } = solveBins(problem, { units: 20_000 });
      packed++;
      if (price > best + 1e-9) missed++;
      expect(price).toBeLessThanOrEqual(best * 1.5 + 1e-9);
    }
    expect(packed).toBeGreaterThan(100);
    expect(missed).toBeLessThanOrEqual(0.02 * packed);
  });

  test('breaks no cap, conflict or limit', () => {
    fc.assert(
      fc.property(anyProblem, (problem) => {
        const { solution, lowerBound: bound } = solveWithBound(problem, { units: 5000 });
        expect(check(problem, solution)).toEqual([]);
        if (solution.unplaced.every((pods) => pods === 0)) expect(solution.price).toBeGreaterThanOrEqual(bound);
      }),
      { numRuns: 300 },
    );
  });

  test('leaves a pod unplaced only where no offer holds it or limits forbid it', () => {
    fc.assert(
      fc.property(anyProblem, (problem) => {
        const free = { ...problem, limits: [] };
        const solution = solveBins(free, { units: 0 });
        solution.unplaced.forEach((pods, item) => {
          if (pods === 0) return;
          const capped = problem.caps.some((cap) => cap.max === 0 && cap.items.includes(item));
          const { offers, dimensions, items } = problem;
          const fits = Array.from({ length: offers.count }, (_, o) => o).some(
            (o) =>
              ((items.allowed[item]![o >>> 5]! >>> (o & 31)) & 1) === 1 &&
              [0, 1, 2].every((d) => items.demand[item * dimensions + d]! <= offers.capacity[o * dimensions + d]!),
          );
          expect(capped || !fits).toBe(true);
        });
      }),
      { numRuns: 200 },
    );
  });

  test('is deterministic', () => {
    fc.assert(
      fc.property(anyProblem, (problem) => {
        const few = { units: 20_000 };
        expect(solveBins(problem, few)).toEqual(solveBins(problem, few));
      }),
      { numRuns: 50 },
    );
  });
});

describe('solveBins on realistic clusters', () => {
  const unforced: [string, BinProblem][] = [
    ['1,000 generic pods, linear prices', genericCase(1000)],
    ['10,000 generic pods, linear prices', genericCase(10_000)],
    ['1,000 generic pods, 30 types', genericCase(1000, 30)],
    ['10,000 pods of Deployments, EC2-like', realisticCase(10_000)],
    ['30,000 pods of Deployments, EC2-like', realisticCase(30_000, { classes: 300 })],
  ];
  test.each(unforced)('%s: within a tenth of the lower bound', (_, problem) => {
    const { solution, lowerBound: bound } = bounded(problem);
    expect([...solution.unplaced].every((pods) => pods === 0)).toBe(true);
    expect(solution.price).toBeLessThanOrEqual(1.1 * bound);
  });

  test.each([
    ['generic', genericCase(1000)],
    ['with spread and anti-affinity', mixCase(1000, 100)],
    ['Deployments kept apart', realisticCase(1000, { apart: 0.4 })],
  ] as [string, BinProblem][])('%s: clearly cheaper than first fit decreasing', (_, problem) => {
    expect(solved(problem).price).toBeLessThanOrEqual(0.9 * ffd(problem));
  });

  test('ten clusters of Deployments are on average within a twelfth of their lower bounds', () => {
    const gaps = Array.from({ length: 10 }, (_, seed) => {
      const { solution, lowerBound: bound } = bounded(realisticCase(1000, { seed: 100 + seed }), 50_000);
      return solution.price / bound - 1;
    });
    expect(gaps.reduce((a, b) => a + b, 0) / gaps.length).toBeLessThanOrEqual(1 / 12);
  });

  test('small bins that anti-affinity forces are filled up: within a sixteenth of the lower bound on average', () => {
    const gaps = [1, 2, 3].map((seed) => {
      const { solution, lowerBound: bound } = bounded(mixCase(300, 100, seed));
      return solution.price / bound - 1;
    });
    expect(gaps.reduce((a, b) => a + b, 0) / gaps.length).toBeLessThanOrEqual(1 / 16);
  });

  test('buys few large bins where every size has the same price per unit and two resources are tight', () => {
    const offers = Array.from({ length: 400 }, (_, n) => offer(0.3 * (n + 1), [1000 * (n + 1), 2048 * (n + 1)]));
    const random = seeded(2);
    const pick = (from: readonly number[]): number => from[Math.floor(random() * from.length)]!;
    const items = Array.from({ length: 1000 }, (): CaseItem => {
      return { demand: [pick([100, 250, 500, 1000, 1500]), pick([100, 256, 512, 1024, 2048, 4096])], pods: 1 };
    });
    const { solution, lowerBound: bound } = bounded(problemOf(offers, items), 20_000);
    expect(solution.price).toBeLessThanOrEqual(1.015 * bound);
    expect(solution.bins.length).toBeLessThanOrEqual(10);
  });

  test('at equal prices buys fewer bins, as far as caps, conflicts and limits allow', () => {
    // Each pair fills half of a bin of 1, a quarter of one of 2 …; every size costs the same for what it holds.
    const sizes = [1, 2, 4, 8, 16].map((n) => offer(n, [8 * n, 64 * n]));
    const pairs = [
      { demand: [7, 10], pods: 16 },
      { demand: [1, 54], pods: 16 },
    ];
    const binsOf = (more: Partial<BinProblem>): number => {
      const { solution } = bounded(problemOf(sizes, pairs, more));
      expect(solution.price).toBe(16);
      return solution.bins.length;
    };
    expect(binsOf({})).toBe(1);
    expect(binsOf({ caps: [{ items: Int32Array.of(0), max: 4 }] })).toBe(4);
    const large = Float64Array.from(sizes, (_, o) => (o >= 3 ? 1 : 0));
    expect(binsOf({ limits: [{ use: large, remaining: 0 }] })).toBe(4);
  });

  test('pods under a cap of one per bin cost no more than their bins, filled up with other pods', () => {
    const offers = linearCatalogue(50);
    const items: CaseItem[] = [
      { demand: [500, 2 ** 29, 1], pods: 100 },
      { demand: [400, 2 ** 30, 1], pods: 100 },
    ];
    const problem = problemOf(offers, items, { caps: [{ items: Int32Array.of(0), max: 1 }] });
    expect(solved(problem).price).toBeLessThanOrEqual(1.01 * solveWithBound(problem, effort).lowerBound);
  });

  test.each<[string, CaseItem[], number | undefined, number]>([
    ['one large pod', [{ demand: [2500, 1], pods: 1 }], undefined, 1.9],
    ['small pods beside it that find room there', [{ demand: [2500, 1], pods: 1 }, { demand: [500, 1], pods: 2 }], undefined, 1.9], // prettier-ignore
    ['pods of which two may share a bin', [{ demand: [100, 1], pods: 3 }], 2, 2],
    ['pods of which none may', [{ demand: [2500, 1], pods: 3 }], 1, 5.7],
  ])('the lower bound counts whole bins: %s', (_, items, max, expected) => {
    const offers = [offer(1, [2000, 100]), offer(1.9, [4000, 100])];
    const caps = max === undefined ? [] : [{ items: Int32Array.of(0), max }];
    const { solution, lowerBound: bound } = bounded(problemOf(offers, items, { caps }));
    expect(solution.price).toBeCloseTo(expected, 9);
    expect(bound).toBeCloseTo(expected, 6);
  });

  test('pods of several caps share the bins that the largest cap needs', () => {
    const offers = [offer(0.0285, [2000, 7536]), offer(0.0635, [4000, 7536]), offer(0.085, [8000, 30_146])];
    const classes: [pods: number, cpu: number, memory: number][] = [
      [25, 100, 256],
      [10, 2000, 4096],
      [10, 2000, 1024],
      [10, 2000, 512],
      [18, 2000, 512],
      [12, 1000, 4096],
      [53, 250, 1024],
      [20, 100, 4096],
      [30, 100, 1024],
    ];
    const items = classes.map(([pods, ...demand]): CaseItem => ({ demand, pods }));
    const caps = [0, 1, 2, 3].map((item) => ({ items: Int32Array.of(item), max: 1 }));
    // Bins of 8,000 are cheapest for their size; the 25 that are kept apart need more bins than that makes.
    expect(bounded(problemOf(offers, items, { caps }), 10_000).solution.price).toBeLessThanOrEqual(1.62);
  });

  test('a limited offer is used for the bins where it saves most', () => {
    const offers = [
      offer(1, [4000, 16_000]),
      offer(1.9, [8000, 32_000]),
      offer(3.3, [16_000, 64_000]),
      offer(1.6, [8000, 16_000]),
    ];
    const classes = [[3, 2600, 3000], [4, 1500, 2000], [3, 1000, 5000], [4, 1000, 4000], [10, 1900, 3500]] as const; // prettier-ignore
    const items = classes.map(([pods, ...demand]): CaseItem => ({ demand, pods }));
    const caps = [{ items: Int32Array.of(0), max: 1 }];
    const limits = [{ use: Float64Array.of(0, 0, 1, 1), remaining: 1 }];
    expect(bounded(problemOf(offers, items, { caps, limits }), 100_000).solution.price).toBeLessThanOrEqual(9);
  });

  test('with more caps than the linear program takes the lower bound is still that of the resources', () => {
    const offers = [offer(1, [800, 800]), offer(3, [800, 800], { zone: 1 })];
    const items: CaseItem[] = [
      { demand: [10, 40], pods: 10_000 },
      { demand: [40, 10], pods: 10_000, zone: 0 },
      ...Array.from({ length: 300 }, (): CaseItem => ({ demand: [1, 1], pods: 2 })),
    ];
    const caps = Array.from({ length: 300 }, (_, n) => ({ items: Int32Array.of(n + 2), max: 1 }));
    // Half as many pods of each kind fill a bin as of both together: 625 bins, which no program by single sets finds.
    const { solution, lowerBound: bound } = bounded(problemOf(offers, items, { caps }), 20_000);
    expect(bound).toBeGreaterThan(620);
    expect(solution.price).toBeLessThanOrEqual(1.1 * bound);
  });

  test('more effort gives a price at most 1% higher', () => {
    const problem = realisticCase(2000, { apart: 0.3, seed: 11 });
    const prices = [0, 50_000, 500_000].map((units) => solveBins(problem, { units }).price);
    expect(prices[1]).toBeLessThanOrEqual(prices[0]!);
    expect(prices[2]).toBeLessThanOrEqual(prices[1]! * 1.01);
  });

  test('searches on only where the result may be below the given price', () => {
    const problem = realisticCase(2000, { apart: 0.3, seed: 11 });
    const built = solveBins(problem, { units: 0 });
    const searched = solveBins(problem, { units: 50_000 });
    expect(searched.price).toBeLessThan(built.price);
    const below = (most: number): BinSolution => solveBins(problem, { units: 50_000, most });
    expect(below(built.price * 1.01)).toEqual(searched);
    expect(below(built.price * 0.99)).toEqual(searched);
    expect(below(built.price * 0.95)).toEqual(built);
  });
});
