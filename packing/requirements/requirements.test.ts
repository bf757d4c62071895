import { describe, expect, test } from '@jest/globals';
import {
  canonicalText,
  impossibleKey,
  join,
  readLabels,
  readNodeRequirements,
  readRequirements,
  writeRequirements,
} from './requirements.js';

describe('sets of requirements', () => {
  // Rule `labels/aliases`.
  test('label aliases are read as the current key', () => {
    const read = readLabels({ 'failure-domain.beta.kubernetes.io/zone': 'a' });
    expect([...read.keys()]).toEqual(['topology.kubernetes.io/zone']);
  });

  test('joining keeps the requirements of each set, and impossibleKey names a key without values', () => {
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

describe('requirements of a node (requirements/nothing-left)', () => {
  const key = 'k';
  test.each<[string, Parameters<typeof readRequirements>[0], string]>([
    [
      'bounds that cross',
      [
        { key, operator: 'Gt', values: ['8'] },
        { key, operator: 'Lt', values: ['4'] },
      ],
      'k DoesNotExist',
    ],
    [
      'bounds with nothing between',
      [
        { key, operator: 'Gt', values: ['3'] },
        { key, operator: 'Lt', values: ['4'] },
      ],
      'k DoesNotExist',
    ],
    [
      'inclusive bounds that cross',
      [
        { key, operator: 'Gte', values: ['5'] },
        { key, operator: 'Lte', values: ['4'] },
      ],
      'k DoesNotExist',
    ],
    [
      'inclusive bounds that meet',
      [
        { key, operator: 'Gte', values: ['4'] },
        { key, operator: 'Lte', values: ['4'] },
      ],
      'k >= 4 and <= 4',
    ],
    [
      'lists without a common value',
      [
        { key, operator: 'In', values: ['a'] },
        { key, operator: 'In', values: ['b'] },
      ],
      'k DoesNotExist',
    ],
    [
      'a list outside of bounds',
      [
        { key, operator: 'In', values: ['9', 'x'] },
        { key, operator: 'Lt', values: ['9'] },
      ],
      'k DoesNotExist',
    ],
    [
      'a list that is excluded',
      [
        { key, operator: 'In', values: ['a'] },
        { key, operator: 'NotIn', values: ['a'] },
      ],
      'k DoesNotExist',
    ],
    [
      'a label that is and is not',
      [
        { key, operator: 'Exists' },
        { key, operator: 'DoesNotExist' },
      ],
      'k DoesNotExist',
    ],
    [
      'another key stays as it is',
      [
        { key, operator: 'In', values: ['a'] },
        { key, operator: 'In', values: ['b'] },
        { key: 'j', operator: 'In', values: ['c'] },
      ],
      'j In [c]; k DoesNotExist',
    ],
  ])('%s', (_, list, expected) => {
    expect(canonicalText(readNodeRequirements(list))).toBe(expected);
  });

  test('keep minValues', () => {
    const list = [
      { key, operator: 'Gt', values: ['8'], minValues: 2 },
      { key, operator: 'Lt', values: ['4'] },
    ] as const;
    expect(readNodeRequirements(list).get(key)).toEqual({ complement: false, values: [], absent: true, minValues: 2 });
  });
});

describe('order of written requirements', () => {
  const list = [
    { key: 'b', operator: 'Lte', values: ['9'] },
    { key: 'a', operator: 'Exists' },
    { key: 'b', operator: 'NotIn', values: ['5'] },
    { key: 'b', operator: 'Gte', values: ['3'] },
  ] as const;

  test('requirements are written sorted by key, then by operator', () => {
    const written = writeRequirements(readRequirements(list));
    expect(written.map(({ key, operator }) => `${key} ${operator}`)).toEqual(['a Exists', 'b Gte', 'b Lte', 'b NotIn']);
  });

  test('equal sets have one canonical text, whatever the order of their keys', () => {
    const text = canonicalText(readRequirements(list));
    expect(text).toBe('a Exists; b NotIn [5] and >= 3 and <= 9');
    expect(canonicalText(readRequirements([...list].reverse()))).toBe(text);
    expect(canonicalText(readRequirements([]))).toBe('');
  });

  test('joining an empty set returns the other set itself', () => {
    const one = readLabels({ a: '1' });
    const none = readRequirements([]);
    expect(join(none, one, none)).toBe(one);
    expect(join(none, none).size).toBe(0);
    expect(readLabels(undefined).size).toBe(0);
    expect(readRequirements(undefined).size).toBe(0);
  });
});

describe('written requirements', () => {
  test('are read back as the same set', () => {
    const read = readRequirements([
      { key: 'a', operator: 'Gt', values: ['3'] },
      { key: 'a', operator: 'NotIn', values: ['7'] },
      { key: 'b', operator: 'Exists' },
      { key: 'b', operator: 'NotIn', values: ['x'] },
    ]);
    expect(canonicalText(readRequirements(writeRequirements(read)))).toBe(canonicalText(read));
  });
});
