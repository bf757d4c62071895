import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createClusterCache } from '../kube/cache.js';
import { createFakeKube } from '../test/simulation/kube/fake.js';
import type { FakeKube } from '../test/simulation/kube/fake.js';
import { silentLog } from '../test/simulation/silent.js';
import type { Pause } from '../workflows/messages.js';
import { watchPauses } from './pause-signals.js';

describe('what disrupt holds paused', () => {
  let kube: FakeKube;
  let held: readonly Pause[] | undefined;
  let signals: number;
  let looks: number;
  let heard: () => void;
  let stop: () => void;
  const stopping = { controller: new AbortController() };

  beforeEach(async () => {
    kube = createFakeKube();
    [held, signals, looks, heard] = [[], 0, 0, () => undefined];
    stopping.controller = new AbortController();
    const cache = createClusterCache({ client: kube, kinds: ['DisruptionPause'] });
    await cache.start(stopping.controller.signal);
    const starter = {
      pausesChanged: async (): Promise<void> => {
        await Promise.resolve();
        signals += 1;
        heard();
      },
      pausesHeld: async (): Promise<readonly Pause[] | undefined> => {
        await Promise.resolve();
        looks += 1;
        heard();
        return held;
      },
    };
    const context = { cache, log: silentLog, starter, now: () => Date.now() };
    stop = watchPauses(context as unknown as Parameters<typeof watchPauses>[0], 2);
    await until(() => signals === 1);
  });
  afterEach(() => {
    stop();
    stopping.controller.abort();
  });

  const until = async (condition: () => boolean): Promise<void> => {
    while (!condition()) await new Promise<void>((resolve) => (heard = resolve));
  };
  const pause: Pause = { scope: { kind: 'cluster' }, reason: 'release', actor: 'ann' };
  /** Written, and `disrupt` told of it. */
  const write = async (): Promise<void> => {
    const spec = { scope: { kind: 'Cluster' as const }, message: 'release', requestedBy: 'ann' };
    kube.put('DisruptionPause', { metadata: { name: 'p' }, spec });
    await until(() => signals >= 2);
  };
  const looksAgain = async (times = 3): Promise<void> => {
    const before = looks;
    await until(() => looks >= before + times);
  };

  test('a pause that is over in Kubernetes, as after a restore of Temporal, is told of', async () => {
    held = [pause];
    await until(() => signals === 3);
    expect(signals).toBe(3);
  });

  test('a pause that it lacks is told of', async () => {
    await write();
    await until(() => signals === 4);
    expect(signals).toBe(4);
  });

  test('the pauses that there are, and a disrupt that does not answer, are no news', async () => {
    held = [pause];
    await write();
    await looksAgain();
    const before = signals;
    await looksAgain();
    held = undefined;
    await looksAgain();
    expect(signals).toBe(before);
  });

  test('one whose time is over is none', async () => {
    const scope = { kind: 'Node' as const, name: 'n' };
    const spec = { scope, message: 'a look', until: new Date(Date.now() - 1).toISOString() };
    kube.put('DisruptionPause', { metadata: { name: 'over' }, spec });
    await until(() => signals === 2);
    await looksAgain();
    expect(signals).toBe(2);
  });
});
