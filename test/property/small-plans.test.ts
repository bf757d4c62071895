import { describe, expect, test } from '@jest/globals';
import { checkPlan } from '../checker/check.js';
import { Random } from '../cases/random.js';
import { plan } from '../../packing/plan.js';
import { cheapestBelow } from '../builders/cheapest-plan.js';
import { packingInputOf } from '../builders/packing-input.js';
import { caseOf, smallCase } from '../builders/small-case.js';

// The same cases in every run; STOWAGE_SEED draws others.
const firstSeed = Number(process.env['STOWAGE_SEED'] ?? 20_260_101);
/** Places that the judge tries for pods. What is not known then is not counted. */
const mostSteps = 100_000;

// Spread, affinity and anti-affinity over zones and nodes, selectors, taints, existing nodes, several NodePools.
describe.each([
  [3, 300, 300],
  // One of them costs 0.3% more and has a node less (provisioning/fewest-nodes).
  [6, 1000, 994],
  [12, 100, 98],
  [20, 60, 57],
])('plans for up to %d pods, compared with all possible plans', (pods, cases, leastCheapest) => {
  test(`of ${cases} plans at least ${leastCheapest} are cheapest, all place every pod that can be placed, and none breaks a rule`, () => {
    const dearer: string[] = [];
    for (let seed = firstSeed; seed < firstSeed + cases; seed++) {
      const small = smallCase(new Random(seed), pods);
      const made = caseOf(small);
      const result = plan(packingInputOf(made));
      expect(checkPlan({ items: made.objects }, made.catalogue, { engine: 'stowage', ...result }).violations).toEqual(
        [],
      );
      const isWhole = result.unschedulable.length === 0;
      const cheapest = cheapestBelow(small, isWhole ? result.pricePerHour : Infinity, mostSteps);
      if (typeof cheapest === 'number')
        dearer.push(`seed ${seed}: ${isWhole ? result.pricePerHour : 'pods are left out'}, not ${cheapest}`);
    }
    expect(dearer.slice(cases - leastCheapest)).toEqual([]);
  });
});
