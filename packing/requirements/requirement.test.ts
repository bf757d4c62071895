import { describe as group, expect, test } from '@jest/globals';
import type { NodeSelectorOperator } from '../../api/kubernetes.js';
import {
  accepts,
  describe,
  intersect,
  isImpossible,
  operatorOf,
  requirementOf,
  satisfiedBy,
  write,
} from './requirement.js';
import { canonicalText, impossibleKey, join, readLabels, readRequirements, writeRequirements } from './requirements.js';
import { probableKey } from './typo.js';

type Written = readonly [NodeSelectorOperator, ...string[]];
const of = ([operator, ...values]: Written) => requirementOf(operator, values);

group('intersection', () => {
  test.each<[string, Written, Written, string]>([
    ['19: crossing bounds leave nothing', ['Gte', '5'], ['Lte', '3'], 'nothing'],
    ['20: NotIn takes values out of In', ['NotIn', 'a'], ['In', 'a', 'b'], 'In [b]'],
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
    expect(describe(intersect(of(left), of(right)))).toBe(expected);
    expect(describe(intersect(of(right), of(left)))).toBe(expected);
  });

  test('a bounded range whose integers are all excluded is impossible', () => {
    const range = intersect(of(['Gte', '4']), of(['Lte', '5']));
    expect(isImpossible(intersect(range, of(['NotIn', '4', '5'])))).toBe(true);
    expect(isImpossible(intersect(range, of(['NotIn', '4'])))).toBe(false);
  });

  test('every integer has to be excluded for that, the first and the last too, and what is excluded need be no integer', () => {
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

  test('nothing left with a minValues keeps it; without one there is none to keep', () => {
    expect(intersect(of(['Gte', '5']), requirementOf('Lte', ['3'], 2))).toEqual({
      complement: false,
      values: [],
      absent: false,
      minValues: 2,
    });
    expect(intersect(of(['In', 'a']), of(['Exists']))).toEqual({ complement: false, values: ['a'], absent: false });
    expect(requirementOf('In', ['a'])).toEqual({ complement: false, values: ['a'], absent: false });
  });

  test('the larger minValues stays', () => {
    const both = intersect(requirementOf('Exists', [], 2), requirementOf('In', ['a', 'b', 'c'], 3));
    expect(both.minValues).toBe(3);
    expect(intersect(requirementOf('In', ['a']), requirementOf('Exists', [], 2)).minValues).toBe(2);
  });

  test('19: what nothing satisfies is written DoesNotExist, and is impossible', () => {
    const nothing = intersect(of(['Gte', '5']), of(['Lte', '3']));
    expect(operatorOf(nothing)).toBe('DoesNotExist');
    expect(isImpossible(nothing)).toBe(true);
    expect(isImpossible(of(['DoesNotExist']))).toBe(false);
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
    [['Gt', '9007199254740991'], '9007199254740992', false],
    [['Gte', '9007199254740991'], '9007199254740991', true],
    [['Gte', 'four'], '4', false],
    [['Gte', '-5'], '-4', true],
    [['Lte', '4'], '1e0', false],
    [['Lte', '4'], '', false],
    [['In'], undefined, false],
  ])('%j with %s', (written, value, expected) => {
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
  ])('%j and %j', (left, right, expected) => {
    const requirement = right === undefined ? of(left) : intersect(of(left), of(right));
    expect(write('k', requirement)).toEqual(expected);
  });

  test('a text says what is asked for: any, Exists, nothing', () => {
    expect(describe(of(['NotIn']))).toBe('any');
    expect(describe(of(['Exists']))).toBe('Exists');
    expect(describe(of(['In']))).toBe('nothing');
    expect(describe(of(['Lte', '3']))).toBe('<= 3');
    expect(operatorOf(of(['Exists']))).toBe('Exists');
    expect(operatorOf(of(['NotIn', 'a']))).toBe('NotIn');
    expect(write('k', of(['NotIn']))).toEqual([]);
    expect(write('k', requirementOf('NotIn', [], 2))).toEqual([]);
    expect(write('k', of(['Lte', '3']))).toEqual([{ key: 'k', operator: 'Lte', values: ['3'] }]);
  });

  test('minValues stands on the first entry', () => {
    expect(write('k', requirementOf('Exists', [], 3))).toEqual([{ key: 'k', operator: 'Exists', minValues: 3 }]);
  });

  test('reading what was written gives the same back', () => {
    const read = readRequirements([
      { key: 'a', operator: 'Gt', values: ['3'] },
      { key: 'a', operator: 'NotIn', values: ['7'] },
      { key: 'b', operator: 'Exists' },
      { key: 'b', operator: 'NotIn', values: ['x'] },
    ]);
    expect(canonicalText(readRequirements(writeRequirements(read)))).toBe(canonicalText(read));
  });
});

group('sets of requirements', () => {
  test('aliases mean the current key', () => {
    const read = readLabels({ 'failure-domain.beta.kubernetes.io/zone': 'a' });
    expect([...read.keys()]).toEqual(['topology.kubernetes.io/zone']);
  });

  test('joining keeps what each asks for, and tells what is left without a value', () => {
    const joined = join(
      readLabels({ a: '1' }),
      readRequirements([{ key: 'b', operator: 'Exists' }]),
      readLabels({ b: '2' }),
    );
    expect(canonicalText(joined)).toBe('a In [1]; b In [2]');
    expect(impossibleKey(joined)).toBeUndefined();
    expect(impossibleKey(join(joined, readLabels({ b: '3' })))).toBe('b');
  });
});

group('order', () => {
  const list = [
    { key: 'b', operator: 'Lte', values: ['9'] },
    { key: 'a', operator: 'Exists' },
    { key: 'b', operator: 'NotIn', values: ['5'] },
    { key: 'b', operator: 'Gte', values: ['3'] },
  ] as const;

  test('what is written is sorted by key, then by operator', () => {
    const written = writeRequirements(readRequirements(list));
    expect(written.map(({ key, operator }) => `${key} ${operator}`)).toEqual(['a Exists', 'b Gte', 'b Lte', 'b NotIn']);
  });

  test('equal sets have one text, whatever the order of their keys', () => {
    const text = canonicalText(readRequirements(list));
    expect(text).toBe('a Exists; b NotIn [5] and >= 3 and <= 9');
    expect(canonicalText(readRequirements([...list].reverse()))).toBe(text);
    expect(canonicalText(readRequirements([]))).toBe('');
  });

  test('sets that ask for nothing are nothing to join', () => {
    const one = readLabels({ a: '1' });
    const none = readRequirements([]);
    expect(join(none, one, none)).toBe(one);
    expect(join(none, none).size).toBe(0);
    expect(readLabels(undefined).size).toBe(0);
  });
});

group('23: the key that was probably meant', () => {
  const known = ['topology.kubernetes.io/zone', 'kubernetes.io/arch', 'karpenter.sh/capacity-type'];
  test.each([
    ['topology.kubernetes.io/zon', 'topology.kubernetes.io/zone'],
    ['topolgy.kubernetes.io/zone', 'topology.kubernetes.io/zone'],
    ['karpenter.sh/capacitytype', 'karpenter.sh/capacity-type'],
    ['zone', 'topology.kubernetes.io/zone'],
    ['example.com/team', undefined],
    ['kubernetes.io/arch', undefined],
  ])('%s', (key, expected) => {
    expect(probableKey(key, known)).toBe(expected);
  });
});
