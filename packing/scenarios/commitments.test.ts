import { describe, expect, test } from '@jest/globals';
import { readCommitments, type Commitment } from '../../api/stowage/commitments.js';
import { labels } from '../../api/labels.js';
import type { Pod } from '../../api/kubernetes.js';
import type { InstanceType } from '../../core/instance-type.js';
import { instanceType, node, offering, packingInput, pod, podsOf, pool } from '../../test/builders/packing-fixtures.js';
import { normalizedUnits } from '../compile/commitments.js';
import { coverageOf } from '../compile/coverage.js';
import { plan } from '../plan.js';
import type { ClusterObjects, Plan } from '../types.js';

const onDemand = (name: string, cpu: number, price: number, extras = 0): InstanceType =>
  instanceType(name, {
    cpu,
    offerings: [offering('zone-a', 'on-demand', price + extras, { machinePrice: price })],
  });

const c5 = onDemand('c5.xlarge', 4, 0.34);
const m5 = onDemand('m5.xlarge', 4, 0.384);
const types = [c5, m5];

const commitmentsOf = (...list: object[]): readonly Commitment[] => {
  const { commitments, problems } = readCommitments({ commitments: list }, 'test');
  expect(problems).toEqual([]);
  return commitments;
};

const savingsPlan = (perHour: number, more: object = {}): object => ({
  kind: 'EC2InstanceSavingsPlan',
  name: 'm5-plan',
  instanceFamily: 'm5',
  perHour,
  discount: 0.25,
  ...more,
});

function planned(
  objects: Partial<ClusterObjects>,
  list: readonly object[],
  catalogue: readonly InstanceType[] = types,
): Plan {
  return plan(packingInput(objects, { types: catalogue, settings: { commitments: commitmentsOf(...list) } }));
}

const bought = ({ newNodeClaims }: Plan): string[] =>
  newNodeClaims.map(({ cheapest }) => `${cheapest.instanceType} ${cheapest.commitment ?? '-'}`).sort();

const pods = (count: number): Pod[] => podsOf(count, 'p', { cpu: '4' });

// Rule `instance-types/commitments`.
describe('a plan under a Savings Plan', () => {
  test('buys what is covered, and costs less than a plan that ignores it', () => {
    const ignoring = planned({ pods: pods(3) }, []);
    expect(bought(ignoring)).toEqual(['c5.xlarge -', 'c5.xlarge -', 'c5.xlarge -']);
    expect(ignoring.pricePerHour).toBeCloseTo(1.02);

    // Three of them use 3 x 0.384 x 0.75 = 0.864 of it.
    const whole = planned({ pods: pods(3) }, [savingsPlan(0.9)]);
    expect(bought(whole)).toEqual(['m5.xlarge m5-plan', 'm5.xlarge m5-plan', 'm5.xlarge m5-plan']);
    expect(whole.pricePerHour).toBeLessThan(0.02);
    expect(whole.lowerBoundPerHour).toBeLessThanOrEqual(whole.pricePerHour);
  });

  test('buys at the cheapest on-demand price beyond the commitment, and the lower bound says so', () => {
    const result = planned({ pods: pods(4) }, [savingsPlan(0.6)]);
    expect(bought(result)).toEqual(['c5.xlarge -', 'c5.xlarge -', 'm5.xlarge m5-plan', 'm5.xlarge m5-plan']);
    expect(result.pricePerHour).toBeCloseTo(2 * 0.34 + 2 * 0.00384);
    expect(result.lowerBoundPerHour).toBeGreaterThan(0.5);
    expect(result.lowerBoundPerHour).toBeLessThanOrEqual(result.pricePerHour);
  });

  test('uses nothing of what other instances use, nor an expired plan', () => {
    expect(bought(planned({ pods: pods(2) }, [savingsPlan(0.6, { usedElsewhere: 0.3 })]))).toEqual([
      'c5.xlarge -',
      'm5.xlarge m5-plan',
    ]);
    const past = { until: '1969-12-31T00:00:00Z' };
    expect(bought(planned({ pods: pods(1) }, [savingsPlan(1, past)]))).toEqual(['c5.xlarge -']);
  });

  test('uses a plan for all families with its discount for each, the cheapest instance first', () => {
    const everything = { kind: 'ComputeSavingsPlan', name: 'all', perHour: 0.34, discount: 0 };
    expect(bought(planned({ pods: pods(1) }, [everything]))).toEqual(['c5.xlarge all']);
    // At a tenth of its price two of this family fit, where one of the other does.
    const own = { ...everything, familyDiscounts: { m5: 0.9 }, perHour: 0.08 };
    expect(bought(planned({ pods: pods(2) }, [own]))).toEqual(['m5.xlarge all', 'm5.xlarge all']);
  });

  test("still counts volumes, addresses and the policy's nodeCost", () => {
    const dear = [onDemand('c5.xlarge', 4, 0.34, 0.05), onDemand('m5.xlarge', 4, 0.384, 0.05)];
    const result = planned({ pods: pods(1) }, [savingsPlan(1)], dear);
    expect(result.pricePerHour).toBeCloseTo(0.05 + 0.00384);
  });

  test('takes no larger instance than needed to save a volume', () => {
    const sizes = [onDemand('m5.xlarge', 4, 0.192, 0.007), onDemand('m5.24xlarge', 96, 4.608, 0.007)];
    expect(bought(planned({ pods: pods(3) }, [savingsPlan(10)], sizes))).toEqual(
      new Array(3).fill('m5.xlarge m5-plan'),
    );
  });

  test('keeps pods on spot where that is cheaper than the covered price', () => {
    const both = instanceType('m5.xlarge', { cpu: 4, price: 0.384, zones: ['zone-a'] });
    const spotOnly = pod('p', { cpu: '4', nodeSelector: { [labels.capacityType]: 'spot' } });
    const [claim] = planned({ pods: [spotOnly] }, [savingsPlan(1)], [both]).newNodeClaims;
    expect(claim!.cheapest).toMatchObject({ capacityType: 'spot' });
    expect(claim!.cheapest).not.toHaveProperty('commitment');
  });

  test('makes claims on-demand that list only types which the same plan covers', () => {
    const both = ['m5.xlarge', 'c5.xlarge'].map((name) => instanceType(name, { cpu: 4, price: 0.384 }));
    const [claim] = planned({ pods: pods(1) }, [savingsPlan(1)], both).newNodeClaims;
    expect(claim!.instanceTypes).toEqual(['m5.xlarge']);
    expect(claim!.requirements).toContainEqual({
      key: labels.capacityType,
      operator: 'In',
      values: ['on-demand'],
    });
  });
});

describe('reserved instances', () => {
  const reserved = (more: object = {}): object => ({
    kind: 'ReservedInstances',
    name: 'ri',
    instanceType: 'm5.xlarge',
    count: 2,
    ...more,
  });
  const large = onDemand('m5.2xlarge', 8, 0.768);

  test('cover as many instances as they have', () => {
    expect(bought(planned({ pods: pods(3) }, [reserved()]))).toEqual(['c5.xlarge -', 'm5.xlarge ri', 'm5.xlarge ri']);
  });

  test('cover other sizes by normalized units, where they are regional', () => {
    const big = podsOf(1, 'big', { cpu: '8' });
    expect(bought(planned({ pods: big }, [reserved()], [...types, large]))).toEqual(['m5.2xlarge ri']);
    for (const strict of [{ sizeFlexible: false }, { zone: 'zone-a' }]) {
      expect(bought(planned({ pods: big }, [reserved(strict)], [...types, large]))).toEqual(['m5.2xlarge -']);
    }
    expect(bought(planned({ pods: pods(1) }, [reserved({ zone: 'zone-b' })]))).toEqual(['c5.xlarge -']);
  });

  test("are not used where a NodePool's minValues asks for more types than they cover", () => {
    const requirements = [{ key: labels.instanceType, operator: 'Exists' as const, minValues: 2 }];
    const result = planned({ pods: pods(2), nodePools: [pool('default', { requirements })] }, [reserved()]);
    expect(result.unschedulable).toEqual([]);
    expect(bought(result)).toEqual(['c5.xlarge -', 'c5.xlarge -']);
  });

  test("count sizes in EC2's normalized units", () => {
    const units = (size: string): number | undefined => normalizedUnits(`m5.${size}`);
    expect(['nano', 'large', 'xlarge', '24xlarge', 'metal-48xl', 'metal'].map(units)).toEqual([
      0.25,
      4,
      8,
      192,
      384,
      undefined,
    ]);
  });

  test('apply before Savings Plans, zonal ones first', () => {
    const objects = { pods: [], nodes: [running('a'), running('b'), running('c')] };
    const list = commitmentsOf(
      savingsPlan(1),
      reserved({ count: 1 }),
      reserved({ name: 'zonal', count: 1, zone: 'zone-a' }),
    );
    const { nodes, left } = coverageOf(packingInput(objects, { types, settings: { commitments: list } }));
    expect([...nodes.values()].map(({ taken }) => [...taken.keys()])).toEqual([['zonal'], ['ri'], ['m5-plan']]);
    expect(left.get('m5-plan')).toBeCloseTo(1 - 0.288);
  });
});

function running(name: string, type = 'm5.xlarge', more: Record<string, string> = {}) {
  return node(name, { labels: { [labels.instanceType]: type, [labels.capacityType]: 'on-demand', ...more } });
}

describe('running nodes under commitments', () => {
  test('use commitments up, the fullest first and the last one in part', () => {
    const nodes = ['a', 'b', 'c'].map((name) => running(name));
    const there = podsOf(3, 'there', { cpu: '1' }).map((each, i) => ({
      ...each,
      spec: { ...each.spec, nodeName: i === 0 ? 'b' : 'c' },
    }));
    const objects = { pods: [...there, ...pods(1)], nodes };
    // Two of them use 0.576.
    const coverage = coverageOf(
      packingInput(objects, { types, settings: { commitments: commitmentsOf(savingsPlan(0.432)) } }),
    );
    expect([...coverage.nodes].map(([name, { saving }]) => [name, Math.round(saving * 1000) / 1000])).toEqual([
      ['c', 0.384],
      ['b', 0.192],
    ]);
    expect(coverage.open).toEqual([]);
    const busy = podsOf(3, 'busy', { cpu: '4' }).map((each, i) => ({
      ...each,
      spec: { ...each.spec, nodeName: nodes[i]!.metadata.name! },
    }));
    expect(bought(planned({ pods: [...busy, ...pods(1)], nodes }, [savingsPlan(0.432)]))).toEqual(['c5.xlarge -']);
    expect(bought(planned({ pods: [...busy, ...pods(1)], nodes }, [savingsPlan(1.2)]))).toEqual(['m5.xlarge m5-plan']);
  });

  test('on spot or in a capacity reservation use none', () => {
    const nodes = ['spot', 'reserved'].map((kind) => running(kind, 'm5.xlarge', { [labels.capacityType]: kind }));
    const { left } = coverageOf(
      packingInput({ pods: [], nodes }, { types, settings: { commitments: commitmentsOf(savingsPlan(1)) } }),
    );
    expect(left.get('m5-plan')).toBe(1);
  });
});

test.each([
  [{}, 'f: commitments: found nothing, must be of type array'],
  [
    { commitments: [{ kind: 'SavingsPlan' }] },
    'f: commitments[0].kind: found "SavingsPlan", must be one of ComputeSavingsPlan, EC2InstanceSavingsPlan, ReservedInstances',
  ],
  [{ commitments: [savingsPlan(0)] }, 'f: commitments[0].perHour: found 0, must be more than 0'],
  [{ commitments: [savingsPlan(1, { discount: 28 })] }, 'f: commitments[0].discount: found 28, must be less than 1'],
  [{ commitments: [savingsPlan(1, { family: 'm5' })] }, 'f: commitments[0]: found "family", which is not a field'],
  [
    { commitments: [savingsPlan(1, { until: 'soon' })] },
    'f: commitments[0].until: found "soon", must be a date and time, such as 2027-06-30T00:00:00Z',
  ],
  [
    { commitments: [{ kind: 'ReservedInstances', name: 'r', instanceType: 'm5', count: 1 }] },
    'f: commitments[0].instanceType: found "m5", must be an instance type, such as m5.large',
  ],
  [
    { commitments: [{ kind: 'ReservedInstances', name: 'r', instanceType: 'm5.large', count: 1.5 }] },
    'f: commitments[0].count: found 1.5, must be a whole number',
  ],
  [
    { commitments: [savingsPlan(1), savingsPlan(2)] },
    'f: commitments[1].name: found "m5-plan" a second time, names of commitments must be unique',
  ],
  ['x', 'f: the file: found "x", must be of type object'],
])('an invalid commitment is reported by field, with what was found and what is allowed: %#', (document, problem) => {
  expect(readCommitments(document, 'f')).toEqual({ commitments: [], problems: [problem] });
});
