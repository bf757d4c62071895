import { expect, test } from '@jest/globals';
import type { NodeSelectorRequirement } from '../api/kubernetes.js';
import type { InstanceType } from './instance-type.js';
import { SharedRequirements } from './shared-requirements.js';

const type = (name: string, requirements: NodeSelectorRequirement[]): InstanceType => ({
  name,
  requirements,
  offerings: [{ requirements: structuredClone(requirements), price: 1, available: true }],
  capacity: {},
  overhead: {},
});

test('equal requirements of types and offerings are one object', () => {
  const shared = new SharedRequirements();
  const requirements: NodeSelectorRequirement[] = [
    { key: 'a', operator: 'In', values: ['1', '2'] },
    { key: 'a', operator: 'DoesNotExist' },
  ];
  const types = ['one', 'two'].map((name) => type(name, structuredClone(requirements)));
  const [one, two] = types.map((each) => shared.in(each));
  expect([one, two]).toEqual(types);
  const all = [one, two].flatMap((each) => [each!.requirements, each!.offerings[0]!.requirements]);
  expect(new Set(all.map(([first]) => first)).size).toBe(1);
  expect(new Set(all.map(([, second]) => second)).size).toBe(1);
});

test.each<[string, NodeSelectorRequirement, NodeSelectorRequirement]>([
  ['keys', { key: 'a', operator: 'Exists' }, { key: 'b', operator: 'Exists' }],
  ['operators', { key: 'a', operator: 'In', values: ['1'] }, { key: 'a', operator: 'NotIn', values: ['1'] }],
  ['values', { key: 'a', operator: 'In', values: ['1', '2'] }, { key: 'a', operator: 'In', values: ['1,2'] }],
  ['orders', { key: 'a', operator: 'In', values: ['1', '2'] }, { key: 'a', operator: 'In', values: ['2', '1'] }],
  ['no and empty values', { key: 'a', operator: 'In' }, { key: 'a', operator: 'In', values: [] }],
])('requirements that differ in %s are separate objects', (_, left, right) => {
  const shared = new SharedRequirements();
  const types = [type('one', [left]), type('two', [right])];
  expect(types.map((each) => shared.in(each))).toEqual(types);
});
