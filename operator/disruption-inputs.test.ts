import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createClusterCache } from '../kube/cache.js';
import type { ClusterCache } from '../kube/port.js';
import { createFakeKube, type FakeKube } from '../test/simulation/kube/fake.js';
import { silentLog } from '../test/simulation/silent.js';
import type { OperatorContext } from './context.js';
import { watchDisruptionInputs, watchPauses } from './disruption-inputs.js';
import type { Pause } from '../workflows/messages.js';

describe('changes that are signalled to disrupt', () => {
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

  test('at the start: pauses and everything else, since changes may have been missed', async () => {
    await until(() => count('pauses') === 1 && count('news') === 1);
    expect([...told].sort()).toEqual(['news', 'pauses']);
  });

  test('a DisruptionPause that is created or deleted', async () => {
    await until(() => count('pauses') === 1);
    kube.put('DisruptionPause', { metadata: { name: 'p' }, spec: { scope: { kind: 'Cluster' }, message: 'release' } });
    await until(() => count('pauses') === 2);
    kube.remove('DisruptionPause', { name: 'p' });
    await until(() => count('pauses') === 3);
    expect(count('pauses')).toBe(3);
  });

  test('an annotation of Karpenter on a Node, and not one of others, which agents write often', async () => {
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
  ] as const)('a deleted %s', async (kind, object) => {
    kube.put(kind, object);
    await cache.until(() => cache.all(kind).length === 1, stopping.controller.signal);
    await until(() => count('news') >= 1);
    const before = count('news');

    kube.remove(kind, object.metadata);

    await until(() => count('news') > before);
    expect(cache.all(kind)).toEqual([]);
  });
});

describe('pauses that disrupt holds, compared with Kubernetes', () => {
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

  test('a pause that is gone from Kubernetes, as after a restore of Temporal, is signalled', async () => {
    held = [pause];
    await until(() => signals === 3);
    expect(signals).toBe(3);
  });

  test('disrupt is queried once per run, and again when its run has fewer events than before', async () => {
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

  test('a pause that disrupt lacks is signalled', async () => {
    await write();
    await until(() => signals === 4);
    expect(signals).toBe(4);
  });

  test('equal pauses, and a disrupt that does not answer, are not signalled', async () => {
    held = [pause];
    await write();
    await looksAgain();
    const before = signals;
    await looksAgain();
    held = undefined;
    await looksAgain();
    expect(signals).toBe(before);
  });

  test('a pause whose end is past does not count', async () => {
    const scope = { kind: 'Node' as const, name: 'n' };
    const spec = { scope, message: 'a look', until: new Date(Date.now() - 1).toISOString() };
    kube.put('DisruptionPause', { metadata: { name: 'over' }, spec });
    await until(() => signals === 2);
    await looksAgain();
    expect(signals).toBe(2);
  });
});
