import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { generate, type Case, type Kind } from '../cases/index.js';
import { Random } from '../cases/random.js';
import { consolidateFleet, reconsiderNodes } from '../../disruption/consolidation/search.js';
import type { Consolidation } from '../../disruption/consolidation/types.js';
import { packingInputOf } from '../builders/packing-input.js';
import { checkConsolidation } from '../checker/consolidation.js';
import { fleetBound } from '../checker/fleet-bound.js';

const consolidated = (made: Case): Consolidation => consolidateFleet(packingInputOf(made));
const judged = (made: Case, result: Consolidation) =>
  checkConsolidation(
    { items: made.objects },
    made.catalogue,
    { engine: 'stowage', totalMs: 0, ...result },
    Date.parse('2026-01-02T00:00:00Z'),
  );

/** Every node that stays, by the reported reasons; later commands may remove what earlier ones launch. */
const staying = ({ held, notTaken, rejected }: Consolidation): string[] => [
  ...rejected.flatMap(({ candidates }) => candidates),
  ...[...held, ...notTaken].map(({ node }) => node),
];
const isThere = ({ objects }: Case, name: string): boolean =>
  objects.some(({ kind, metadata }) => ['Node', 'NodeClaim'].includes(kind) && metadata.name === name);

// The same cases in every run, so that a failure is a change; STOWAGE_SEED draws others.
fc.configureGlobal({ seed: Number(process.env['STOWAGE_SEED'] ?? 20_260_101) });
const seeds = fc.integer({ min: 1, max: 1_000_000 });

const cases: readonly (readonly [kind: Kind, size: number, runs: number])[] = [
  ['cluster', 12, 8],
  ['cluster', 40, 2],
  ['kwok-cluster', 30, 6],
  ['varied-cluster', 30, 8],
  ['realistic-nodes', 60, 3],
  ['corner', 40, 20],
];

describe.each(cases)('consolidations of %s cases of size %d', (kind, size, numRuns) => {
  test('no command of a consolidation breaks a rule, and each makes the fleet cheaper', () => {
    fc.assert(
      fc.property(seeds, (seed) => {
        const made = generate(kind, size, seed);
        const result = consolidated(made);
        expect(judged(made, result).violations).toEqual([]);
        expect(staying(result).filter((name) => !isThere(made, name))).toEqual([]);
        for (const { priceBefore, priceAfter, candidates } of result.commands) {
          expect(candidates.length).toBeGreaterThan(0);
          expect(priceAfter).toBeLessThanOrEqual(priceBefore);
        }
      }),
      { numRuns },
    );
  });

  // Rule `commands/validation`.
  test('commands pass validation where nothing has changed', () => {
    fc.assert(
      fc.property(seeds, (seed) => {
        const input = packingInputOf(generate(kind, size, seed));
        const [first] = consolidateFleet(input).commands;
        if (first === undefined || first.method === 'empty') return;
        const { candidates, replacements, moves } = first;
        const asked = { ...input, mostReplacements: replacements.length };
        const same =
          reconsiderNodes({ ...asked, decided: replacements, decidedMoves: moves }, candidates) ??
          reconsiderNodes(asked, candidates);
        expect(same?.candidates.toSorted()).toEqual(candidates.toSorted());
      }),
      { numRuns },
    );
  });

  test('commands do not depend on the order of the objects', () => {
    fc.assert(
      fc.property(seeds, seeds, (seed, order) => {
        const made = generate(kind, size, seed);
        const random = new Random(order);
        const keyed = made.objects.map((object) => ({ object, key: random.next() }));
        const objects = keyed.sort((a, b) => a.key - b.key).map(({ object }) => object);
        expect(consolidated({ ...made, objects })).toEqual(consolidated(made));
      }),
      { numRuns: Math.ceil(numRuns / 2) },
    );
  });
});

test('under any budget, and where spot is replaced only by on-demand, consolidated fleets end near the lower bound of their price', () => {
  const ends = Array.from({ length: 20 }, (_, i) => {
    const made = generate('kwok-cluster', 60, i + 1);
    const { priceAfter, notTaken } = consolidated(made);
    return {
      over: priceAfter / fleetBound({ items: made.objects }, made.catalogue) - 1,
      // The bound does not know that such a node stays.
      keepsSpot: notTaken.some(({ why }) => why.includes('SpotToSpotConsolidation')),
    };
  });
  expect(ends.reduce((sum, { over }) => sum + over, 0) / ends.length).toBeLessThan(0.02);
  const free = ends.filter(({ keepsSpot }) => !keepsSpot);
  expect(free.length).toBeGreaterThan(15);
  expect(Math.max(...free.map(({ over }) => over))).toBeLessThan(0.05);
});
