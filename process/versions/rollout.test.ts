import { beforeEach, describe, expect, test } from '@jest/globals';
import { createManualClock } from '../../test/builders/manual-clock.js';
import type { ManualClock } from '../../test/builders/manual-clock.js';
import type { Deployment } from './deployment.js';
import { Rollout } from './rollout.js';

const secondMs = 1000;
const minuteMs = 60_000;

/** Temporal's record of the builds, as one server keeps it for all processes of a cluster. */
class FakeDeployment implements Deployment {
  taken: string | undefined;
  /** Why a build cannot be made current. */
  refusal: string | undefined;
  readonly wereCurrent: string[] = [];
  /** Of each build that has workers, when one polled last. */
  readonly polled = new Map<string | undefined, number>();

  current(): ReturnType<Deployment['current']> {
    const { taken: current } = this;
    const polledAt = this.polled.get(current);
    return Promise.resolve({
      ...(current === undefined ? {} : { current }),
      ...(polledAt === undefined ? {} : { polledAt }),
    });
  }

  activated(): Promise<readonly string[]> {
    return Promise.resolve(this.wereCurrent);
  }

  makeCurrent(buildId: string | undefined): Promise<void> {
    if (this.refusal !== undefined) return Promise.reject(new Error(this.refusal));
    this.taken = buildId;
    if (buildId !== undefined) this.wereCurrent.push(buildId);
    return Promise.resolve();
  }
}

// Rule `settings/worker-versions`.
describe('rollout of worker builds', () => {
  let clock: ManualClock;
  let deployment: FakeDeployment;
  let said: string[];

  beforeEach(() => {
    clock = createManualClock();
    deployment = new FakeDeployment();
    said = [];
  });

  /** A process with workers of the build; `leave` ends it. */
  function come(buildId: string | undefined): { readonly rollout: Rollout; readonly leave: () => void } {
    const say = (_: object, text: string): void => void said.push(text);
    const rollout = new Rollout({ deployment, buildId, clock, log: { debug: say, info: say, warn: say, error: say } });
    const ending = new AbortController();
    void rollout.follow(ending.signal);
    void (async () => {
      while (!ending.signal.aborted) {
        deployment.polled.set(buildId, clock.now());
        await clock.sleep(minuteMs, ending.signal).catch(() => undefined);
      }
    })();
    return { rollout, leave: () => ending.abort() };
  }

  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += secondMs) await clock.advance(secondMs);
  };

  test('the build that started last is current', async () => {
    come('a');
    await pass(secondMs);
    come('b');
    await pass(secondMs);
    expect(deployment.taken).toBe('b');
    await pass(10 * minuteMs);
    expect(deployment.taken).toBe('b');
  });

  test('an earlier current build becomes current again after a minute, so that a restart of its container during an upgrade changes nothing', async () => {
    const before = come('a');
    await pass(secondMs);
    come('b');
    await pass(secondMs);
    before.leave();
    const again = come('a');
    await pass(50 * secondMs);
    expect([deployment.taken, again.rollout.waitsFor]).toEqual(['b', 'its build is not current yet']);
    await pass(15 * secondMs);
    expect([deployment.taken, again.rollout.waitsFor]).toEqual(['a', undefined]);
  });

  test('a build whose workers never restarted replaces one that left, within minutes, and stays', async () => {
    const old = come('a');
    await pass(secondMs);
    const next = come('b');
    await pass(30 * secondMs);
    next.leave();
    await pass(80 * secondMs);
    expect(deployment.taken).toBe('b');
    await pass(40 * secondMs);
    expect([deployment.taken, old.rollout.waitsFor]).toEqual(['a', undefined]);
  });

  test('a build that crashes again and again is not made current any more', async () => {
    come('a');
    await pass(secondMs);
    let currentMs = 0;
    for (const apart of [10, 20, 40, 80, 160, 300, 300, 300]) {
      const crashing = come('b');
      await pass(3 * secondMs);
      crashing.leave();
      for (let second = 0; second < apart; second++) {
        await pass(secondMs);
        if (deployment.taken === 'b') currentMs += secondMs;
      }
    }
    expect([deployment.taken, currentMs < 6 * minuteMs]).toEqual(['a', true]);
  });

  test('workers without a version replace a build that left, and a build replaces them', async () => {
    const versioned = come('a');
    await pass(secondMs);
    const byHand = come(undefined);
    await pass(secondMs);
    expect(deployment.taken).toBeUndefined();
    byHand.leave();
    await pass(3 * minuteMs);
    expect(deployment.taken).toBe('a');
    versioned.leave();
    come(undefined);
    await pass(3 * minuteMs);
    expect(deployment.taken).toBeUndefined();
  });

  test('setting the current build is retried until its workers poll, and other builds may not end before', async () => {
    deployment.refusal = 'task queues are missing';
    const { rollout } = come('a');
    await pass(5 * secondMs);
    expect([deployment.taken, rollout.waitsFor]).toEqual([undefined, 'its build is not current yet']);
    deployment.refusal = undefined;
    await pass(secondMs);
    expect([deployment.taken, rollout.waitsFor]).toEqual(['a', undefined]);
    expect(said.filter((text) => text.includes('cannot be made current yet'))).toHaveLength(1);
  });

  test('the process is not ready while the current build has no worker and cannot be replaced', async () => {
    const { rollout } = come('a');
    await pass(secondMs);
    const next = come('b');
    await pass(secondMs);
    next.leave();
    deployment.refusal = 'not permitted';
    await pass(3 * minuteMs);
    expect(rollout.waitsFor).toBe('the current build (b) has no worker, and this one is not current yet');
    deployment.refusal = undefined;
    await pass(secondMs);
    expect([deployment.taken, rollout.waitsFor]).toEqual(['a', undefined]);
  });

  test('workers without a version change nothing where no build is current', async () => {
    const { rollout } = come(undefined);
    await pass(secondMs);
    expect([rollout.waitsFor, said]).toEqual([undefined, []]);
  });
});
