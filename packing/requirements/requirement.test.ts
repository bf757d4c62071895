import { describe as group, expect, test } from '@jest/globals';
import type { NodeSelectorOperator } from '../../api/kubernetes.js';
import {
  accepts,
  describeRequirement,
  intersect,
  isEmptyRequirement,
  isImpossible,
  operatorOf,
  requirementOf,
  satisfiedBy,
  single,
  write,
} from './requirement.js';

type Written = readonly [NodeSelectorOperator, ...string[]];
const of = ([operator, ...values]: Written) => requirementOf(operator, values);

group('intersection', () => {
  // Rule `requirements/form`.
  test.each<[string, Written, Written, string]>([
    ['crossing bounds leave nothing (requirements/nothing-left)', ['Gte', '5'], ['Lte', '3'], 'nothing'],
    ['NotIn takes values out of In (requirements/intersection)', ['NotIn', 'a'], ['In', 'a', 'b'], 'In [b]'],
    ['In meets In', ['In', 'a', 'b'], ['In', 'b', 'c'], 'In [b]'],
    ['In that shares nothing', ['In', 'a'], ['In', 'b'], 'nothing'],
    ['NotIn joins NotIn', ['NotIn', 'a'], ['NotIn', 'b'], 'NotIn [a b]'],
    ['Exists and NotIn both stay in force', ['Exists'], ['NotIn', 'a'], 'NotIn [a] and Exists'],
    ['Exists yields to In', ['Exists'], ['In', 'a'], 'In [a]'],
    ['Exists contradicts DoesNotExist', ['Exists'], ['DoesNotExist'], 'nothing'],
    ['NotIn allows a missing label', ['NotIn', 'a'], ['DoesNotExist'], 'DoesNotExist'],
    ['In contradicts DoesNotExist', ['In', 'a'], ['DoesNotExist'], 'nothing'],
    ['bounds tighten', ['Gt', '3'], ['Gte', '8'], '>= 8'],
    ['bounds from both sides', ['Gt', '3'], ['Lt', '8'], '>= 4 and <= 7'],
    ['equal bounds leave one value', ['Gte', '4'], ['Lte', '4'], '>= 4 and <= 4'],
    ['bounds drop values outside', ['In', '2', '4', '16'], ['Gt', '3'], 'In [16 4]'],
    ['bounds drop what is no integer', ['In', 'x', '4'], ['Gte', '0'], 'In [4]'],
    ['bounds are forgotten once the set is concrete', ['Lte', '9'], ['In', '4'], 'In [4]'],
    ['bounds hold beside excluded values', ['Gt', '3'], ['NotIn', '5'], 'NotIn [5] and >= 4'],
    ['bounds with every integer excluded', ['Gte', '4'], ['Lte', '4'], '>= 4 and <= 4'],
    ['the smaller upper bound stays', ['Lt', '8'], ['Lte', '3'], '<= 3'],
    ['Exists and a bound say no more than the bound', ['Exists'], ['Lte', '3'], '<= 3'],
    ['both allow a missing label', ['NotIn', 'a'], ['NotIn', 'a'], 'NotIn [a]'],
  ])('%s', (_, left, right, expected) => {
    expect(describeRequirement(intersect(of(left), of(right)))).toBe(expected);
    expect(describeRequirement(intersect(of(right), of(left)))).toBe(expected);
  });

  test('requirement: a bounded range whose integers are all excluded is impossible', () => {
    const range = intersect(of(['Gte', '4']), of(['Lte', '5']));
    expect(isImpossible(intersect(range, of(['NotIn', '4', '5'])))).toBe(true);
    expect(isImpossible(intersect(range, of(['NotIn', '4'])))).toBe(false);
  });

  test('requirement: a range is impossible only when each integer from first to last is excluded; excluded texts do not matter', () => {
    const range = intersect(of(['Gte', '4']), of(['Lte', '6']));
    for (const [excluded, expected] of [
      [['4', '5', '6'], true],
      [['5', '6', '7'], false],
      [['3', '4', '5'], false],
      [['4', '6', 'x'], false],
      [['4', '5', '6', 'x'], true],
    ] as const) {
      expect(isImpossible(intersect(range, of(['NotIn', ...excluded])))).toBe(expected);
    }
    expect(isImpossible(intersect(of(['Gte', '4']), of(['NotIn', '4'])))).toBe(false);
    expect(isImpossible(intersect(of(['Lte', '4']), of(['NotIn', '4'])))).toBe(false);
  });

  test('requirement: minValues is kept when nothing is left to choose from', () => {
    expect(intersect(of(['Gte', '5']), requirementOf('Lte', ['3'], 2))).toStrictEqual({
      complement: false,
      values: [],
      absent: false,
      minValues: 2,
    });
    expect(intersect(of(['In', 'a']), of(['Exists']))).toStrictEqual(single('a'));
    expect(requirementOf('In', ['a'])).toStrictEqual(single('a'));
    expect(intersect(of(['Exists']), of(['NotIn', 'a']))).toStrictEqual({
      complement: true,
      values: ['a'],
      absent: false,
    });
  });

  test('requirement: the intersection has the larger minValues', () => {
    const both = intersect(requirementOf('Exists', [], 2), requirementOf('In', ['a', 'b', 'c'], 3));
    expect(both.minValues).toBe(3);
    expect(intersect(requirementOf('In', ['a']), requirementOf('Exists', [], 2)).minValues).toBe(2);
  });

  test('requirement: an intersection without values is written DoesNotExist, and is impossible (requirements/nothing-left)', () => {
    const nothing = intersect(of(['Gte', '5']), of(['Lte', '3']));
    expect(operatorOf(nothing)).toBe('DoesNotExist');
    expect(isImpossible(nothing)).toBe(true);
    expect(isImpossible(of(['DoesNotExist']))).toBe(false);
    expect(isImpossible(of(['In', 'a']))).toBe(false);
    expect(isImpossible(of(['NotIn']))).toBe(false);
  });

  test.each<[Written, boolean]>([
    [['In'], true],
    [['In', 'a'], false],
    [['NotIn', 'a'], false],
    [['Exists'], false],
    [['DoesNotExist'], true],
    [['Gte', 'four'], true],
  ])('requirement %j allows no value: %s', (written, expected) => {
    expect(isEmptyRequirement(of(written))).toBe(expected);
  });

  test('requirement: a bound that is no integer allows nothing; In without values allows nothing, NotIn without values all', () => {
    const nothing = { complement: false, values: [], absent: false };
    for (const written of [['Gt', 'four'], ['Lte', '1.5'], ['Gte'], ['In']] as const) {
      expect(of(written)).toStrictEqual(nothing);
    }
    expect(requirementOf('In')).toStrictEqual(nothing);
    expect(requirementOf('NotIn')).toStrictEqual({ complement: true, values: [], absent: true });
  });
});

group('satisfaction', () => {
  test.each<[Written, string | undefined, boolean]>([
    [['In', 'a', 'b'], 'b', true],
    [['In', 'a', 'b'], 'c', false],
    [['In', 'a'], undefined, false],
    [['NotIn', 'a'], 'a', false],
    [['NotIn', 'a'], 'b', true],
    [['NotIn', 'a'], undefined, true],
    [['Exists'], 'x', true],
    [['Exists'], undefined, false],
    [['DoesNotExist'], undefined, true],
    [['DoesNotExist'], 'x', false],
    [['Gt', '4'], '4', false],
    [['Gt', '4'], '5', true],
    [['Gt', '4'], undefined, false],
    [['Gte', '4'], '4', true],
    [['Gte', '4'], '3', false],
    [['Lt', '4'], '4', false],
    [['Lt', '4'], '3', true],
    [['Lte', '4'], '4', true],
    [['Lte', '4'], '5', false],
    [['Lte', '4'], 'four', false],
    [['Gt', '9007199254740991'], '9007199254740992', true],
    [['Gt', '9007199254740992'], '9007199254740993', true],
    [['Gt', '9007199254740993'], '9007199254740993', false],
    [['Lt', '9007199254740993'], '9007199254740992', true],
    [['Lte', '9007199254740992'], '9007199254740993', false],
    [['Gte', '9223372036854775807'], '9223372036854775807', true],
    [['Gt', '9223372036854775807'], '9223372036854775808', false],
    [['Gte', '1'], '9223372036854775808', false],
    [['Lte', '+4'], '4', true],
    [['Gte', '9007199254740991'], '9007199254740991', true],
    [['Gte', 'four'], '4', false],
    [['Gte', '-5'], '-4', true],
    [['Lte', '4'], '1e0', false],
    [['Lte', '4'], '', false],
    [['In'], undefined, false],
  ])('requirement %j with the value %s', (written, value, expected) => {
    expect(satisfiedBy(of(written), value)).toBe(expected);
    if (value !== undefined) expect(accepts(of(written), value)).toBe(expected);
  });
});

group('written form', () => {
  test.each<[Written, Written | undefined, object[]]>([
    [['In', 'b', 'a', 'a'], undefined, [{ key: 'k', operator: 'In', values: ['a', 'b'] }]],
    [['DoesNotExist'], undefined, [{ key: 'k', operator: 'DoesNotExist' }]],
    [['Exists'], undefined, [{ key: 'k', operator: 'Exists' }]],
    [['Gt', '4'], undefined, [{ key: 'k', operator: 'Gte', values: ['5'] }]],
    [
      ['Gt', '4'],
      ['Lt', '9'],
      [
        { key: 'k', operator: 'Gte', values: ['5'] },
        { key: 'k', operator: 'Lte', values: ['8'] },
      ],
    ],
    [
      ['Exists'],
      ['NotIn', 'a'],
      [
        { key: 'k', operator: 'NotIn', values: ['a'] },
        { key: 'k', operator: 'Exists' },
      ],
    ],
  ])('requirement %j written with %j', (left, right, expected) => {
    const requirement = right === undefined ? of(left) : intersect(of(left), of(right));
    expect(write('k', requirement)).toStrictEqual(expected);
  });

  test('requirement in words: any, Exists, nothing, bounds', () => {
    expect(describeRequirement(of(['NotIn']))).toBe('any');
    expect(describeRequirement(of(['Exists']))).toBe('Exists');
    expect(describeRequirement(of(['In']))).toBe('nothing');
    expect(describeRequirement(of(['Lte', '3']))).toBe('<= 3');
    expect(operatorOf(of(['Exists']))).toBe('Exists');
    expect(operatorOf(of(['NotIn', 'a']))).toBe('NotIn');
    expect(write('k', of(['NotIn']))).toEqual([]);
    expect(write('k', requirementOf('NotIn', [], 2))).toEqual([]);
    expect(write('k', of(['Lte', '3']))).toEqual([{ key: 'k', operator: 'Lte', values: ['3'] }]);
  });

  test('requirement: minValues is written on the first entry', () => {
    expect(write('k', requirementOf('Exists', [], 3))).toEqual([{ key: 'k', operator: 'Exists', minValues: 3 }]);
  });
});
