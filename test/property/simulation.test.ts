import { afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { perturbationsOf } from '../simulation/cluster/perturbations.js';
import { simulate } from '../simulation/cluster/simulate.js';
import type { SimulationResult } from '../simulation/cluster/simulate.js';
import type { SimulationPlan } from '../simulation/cluster/stage.js';
import { testBundle } from '../workflow/bundle.js';

const minute = 60_000;

describe('a simulated cluster under faults', () => {
  let code = '';
  beforeAll(async () => {
    ({ code } = await testBundle());
  });

  let giveUp = new AbortController();
  let runs: Promise<unknown>[] = [];
  beforeEach(() => {
    giveUp = new AbortController();
    runs = [];
  });
  // A test that ran out of time leaves a run, and its timers, to the next one otherwise.
  afterEach(async () => {
    giveUp.abort(new Error('the test is over'));
    await Promise.allSettled(runs);
  });

  const play = (seed: number, more: Partial<SimulationPlan> = {}): Promise<SimulationResult> => {
    const usual = { unrestMs: 20 * minute, replicas: 8, healMs: 120 * minute, restMs: 10 * minute };
    const run = simulate({ seed, ...usual, signal: giveUp.signal, ...more }, code);
    runs.push(run);
    return run;
  };

  test('an aborted run restores the timers of the process', async () => {
    const machine = setTimeout;
    const given = new Error('given up');

    await expect(play(1, { say: () => giveUp.abort(given) })).rejects.toBe(given);

    expect(setTimeout).toBe(machine);
  });

  test.each([1, 2, 3])(
    'comes to rest after faults and changes of all kinds (invariants/eventually-stable), seed %i',
    async (seed) => {
      const { problems, launches } = await play(seed);
      expect(problems).toEqual([]);
      expect(launches).toBeGreaterThan(0);
    },
  );

  test('two runs with the same seed are equal', async () => {
    const playOut = async (): Promise<string[]> => {
      const lines: string[] = [];
      await play(4, { unrestMs: 10 * minute, say: (line) => lines.push(line) });
      return lines;
    };
    expect(await playOut()).toEqual(await playOut());
  });

  test('comes to rest after one thing a minute and 2% of failing calls (invariants/eventually-stable)', async () => {
    const { problems, faults } = await play(6, { paceMs: minute, faultChance: 0.02 });
    expect(problems).toEqual([]);
    expect(faults).toBeGreaterThan(0);
  });

  test('comes to rest after a fault at any write or event of a known run (invariants/eventually-stable)', async () => {
    const calm = { unrestMs: 5 * minute, paceMs: minute, replicas: 4, withoutFaults: true };
    const { problems, traffic } = await play(7, calm);
    expect(problems).toEqual([]);
    // One of each kind; `npm run simulate -- --perturb 1` places them everywhere.
    const all = perturbationsOf(traffic, Math.ceil(Math.min(traffic.writes, traffic.events) / 2));
    const perturbations = [...new Map(all.map((each) => [each.kind, each])).values()];
    expect(perturbations).toHaveLength(4);
    for (const perturbation of perturbations) {
      expect({ perturbation, problems: (await play(7, { ...calm, perturbation })).problems }).toEqual({
        perturbation,
        problems: [],
      });
    }
  });

  test('two instances launched for one NodeClaim are reported (invariants/one-instance)', async () => {
    const { problems } = await play(5, {
      prepare: ({ cloud }) => {
        const launch = cloud.launch.bind(cloud);
        cloud.launch = async (request) => {
          await launch(request);
          return launch({ ...request, clientToken: `${request.clientToken}-again` });
        };
      },
    });
    expect(problems.join('\n')).toContain('(invariants/one-instance)');
  });
});
