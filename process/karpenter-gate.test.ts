import { beforeEach, describe, expect, test } from '@jest/globals';
import { DomainError } from '../core/failures.js';
import { createFakeKube } from '../test/simulation/kube/fake.js';
import type { FakeKube } from '../test/simulation/kube/fake.js';
import { createManualClock } from '../test/builders/manual-clock.js';
import type { ManualClock } from '../test/builders/manual-clock.js';
import { KarpenterGate } from './karpenter-gate.js';

const lease = { namespace: 'kube-system', name: 'karpenter-leader-election' };
const look = 5000;

let kube: FakeKube;
let clock: ManualClock;
let gate: KarpenterGate;
let said: string[];
let measured: number[];
let stop: AbortController;
/** What the region did, in order. */
let done: string[];

beforeEach(() => {
  kube = createFakeKube();
  clock = createManualClock();
  stop = new AbortController();
  [said, measured, done] = [[], [], []];
  const say = (_: object, message: string): void => void said.push(message);
  const log = { debug: say, info: say, warn: say, error: say };
  const metrics = { set: (_: string, __: object, value: number) => void measured.push(value) };
  gate = new KarpenterGate({ client: kube, lease, log, metrics, clock });
});

const put = (renewedAt: number, { holder = 'karpenter-1', namespace = lease.namespace } = {}): void => {
  kube.put('Lease', {
    metadata: { ...lease, namespace },
    spec: { holderIdentity: holder, leaseDurationSeconds: 15, renewTime: new Date(renewedAt).toISOString() },
  });
};
const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
const work = async (free: AbortSignal): Promise<void> => {
  done.push('begins');
  await aborted(free);
  done.push('ends');
};
const watch = () => ({ watching: gate.watch(stop.signal), region: gate.whileFree(stop.signal, work) });
/** Karpenter renews at every look of the gate. */
const renewFor = async (looks: number): Promise<void> => {
  for (let i = 0; i < looks; i++) {
    put(clock.now());
    await clock.advance(look);
  }
};

describe("the gate of Karpenter's lease", () => {
  test('the gate is open while the lease of Karpenter has no holder, until the process ends', async () => {
    const { watching, region } = watch();
    await clock.settle();
    expect(done).toEqual(['begins']);
    stop.abort();
    await Promise.all([watching, region]);
    expect(done).toEqual(['begins', 'ends']);
  });

  test('the gate stays closed before the first answer about the lease', async () => {
    kube.fail(new DomainError('Unavailable', 'down'));
    watch();
    await clock.advance(20 * look);
    expect(done).toEqual([]);
    expect(gate.waitsFor).toMatch(/not known yet.*kube-system\/karpenter-leader-election cannot be read.*down/);
    kube.fail(undefined);
    await clock.advance(look);
    expect(done).toEqual(['begins']);
  });

  test('the gate closes when Karpenter takes its lease, and opens when it is gone', async () => {
    watch();
    await clock.settle();
    await renewFor(1);
    expect(done).toEqual(['begins', 'ends']);
    expect(gate.waitsFor).toBe(
      'Karpenter is running: karpenter-1 holds the lease kube-system/karpenter-leader-election',
    );
    await renewFor(100);
    expect(done).toEqual(['begins', 'ends']);
    await clock.advance(4 * look);
    expect(done).toEqual(['begins', 'ends', 'begins']);
    expect(gate.waitsFor).toBeUndefined();
    await renewFor(1);
    expect(done).toEqual(['begins', 'ends', 'begins', 'ends']);
  });

  test('each change of the gate is logged once, and is in a metric', async () => {
    watch();
    await clock.settle();
    await renewFor(10);
    await clock.advance(4 * look);
    expect(said).toEqual([
      "Karpenter's lease is free: Stowage acts",
      'Karpenter is running: Stowage does nothing until its lease is free',
      "Karpenter's lease is free: Stowage acts",
    ]);
    expect(measured).toEqual([1, 0, 1, 0]);
  });

  test('a lease in another namespace, or with a time in 2099, does not close the gate', async () => {
    put(clock.now(), { namespace: 'team-a' });
    watch();
    await clock.settle();
    put(Date.parse('2099-01-01T00:00:00Z'));
    await clock.advance(10 * look);
    expect(done).toEqual(['begins']);
  });

  test('an outage of the API server leaves the gate as it is, and is logged once', async () => {
    watch();
    await clock.settle();
    kube.fail(new DomainError('Unavailable', 'down'));
    await clock.advance(10 * look);
    expect(done).toEqual(['begins']);
    kube.fail(undefined);
    await clock.advance(look);
    expect(said.slice(1)).toEqual([
      "Karpenter's lease cannot be read: its last state is kept",
      "Karpenter's lease can be read again",
    ]);
  });

  test('work that fails after its signal was aborted counts as stopped; other failures are passed on', async () => {
    void gate.watch(stop.signal);
    const region = gate.whileFree(stop.signal, async (free) => {
      done.push('begins');
      await aborted(free);
      throw new Error('broken off');
    });
    await clock.settle();
    await renewFor(1);
    await clock.advance(5 * look);
    expect(done).toEqual(['begins', 'begins']);
    stop.abort();
    await expect(region).rejects.toThrow('broken off');
    await expect(gate.whileFree(new AbortController().signal, () => Promise.reject(new Error('bad')))).rejects.toThrow(
      'bad',
    );
  });

  test('work behind the gate that ends by itself is not started again', async () => {
    void gate.watch(stop.signal);
    await gate.whileFree(stop.signal, () => {
      done.push('ran');
      return Promise.resolve();
    });
    await renewFor(2);
    await clock.advance(10 * look);
    expect(done).toEqual(['ran']);
  });
});
