import { describe, expect, test } from '@jest/globals';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { InstanceType } from '../../core/instance-type.js';
import { chooseLaunch } from './launch-choice.js';

type Offer = readonly [capacityType: string, price: number, available?: boolean];

const type = (name: string, offers: readonly Offer[], more: Record<string, number> = {}): InstanceType => ({
  name,
  requirements: [
    { key: 'node.kubernetes.io/instance-type', operator: 'In', values: [name] },
    { key: 'karpenter.k8s.aws/instance-family', operator: 'In', values: [name.split('.')[0]!] },
  ],
  offerings: offers.map(([capacityType, price, available = true]) => ({
    requirements: [
      { key: 'karpenter.sh/capacity-type', operator: 'In', values: [capacityType] },
      { key: 'topology.kubernetes.io/zone', operator: 'In', values: ['a'] },
    ],
    price,
    available,
  })),
  capacity: { cpu: 4000, memory: 8e9, ...more },
  overhead: {},
});
const claim = (...requirements: NodeClaim['spec']['requirements']) =>
  ({ spec: { requirements } }) as unknown as NodeClaim;
const stages = (types: readonly InstanceType[], given = claim()) => {
  const choice = chooseLaunch(types, given);
  if (choice.kind === 'none') return choice.message;
  return choice.stages.map((stage) => [stage.capacityType, stage.options.map((option) => option.type.name)]);
};

describe('chooseLaunch', () => {
  // Rule `launch/capacity-type-order`.
  test('a launch tries spot before on-demand, each cheapest first (launch/capacity-type-order)', () => {
    expect(
      stages([
        type('m5.large', [
          ['spot', 2],
          ['on-demand', 4],
        ]),
        type('c5.large', [
          ['spot', 1],
          ['on-demand', 5],
        ]),
      ]),
    ).toEqual([
      ['spot', ['c5.large', 'm5.large']],
      ['on-demand', ['m5.large', 'c5.large']],
    ]);
  });

  test('bare metal that is reserved is used where plain types are not reserved', () => {
    const reserved = type('m5.metal', [['reserved', 0]]);
    const id = { key: 'karpenter.k8s.aws/capacity-reservation-id', operator: 'In' as const, values: ['cr-1'] };
    const [offering] = reserved.offerings;
    const metal = {
      ...reserved,
      offerings: [
        { ...offering!, requirements: [...offering!.requirements, id], reservationCapacity: 1 },
        ...type('m5.metal', [['on-demand', 3]]).offerings,
      ],
    };
    expect(stages([metal, type('m5.large', [['on-demand', 4]])])).toEqual([
      ['reserved', ['m5.metal']],
      ['on-demand', ['m5.large']],
    ]);
  });

  test('spot dearer than the cheapest on-demand is dropped, unless minValues is set (launch/spot-above-on-demand)', () => {
    const types = [
      type('m5.large', [
        ['spot', 9],
        ['on-demand', 4],
      ]),
      type('c5.large', [['spot', 1]]),
    ];
    expect(stages(types)).toEqual([
      ['spot', ['c5.large']],
      ['on-demand', ['m5.large']],
    ]);
    const minValues = { key: 'node.kubernetes.io/instance-type', operator: 'Exists' as const, minValues: 1 };
    expect(stages(types, claim(minValues))).toEqual([
      ['spot', ['c5.large', 'm5.large']],
      ['on-demand', ['m5.large']],
    ]);
  });

  test('metal and accelerated types only when nothing generic remains (launch/plain-types-first)', () => {
    const exotic = [type('m5.metal', [['spot', 1]]), type('g5.large', [['spot', 2]], { 'nvidia.com/gpu': 1 })];
    expect(stages([...exotic, type('m5.large', [['spot', 3]])])).toEqual([['spot', ['m5.large']]]);
    expect(stages(exotic)).toEqual([['spot', ['m5.metal', 'g5.large']]]);
  });

  // Rule `launch/sixty-types`.
  test('a launch asks for at most the 60 cheapest types (launch/sixty-types)', () => {
    const types = Array.from({ length: 80 }, (_, i) => type(`m${String(i)}.large`, [['on-demand', 100 - i]]));
    const [[, names]] = stages(types) as [string, string[]][] as [[string, string[]]];
    expect(names).toHaveLength(60);
    expect(names[0]).toBe('m79.large');
  });

  test('a capacity type that cannot meet minValues is left out of a launch', () => {
    const families = { key: 'karpenter.k8s.aws/instance-family', operator: 'Exists' as const, minValues: 2 };
    const types = [
      type('m5.large', [
        ['spot', 1],
        ['on-demand', 2],
      ]),
      type('c5.large', [['on-demand', 3]]),
    ];
    expect(stages(types, claim(families))).toEqual([['on-demand', ['m5.large', 'c5.large']]]);
    expect(stages(types.slice(0, 1), claim(families))).toMatch(/^minValues cannot be met/);
  });

  test('a value that the requirement excludes does not count (min-values/counted)', () => {
    const zones = { key: 'topology.kubernetes.io/zone', operator: 'NotIn' as const, values: ['b'], minValues: 2 };
    const plain = type('m5.large', [['on-demand', 1]]);
    const inTwo = { key: zones.key, operator: 'In' as const, values: ['a', 'b'] };
    const zonal = { ...plain, requirements: [...plain.requirements, inTwo] };
    expect(stages([zonal], claim(zones))).toMatch(/^minValues cannot be met/);
  });

  test('a launch without any available offering says so', () => {
    expect(stages([type('m5.large', [['spot', 1, false]])])).toMatch(/^no instance type with an available offering/);
  });
});
