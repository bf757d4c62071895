import { expect, test } from 'vitest';
import type { Launch } from '../../packing/trial.js';
import { keepingOnDemand } from './on-demand-nodes.js';
import type { FleetNode } from './fleet.js';

const named = (names: string): FleetNode[] =>
  names
    .split('')
    .map((name) => ({ name, capacityType: name === name.toUpperCase() ? 'on-demand' : 'spot' }) as FleetNode);

// Nodes on demand are upper case.
test.each<[string, string, string, string, string]>([
  ['one node on demand is left for each command to come', 'ABCs', 'stuv', 'spot', 'ABs'],
  ['two for two commands, and one stays in the group', 'ABC', 'stuvw', 'spot', 'A'],
  ['none where nothing waits', 'ABC', '', 'spot', 'ABC'],
  ['none where others on demand wait', 'AB', 'Cst', 'spot', 'AB'],
  ['none where no spot is launched', 'AB', 'st', 'on-demand', 'AB'],
  ['none where the group has one only', 'As', 'tuv', 'spot', 'As'],
])('%s', (_, group, later, capacityType, expected) => {
  const all = named(group);
  const left = keepingOnDemand(all, [...all, ...named(later)], [{ capacityType } as Launch]);
  expect(left.map(({ name }) => name).join('')).toBe(expected);
});
