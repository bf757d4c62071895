import { describe, expect, test } from '@jest/globals';
import type { NodeSelectorRequirement } from '../api/kubernetes.js';
import { admits, allocatableOf, intersects, launchOptions, pinnedLabels } from './launch-options.js';

const need = (key: string, operator: NodeSelectorRequirement['operator'], ...values: string[]) => ({
  key,
  operator,
  values,
});

test.each([
  [need('a', 'In', 'x', 'y'), 'y', true],
  [need('a', 'In', 'x'), undefined, false],
  [need('a', 'NotIn', 'x'), 'x', false],
  [need('a', 'NotIn', 'x'), undefined, true],
  [need('a', 'Exists'), 'x', true],
  [need('a', 'Exists'), undefined, false],
  [need('a', 'DoesNotExist'), 'x', false],
  [need('a', 'DoesNotExist'), undefined, true],
  [need('a', 'Gt', '4'), '4', false],
  [need('a', 'Gt', '4'), '5', true],
  [need('a', 'Gte', '4'), '4', true],
  [need('a', 'Lt', '4'), '3', true],
  [need('a', 'Lte', '4'), '5', false],
  [need('a', 'Lt', '4'), 'three', false],
  [need('a', 'Lt', '4'), undefined, false],
])('admits(%j, %j) is %j', (requirement, value, expected) => {
  expect(admits(requirement, value)).toBe(expected);
});

// Rule `requirements/shared-keys`.
describe('intersects', () => {
  test('one value must satisfy every requirement of its key', () => {
    const wanted = [need('zone', 'In', 'a', 'b'), need('zone', 'NotIn', 'b')];
    expect(intersects(wanted, [need('zone', 'In', 'b', 'c')])).toBe(false);
    expect(intersects(wanted, [need('zone', 'In', 'a')])).toBe(true);
  });
  test('a key that only one of two sets of requirements names does not make them incompatible', () => {
    expect(intersects([need('team', 'In', 'blue')], [need('zone', 'In', 'a')])).toBe(true);
  });
  test('a label that the type lacks meets NotIn, but not Exists', () => {
    expect(intersects([need('gpu', 'Exists')], [{ key: 'gpu', operator: 'DoesNotExist' }])).toBe(false);
    expect(intersects([need('gpu', 'NotIn', 't4')], [{ key: 'gpu', operator: 'DoesNotExist' }])).toBe(true);
  });
});

const type = (name: string, cpu: number, ...offers: [string, number, boolean][]) => ({
  name,
  requirements: [need('node.kubernetes.io/instance-type', 'In', name)],
  offerings: offers.map(([zone, price, available]) => ({ requirements: [need('zone', 'In', zone)], price, available })),
  capacity: { cpu, memory: 1000, 'hugepages-2Mi': 100 },
  overhead: { cpu: 100, memory: 50 },
});

// Rule `scheduling/allocatable`.
test('allocatable is capacity less overhead, memory less huge pages', () => {
  expect(allocatableOf(type('a', 2000))).toEqual({ cpu: 1900, memory: 850, 'hugepages-2Mi': 100 });
});

// Rule `launch/options`.
test('launch options are the available and allowed offerings that fit, cheapest first', () => {
  const types = [
    type('b', 2000, ['x', 2, true], ['y', 1, true]),
    type('a', 2000, ['x', 2, true]),
    type('c', 1000, ['x', 0.1, true]),
  ];
  const names = launchOptions(types, [], { cpu: 1900 }).map((option) => `${option.type.name} ${option.offering.price}`);
  expect(names).toEqual(['b 1', 'a 2', 'b 2']);
  expect(launchOptions(types, [need('zone', 'NotIn', 'x', 'y')], {})).toEqual([]);
  expect(launchOptions([type('a', 2000, ['x', 1, false])], [], {})).toEqual([]);
  expect(launchOptions(types, [], { 'nvidia.com/gpu': 1 })).toEqual([]);
});

test('the labels of a type are its requirements with one value', () => {
  const [option] = launchOptions([type('a', 2000, ['x', 1, true])], [], {});
  expect(pinnedLabels(option!, [need('team', 'In', 'blue'), need('zone', 'In', 'x', 'y')])).toEqual({
    team: 'blue',
    zone: 'x',
    'node.kubernetes.io/instance-type': 'a',
  });
});
