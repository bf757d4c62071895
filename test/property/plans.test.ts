import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type Case, type Kind, generate, generateCorner } from '../cases/index.js';
import { cornerTraits, extendedTraits } from '../cases/corner.js';
import { Random } from '../cases/random.js';
import { compile } from '../../packing/compile/compiled.js';
import { plan } from '../../packing/plan.js';
import { proofOf } from '../../cli/bound/prove.js';
import type { Plan } from '../../packing/types.js';
import { packingInputOf } from '../builders/packing-input.js';
import { checkPlan } from '../checker/check.js';

const solved = (made: Case): Plan => plan(packingInputOf(made));
const judged = (made: Case, result: Plan) =>
  checkPlan({ items: made.objects }, made.catalogue, { engine: 'stowage', ...result });

// The same cases in every run, so that a failure is a change; STOWAGE_SEED draws others.
fc.configureGlobal({ seed: Number(process.env['STOWAGE_SEED'] ?? 20_260_101) });
/** Work for a bound, which holds wherever the work ends: a long proof takes longer than the plan. */
const shortProof = 500_000;
const longProof = 5_000_000;

const seeds = fc.integer({ min: 1, max: 1_000_000 });

/** Puts the objects and the types in another order. */
function shuffled(made: Case, seed: number): Case {
  const random = new Random(seed);
  const mix = <T>(items: readonly T[]): T[] =>
    items
      .map((item) => ({ item, key: random.next() }))
      .sort((a, b) => a.key - b.key)
      .map(({ item }) => item);
  return { objects: mix(made.objects), catalogue: mix(made.catalogue) };
}

const cases: readonly (readonly [kind: Kind, size: number, runs: number])[] = [
  ['generic', 60, 8],
  ['benchmark-mix', 60, 12],
  ['realistic', 60, 8],
  ['realistic-nodes', 40, 6],
  ['preferences', 40, 5],
  ['corner', 40, 60],
  ['revised', 40, 60],
  ['entangled', 40, 60],
  ['extended', 40, 40],
];

describe.each(cases)('plans for %s cases of %d pods', (kind, size, numRuns) => {
  test('break no rule of the checker and cost no less than their lower bounds', () => {
    fc.assert(
      fc.property(seeds, (seed) => {
        const made = generate(kind, size, seed);
        const input = packingInputOf(made);
        const result = plan(input);
        const verdict = judged(made, result);
        expect(verdict.violations).toEqual([]);
        expect(result.pricePerHour).toBeGreaterThanOrEqual(verdict.lowerBound * (1 - 1e-6) - 1e-9);
        expect(result.pricePerHour).toBeGreaterThanOrEqual(result.lowerBoundPerHour * (1 - 1e-6) - 1e-9);
        for (const boundFor of ['any', 'comparable'] as const) {
          const proof = proofOf(compile(input), result, seed % 4 === 0 ? longProof : shortProof, boundFor);
          expect(proof.bound).toBeLessThanOrEqual(result.pricePerHour * (1 + 1e-6) + 1e-9);
        }
      }),
      { numRuns },
    );
  });

  test('do not depend on the order of the input', () => {
    fc.assert(
      fc.property(seeds, seeds, (seed, order) => {
        const made = generate(kind, size, seed);
        const first = solved(made);
        const again = solved(made);
        const other = solved(shuffled(made, order));
        expect(other).toEqual(first);
        expect([again, other].map((one) => JSON.stringify(one) === JSON.stringify(first))).toEqual([true, true]);
      }),
      { numRuns: Math.ceil(numRuns / 2) },
    );
  });
});

test.each<[rule: string, kind: Kind, size: number, seed: number]>([
  ['a constraint of pods that it does not select hid the pods that it selects', 'revised', 60, 140],
  ['pods placed together were put beside other pods of the same labels', 'revised', 60, 285],
  ['pods placed before the requirements of their node were narrowed were not counted on it', 'revised', 60, 103_004],
  ['pods of two apps had affinity for each other, and none could be placed first', 'entangled', 60, 61],
  ['a pod that only one of several affinity terms selects was counted for all', 'entangled', 60, 79],
])('a plan that once broke a rule: %s (%s of %d pods, seed %d)', (_, kind, size, seed) => {
  const made = generate(kind, size, seed);
  expect(judged(made, solved(made)).violations).toEqual([]);
});

test.each<[why: string, kind: Kind, size: number, seed: number, mostPerHour: number]>([
  [
    'pods were placed before the pods that their spread constraint counts, which had to respect it',
    'entangled',
    60,
    226,
    0.7301,
  ],
  [
    'a node of a NodePool of lower weight was not filled, and one more node was launched',
    'corner',
    60,
    101024,
    0.46735,
  ],
])('a plan that once cost too much: %s (%s of %d pods, seed %d)', (_, kind, size, seed, mostPerHour) => {
  const result = solved(generate(kind, size, seed));
  expect(result.unschedulable).toEqual([]);
  expect(result.pricePerHour).toBeLessThanOrEqual(mostPerHour);
});

describe('plans of pods with one corner trait each', () => {
  test.each([...cornerTraits, ...extendedTraits])('%s', (trait) => {
    fc.assert(
      fc.property(seeds, (seed) => {
        const made = generateCorner([trait, 'plain'], 24, seed);
        expect(judged(made, solved(made)).violations).toEqual([]);
      }),
      { numRuns: 6 },
    );
  });
});
