import { performance } from 'node:perf_hooks';
import type { BinProblem, OpenBin } from '../../packing/bins/problem.js';
import { solveWithBound } from '../../packing/bins/solve.js';
import { genericCase, mixCase, realisticCase, seeded } from './bins-cases.js';
import { check, ffd } from './bins-check.js';

// Prices, bounds and times of the bin packing alone, beside first fit decreasing: `tools/bench/bins.ts [units] [repeats]`.

const units = Number(process.argv[2] ?? 100_000);
const repeats = Number(process.argv[3] ?? 5);

/** The same onto nodes that are about half full. */
function withNodes(problem: BinProblem, count: number): BinProblem {
  const random = seeded(count);
  const allowed = new Uint32Array((problem.items.count + 31) >>> 5).fill(0xffffffff);
  const openBins = Array.from({ length: count }, (): OpenBin => {
    const free = Float64Array.of(1000 * random() * 4, 2 ** 30 * random() * 8, 30, 0).map(Math.floor);
    return { free, allowed, capUse: new Int32Array(problem.caps.length), holds: [] };
  });
  return { ...problem, openBins };
}

const cases: [string, BinProblem][] = [
  ['generic, 1,000 pods', genericCase(1000)],
  ['generic, 10,000 pods', genericCase(10_000)],
  ['mix, 1,000 pods', mixCase(1000)],
  ['mix, 5,000 pods', mixCase(5000)],
  ['mix, 10,000 pods', mixCase(10_000)],
  ['realistic, 1,000 pods', realisticCase(1000)],
  ['realistic, 10,000 pods', realisticCase(10_000)],
  ['kept apart, 10,000 pods', realisticCase(10_000, { apart: 0.4 })],
  ['realistic, 100,000 pods', realisticCase(100_000, { classes: 2000, apart: 0.1 })],
  ['10,000 pods, 5,000 nodes', withNodes(realisticCase(10_000, { classes: 400 }), 5000)],
];

for (const [name, problem] of cases) {
  const times: number[] = [];
  let result = solveWithBound(problem, { units: 0 });
  for (let n = 0; n < repeats; n++) {
    const start = performance.now();
    result = solveWithBound(problem, { units });
    times.push(performance.now() - start);
  }
  const { solution, lowerBound } = result;
  const pods = problem.items.pods.reduce((a, b) => a + b, 0);
  const plain = pods <= 1000 ? ffd(problem) : undefined;
  const columns = [
    name.padEnd(26),
    `bins ${solution.bins.length}`.padEnd(11),
    `price ${solution.price.toFixed(2)}`.padEnd(15),
    `bound ${lowerBound.toFixed(2)}`.padEnd(15),
    `gap ${lowerBound > 0 ? (100 * (solution.price / lowerBound - 1)).toFixed(1) : '-'}%`.padEnd(11),
    `ffd ${plain === undefined ? '-' : `+${(100 * (plain / solution.price - 1)).toFixed(0)}%`}`.padEnd(10),
    `left ${solution.unplaced.reduce((a, b) => a + b, 0)}`.padEnd(8),
    `ms ${Math.min(...times).toFixed(1)} (first ${times[0]!.toFixed(1)})`,
    check(problem, solution).slice(0, 1).join(''),
  ];
  process.stdout.write(`${columns.join(' ')}\n`);
}
