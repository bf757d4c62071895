import { expect, test } from '@jest/globals';
import type { SimulationResult } from './simulate.js';
import { Totals } from './totals.js';

const hourMs = 60 * 60_000;
const played = (hours: number, names: readonly string[], problems: readonly string[] = []): SimulationResult => ({
  seed: 1,
  problems,
  simulatedMs: hours * hourMs,
  faults: 2,
  launches: 3,
  steps: 4,
  traffic: { writes: 0, events: 0 },
  happened: names.map((name, step) => ({ step, atMs: 0, draw: 0, name })),
});

test('totals of several seeds: how often each fault happened, and in how many simulated days', () => {
  const totals = new Totals();
  totals.add(played(12, ['an instance dies', 'a process dies', 'an instance dies']));
  totals.add(played(36, ['a process dies', 'a process dies'], ['a pod does not run']));
  expect(totals.lines()).toEqual([
    '2 seeds, 1 failed: 2.0 simulated days, 4 faults, 6 launches',
    '  times  days  what happened',
    '      3   2.0  a process dies',
    '      2   0.5  an instance dies',
  ]);
});
