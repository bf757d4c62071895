import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { DomainError } from '../core/failures.js';
import { createFakeKube } from '../test/simulation/kube/fake.js';
import type { FakeKube } from '../test/simulation/kube/fake.js';
import { createManualClock } from '../test/builders/manual-clock.js';
import type { ManualClock } from '../test/builders/manual-clock.js';
import { createClusterCache } from './cache.js';
import type { ClusterCacheOptions } from './cache.js';
import type { ClusterCache } from './port.js';

describe('a restore of the API server that no call shows', () => {
  let kube: FakeKube;
  let clock: ManualClock;
  let cache: ClusterCache;
  let bringBack: () => void;
  let stop: AbortController;

  beforeEach(() => {
    kube = createFakeKube();
    clock = createManualClock();
    stop = new AbortController();
    kube.put('Node', { metadata: { name: 'kept' } });
    bringBack = kube.snapshot();
    kube.put('Node', { metadata: { name: 'undone' } });
  });
  afterEach(() => stop.abort());

  const start = async (options: Partial<ClusterCacheOptions>): Promise<void> => {
    const retry = { base: 100, max: 200 };
    cache = createClusterCache({ client: kube, clock, retry, kinds: ['Node'], ...options });
    await cache.start(stop.signal);
    await clock.settle();
  };
  /** Others have written as much as was undone: versions alone do not show it. */
  const restore = (): void => {
    bringBack();
    for (const name of ['missed', 'later']) kube.put('Node', { metadata: { name } });
  };
  const names = (): unknown[] => cache.all('Node').map(({ metadata }) => metadata.name).sort(); // prettier-ignore

  test('a process that was stopped during a restore of the API server lists again', async () => {
    let stopped = Promise.resolve();
    // It hears neither of the end of its watch nor of its timers until it goes on.
    const own = { ...clock, sleep: (ms: number, signal?: AbortSignal) => clock.sleep(ms, signal).then(() => stopped) };
    const watch: FakeKube['watch'] = async (...args) => {
      const outcome = await kube.watch(...args);
      await stopped;
      return outcome;
    };
    await start({ client: { ...kube, watch }, clock: own, probe: { silentMs: 3_600_000 } });
    let goOn: () => void = () => undefined;
    stopped = new Promise((resolve) => (goOn = resolve));
    restore();
    await clock.advance(5000);
    expect(names()).toEqual(['kept', 'undone']);

    goOn();
    await clock.advance(1000);

    expect(names()).toEqual(['kept', 'later', 'missed']);
  });

  test('a watch that was dead during a restore of the API server lists again once its check is answered', async () => {
    let isAway = false;
    const watch: FakeKube['watch'] = (...args) =>
      isAway ? Promise.reject(new DomainError('Unavailable', 'no route to host')) : kube.watch(...args);
    await start({ client: { ...kube, watch }, probe: { silentMs: 2000 } });
    kube.silenceWatches();
    isAway = true;
    await clock.advance(10_000);
    restore();
    expect(names()).toEqual(['kept', 'undone']);

    isAway = false;
    await clock.advance(10_000);

    expect(names()).toEqual(['kept', 'later', 'missed']);
  });

  test('a process that ran all the time does not look for a restore', async () => {
    let lists = 0;
    const listForWatch: FakeKube['listForWatch'] = (kind, options) => {
      lists += 1;
      return kube.listForWatch(kind, options);
    };
    // An API server ends each watch after some minutes.
    const watch: FakeKube['watch'] = (kind, options, onEvent) => {
      const over = new AbortController();
      void clock.sleep(20_000, over.signal).then(() => over.abort());
      const signal = AbortSignal.any([options.signal, over.signal]);
      return kube.watch(kind, { ...options, signal }, onEvent);
    };
    await start({ client: { ...kube, listForWatch, watch } });
    await clock.advance(60_000);
    kube.put('Node', { metadata: { name: 'new' } });
    await clock.advance(10_000);

    expect([names(), lists]).toEqual([['kept', 'new', 'undone'], 1]);
  });
});
