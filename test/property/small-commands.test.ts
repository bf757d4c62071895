import { expect, test } from '@jest/globals';
import { consolidateFleet } from '../../disruption/consolidation/search.js';
import { plan } from '../../packing/plan.js';
import { cheapestBelow } from '../builders/cheapest-plan.js';
import { packingInputOf } from '../builders/packing-input.js';
import { caseOf, smallCase, type SmallCase, type SmallNode } from '../builders/small-case.js';
import { Random } from '../cases/random.js';

// The same cases in every run; STOWAGE_SEED draws others.
const firstSeed = Number(process.env['STOWAGE_SEED'] ?? 20_260_101);
const mostSteps = 100_000;

interface PricedNode extends SmallNode {
  readonly price: number;
}

/**
 * One to three nodes that hold a few pods by all their rules, each of a random type that has room for them. All of one
 * capacity type.
 */
function smallFleet(
  random: Random,
  capacity: 'on-demand' | 'spot' = 'on-demand',
): { small: SmallCase; nodes: PricedNode[] } | undefined {
  const drawn = smallCase(random, 5);
  const types = drawn.types.map((type) => ({
    ...type,
    offers: type.offers
      .filter(({ capacityType }) => capacityType === 'on-demand')
      .map((offer) => ({ ...offer, capacityType: capacity })),
  }));
  const small = {
    ...drawn,
    types,
    nodes: [],
    pools: drawn.pools.map((each) => ({ ...each, isTainted: false })),
  };
  const { newNodeClaims, unschedulable } = plan(packingInputOf(caseOf(small)));
  if (unschedulable.length > 0 || newNodeClaims.length === 0 || newNodeClaims.length > 3) return undefined;
  const nodes = newNodeClaims.map(({ nodePool, cheapest, pods }, i): PricedNode => {
    const running = small.pods.filter(({ name }) => pods.includes(`default/${name}`));
    const least = types.find(({ name }) => name === cheapest.instanceType)!;
    const fits = types.filter(
      ({ arch, cpu, memory, offers }) =>
        arch === least.arch &&
        cpu >= least.cpu &&
        memory >= least.memory &&
        offers.some(({ zone }) => zone === cheapest.zone),
    );
    const type = random.pick(fits);
    const { price, capacityType } = type.offers.find(({ zone }) => zone === cheapest.zone)!;
    const { name, arch, cpu, memory } = type;
    return {
      name: `node-${i}`,
      zone: cheapest.zone,
      arch,
      capacityType,
      cpu,
      memory,
      running,
      type: name,
      pool: nodePool,
      price,
    };
  });
  return { small: { ...small, nodes, pods: [] }, nodes };
}

/** The lowest price of the fleet after any of its nodes are removed, and nodes of these types launched for their pods. */
function cheapestFleet(
  { small, nodes }: { small: SmallCase; nodes: readonly PricedNode[] },
  types: SmallCase['types'] = small.types,
): number {
  let best = nodes.reduce((sum, { price }) => sum + price, 0);
  for (let removed = 1; removed < 1 << nodes.length; removed++) {
    const staying = nodes.filter((_, i) => (removed & (1 << i)) === 0);
    const going = nodes.filter((_, i) => (removed & (1 << i)) !== 0);
    const price = staying.reduce((sum, each) => sum + each.price, 0);
    const pods = going.flatMap(({ running }) => running);
    const launched = cheapestBelow({ ...small, types, nodes: staying, pods }, best - price, mostSteps);
    if (typeof launched === 'number') best = price + launched;
  }
  return best;
}

// The rest save too little for what they disturb.
test('of 300 fleets of one to three nodes at least 296 end at the lowest price that removing any of their nodes can reach', () => {
  const dearer: string[] = [];
  let fleets = 0;
  for (let seed = firstSeed; fleets < 300; seed++) {
    const fleet = smallFleet(new Random(seed));
    if (fleet === undefined) continue;
    fleets++;
    const { priceAfter } = consolidateFleet(packingInputOf(caseOf(fleet.small)));
    const cheapest = cheapestFleet(fleet);
    if (priceAfter > cheapest + 1e-9) dearer.push(`seed ${seed}: ${priceAfter}, not ${cheapest}`);
  }
  expect(dearer.slice(300 - 296)).toEqual([]);
});

// Rule `consolidation/spot-to-spot`: with the feature gate off nothing is launched for them.
test('300 fleets of one to three spot nodes end at the lowest price that removing any of their nodes can reach', () => {
  const dearer: string[] = [];
  let fleets = 0;
  for (let seed = firstSeed; fleets < 300; seed++) {
    const fleet = smallFleet(new Random(seed), 'spot');
    if (fleet === undefined) continue;
    fleets++;
    const { priceAfter } = consolidateFleet(packingInputOf(caseOf(fleet.small)));
    const cheapest = cheapestFleet(fleet, []);
    if (priceAfter > cheapest + 1e-9) dearer.push(`seed ${seed}: ${priceAfter}, not ${cheapest}`);
  }
  expect(dearer).toEqual([]);
});
