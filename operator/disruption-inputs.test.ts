import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createClusterCache } from '../kube/cache.js';
import type { ClusterCache } from '../kube/port.js';
import { createFakeKube, type FakeKube } from '../test/simulation/kube/fake.js';
import { silentLog } from '../test/simulation/silent.js';
import type { OperatorContext } from './context.js';
import { watchDisruptionInputs, watchPauses } from './disruption-inputs.js';
import type { Pause } from '../workflows/messages.js';

describe('what disrupt is told of', () => {
  let kube: FakeKube;
  let cache: ClusterCache;
  let told: string[];
  let stop: () => void;
  let watch: () => void;
  const stopping = { controller: new AbortController() };
  let heard: () => void = () => undefined;

  beforeEach(async () => {
    kube = createFakeKube();
    told = [];
    stopping.controller = new AbortController();
    cache = createClusterCache({
      client: kube,
      kinds: ['NodePool', 'PodDisruptionBudget', 'Node', 'DisruptionPause', 'DisruptionPolicy', 'NodeOverlay'],
    });
    await cache.start(stopping.controller.signal);
    const hears = (what: string) => (): Promise<void> => {
      told.push(what);
      heard();
      return Promise.resolve();
    };
    const starter = { disrupt: hears('news'), pausesChanged: hears('pauses') };
    watch = () => {
      stop = watchDisruptionInputs({ cache, log: silentLog, starter } as unknown as OperatorContext);
    };
    watch();
  });
  afterEach(() => {
    vi.useRealTimers();
    stop();
    stopping.controller.abort();
  });

  const until = async (condition: () => boolean): Promise<void> => {
    while (!condition()) await new Promise<void>((resolve) => (heard = resolve));
  };
  const count = (what: string): number => told.filter((one) => one === what).length;

  test('what was changed while nobody watched: at the start it looks at pauses and everything else', async () => {
    await until(() => count('pauses') === 1 && count('news') === 1);
    expect([...told].sort()).toEqual(['news', 'pauses']);
  });

  test('a pause that is written, and one that is deleted', async () => {
    await until(() => count('pauses') === 1);
    kube.put('DisruptionPause', { metadata: { name: 'p' }, spec: { scope: { kind: 'Cluster' }, message: 'release' } });
    await until(() => count('pauses') === 2);
    kube.remove('DisruptionPause', { name: 'p' });
    await until(() => count('pauses') === 3);
    expect(count('pauses')).toBe(3);
  });

  test('not an annotation of others on a Node, which agents write all the time; one of Karpenter', async () => {
    const node = (annotations: Record<string, string>) => kube.put('Node', { metadata: { name: 'n', annotations } });
    const seen = (key: string): Promise<unknown> =>
      cache.until(
        () => cache.get('Node', { name: 'n' })?.metadata.annotations?.[key] !== undefined,
        stopping.controller.signal,
      );
    node({});
    stop();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    watch();
    await vi.advanceTimersByTimeAsync(5000);
    const before = count('news');

    node({ 'agent.example.com/seen-at': '1' });
    await seen('agent.example.com/seen-at');
    await vi.advanceTimersByTimeAsync(5000);
    expect(count('news')).toBe(before);

    node({ 'agent.example.com/seen-at': '1', 'karpenter.sh/do-not-disrupt': 'true' });
    await seen('karpenter.sh/do-not-disrupt');
    await vi.advanceTimersByTimeAsync(5000);
    expect(count('news')).toBe(before + 1);
  });

  test.each([
    ['NodePool', { metadata: { name: 'p' }, spec: {} }],
    ['NodeOverlay', { metadata: { name: 'p' }, spec: {} }],
    ['DisruptionPolicy', { metadata: { name: 'p' }, spec: {} }],
    ['PodDisruptionBudget', { metadata: { name: 'p', namespace: 'default' }, spec: {} }],
  ] as const)('a %s that is deleted', async (kind, object) => {
    kube.put(kind, object);
    await cache.until(() => cache.all(kind).length === 1, stopping.controller.signal);
    await until(() => count('news') >= 1);
    const before = count('news');

    kube.remove(kind, object.metadata);

    await until(() => count('news') > before);
    expect(cache.all(kind)).toEqual([]);
  });
});

describe('what disrupt holds paused', () => {
  let kube: FakeKube;
  let held: readonly Pause[] | undefined;
  let signals: number;
  let looks: number;
  let at: () => { readonly runId: string; readonly events: number };
  let heard: () => void;
  let stop: () => void;
  const stopping = { controller: new AbortController() };

  beforeEach(async () => {
    kube = createFakeKube();
    [held, signals, looks, heard] = [[], 0, 0, () => undefined];
    stopping.controller = new AbortController();
    const cache = createClusterCache({ client: kube, kinds: ['DisruptionPause'] });
    await cache.start(stopping.controller.signal);
    let run = 0;
    at = () => ({ runId: String(run++), events: 10 });
    const starter = {
      disruptAt: () => Promise.resolve(at()),
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

  test('it is asked once while it goes on in one run, and again at an earlier state of it', async () => {
    let described = 0;
    let events = 10;
    at = () => {
      described += 1;
      heard();
      return { runId: 'same', events };
    };
    await until(() => described >= 5);
    const before = looks;
    await until(() => described >= 10);
    expect(looks).toBe(before);

    events = 9;
    await until(() => looks > before);
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
