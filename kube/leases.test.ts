import { beforeEach, describe, expect, test } from '@jest/globals';
import { DomainError } from '../core/failures.js';
import { createManualClock } from '../test/builders/manual-clock.js';
import type { ManualClock } from '../test/builders/manual-clock.js';
import { createFakeKube } from '../test/simulation/kube/fake.js';
import type { FakeKube } from '../test/simulation/kube/fake.js';
import { leaseHolder, runAsLeader } from './leases.js';
import type { LeaderElectionOptions } from './leases.js';

const ref = { namespace: 'kube-system', name: 'stowage' };
const seconds = 1000;

let kube: FakeKube;
let clock: ManualClock;
beforeEach(() => {
  kube = createFakeKube();
  clock = createManualClock();
});

const lease = () => kube.objects('Lease').find(({ metadata }) => metadata.name === ref.name)?.spec;
const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });

describe('leader election', () => {
  let leading: string[];
  beforeEach(() => {
    leading = [];
  });
  const contend = (identity: string, more: Partial<LeaderElectionOptions> = {}) => {
    const stop = new AbortController();
    const errors: string[] = [];
    const outcome = runAsLeader(
      {
        client: kube,
        ...ref,
        identity,
        clock,
        random: () => 0,
        onError: ({ message }) => errors.push(message),
        ...more,
      },
      stop.signal,
      async (signal) => {
        leading.push(identity);
        await untilAborted(signal);
        leading = leading.filter((other) => other !== identity);
      },
    );
    return { stop, outcome, errors };
  };

  test('of two candidates one leads and renews its lease, the other waits', async () => {
    const a = contend('a');
    await clock.settle();
    const b = contend('b');
    await clock.advance(60 * seconds);
    expect(leading).toEqual(['a']);
    expect(lease()).toEqual({
      holderIdentity: 'a',
      leaseDurationSeconds: 12,
      acquireTime: '2026-01-01T00:00:00.000000Z',
      renewTime: '2026-01-01T00:01:00.000000Z',
      leaseTransitions: 0,
    });
    b.stop.abort();
    a.stop.abort();
    await clock.advance(5 * seconds);
    expect(await b.outcome).toBe('stopped');
    expect(await a.outcome).toBe('stopped');
  });

  test('a leader that stops hands over without a wait', async () => {
    const a = contend('a');
    await clock.settle();
    contend('b');
    await clock.advance(5 * seconds);
    a.stop.abort();
    await clock.settle();
    expect(await a.outcome).toBe('stopped');
    expect(lease()).toMatchObject({ holderIdentity: '' });
    await clock.advance(2 * seconds);
    expect(leading).toEqual(['b']);
    expect(lease()).toMatchObject({ holderIdentity: 'b', leaseTransitions: 1 });
  });

  test("a candidate measures the lease of a silent leader by its own clock, not by the leader's renewTime", async () => {
    const spec = { holderIdentity: 'dead', leaseDurationSeconds: 15, renewTime: '2020-01-01T00:00:00.000000Z' };
    kube.put('Lease', { metadata: ref, spec: { ...spec, leaseTransitions: 4 } });
    contend('a');
    await clock.advance(14 * seconds);
    expect(leading).toEqual([]);
    await clock.advance(3 * seconds);
    expect(leading).toEqual(['a']);
    expect(lease()).toMatchObject({ holderIdentity: 'a', leaseTransitions: 5 });
  });

  test('a leader without an API server gives up before its lease runs out, and says why once', async () => {
    const known: (string | undefined)[] = [];
    const a = contend('a', { onLeader: (holder) => known.push(holder) });
    await clock.advance(2 * seconds);
    kube.fail(new DomainError('Unavailable', 'down'));
    await clock.advance(7 * seconds);
    expect(leading).toEqual(['a']);
    await clock.advance(2 * seconds);
    expect(leading).toEqual([]);
    expect(await a.outcome).toBe('lost');
    expect(a.errors).toEqual(['down']);
    expect(known).toEqual(['a', undefined]);
  });

  test('a leader whose clock was set back gives up unless it can renew', async () => {
    let backMs = 0;
    const own = { now: () => clock.now() - backMs, sleep: clock.sleep.bind(clock) };
    const a = contend('a', { clock: own });
    await clock.advance(2 * seconds);
    backMs = 3_600_000;
    await clock.advance(20 * seconds);
    expect(leading).toEqual(['a']);
    kube.fail(new DomainError('Unavailable', 'down'));
    backMs *= 2;
    await clock.advance(10 * seconds);
    expect(leading).toEqual([]);
    expect(await a.outcome).toBe('lost');
  });

  test('a leader renews by one request, and reads the lease only after another client has written it', async () => {
    let reads = 0;
    const client: LeaderElectionOptions['client'] = {
      get: (kind, where) => {
        reads += 1;
        return kube.get(kind, where);
      },
      create: (kind, object) => kube.create(kind, object),
      patch: (kind, where, patch) => kube.patch(kind, where, patch),
    };
    const a = contend('a', { client });
    await clock.advance(30 * seconds);
    expect(reads).toBe(1);
    await kube.patch('Lease', ref, { metadata: { labels: { seen: 'by-a-person' } } });
    await clock.advance(10 * seconds);
    expect(reads).toBe(2);
    expect(lease()).toMatchObject({ renewTime: '2026-01-01T00:00:39.000000Z', leaseTransitions: 0 });
    a.stop.abort();
    await clock.settle();
    expect(await a.outcome).toBe('stopped');
  });

  test('a request that never returns counts as failed', async () => {
    let hanging = false;
    const client: LeaderElectionOptions['client'] = {
      get: (kind, where) => kube.get(kind, where),
      create: (kind, object) => kube.create(kind, object),
      patch: (kind, where, patch) => (hanging ? new Promise(() => undefined) : kube.patch(kind, where, patch)),
    };
    const a = contend('a', { client });
    await clock.advance(2 * seconds);
    hanging = true;
    await clock.advance(11 * seconds);
    expect(await a.outcome).toBe('lost');
    expect(leading).toEqual([]);
  });

  test.each([0, 300, 700, 1100, 1499])(
    'a killed leader is followed within 15 s (%i ms into its period)',
    async (ms) => {
      let killed = false;
      const client: LeaderElectionOptions['client'] = {
        get: (kind, where) => (killed ? new Promise(() => undefined) : kube.get(kind, where)),
        create: (kind, object) => kube.create(kind, object),
        patch: (kind, where, patch) => (killed ? new Promise(() => undefined) : kube.patch(kind, where, patch)),
      };
      contend('a', { client });
      await clock.advance(900);
      // A slow candidate: its looks are as far apart as they may be.
      contend('b', { random: () => 1 });
      await clock.advance(60 * seconds - 900 + ms);
      expect(leading).toEqual(['a']);
      killed = true;
      await clock.advance(15 * seconds);
      expect(leading).toEqual(['b']);
    },
  );

  test('a leader whose lease was taken stops at the next renewal', async () => {
    const a = contend('a');
    await clock.advance(seconds);
    await kube.patch('Lease', ref, { spec: { holderIdentity: 'thief' } });
    await clock.advance(2 * seconds);
    expect(await a.outcome).toBe('lost');
    expect(lease()).toMatchObject({ holderIdentity: 'thief' });
  });

  test('of several candidates that start together exactly one leads, through every change', async () => {
    const contenders = ['a', 'b', 'c'].map((identity) => contend(identity));
    await clock.advance(10 * seconds);
    expect(leading).toHaveLength(1);
    const first = leading[0]!;
    contenders[['a', 'b', 'c'].indexOf(first)]!.stop.abort();
    await clock.advance(3 * seconds);
    expect(leading).toHaveLength(1);
    expect(leading[0]).not.toBe(first);
  });

  test('a leader keeps its lease until its work has stopped', async () => {
    let finish: () => void = () => undefined;
    const stop = new AbortController();
    const outcome = runAsLeader({ client: kube, ...ref, identity: 'a', clock }, stop.signal, async () => {
      await new Promise<void>((resolve) => (finish = resolve));
    });
    await clock.settle();
    stop.abort();
    await clock.advance(30 * seconds);
    expect(lease()).toMatchObject({ holderIdentity: 'a', renewTime: '2026-01-01T00:00:30.000000Z' });
    finish();
    await clock.settle();
    expect(await outcome).toBe('stopped');
    expect(lease()).toMatchObject({ holderIdentity: '' });
  });

  test('a leader whose work ends or fails releases its lease', async () => {
    const options = { client: kube, ...ref, identity: 'a', clock };
    const { signal } = new AbortController();
    expect(await runAsLeader(options, signal, () => Promise.resolve())).toBe('finished');
    expect(lease()).toMatchObject({ holderIdentity: '' });
    await expect(runAsLeader(options, signal, () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    expect(lease()).toMatchObject({ holderIdentity: '' });
  });
});

describe('another holder of a lease', () => {
  const put = (renewed: string, holderIdentity = 'karpenter-1', namespace = 'kube-system'): void => {
    kube.put('Lease', {
      metadata: { namespace, name: 'karpenter-leader-election' },
      spec: { holderIdentity, leaseDurationSeconds: 15, renewTime: renewed },
    });
  };
  const query = () => ({ client: kube, namespace: 'kube-system', name: 'karpenter-leader-election', clock });

  test('a lease that does not exist has no other holder', async () => {
    expect(await leaseHolder(query())).toBeUndefined();
    put('2026-01-01T00:00:00.000000Z', '');
    expect(await leaseHolder(query())).toBeUndefined();
  });

  test('another holder is alive until its lease expires, in the configured namespace alone', async () => {
    put('2025-12-31T23:59:50.000000Z', 'karpenter-1', 'elsewhere');
    expect(await leaseHolder(query())).toBeUndefined();
    put('2025-12-31T23:59:50.000000Z');
    expect(await leaseHolder(query())).toBe('karpenter-1');
  });

  test.each(['2025-12-31T23:00:00.000000Z', '2099-01-01T00:00:00.000000Z'])(
    'is dead when its time, %s, is implausible and its renewals stop',
    async (renewTime) => {
      put(renewTime);
      const answer = leaseHolder(query());
      await clock.advance(5 * seconds);
      expect(await answer).toBeUndefined();
    },
  );

  test('with a slow clock is alive while its renewals are observed', async () => {
    put('2025-12-31T23:00:00.000000Z');
    const answer = leaseHolder(query());
    await clock.advance(2 * seconds);
    put('2025-12-31T23:00:02.000000Z');
    await clock.advance(3 * seconds);
    expect(await answer).toBe('karpenter-1');
  });
});
