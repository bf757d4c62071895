import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Pod } from '../api/kubernetes.js';
import { DomainError } from '../core/failures.js';
import { createManualClock } from '../test/builders/manual-clock.js';
import { createClusterCache } from './cache.js';
import type { ClusterCacheOptions } from './cache.js';
import { createFakeKube } from '../test/simulation/kube/fake.js';
import type { FakeKube } from '../test/simulation/kube/fake.js';
import type { ClusterCache, Kind } from './port.js';

const timeout = (): AbortSignal => AbortSignal.timeout(5000);

describe('the cluster cache', () => {
  let kube: FakeKube;
  let stop: AbortController;
  beforeEach(() => {
    kube = createFakeKube();
    stop = new AbortController();
  });
  afterEach(() => stop.abort());

  const started = async (options: Partial<ClusterCacheOptions> = {}): Promise<ClusterCache> => {
    const retry = { base: 1, max: 2 };
    const cache = createClusterCache({ client: kube, kinds: ['Pod', 'Node', 'NodeClaim'], retry, ...options });
    await cache.start(stop.signal);
    return cache;
  };
  const pod = (name: string, nodeName?: string): Omit<Pod, 'apiVersion' | 'kind'> => ({
    metadata: { name, namespace: 'default', labels: { app: 'a' } },
    spec: { containers: [{ name: 'main' }], ...(nodeName === undefined ? {} : { nodeName }) },
  });

  test('the cache lists existing objects and follows changes', async () => {
    kube.put('Pod', pod('a'));
    const cache = await started();
    expect(cache.synced).toBe(true);
    expect(cache.all('Pod').map(({ metadata }) => metadata.name)).toEqual(['a']);
    kube.put('Pod', pod('b'));
    kube.remove('Pod', { namespace: 'default', name: 'a' });
    await cache.until(() => cache.all('Pod').length === 1 && cache.all('Pod')[0]?.metadata.name === 'b', timeout());
    expect(cache.get('Pod', { namespace: 'default', name: 'a' })).toBeUndefined();
    expect(cache.get('Pod', { namespace: 'default', name: 'b' })).toMatchObject({
      spec: { containers: [{ name: 'main' }] },
    });
  });

  test('the cache returns the same list until an object of the kind changes', async () => {
    kube.put('Pod', pod('a'));
    const cache = await started();
    const before = cache.all('Pod');
    kube.put('Node', { metadata: { name: 'n' } });
    await cache.until(() => cache.all('Node').length === 1, timeout());
    expect(cache.all('Pod')).toBe(before);
    kube.put('Pod', pod('b'));
    await cache.until(() => cache.all('Pod').length === 2, timeout());
    expect(before).toHaveLength(1);
  });

  test('finds pods by node, also after they move or are deleted', async () => {
    kube.put('Pod', pod('a', 'n1'));
    kube.put('Pod', pod('b'));
    const cache = await started();
    const on = (node: string): (string | undefined)[] => cache.podsOnNode(node).map(({ metadata }) => metadata.name);
    expect(on('n1')).toEqual(['a']);
    kube.put('Pod', pod('b', 'n1'));
    await cache.until(() => on('n1').length === 2, timeout());
    kube.remove('Pod', { namespace: 'default', name: 'a' });
    await cache.until(() => on('n1').length === 1, timeout());
    expect(on('n1')).toEqual(['b']);
    expect(on('n2')).toEqual([]);
  });

  test('finds nodes and claims by provider ID, the newest holder of it', async () => {
    kube.put('Node', { metadata: { name: 'n1' }, spec: { providerID: 'aws:///z/i-1' } });
    const cache = await started();
    expect(cache.nodeByProviderId('aws:///z/i-1')?.metadata.name).toBe('n1');
    kube.put('Node', { metadata: { name: 'n2' }, spec: { providerID: 'aws:///z/i-1' } });
    kube.remove('Node', { name: 'n1' });
    await cache.until(
      () => cache.all('Node').length === 1 && cache.get('Node', { name: 'n2' }) !== undefined,
      timeout(),
    );
    expect(cache.nodeByProviderId('aws:///z/i-1')?.metadata.name).toBe('n2');

    kube.put('Node', { metadata: { name: 'n3' }, spec: { providerID: 'aws:///z/i-1' } });
    await cache.until(() => cache.nodeByProviderId('aws:///z/i-1')?.metadata.name === 'n3', timeout());
    kube.remove('Node', { name: 'n3' });
    await cache.until(() => cache.all('Node').length === 1, timeout());
    expect(cache.nodeByProviderId('aws:///z/i-1')?.metadata.name).toBe('n2');

    const claim = { metadata: { name: 'c' }, spec: {} } as never;
    kube.put('NodeClaim', claim);
    await kube.patch('NodeClaim', { name: 'c' }, { status: { providerID: 'aws:///z/i-2' } }, { subresource: 'status' });
    await cache.until(() => cache.nodeClaimByProviderId('aws:///z/i-2') !== undefined, timeout());
    kube.remove('NodeClaim', { name: 'c' });
    await cache.until(() => cache.nodeClaimByProviderId('aws:///z/i-2') === undefined, timeout());
  });

  test('finds the NodeClaims that a pod is planned on, by their annotation as it is now', async () => {
    const planned = (pods?: string) => ({
      metadata: { annotations: { 'stowage.dev/planned-pods': pods ?? null } },
    });
    kube.put('NodeClaim', { metadata: { name: 'c' }, spec: {} } as never);
    await kube.patch('NodeClaim', { name: 'c' }, planned('default/a,default/b'));
    kube.put('NodeClaim', { metadata: { name: 'd' }, spec: {} } as never);
    const cache = await started();
    const of = (pod: string) => cache.nodeClaimsPlannedFor(pod).map(({ metadata }) => metadata.name);
    expect([of('default/a'), of('default/b'), of('default/c'), of('')]).toEqual([['c'], ['c'], [], []]);

    await kube.patch('NodeClaim', { name: 'd' }, planned('default/b,default/c'));
    await kube.patch('NodeClaim', { name: 'c' }, planned('default/a'));
    await cache.until(() => of('default/b').join() === 'd', timeout());
    expect([of('default/a'), of('default/c')]).toEqual([['c'], ['d']]);

    await kube.patch('NodeClaim', { name: 'c' }, planned());
    kube.remove('NodeClaim', { name: 'd' });
    await cache.until(() => of('default/a').length === 0 && of('default/c').length === 0, timeout());
    expect(of('default/b')).toEqual([]);
  });

  test('calls handlers after it has applied a change, in order, with the object before', async () => {
    kube.put('Node', { metadata: { name: 'n', labels: { v: '1' } } });
    const retry = { base: 1, max: 2 };
    const cache = createClusterCache({ client: kube, kinds: ['Node'], retry });
    const changes: string[] = [];
    const off = cache.on('Node', ({ type, object, previous }) => {
      changes.push(
        `${type} ${previous?.metadata.labels?.v ?? '-'}>${object.metadata.labels?.v ?? '-'} ${cache.all('Node').length}`,
      );
    });
    await cache.start(stop.signal);
    for (const v of ['2', '3']) await kube.patch('Node', { name: 'n' }, { metadata: { labels: { v } } });
    await kube.delete('Node', { name: 'n' });
    await cache.until(() => cache.all('Node').length === 0, timeout());
    expect(changes).toEqual(['added ->1 1', 'modified 1>2 1', 'modified 2>3 1', 'deleted 3>3 0']);
    off();
    kube.put('Node', { metadata: { name: 'm' } });
    await cache.until(() => cache.all('Node').length === 1, timeout());
    expect(changes).toHaveLength(4);
  });

  test('the cache does not call handlers for changes of fields that it drops', async () => {
    const { metadata } = kube.put('Node', { metadata: { name: 'n' }, status: { conditions: [] } });
    const cache = await started();
    const changes: string[] = [];
    cache.on('Node', ({ type }) => changes.push(type));
    const beat = { type: 'Ready', status: 'True' as const, lastHeartbeatTime: '2026-01-01T00:00:00Z' };
    kube.put('Node', { metadata: { name: 'n' }, status: { conditions: [beat] } });
    const last = kube.put('Node', {
      metadata: { name: 'n' },
      status: { conditions: [{ ...beat, lastHeartbeatTime: '2026-01-01T00:05:00Z' }] },
    });
    await cache.caughtUp('Node', { name: 'n' }, last.metadata.resourceVersion!, timeout());
    expect(changes).toEqual(['modified']);
    expect(cache.get('Node', { name: 'n' })?.metadata.resourceVersion).toBe(last.metadata.resourceVersion);
    expect(metadata.resourceVersion).not.toBe(last.metadata.resourceVersion);
  });

  test('a handler that throws harms neither the cache nor other handlers', async () => {
    const problems: string[] = [];
    const cache = await started({ onFault: (kind, error) => problems.push(`${kind} ${error.message}`) });
    const changes: string[] = [];
    cache.on('Node', () => {
      throw new Error('no');
    });
    cache.on('Node', ({ object }) => changes.push(object.metadata.name!));
    kube.put('Node', { metadata: { name: 'n' } });
    await cache.until(() => changes.length === 1, timeout());
    expect(problems).toEqual(['Node no']);
  });

  test('onEach calls the handler for existing objects, and an error for one object stops no other', async () => {
    const problems: string[] = [];
    const cache = await started({ onFault: (kind, error) => problems.push(`${kind} ${error.message}`) });
    const seen = kube.put('Node', { metadata: { name: 'bad' } });
    const last = kube.put('Node', { metadata: { name: 'good' } });
    for (const { metadata } of [seen, last])
      await cache.caughtUp('Node', { name: metadata.name! }, metadata.resourceVersion!, timeout());
    const changes: string[] = [];
    cache.onEach('Node', ({ type, object: { metadata } }) => {
      if (metadata.name === 'bad') throw new Error('no');
      changes.push(`${type} ${metadata.name}`);
    });
    kube.put('Node', { metadata: { name: 'new' } });
    await cache.until(() => changes.length === 2, timeout());
    expect(changes).toEqual(['added good', 'added new']);
    expect(problems).toEqual(['Node no']);
  });

  test('has caught up with a write once it saw that version or a later one of the kind', async () => {
    const cache = await started();
    const { object } = await kube.create('Node', { metadata: { name: 'n' } });
    await cache.caughtUp('Node', { name: 'n' }, object.metadata.resourceVersion!, timeout());
    expect(cache.get('Node', { name: 'n' })).toBeDefined();
    // Written, and deleted before anyone saw it.
    const gone = await kube.create('Node', { metadata: { name: 'gone' } });
    await kube.delete('Node', { name: 'gone' });
    await cache.caughtUp('Node', { name: 'gone' }, gone.object.metadata.resourceVersion!, timeout());
    const never = cache.caughtUp('Node', { name: 'n' }, '999999999', AbortSignal.abort(new Error('enough')));
    await expect(never).rejects.toThrow('enough');
  });

  test('lists again when its watch version has expired, and calls handlers for the difference', async () => {
    kube.put('Node', { metadata: { name: 'stays' } });
    kube.put('Node', { metadata: { name: 'goes' } });
    const cache = await started();
    const changes: string[] = [];
    cache.on('Node', ({ type, object }) => changes.push(`${type} ${object.metadata.name ?? ''}`));
    kube.fail(new DomainError('Unavailable', 'down'));
    await cache.until(() => true, timeout());
    kube.remove('Node', { name: 'goes' });
    kube.put('Node', { metadata: { name: 'comes' } });
    kube.compact();
    kube.fail(undefined);
    await cache.until(() => cache.get('Node', { name: 'comes' }) !== undefined, timeout());
    expect(changes).toEqual(['deleted goes', 'added comes']);
  });

  test('logs once that the server is gone and once that it is back', async () => {
    const said: string[] = [];
    let attempts = 0;
    const client: ClusterCacheOptions['client'] = {
      listForWatch: (kind, options) => (attempts++, kube.listForWatch(kind, options)),
      watch: (kind, options, onEvent) => {
        attempts++;
        return kube.watch(kind, options, onEvent);
      },
    };
    const cache = await started({
      client,
      onConnectivity: ({ connected, error }) => said.push(`${connected} ${error?.message ?? ''}`),
    });
    kube.fail(new DomainError('Unavailable', 'down'));
    await eventually(() => attempts >= 15);
    expect(cache.connected).toBe(false);
    expect(said).toEqual(['false down']);
    kube.fail(undefined);
    await eventually(() => cache.connected);
    expect(said).toEqual(['false down', 'true ']);
    kube.put('Node', { metadata: { name: 'n' } });
    await cache.until(() => cache.all('Node').length === 1, timeout());
  });

  test('lists again where the server returns with an earlier version, as from a backup', async () => {
    for (let n = 0; n < 10; n++) kube.put('Pod', pod(`later-${n}`));
    let isRestored = false;
    const restored = createFakeKube();
    restored.put('Pod', pod('old'));
    const now = (): FakeKube => (isRestored ? restored : kube);
    const client: ClusterCacheOptions['client'] = {
      listForWatch: (kind, options) => now().listForWatch(kind, options),
      watch: (kind, options, onEvent) => now().watch(kind, options, onEvent),
    };
    const cache = await started({ client });
    kube.fail(new DomainError('Unavailable', 'down'));
    await eventually(() => !cache.connected);
    isRestored = true;

    const names = (): unknown[] => cache.all('Pod').map(({ metadata }) => metadata.name);
    await cache.until(() => names().join() === 'old', timeout());
    restored.put('Pod', pod('new'));
    await cache.until(() => names().includes('new'), timeout());
  });

  describe('after an outage', () => {
    const retry = { base: 100, max: 200 };
    const names = (cache: ClusterCache): unknown[] => cache.all('Pod').map(({ metadata }) => metadata.name).sort(); // prettier-ignore

    test('lists again where versions that a restore undid belong to other objects by now', async () => {
      const clock = createManualClock();
      kube.put('Pod', pod('kept'));
      const restore = kube.snapshot();
      kube.put('Pod', pod('undone'));
      const cache = await started({ clock, retry, kinds: ['Pod'] });
      // The watch is open.
      await clock.settle();
      kube.fail(new DomainError('Unavailable', 'down'));
      await clock.advance(1000);

      restore();
      kube.put('Pod', pod('missed'));
      kube.put('Pod', pod('later'));
      await clock.advance(5000);
      kube.fail(undefined);
      await clock.advance(1000);

      expect(names(cache)).toEqual(['kept', 'later', 'missed']);
    });

    test('after a broken connection the watch continues without a list', async () => {
      const clock = createManualClock();
      let lists = 0;
      const client: ClusterCacheOptions['client'] = {
        listForWatch: (kind, options) => {
          if (options?.versionOnly !== true) lists++;
          return kube.listForWatch(kind, options);
        },
        watch: (kind, options, onEvent) => kube.watch(kind, options, onEvent),
      };
      const cache = await started({ client, clock, retry, kinds: ['Pod'] });
      // The watch is open.
      await clock.settle();
      kube.fail(new DomainError('Unavailable', 'reset'));
      await clock.advance(1000);
      kube.put('Pod', pod('meanwhile'));
      kube.fail(undefined);
      await clock.advance(1000);

      expect([names(cache), lists]).toEqual([['meanwhile'], 1]);
    });
  });

  test('waits for a server that throttles, and logs when it goes on', async () => {
    const problems: string[] = [];
    kube.fail(new DomainError('Throttled', 'storage is (re)initializing'));
    let attempts = 0;
    const client: ClusterCacheOptions['client'] = {
      listForWatch: (kind, options) => {
        if (++attempts === 5) kube.fail(undefined);
        return kube.listForWatch(kind, options);
      },
      watch: (kind, options, onEvent) => kube.watch(kind, options, onEvent),
    };
    const onProblem = (_: unknown, { message }: Error): number => problems.push(message);
    const cache = await started({ client, kinds: ['Node'], onProblem });
    expect([attempts, problems]).toEqual([5, []]);
    kube.fail(new DomainError('Throttled', 'too many requests'));
    await eventually(() => problems.length > 0);
    expect(problems).toEqual(['too many requests']);
    expect(cache.connected).toBe(true);
  });

  test('a refusal by the API server counts as an answer, not as an outage', async () => {
    const said: string[] = [];
    const onProblem = (_: unknown, { message }: Error): number => said.push(message);
    const cache = await started({
      kinds: ['Node'],
      onProblem,
      onConnectivity: ({ connected }) => said.push(String(connected)),
    });
    kube.fail(new DomainError('Unavailable', 'down'));
    await eventually(() => !cache.connected);
    kube.fail(new DomainError('Denied', 'no right to watch'));
    await eventually(() => said.length === 3);
    expect(said).toEqual(['false', 'true', 'no right to watch']);
  });

  test('lists a kind again and again that may be listed but not watched, and logs it once', async () => {
    const denied = new DomainError('Denied', 'pods is forbidden: cannot watch', { status: 403 });
    const watch = kube.watch.bind(kube);
    let isDenied = true;
    const client: ClusterCacheOptions['client'] = {
      ...kube,
      watch: (kind, ...args) => (kind === 'Pod' && isDenied ? Promise.reject(denied) : watch(kind, ...args)),
    };
    const problems: string[] = [];
    const cache = await started({ client, onProblem: (kind, error) => problems.push(`${kind}: ${error.message}`) });
    for (const name of ['a', 'b']) {
      kube.put('Pod', pod(name));
      await cache.until(() => cache.get('Pod', { namespace: 'default', name }) !== undefined, timeout());
    }
    expect(problems).toEqual([`Pod: ${denied.message}`]);

    isDenied = false;
    kube.put('Pod', pod('c'));
    await cache.until(() => cache.all('Pod').length === 3, timeout());
  });

  test('an object with the name of a deleted one is another object', async () => {
    const old = kube.put('NodeClaim', { metadata: { name: 'c', uid: 'u1' }, status: { providerID: 'p1' } } as never);
    const cache = await started();
    const changes: string[] = [];
    cache.on('NodeClaim', ({ type, object }) => changes.push(`${type} ${object.metadata.uid ?? ''}`));
    kube.fail(new DomainError('Unavailable', 'down'));
    await eventually(() => !cache.connected);
    kube.put('NodeClaim', { ...old, metadata: { name: 'c', uid: 'u2' }, status: { providerID: 'p2' } });
    kube.compact();
    kube.fail(undefined);
    await eventually(() => changes.length > 0);
    expect(changes).toEqual(['deleted u1', 'added u2']);
    expect(cache.nodeClaimByProviderId('p1')).toBeUndefined();
    expect(cache.nodeClaimByProviderId('p2')?.metadata.uid).toBe('u2');
  });

  test('the cache starts once the API server is reachable', async () => {
    kube.fail(new DomainError('Unavailable', 'down'));
    kube.put('Node', { metadata: { name: 'n' } });
    const starting = started({
      onConnectivity: ({ connected }) => {
        if (!connected) kube.fail(undefined);
      },
    });
    expect((await starting).all('Node')).toHaveLength(1);
  });

  test('an optional kind that is not served is empty until it is; another kind is waited for', async () => {
    kube = createFakeKube({ absent: ['NodeOverlay', 'NodeClaim'] });
    const problems: string[] = [];
    const cache = createClusterCache({
      client: kube,
      kinds: ['NodeOverlay', 'NodeClaim'],
      optional: ['NodeOverlay'],
      retry: { base: 1, max: 2 },
      absentRetryMs: 1,
      onProblem: (kind) => {
        problems.push(kind);
        kube.serve('NodeClaim');
      },
    });
    await cache.start(stop.signal);
    expect(problems).toEqual(['NodeClaim']);
    expect(cache.all('NodeOverlay')).toEqual([]);
    kube.serve('NodeOverlay');
    kube.put('NodeOverlay', { metadata: { name: 'o' }, spec: { requirements: [] } });
    await cache.until(() => cache.all('NodeOverlay').length === 1, timeout());
  });

  test('an optional kind that is not served for a while keeps its objects', async () => {
    kube.put('DisruptionPolicy', { metadata: { name: 'keep' }, spec: { mode: 'Recommend' } } as never);
    let report: (kind: Kind) => void = () => undefined;
    const reported = new Promise<Kind>((resolve) => (report = resolve));
    const optional = ['DisruptionPolicy'] as const;
    const cache = await started({ kinds: optional, optional, absentRetryMs: 1, onProblem: report });
    kube.unserve('DisruptionPolicy');
    const isEmptied = cache.until(() => cache.all('DisruptionPolicy').length === 0, stop.signal);
    await Promise.race([reported, isEmptied]);
    expect(cache.all('DisruptionPolicy').map(({ metadata }) => metadata.name)).toEqual(['keep']);

    kube.serve('DisruptionPolicy');
    kube.remove('DisruptionPolicy', { name: 'keep' });
    await isEmptied;
  });

  test('the cache holds only objects that its selectors match', async () => {
    kube.put('Pod', { ...pod('done', 'n'), status: { phase: 'Succeeded' } });
    kube.put('Pod', { ...pod('busy', 'n'), status: { phase: 'Running' } });
    const fieldSelector = 'status.phase!=Succeeded,status.phase!=Failed';
    const cache = await started({ selectors: { Pod: { fieldSelector } } });
    expect(cache.podsOnNode('n').map(({ metadata }) => metadata.name)).toEqual(['busy']);
    const ref = { namespace: 'default', name: 'busy' };
    await kube.patch('Pod', ref, { status: { phase: 'Failed' } }, { subresource: 'status' });
    await cache.until(() => cache.all('Pod').length === 0, timeout());
    expect(cache.podsOnNode('n')).toEqual([]);
  });

  test('start and until reject when their signal aborts', async () => {
    kube = createFakeKube({ absent: ['Node'] });
    const cache = createClusterCache({ client: kube, kinds: ['Node'], retry: { base: 1, max: 2 } });
    const starting = cache.start(stop.signal);
    expect(cache.unsynced).toEqual(['Node']);
    stop.abort(new Error('shut down'));
    await expect(starting).rejects.toThrow('shut down');
    await expect(cache.until(() => false, AbortSignal.abort(new Error('enough')))).rejects.toThrow('enough');
  });

  test('asking the cache for a kind that it does not watch throws', () => {
    const cache = createClusterCache({ client: kube, kinds: ['Node'] });
    expect(() => cache.all('Pod')).toThrow('the cache does not watch Pod');
  });

  describe('a silent watch', () => {
    const probe = { silentMs: 10, answerMs: 100, graceMs: 10 };
    const ref = (name: string) => ({ namespace: 'default', name });
    /** Counts the checks of silent watches, by kind. */
    const counting = (
      checks: string[],
      watch: FakeKube['watch'] = kube.watch.bind(kube),
    ): Pick<FakeKube, 'listForWatch' | 'watch'> => ({
      listForWatch: kube.listForWatch.bind(kube),
      watch: async (kind, options, onEvent) => {
        if (options.timeoutSeconds !== undefined) checks.push(kind);
        return watch(kind, options, onEvent);
      },
    });
    const checked = async (checks: readonly string[], kind: string, times: number): Promise<void> => {
      await eventually(() => checks.filter((one) => one === kind).length >= times);
    };

    test('that missed changes is restarted, and no other', async () => {
      kube.put('Pod', pod('a'));
      const silent: string[] = [];
      const cache = await started({ probe, onSilentWatch: (kind) => silent.push(kind) });

      kube.silenceWatches();
      kube.put('Pod', pod('b'));
      kube.remove('Pod', ref('a'));
      await cache.until(() => cache.get('Pod', ref('b')) !== undefined, timeout());
      await cache.until(() => cache.get('Pod', ref('a')) === undefined, timeout());

      expect(silent).toEqual(['Pod']);
      kube.put('Pod', pod('c'));
      await cache.until(() => cache.get('Pod', ref('c')) !== undefined, timeout());
      expect(silent).toEqual(['Pod']);
    });

    test('whose missed history is gone lists again', async () => {
      const cache = await started({ probe });

      kube.silenceWatches();
      kube.put('Pod', pod('b'));
      kube.compact();

      await cache.until(() => cache.get('Pod', ref('b')) !== undefined, timeout());
    });

    test('continues where nothing has changed', async () => {
      const silent: string[] = [];
      const checks: string[] = [];
      await started({
        client: counting(checks),
        probe,
        selectors: { Pod: { labelSelector: 'app=other' } },
        onSilentWatch: (kind) => silent.push(kind),
      });

      kube.put('Pod', pod('a'));
      const before = checks.filter((kind) => kind === 'Pod').length;
      await checked(checks, 'Pod', before + 3);

      expect(silent).toEqual([]);
    });

    test('logs an API server that answers no check, and its return', async () => {
      const checks: string[] = [];
      const said: boolean[] = [];
      let isFrozen = false;
      const watch = kube.watch.bind(kube);
      const client = counting(checks, async (kind, options, onEvent) => {
        if (!isFrozen || options.timeoutSeconds === undefined) return watch(kind, options, onEvent);
        await new Promise((resolve) => options.signal.addEventListener('abort', resolve, { once: true }));
        return 'ended';
      });
      const cache = await started({ client, probe, onConnectivity: ({ connected }) => said.push(connected) });

      isFrozen = true;
      await eventually(() => !cache.connected);
      isFrozen = false;
      await eventually(() => cache.connected);

      expect(said).toEqual([false, true]);
    });

    test('makes the cache stale until the API server answers', async () => {
      const clock = createManualClock();
      const checks: string[] = [];
      const cache = await started({ client: counting(checks), kinds: ['Node'], clock, probe: { silentMs: 10_000 } });
      expect(await cache.isFresh('Node', clock.now())).toBe(true);
      expect(cache.freshAt).toBe(clock.now());
      expect(checks).toEqual([]);

      await clock.advance(5000);
      expect(await cache.isFresh('Node', clock.now())).toBe(true);
      expect(checks).toEqual(['Node']);

      await clock.advance(4000);
      kube.silenceWatches();
      kube.put('Node', { metadata: { name: 'n' } });
      expect(await cache.isFresh('Node', clock.now())).toBe(false);
      expect(await cache.isFresh('Node', clock.now() - 4000)).toBe(true);
      expect(cache.freshAt).toBe(clock.now() - 4000);

      await clock.advance(20_000);
      expect(cache.get('Node', { name: 'n' })).toBeDefined();
      expect(await cache.isFresh('Node', clock.now())).toBe(true);

      await clock.advance(1000);
      kube.fail(new DomainError('Unavailable', 'down'));
      expect(await cache.isFresh('Node', clock.now())).toBe(false);
    });

    test('is checked by one request for parallel checks', async () => {
      const clock = createManualClock();
      const checks: string[] = [];
      const cache = await started({ client: counting(checks), kinds: ['Node'], clock, probe: { silentMs: 10_000 } });
      await clock.advance(5000);

      const answers = await Promise.all(Array.from({ length: 20 }, () => cache.isFresh('Node', clock.now())));

      expect(new Set(answers)).toEqual(new Set([true]));
      expect(checks).toEqual(['Node']);
    });

    test.each<[Kind, number]>([
      ['Node', 3],
      ['NodePool', 10],
      ['Namespace', 60],
    ])(
      'that missed a change of kind %s is checked after %d s, and restarted two seconds later',
      async (kind, seconds) => {
        const clock = createManualClock();
        const silent: string[] = [];
        const cache = await started({ kinds: [kind], clock, onSilentWatch: (one) => silent.push(one) });
        kube.silenceWatches();
        kube.put(kind, { metadata: { name: 'n' } });

        await clock.advance(seconds * 1000 - 1);
        await clock.advance(2000);
        expect(silent).toEqual([]);
        await clock.advance(1);

        expect(silent).toEqual([kind]);
        await cache.until(() => cache.all(kind).length === 1, timeout());
      },
    );

    test('is no longer checked once the cache stops', async () => {
      const clock = createManualClock();
      const checks: string[] = [];
      await started({ client: counting(checks), kinds: ['Node'], clock, probe: { silentMs: 10_000 } });
      await clock.advance(10_000);
      expect(checks).toEqual(['Node']);
      stop.abort();

      await clock.advance(60_000);

      expect(checks).toEqual(['Node']);
    });

    test('that gets delayed events goes on', async () => {
      const clock = createManualClock();
      const checks: string[] = [];
      const silent: string[] = [];
      let deliver: () => void = () => undefined;
      const watch = kube.watch.bind(kube);
      const client = counting(checks, async (kind, options, onEvent) => {
        if (options.timeoutSeconds !== undefined) return watch(kind, options, onEvent);
        return watch(kind, options, (event) => (deliver = () => onEvent(event)));
      });
      await started({ client, kinds: ['Node'], clock, onSilentWatch: (kind) => silent.push(kind) });
      kube.put('Node', { metadata: { name: 'n' } });
      await clock.advance(3000);
      expect(checks).toEqual(['Node']);
      deliver();

      await clock.advance(5000);

      expect(silent).toEqual([]);
    });
  });
});

/** Turns of the event loop until `condition` holds; the test's own time limit ends it. */
async function eventually(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}
