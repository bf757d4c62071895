import type { NodeSelectorOperator } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import {
  accepts,
  intersect,
  isImpossible,
  operatorOf,
  requirementOf,
  write,
  type Requirement,
} from '../../packing/requirements/requirement.js';
import { join, readLabels, readRequirements, writeRequirements } from '../../packing/requirements/requirements.js';
import { about, gives, notApplicable, same, type Check, type ConformanceCase } from './conformance-case.js';

type Written = readonly [NodeSelectorOperator, ...string[]];
/** The fourteen requirements that Karpenter's suites are about. */
const written: Readonly<Record<string, Written>> = {
  exists: ['Exists'],
  doesNotExist: ['DoesNotExist'],
  inA: ['In', 'A'],
  inB: ['In', 'B'],
  inAB: ['In', 'A', 'B'],
  notInA: ['NotIn', 'A'],
  in1: ['In', '1'],
  in9: ['In', '9'],
  in19: ['In', '1', '9'],
  notIn12: ['NotIn', '1', '2'],
  greaterThan1: ['Gt', '1'],
  greaterThan9: ['Gt', '9'],
  lessThan1: ['Lt', '1'],
  lessThan9: ['Lt', '9'],
};
const names = Object.keys(written);
const values = ['A', 'B', 'C', '-1', '0', '1', '2', '5', '8', '9', '10', '99'];
const of = (name: string, minValues?: number): Requirement => {
  const [operator, ...list] = written[name]!;
  return requirementOf(operator, list, minValues);
};

/** Whether a label may have a value, by the operator alone. */
function may(name: string, value: string): boolean {
  const [operator, ...list] = written[name]!;
  const bound = Number(list[0]);
  const number = /^-?\d+$/.test(value) ? Number(value) : Number.NaN;
  switch (operator) {
    case 'In':
      return list.includes(value);
    case 'NotIn':
      return !list.includes(value);
    case 'Exists':
      return true;
    case 'Gt':
      return number > bound;
    case 'Lt':
      return number < bound;
    default:
      return false;
  }
}

const pairs = names.flatMap((a) => names.map((b) => [a, b] as const));
/** Of every pair: the values that both let through, and the larger minimum. */
const intersections = (first?: number, second?: number): Check =>
  gives(
    () =>
      pairs.map(([a, b]) => {
        const both = intersect(of(a, first), of(b, second));
        return [a, b, values.filter((value) => accepts(both, value)), both.minValues];
      }),
    pairs.map(([a, b]) => [
      a,
      b,
      values.filter((value) => may(a, value) && may(b, value)),
      first === undefined && second === undefined ? undefined : Math.max(first ?? 0, second ?? 0),
    ]),
  );
const each = <T>(outcome: (name: string) => T, expected: Readonly<Record<string, T>>): Check =>
  gives(() => Object.fromEntries(names.map((name) => [name, outcome(name)])), expected);
const operators: Readonly<Record<string, string>> = {
  exists: 'Exists',
  doesNotExist: 'DoesNotExist',
  inA: 'In',
  inB: 'In',
  inAB: 'In',
  notInA: 'NotIn',
  in1: 'In',
  in9: 'In',
  in19: 'In',
  notIn12: 'NotIn',
  greaterThan1: 'Exists',
  greaterThan9: 'Exists',
  lessThan1: 'Exists',
  lessThan9: 'Exists',
};
const forms = (minValues?: number): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    names.map((name) => {
      const [operator, ...list] = written[name]!;
      const bound = Number(list[0]);
      const least = minValues === undefined ? {} : { minValues };
      if (operator === 'Gt') return [name, [{ key: 'key', operator: 'Gte', values: [String(bound + 1)], ...least }]];
      if (operator === 'Lt') return [name, [{ key: 'key', operator: 'Lte', values: [String(bound - 1)], ...least }]];
      return [name, [{ key: 'key', operator, ...(list.length > 0 && { values: list }), ...least }]];
    }),
  );
const bounded = (...list: Written[]): Requirement =>
  list.map(([operator, ...own]) => requirementOf(operator, own)).reduce(intersect);
const between = (from: number, to: number, ...list: Written[]): Check =>
  gives(
    () => values.filter((value) => accepts(bounded(...list), value)),
    values.filter((value) => /\d/.test(value) && Number(value) >= from && Number(value) <= to),
  );
const top = Number.POSITIVE_INFINITY;

export const requirementCases: readonly ConformanceCase[] = about('requirement', [
  same(
    67,
    'label aliases are read as the current labels',
    gives(
      () =>
        [
          ...readLabels({
            'failure-domain.beta.kubernetes.io/zone': 't',
            'failure-domain.beta.kubernetes.io/region': 't',
            'beta.kubernetes.io/arch': 't',
            'beta.kubernetes.io/os': 't',
            'beta.kubernetes.io/instance-type': 't',
          }).keys(),
        ].sort(),
      [labels.arch, labels.instanceType, labels.os, 'topology.kubernetes.io/region', labels.zone].sort(),
    ),
  ),
  same([[104, 317]], 'each pair intersects to the common values', intersections()),
  same([[318, 532]], 'each pair intersects with one minValues', intersections(1, undefined)),
  same([[533, 748]], 'each pair intersects to the larger minValues', intersections(1, 2)),
  same(
    [[749, 830]],
    'allowed values of each operator',
    each(
      (name) => values.filter((value) => accepts(of(name), value)),
      Object.fromEntries(names.map((name) => [name, values.filter((value) => may(name, value))])),
    ),
  ),
  same(
    [[831, 852]],
    'operator of each',
    each((name) => operatorOf(of(name)), operators),
  ),
  notApplicable([[853, 874]], 'how many values each has', 'nothing counts the values of a complement here'),
  notApplicable(
    876,
    'some value of each',
    'made-up values are those of packing/requirements/requirement.ts (requirements/made-up-values)',
  ),
  notApplicable([[893, 915]], 'the text of each', "texts are the project's own"),
  same(
    [[916, 952]],
    'written form of each',
    gives(
      () =>
        [undefined, 2].map((least) => Object.fromEntries(names.map((name) => [name, write('key', of(name, least))]))),
      [undefined, 2].map(forms),
    ),
  ),
  same(959, 'Gte includes its bound', between(2, top, ['Gte', '2'])),
  same(967, 'Lte includes its bound', between(-1, 8, ['Lte', '8'])),
  same(975, 'Gte and Lte together', between(2, 8, ['Gte', '2'], ['Lte', '8'])),
  same(
    984,
    'Gte equals Gt of one below',
    gives(
      () => [requirementOf('Gte', ['2']), requirementOf('Lte', ['8'])],
      [requirementOf('Gt', ['1']), requirementOf('Lt', ['9'])],
    ),
  ),
  same([995, 1021], 'the tighter of two lower bounds', between(5, top, ['Gte', '5'], ['Gt', '1'])),
  same(1009, 'the tighter of two lower bounds may be Gt', between(6, top, ['Gte', '2'], ['Gt', '5'])),
  same(1032, 'the tighter of two upper bounds may be Lt', between(-1, 4, ['Lte', '8'], ['Lt', '5'])),
  same(1044, 'the tighter of two upper bounds may be Lte', between(-1, 2, ['Lte', '2'], ['Lt', '9'])),
  same(1056, 'Gte 0', between(0, top, ['Gte', '0'])),
  same(1061, 'Lte 0', between(-1, 0, ['Lte', '0'])),
  notApplicable(
    [1066, 1072],
    'some value within bounds',
    'made-up values are those of packing/requirements/requirement.ts (requirements/made-up-values)',
  ),
  same(
    1078,
    'Gt of the largest number allows nothing',
    gives(() => isImpossible(requirementOf('Gt', [String(2 ** 63 - 1)])), true),
  ),
]);

const zone = labels.zone;
/** Whether a node of the first, which says nothing of other labels, can satisfy the second. */
const compatible = (a: string, b: string): boolean => {
  const first = a === 'unconstrained' ? requirementOf('Exists') : of(a);
  const both = intersect(
    { ...first, absent: a === 'unconstrained' || first.absent },
    b === 'unconstrained' ? { ...requirementOf('Exists'), absent: true } : of(b),
  );
  return !isImpossible(both);
};
const all = ['unconstrained', ...names];
const absentAllowed = new Set(['unconstrained', 'doesNotExist', 'notInA', 'notIn12']);
/** Some value, or none, that both let through. */
const expectedPairs = (a: string, b: string): boolean => {
  const probes = [...values, 'Z'];
  const lets = (name: string, value: string) => name === 'unconstrained' || may(name, value);
  return probes.some((value) => lets(a, value) && lets(b, value)) || (absentAllowed.has(a) && absentAllowed.has(b));
};

export const requirementsCases: readonly ConformanceCase[] = about('set of requirements', [
  same(
    34,
    "the zone's alias is read as the current label",
    gives(
      () =>
        writeRequirements(
          readRequirements([{ key: 'failure-domain.beta.kubernetes.io/zone', operator: 'In', values: ['t'] }]),
        ),
      [{ key: zone, operator: 'In', values: ['t'] }],
    ),
  ),
  same(
    57,
    'compatibility of each pair on a well-known label',
    gives(
      () => all.flatMap((a) => all.map((b) => [a, b, compatible(a, b)])),
      all.flatMap((a) => all.map((b) => [a, b, expectedPairs(a, b)])),
    ),
  ),
  notApplicable(
    298,
    'every pair on a label that is not defined',
    'whether a label may be left undefined is decided where pods are matched (requirements/missing-keys); scheduling/suite_test.go has the cases',
  ),
  notApplicable(
    [[544, 567]],
    'hints at a well-known label',
    'packing/requirements/typo.test.ts has them (requirements/typo-hint)',
  ),
  notApplicable(568, 'the text for an unknown label', "texts are the project's own"),
  same(
    [575, 625],
    'written form',
    gives(() => writeRequirements(join(...names.map((name) => new Map([[name, of(name, 2)]])))).length, names.length),
  ),
  same(
    675,
    'both bounds are written',
    gives(
      () => write('cpu', bounded(['Gte', '8'], ['Lte', '8'])),
      [
        { key: 'cpu', operator: 'Gte', values: ['8'] },
        { key: 'cpu', operator: 'Lte', values: ['8'] },
      ],
    ),
  ),
  same(
    688,
    'the written order',
    gives(
      () =>
        writeRequirements(join(...[...names].reverse().map((name) => new Map([[name, of(name)]])))).map(
          ({ key }) => key,
        ),
      [...names].sort(),
    ),
  ),
]);
