import { beforeAll, describe, expect, test } from '@jest/globals';
import { simulate } from '../simulation/cluster/simulate.js';
import type { SimulationPlan } from '../simulation/cluster/stage.js';
import { testBundle } from '../workflow/bundle.js';

const minute = 60_000;

type Found = readonly [what: string, plan: Pick<SimulationPlan, 'seed' | 'script'> & Partial<SimulationPlan>];

/** What the simulator found, as what happened then, left out what it does not take . */
const found: readonly Found[] = [
  [
    'disrupt, restored to a time at which something was paused, hears that it is paused no more',
    {
      seed: 920004,
      script: [
        { atMs: 60_000, draw: 2, name: 'disruption is paused, for some minutes' },
        { atMs: 90_000, draw: 67, name: 'Temporal is restored as it was some minutes ago' },
        { atMs: 600_000, draw: 1, name: 'the template of a NodePool changes' },
      ],
    },
  ],
  [
    'workflows say nothing of what they waited for once, slots among it',
    {
      seed: 950001,
      script: [
        { atMs: 120_000, draw: 2, name: 'disruption is paused, for some minutes' },
        { atMs: 130_000, draw: 1, name: 'the template of a NodePool changes' },
      ],
    },
  ],
  [
    'disrupt, restored to a time before nodes went, counts them in the rates of a DisruptionPolicy all the same',
    {
      seed: 1200001,
      replicas: 6,
      script: [
        { atMs: 60_000, draw: 376, name: 'a DisruptionPolicy appears, for some minutes' },
        { atMs: 1_800_000, draw: 172, name: 'Temporal is restored as it was some minutes ago' },
        { atMs: 1_801_000, draw: 1, name: 'the template of a NodePool changes' },
      ],
    },
  ],
  [
    'a Node that was removed by force and made anew by its kubelet is registered again',
    {
      seed: 1100002,
      script: [{ atMs: 150_000, draw: 83, name: 'a Node is removed by force, and its kubelet registers anew' }],
    },
  ],
  [
    'a consolidation does not fail where the drain workflow that it waits for is terminated by hand',
    {
      seed: 1500000,
      replicas: 3,
      script: [
        { atMs: 90_000, draw: 1, name: 'the template of a NodePool changes' },
        { atMs: 170_000, draw: 4, name: 'a workflow is terminated by hand' },
      ],
    },
  ],
  [
    'a consolidation that is terminated by hand after its taint was removed releases its node and the budget',
    {
      seed: 1500000,
      replicas: 3,
      script: [
        { atMs: 90_000, draw: 1, name: 'the template of a NodePool changes' },
        { atMs: 100_000, draw: 1, name: 'the taint of a disruption is taken off by hand' },
        { atMs: 100_500, draw: 4, name: 'a workflow is terminated by hand' },
      ],
    },
  ],
];

describe('failures that the simulator once found stay fixed', () => {
  let code = '';
  beforeAll(async () => {
    ({ code } = await testBundle());
  });

  test.each(found)('%s', async (_, plan) => {
    const whole = { unrestMs: 20 * minute, replicas: 4, healMs: 60 * minute, restMs: 10 * minute, withoutFaults: true };
    const { problems } = await simulate({ ...whole, ...plan }, code);
    expect(problems).toEqual([]);
  });
});
