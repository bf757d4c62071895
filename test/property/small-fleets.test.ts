import fc from 'fast-check';
import { expect, test } from '@jest/globals';
import { disruptionCost } from '../../disruption/candidates/candidates.js';
import { consolidateFleet, reconsiderNodes } from '../../disruption/consolidation/search.js';
import type { ConsolidationCommand, ConsolidationInput } from '../../disruption/consolidation/types.js';
import { apartBy, input, node, od, pod, pool, type } from '../builders/consolidation.js';

// The same fleets in every run, so that a failure is a change; STOWAGE_SEED draws others.
fc.configureGlobal({ seed: Number(process.env['STOWAGE_SEED'] ?? 20_260_101) });

const zones = (price: number) => ({ ...od(price), 'b/on-demand': price * 0.97, 'a/spot': price * 0.4 });
const types = [
  type('c2', 2, 4, od(0.085)),
  type('m2', 2, 8, zones(0.1)),
  type('m4', 4, 16, od(0.2)),
  type('r4', 4, 32, od(0.26)),
  type('m8', 8, 32, zones(0.39)),
];

const podOf = fc.record({
  cpu: fc.constantFrom(0.25, 0.5, 1, 1.5),
  memory: fc.constantFrom('256Mi', '1Gi', '3Gi'),
  app: fc.constantFrom('web', 'job', 'alone'),
});
const nodeOf = fc.record({
  type: fc.constantFrom(...types),
  spot: fc.boolean(),
  pods: fc.array(podOf, { minLength: 1, maxLength: 4 }),
});
const fleets = fc.record({
  nodes: fc.array(nodeOf, { minLength: 2, maxLength: 7 }),
  policy: fc.constantFrom('WhenEmptyOrUnderutilized', 'Balanced'),
});
type Fleet = typeof fleets extends fc.Arbitrary<infer T> ? T : never;

/** The fleet where budgets let so many nodes go at a time. */
function inputOf({ nodes, policy }: Fleet, budget: number): ConsolidationInput {
  const disruption = { consolidationPolicy: policy, budgets: [{ nodes: String(budget) }] };
  const isSpot = (at: number): boolean => nodes[at]!.spot && nodes[at]!.type.offerings.length > 1;
  return input({
    pools: [pool('default', { disruption })],
    types,
    nodes: nodes.map((each, at) => node(`n${at}`, each.type, { capacityType: isSpot(at) ? 'spot' : 'on-demand' })),
    pods: nodes.flatMap((each, at) => {
      const left = { cpu: each.type.capacity['cpu']! / 1000, memory: each.type.capacity['memory']! / 1024 ** 3 };
      return each.pods.flatMap(({ cpu, memory, app }, i) => {
        const size = memory.endsWith('Mi') ? 0.25 : Number(memory.slice(0, -2));
        const hasOther = app === 'alone' && each.pods.slice(0, i).some((other) => other.app === app);
        if (cpu > left.cpu || size > left.memory || hasOther) return [];
        left.cpu -= cpu;
        left.memory -= size;
        const containers = [{ name: 'main', image: 'i', resources: { requests: { cpu: String(cpu), memory } } }];
        const apart = app === 'alone' ? apartBy('kubernetes.io/hostname', app) : {};
        return [pod(`${app}-${at}-${i}`, `n${at}`, cpu, { spec: { containers, ...apart } })];
      });
    }),
  });
}

/** The commands that the budget lets run at once. */
function atOnce(commands: readonly ConsolidationCommand[], budget: number): readonly ConsolidationCommand[] {
  let nodes = 0;
  return commands.filter(({ candidates }) => (nodes += candidates.length) <= budget);
}

const alone = (asked: ConsolidationInput): ConsolidationCommand[] =>
  (asked.objects.nodes ?? []).flatMap(({ metadata }) => reconsiderNodes(asked, [metadata.name!]) ?? []);

const overBudgets = (rule: (asked: ConsolidationInput, budget: number) => void): void => {
  fc.assert(
    fc.property(fleets, fc.integer({ min: 1, max: 7 }), (fleet, budget) => rule(inputOf(fleet, budget), budget)),
    { numRuns: Number(process.env['STOWAGE_RUNS'] ?? 60) },
  );
};

// Rule `consolidation/parts-of-a-plan`.
test('the commands of a fleet plan that a budget allows leave a fleet that costs at most as much as after the best removal or replacement of one node', () => {
  overBudgets((asked, budget) => {
    const { commands, priceBefore } = consolidateFleet(asked);
    const best = Math.min(priceBefore, ...alone(asked).map(({ priceAfter }) => priceAfter));
    const reached = atOnce(commands, budget).at(-1)?.priceAfter ?? priceBefore;
    expect(reached).toBeLessThanOrEqual(best + 1e-9);
  });
});

test('no command removes a node that an earlier one launched', () => {
  overBudgets((asked) => {
    const there = new Set((asked.objects.nodes ?? []).map(({ metadata }) => metadata.name));
    for (const { candidates } of consolidateFleet(asked).commands) {
      expect(candidates.filter((name) => !there.has(name))).toEqual([]);
    }
  });
});

test('of nodes whose deletion leaves the same price one goes that costs its pods least', () => {
  overBudgets((asked) => {
    const [first] = consolidateFleet({ ...asked, mostCommands: 1 }).commands;
    if (first?.decision !== 'delete' || first.candidates.length !== 1) return;
    const costOf = (name: string): number =>
      disruptionCost(asked.objects.pods.filter(({ spec }) => spec.nodeName === name));
    for (const { decision, candidates, priceAfter } of alone(asked)) {
      if (decision !== 'delete' || priceAfter > first.priceAfter + 1e-9) continue;
      expect(costOf(first.candidates[0]!)).toBeLessThanOrEqual(costOf(candidates[0]!));
    }
  });
});
