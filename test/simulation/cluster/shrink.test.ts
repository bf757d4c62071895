import { describe, expect, test } from '@jest/globals';
import { shrink } from './shrink.js';
import type { Play } from './shrink.js';

/** A simulation in which ten things happen, and which fails as `fails` says. */
const playing =
  (fails: (steps: ReadonlySet<number>, withFaults: boolean) => boolean): Play =>
  (plan) => {
    const steps = Array.from({ length: 10 }, (_, step) => step).filter((step) => plan.leftOut?.has(step) !== true);
    const isBroken = fails(new Set(steps), plan.withoutFaults !== true);
    return Promise.resolve({
      ...{ seed: plan.seed, simulatedMs: 0, faults: 0, launches: 0, steps: 0, traffic: { writes: 0, events: 0 } },
      problems: isBroken ? ['broken'] : [],
      happened: steps.map((step) => ({ step, atMs: step, draw: step, name: `happening ${step}` })),
    });
  };
const plan = { seed: 1, unrestMs: 1, replicas: 1, healMs: 1, restMs: 1 };
const left = async (play: Play): Promise<number[]> =>
  (await shrink(plan, play)).result.happened.map(({ step }) => step);

describe('shrinking the faults of a failing simulation', () => {
  test('leaves only the steps that the failure needs', async () => {
    expect(await left(playing((steps) => steps.has(2) && steps.has(7)))).toEqual([2, 7]);
    expect(await left(playing((steps) => steps.has(0)))).toEqual([0]);
    expect(await left(playing(() => true))).toEqual([]);
  });

  test('leaves out failing calls where the run fails without them', async () => {
    const always = await shrink(
      plan,
      playing(() => true),
    );
    expect(always.plan.withoutFaults).toBe(true);
    const byFaults = await shrink(
      plan,
      playing((steps, withFaults) => withFaults && steps.has(4)),
    );
    expect(byFaults.plan.withoutFaults).toBeUndefined();
    expect(byFaults.result.happened.map(({ step }) => step)).toEqual([4]);
  });

  test('gives a plan that fails in the same way when it is played', async () => {
    const play = playing((steps) => steps.has(3) || steps.has(5));
    const { plan: small } = await shrink(plan, play);
    expect((await play(small)).problems).toEqual(['broken']);
  });

  test('counts a failure as the same though it names other objects, and another failure as another', async () => {
    const play: Play = async (asked) => {
      const result = await playing(() => true)(asked);
      const steps = result.happened.map(({ step }) => step);
      const problem = steps.includes(6) ? `node node-00${steps.length} is tainted, ${steps.length} of 8` : 'another';
      return { ...result, problems: [problem] };
    };
    const { result } = await shrink(plan, play);
    expect(result.problems).toEqual(['node node-001 is tainted, 1 of 8']);
    expect(result.happened.map(({ step }) => step)).toEqual([6]);
  });

  test('plays a passing seed once', async () => {
    expect(
      (
        await shrink(
          plan,
          playing(() => false),
        )
      ).played,
    ).toBe(1);
  });
});
