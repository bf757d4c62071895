import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { NodeOverlay } from '../../api/karpenter/node-overlay.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import type { InstanceType } from '../../core/instance-type.js';
import { parseResource } from '../../core/quantities.js';
import { adjusted, applyOverlays } from '../../packing/compile/overlays.js';
import { templateRequirements } from '../../packing/compile/pools.js';
import { intersect, isImpossible } from '../../packing/requirements/requirement.js';
import {
  join,
  readLabels,
  readNodeRequirements,
  readRequirements,
  type Requirements,
} from '../../packing/requirements/requirements.js';

/*
 * applyOverlays shares what NodePools have in common. `plainly` applies the same rules (node-overlays/heaviest-first,
 * node-overlays/conflicts) to one offering of one NodePool after the other.
 */

const compatible = (asked: Requirements, has: Requirements): boolean =>
  [...asked].every(([key, each]) => {
    const own = has.get(key);
    return own === undefined ? each.absent : !isImpossible(intersect(each, own));
  });

type Slots = Map<string, { readonly weight: number; readonly value: number }>;

function plainly(
  pools: readonly NodePool[],
  types: readonly InstanceType[],
  overlays: readonly NodeOverlay[],
): { readonly slots: Slots; readonly conflicts: readonly string[] } {
  const slots: Slots = new Map();
  const conflicts: string[] = [];
  const weightOf = ({ spec }: NodeOverlay): number => spec.weight ?? 0;
  const ordered = [...overlays].sort(
    (a, b) => weightOf(b) - weightOf(a) || (a.metadata.name! < b.metadata.name! ? 1 : -1),
  );
  for (const overlay of ordered) {
    const changes = pools.flatMap((pool) => types.flatMap((type) => changesOf(pool, type, overlay)));
    if (changes.some(([slot]) => slots.get(slot)?.weight === weightOf(overlay))) conflicts.push(overlay.metadata.name!);
    else
      for (const [slot, value] of changes) if (!slots.has(slot)) slots.set(slot, { weight: weightOf(overlay), value });
  }
  return { slots, conflicts };
}

function changesOf(pool: NodePool, type: InstanceType, { spec }: NodeOverlay): (readonly [string, number])[] {
  const asked = readNodeRequirements(spec.requirements);
  const template = join(templateRequirements(pool), readLabels(pool.spec.template.metadata?.labels));
  const own = join(template, readRequirements(type.requirements));
  if (!compatible(asked, own)) return [];
  const at = `${pool.metadata.name} ${type.name}`;
  const amounts = Object.entries(spec.capacity ?? {}).map(
    ([name, amount]) => [`${at} ${name}`, parseResource(name, amount)] as const,
  );
  if (spec.price === undefined && spec.priceAdjustment === undefined) return amounts;
  const prices = type.offerings.flatMap((offering, o) =>
    compatible(asked, join(own, readRequirements(offering.requirements)))
      ? [[`${at} #${o}`, adjusted(offering.price, spec.price, spec.priceAdjustment)] as const]
      : [],
  );
  return [...amounts, ...prices];
}

/** The result of `applyOverlays`, as the slots above. */
function overlaidSlots(
  pools: readonly NodePool[],
  before: readonly InstanceType[],
  after: ReadonlyMap<string, readonly InstanceType[]>,
): Map<string, number> {
  const slots = new Map<string, number>();
  for (const { metadata } of pools) {
    after.get(metadata.name!)!.forEach((type, t) => {
      const at = `${metadata.name} ${type.name}`;
      for (const [name, amount] of Object.entries(type.capacity))
        if (before[t]!.capacity[name] !== amount) slots.set(`${at} ${name}`, amount);
      type.offerings.forEach(({ price, priceOverlayApplied }, o) => {
        if (priceOverlayApplied === true) slots.set(`${at} #${o}`, price);
      });
    });
  }
  return slots;
}

const zones = ['a', 'b'];
const types: readonly InstanceType[] = ['m.large', 'm.xlarge', 'c.large'].map((name, n) => ({
  name,
  requirements: [
    { key: 'node.kubernetes.io/instance-type', operator: 'In', values: [name] },
    { key: 'family', operator: 'In', values: [name.slice(0, 1)] },
    { key: 'topology.kubernetes.io/zone', operator: 'In', values: zones },
  ],
  offerings: zones.map((zone) => ({
    requirements: [{ key: 'topology.kubernetes.io/zone', operator: 'In', values: [zone] }],
    price: n + 1,
    available: true,
  })),
  capacity: { cpu: 2 },
  overhead: {},
}));

const keys = [
  'family',
  'topology.kubernetes.io/zone',
  'node.kubernetes.io/instance-type',
  'team',
  'constructor',
  '__proto__',
];
const requirement = fc.record({
  key: fc.constantFrom(...keys),
  operator: fc.constantFrom('In', 'NotIn', 'Exists', 'DoesNotExist'),
  values: fc.uniqueArray(fc.constantFrom('a', 'b', 'm', 'c', 'm.large', 'blue'), { minLength: 1, maxLength: 2 }),
}).map(({ key, operator, values }) => ({ key, operator, ...(operator.endsWith('n') ? { values } : {}) })); // prettier-ignore

const pool = fc.record({
  requirements: fc.array(requirement, { maxLength: 2 }),
  team: fc.constantFrom(undefined, 'blue', 'a'),
});
const overlay = fc.record({
  requirements: fc.array(requirement, { maxLength: 2 }),
  weight: fc.integer({ min: 1, max: 3 }),
  what: fc.constantFrom<Partial<NodeOverlay['spec']>>(
    {},
    { price: '7' },
    { priceAdjustment: '-50%' },
    { priceAdjustment: '+2' },
    { capacity: { 'example.com/fuse': '2' } },
    { capacity: { 'example.com/fuse': '3', constructor: '1' }, price: '0.5' },
  ),
});

test('NodeOverlays give the same catalogue, shared between NodePools or compiled for each', () => {
  fc.assert(
    fc.property(
      fc.array(pool, { minLength: 1, maxLength: 4 }),
      fc.array(overlay, { maxLength: 6 }),
      (drawn, overlays) => {
        const pools = drawn.map(({ requirements, team }, n) => ({
          metadata: { name: `pool-${n}` },
          spec: {
            template: {
              metadata: { labels: team === undefined ? {} : { team } },
              spec: { requirements, nodeClassRef: { group: '', kind: '', name: 'x' } },
            },
          },
        })) as unknown as NodePool[];
        const objects = overlays.map(({ requirements, weight, what }, n) => ({
          metadata: { name: `overlay-${n}` },
          spec: { requirements, weight, ...what },
        })) as unknown as NodeOverlay[];
        const expected = plainly(pools, types, objects);
        const { catalogues, conflicts } = applyOverlays(
          pools,
          new Map(pools.map(({ metadata }) => [metadata.name!, types])),
          objects,
        );
        if (objects.length === 0) return;
        expect([...conflicts.keys()]).toEqual(expected.conflicts);
        expect(overlaidSlots(pools, types, catalogues)).toEqual(
          new Map([...expected.slots].map(([slot, { value }]) => [slot, value])),
        );
      },
    ),
    { numRuns: 1500 },
  );
});
