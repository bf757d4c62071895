import FakeTimers, { type Clock } from '@sinonjs/fake-timers';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createClusterCache } from '../kube/cache.js';
import type { ClusterCache } from '../kube/port.js';
import { createFakeKube, type FakeKube } from '../test/simulation/kube/fake.js';
import { silentLog } from '../test/simulation/silent.js';
import type { OperatorContext } from './context.js';
import { annotations, labels, taints } from '../api/labels.js';
import { DisruptSignals, watchDisruptionInputs } from './disruption-inputs.js';

describe('changes that are signalled to disrupt', () => {
  let clock: Clock | undefined;
  let kube: FakeKube;
  let cache: ClusterCache;
  let received: string[];
  let stop: () => void;
  let watch: () => void;
  const stopping = { controller: new AbortController() };
  let heard: () => void = () => undefined;

  beforeEach(async () => {
    kube = createFakeKube();
    received = [];
    stopping.controller = new AbortController();
    cache = createClusterCache({
      client: kube,
      kinds: [
        'NodePool',
        'NodeClaim',
        'PodDisruptionBudget',
        'Node',
        'DisruptionPause',
        'DisruptionPolicy',
        'NodeOverlay',
      ],
    });
    await cache.start(stopping.controller.signal);
    const hears = (what: string) => (): Promise<void> => {
      received.push(what);
      heard();
      return Promise.resolve();
    };
    const starter = {
      disrupt: hears('disrupt'),
      wake: (id: string) => (id === 'refused' ? Promise.reject(new Error('no id')) : hears(id)()),
    };
    watch = () => {
      const signals = new DisruptSignals({ starter, log: silentLog });
      const context = { cache, log: silentLog, starter };
      const stopWatching = watchDisruptionInputs(context as unknown as OperatorContext, () => signals.signal());
      stop = () => {
        stopWatching();
        signals.stop();
      };
    };
    watch();
  });
  afterEach(() => {
    clock?.uninstall();
    stop();
    stopping.controller.abort();
  });

  const until = async (condition: () => boolean): Promise<void> => {
    while (!condition()) await new Promise<void>((resolve) => (heard = resolve));
  };
  const count = (what: string): number => received.filter((one) => one === what).length;

  const putClaim = (name: string, marks: Readonly<Record<string, string>>, nodePool = 'p'): void =>
    void kube.put('NodeClaim', {
      metadata: { name, uid: name, annotations: marks, labels: { [labels.nodePool]: nodePool } },
      spec: {},
    } as never);
  const waiting = (workflow: string, cause: string, reason: string, since = 0): Readonly<Record<string, string>> => ({
    [annotations.disruptionWait]: JSON.stringify({ workflow, reason, for: cause, why: 'shut', since }),
  });

  // Rules `budgets/woken`, `invariants/pauses-hold`.
  test('a created or deleted pause signals the workflows in its scope, running or waiting for its end', async () => {
    await until(() => count('disrupt') === 1);
    putClaim('a', { [annotations.disruptionOwner]: 'test/expire/a' });
    putClaim('b', waiting('test/replace/b', 'Pause', 'Drifted'));
    putClaim('c', { [annotations.disruptionOwner]: 'test/interrupt/i-c' });
    putClaim('d', waiting('test/expire/d', 'Budget', 'Expired'));
    kube.put('DisruptionPause', { metadata: { name: 'p' }, spec: { scope: { kind: 'Cluster' }, message: 'release' } });
    await until(() => count('test/replace/b') === 1);
    kube.remove('DisruptionPause', { name: 'p' });
    await until(() => count('test/replace/b') === 2);
    expect([count('test/expire/a'), count('test/interrupt/i-c'), count('test/expire/d')]).toEqual([2, 0, 0]);
  });

  // Rule `budgets/woken`.
  test('a workflow that Temporal refuses to signal delays no other', async () => {
    putClaim('a', waiting('refused', 'Pause', 'Empty'));
    putClaim('b', waiting('test/replace/b', 'Pause', 'Drifted'));
    await until(() => cache.all('NodeClaim').length === 2 || received.length > 0);
    kube.put('DisruptionPause', { metadata: { name: 'p' }, spec: { scope: { kind: 'Cluster' }, message: 'release' } });
    await until(() => count('test/replace/b') > 0);
    expect(count('test/replace/b')).toBeGreaterThan(0);
  });

  test("a removed node signals the most urgent workflow that waits for the NodePool's budget", async () => {
    const woken: string[] = [];
    for (let n = 0; n < 30; n++) putClaim(`n${n}`, waiting(`test/expire/n${n}`, 'Budget', 'Expired', 30 - n));
    putClaim('ill', waiting('test/repair/ill', 'Budget', 'Unhealthy', 99));
    putClaim('other', waiting('test/expire/other', 'Budget', 'Expired'), 'q');
    kube.put('NodePool', { metadata: { name: 'p', uid: 'p' }, spec: {} } as never);
    await until(() => count('test/repair/ill') > 0);
    woken.push(...received.filter((one) => one.startsWith('test/')));
    expect(woken[0]).toBe('test/repair/ill');
    expect(new Set(woken).size).toBeLessThanOrEqual(20);
    expect(woken).not.toContain('test/expire/other');
  });

  // Rule `candidates/left-over-taints`.
  test('the begin of a disruption signals disrupt, which looks for what ended disruptions left', async () => {
    const pool = (disrupting: readonly object[]) =>
      kube.put('NodePool', {
        metadata: { name: 'p', annotations: { [annotations.disruptionRecords]: JSON.stringify({ disrupting }) } },
        spec: {},
      } as never);
    pool([]);
    await until(() => count('disrupt') === 1);
    pool([{ uid: 'a', owner: 'test/expire/a', reason: 'Expired', at: 0 }]);
    await until(() => count('disrupt') === 2);
    expect(count('disrupt')).toBe(2);
  });

  test('an annotation of Karpenter on a Node is signalled, and not other annotations, which agents write often', async () => {
    const node = (annotations: Record<string, string>) => kube.put('Node', { metadata: { name: 'n', annotations } });
    const seen = (key: string): Promise<unknown> =>
      cache.until(
        () => cache.get('Node', { name: 'n' })?.metadata.annotations?.[key] !== undefined,
        stopping.controller.signal,
      );
    node({});
    stop();
    const timers = (clock = FakeTimers.install({ toFake: ['setTimeout', 'clearTimeout'] }));
    watch();
    await timers.tickAsync(5000);
    const before = count('disrupt');

    node({ 'agent.example.com/seen-at': '1' });
    await seen('agent.example.com/seen-at');
    await timers.tickAsync(5000);
    expect(count('disrupt')).toBe(before);

    node({ 'agent.example.com/seen-at': '1', 'karpenter.sh/do-not-disrupt': 'true' });
    await seen('karpenter.sh/do-not-disrupt');
    await timers.tickAsync(5000);
    expect(count('disrupt')).toBe(before + 1);
  });

  test('changes of a Node are not signalled until it is initialized, while it has the disrupted taint, or while it is being deleted', async () => {
    const node = ({ spec = {}, ...metadata }: { readonly spec?: object; readonly labels: object }) =>
      kube.put('Node', { metadata: { name: 'n', ...metadata }, spec } as never);
    const seen = (): Promise<unknown> => {
      const { resourceVersion } = kube.objects('Node')[0]!.metadata;
      return cache.until(
        () => cache.get('Node', { name: 'n' })?.metadata.resourceVersion === resourceVersion,
        stopping.controller.signal,
      );
    };
    const pool = { 'karpenter.sh/nodepool': 'default' };
    const own = { ...pool, 'karpenter.sh/initialized': 'true' };
    const deletionTimestamp = '2026-01-01T00:00:00Z';
    stop();
    const timers = (clock = FakeTimers.install({ toFake: ['setTimeout', 'clearTimeout'] }));
    watch();
    await timers.tickAsync(5000);
    const before = count('disrupt');
    const signals: number[] = [];
    for (const metadata of [
      { labels: {} },
      { labels: pool },
      { labels: { ...pool, 'karpenter.sh/registered': 'true' } },
      { labels: own },
      { labels: own, spec: { taints: [taints.disrupted] } },
      { labels: { ...own, 'example.com/x': '1' }, spec: { taints: [taints.disrupted] } },
      { labels: own, deletionTimestamp },
      { labels: { ...own, 'example.com/x': '1' }, deletionTimestamp },
    ]) {
      node(metadata);
      await seen();
      await timers.tickAsync(5000);
      signals.push(count('disrupt') - before);
    }

    expect(signals).toEqual([0, 0, 0, 0, 0, 0, 0, 0]);
  });

  test.each([
    ['NodePool', { metadata: { name: 'p' }, spec: {} }],
    ['NodeOverlay', { metadata: { name: 'p' }, spec: {} }],
    ['DisruptionPolicy', { metadata: { name: 'p' }, spec: {} }],
    ['PodDisruptionBudget', { metadata: { name: 'p', namespace: 'default' }, spec: {} }],
  ] as const)('the deletion of a %s is signalled', async (kind, object) => {
    kube.put(kind, object);
    await cache.until(() => cache.all(kind).length === 1, stopping.controller.signal);
    await until(() => count('disrupt') >= 1);
    const before = count('disrupt');

    kube.remove(kind, object.metadata);

    await until(() => count('disrupt') > before);
    expect(cache.all(kind)).toEqual([]);
  });
});
