import { describe, expect, test } from '@jest/globals';
import { canonicalQuantity, offeringLabels, parseCatalogue, writeCatalogue } from './catalogue.js';

const large = {
  name: 'm5.large',
  architecture: 'amd64',
  operatingSystems: ['linux'],
  resources: { cpu: '2', memory: '8192Mi', 'ephemeral-storage': '20Gi' },
  offerings: [
    {
      Price: 0.096,
      Requirements: [
        { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] },
        { key: 'topology.kubernetes.io/zone', operator: 'In', values: ['zone-a'] },
      ],
    },
    {
      Price: 0.03,
      Available: false,
      Requirements: [
        { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['spot'] },
        { key: 'topology.kubernetes.io/zone', operator: 'In', values: ['zone-b'] },
      ],
    },
  ],
};

const parse = (...entries: unknown[]) => parseCatalogue(JSON.stringify(entries));

describe('parseCatalogue', () => {
  test("reads the KWOK provider's format, with the labels that it adds", () => {
    const [type] = parse(large);
    expect(type).toEqual({
      name: 'm5.large',
      requirements: [
        { key: 'node.kubernetes.io/instance-type', operator: 'In', values: ['m5.large'] },
        { key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] },
        { key: 'kubernetes.io/os', operator: 'In', values: ['linux'] },
        { key: 'topology.kubernetes.io/zone', operator: 'In', values: ['zone-a', 'zone-b'] },
        { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand', 'spot'] },
        { key: 'karpenter.kwok.sh/instance-cpu', operator: 'In', values: ['2'] },
        { key: 'karpenter.kwok.sh/instance-memory', operator: 'In', values: ['8Gi'] },
        { key: 'karpenter.kwok.sh/instance-family', operator: 'In', values: ['m5'] },
        { key: 'karpenter.kwok.sh/instance-size', operator: 'In', values: ['large'] },
      ],
      offerings: [
        { price: 0.096, available: true, requirements: large.offerings[0]!.Requirements },
        { price: 0.03, available: false, requirements: large.offerings[1]!.Requirements },
      ],
      capacity: { pods: 110, cpu: 2000, memory: 8 * 2 ** 30, 'ephemeral-storage': 20 * 2 ** 30 },
      overhead: {},
    });
    expect(offeringLabels(parse(large))).toEqual(['karpenter.sh/capacity-type', 'topology.kubernetes.io/zone']);
  });

  test('matches keys in upper and lower case, and null as absent', () => {
    const [type] = parse({
      NAME: 'c-4x-arm64-linux',
      Architecture: 'arm64',
      operatingsystems: null,
      Resources: { cpu: 4, memory: '8Gi', pods: '58' },
      OFFERINGS: [{ price: 1, AVAILABLE: null, requirements: null }],
    });
    expect(type?.capacity).toEqual({ cpu: 4000, memory: 8 * 2 ** 30, pods: 58 });
    expect(type?.offerings).toEqual([{ price: 1, available: true, requirements: [] }]);
    expect(type?.requirements).toContainEqual({ key: 'kubernetes.io/os', operator: 'DoesNotExist' });
    expect(type?.requirements).toContainEqual({
      key: 'karpenter.kwok.sh/instance-family',
      operator: 'In',
      values: ['c'],
    });
    expect(type?.requirements).toContainEqual({
      key: 'karpenter.kwok.sh/instance-size',
      operator: 'In',
      values: ['4'],
    });
  });

  test('keeps back the overhead that the caller names', () => {
    expect(parseCatalogue(JSON.stringify([large]), { overhead: { cpu: 100 } })[0]?.overhead).toEqual({ cpu: 100 });
  });

  test("reads reserved resources, labels with several values and the instance's price from a type", () => {
    const offerings = [{ ...large.offerings[0]!, MachinePrice: 0.09 }];
    const more = { overhead: { cpu: '70m' }, labels: { a: 'x', b: ['y', 'z'] }, offerings };
    const [type] = parseCatalogue(JSON.stringify([{ ...large, ...more }]), { overhead: { memory: 1 } });
    expect(type!.overhead).toEqual({ cpu: 70 });
    expect(type!.requirements.slice(-2)).toEqual([
      { key: 'a', operator: 'In', values: ['x'] },
      { key: 'b', operator: 'In', values: ['y', 'z'] },
    ]);
    expect(type!.offerings[0]).toMatchObject({ price: 0.096, machinePrice: 0.09 });
  });

  test('reads its own output back, without offerings that have no price', () => {
    const reserved = { ...large.offerings[0]!, Price: 0, ReservationCapacity: 2 };
    const more = { overhead: { cpu: '70m' }, labels: { a: 'x', b: ['y', 'z'] } };
    const types = parse({ ...large, ...more, offerings: [...large.offerings, reserved] }, { ...large, name: 'odd' });
    expect(parseCatalogue(writeCatalogue(types))).toEqual(types);
    const [first, ...others] = types[1]!.offerings.map((offering) => ({ ...offering, unpriced: true }));
    const unpriced = (offerings: readonly object[]) =>
      writeCatalogue([{ ...types[1]!, offerings: offerings as never }]);
    expect(parseCatalogue(unpriced([first!, types[1]!.offerings[1]!]))[0]!.offerings).toEqual([types[1]!.offerings[1]]);
    expect(parseCatalogue(unpriced([first!, ...others]))).toEqual([]);
  });

  test('a reservation may have 0 left, and other offerings have no count', () => {
    const of = (capacityType: string) => ({
      Price: 1,
      ReservationCapacity: 0,
      Requirements: [{ key: 'karpenter.sh/capacity-type', operator: 'In', values: [capacityType] }],
    });
    const [type] = parse({ ...large, offerings: [of('reserved'), of('spot')] });
    expect(type!.offerings.map(({ reservationCapacity }) => reservationCapacity)).toEqual([0, undefined]);
  });

  const wrongPrice = { ...large, offerings: [large.offerings[0], { ...large.offerings[1], Price: 'abc' }] };
  test.each([
    [[large, wrongPrice], '[1] "m5.large" offerings[1].Price: expected a number ≥ 0, found "abc"'],
    [
      [{ ...large, offerings: [{ ...large.offerings[0], Price: -1 }] }],
      '[0] "m5.large" offerings[0].Price: expected a number ≥ 0, found -1',
    ],
    [[large, large], '[1] "m5.large" name: entry [0] has the same name'],
    [[{ architecture: 'amd64' }], '[0] name: expected a non-empty string, found nothing'],
    [[7], '[0]: expected an object, found 7'],
    [
      [{ ...large, resources: { cpu: 'two' } }],
      '[0] "m5.large" resources.cpu: expected a quantity ≥ 0 such as 500m, 4 or 16Gi, found "two"',
    ],
    [
      [{ ...large, offerings: [{ Price: 1, Requirements: [{ key: 'a', operator: 'Is', values: [] }] }] }],
      '[0] "m5.large" offerings[0].Requirements[0].operator: expected one of In, NotIn, Exists, DoesNotExist, Gt, Lt, Gte, Lte, found "Is"',
    ],
    [[{ ...large, operatingSystems: ['linux', 3] }], '[0] "m5.large" operatingSystems[1]: expected a string, found 3'],
    [[{ ...large, offerings: null }], '[0] "m5.large" offerings: expected an array, found nothing'],
    [[{ ...large, resources: undefined }], '[0] "m5.large" resources: expected an object of quantities, found nothing'],
    [[{ ...large, offerings: {} }], '[0] "m5.large" offerings: expected an array, found {}'],
    [
      [{ ...large, offerings: [{ Price: 1, ReservationCapacity: 1.5, Requirements: [] }] }],
      '[0] "m5.large" offerings[0].ReservationCapacity: expected a whole number ≥ 0, found 1.5',
    ],
    [
      [{ ...large, offerings: [{ Price: 1, Requirements: [{ key: 'a', operator: 'In', values: [] }] }] }],
      '[0] "m5.large" offerings[0].Requirements[0].values: expected at least one value for operator In, found []',
    ],
  ])('names the entry and the field: %#', (entries, message) => {
    expect(() => parse(...entries)).toThrow(expect.objectContaining({ name: 'CatalogueError', message }));
  });

  test('reports a file that is no JSON or no array', () => {
    expect(() => parseCatalogue('[{')).toThrow(/^no JSON: /);
    expect(() => parseCatalogue('{}')).toThrow('expected an array of instance types, found {}');
  });
});

test.each([
  ['1000m', '1'],
  ['1500m', '1500m'],
  ['0.5', '500m'],
  [4, '4'],
  ['4000', '4k'],
  ['16384Mi', '16Gi'],
  ['1.5Gi', '1536Mi'],
  ['512', '512'],
  ['0.5Ki', '512'],
  ['1e3', '1e3'],
  ['12e6', '12e6'],
  ['0', '0'],
  ['0.0000000001', '1n'],
  ['-2Gi', '-2Gi'],
  ['', undefined],
  ['4 cores', undefined],
])('canonicalQuantity(%j) is %j', (quantity, expected) => {
  expect(canonicalQuantity(quantity)).toBe(expected);
});
