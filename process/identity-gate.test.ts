import { beforeEach, describe, expect, test } from '@jest/globals';
import { createFakeKube } from '../test/simulation/kube/fake.js';
import type { FakeKube } from '../test/simulation/kube/fake.js';
import { createManualClock } from '../test/builders/manual-clock.js';
import type { ManualClock } from '../test/builders/manual-clock.js';
import type { ClusterIdentityStore } from './cluster-identity.js';
import { IdentityGate } from './identity-gate.js';

/** One for all clusters, as Temporal is: who records first has the name. */
class Register implements ClusterIdentityStore {
  isAway = false;

  constructor(public uid?: string) {}

  read(): Promise<string | undefined> {
    return this.isAway ? Promise.reject(new Error('Temporal is away')) : Promise.resolve(this.uid);
  }

  record(uid: string): Promise<void> {
    this.uid ??= uid;
    return Promise.resolve();
  }

  remove(): Promise<void> {
    delete this.uid;
    return Promise.resolve();
  }
}

let kube: FakeKube;
let clock: ManualClock;
let said: string[];
let done: string[];
let stop: AbortController;

beforeEach(() => {
  kube = createFakeKube();
  clock = createManualClock();
  stop = new AbortController();
  [said, done] = [[], []];
});

const ownUid = async (): Promise<string> => {
  kube.put('Namespace', { metadata: { name: 'kube-system' } });
  return (await kube.get('Namespace', { name: 'kube-system' }))?.metadata.uid ?? '';
};
const gateOf = (takesOverFrom?: string): IdentityGate => {
  const quiet = (): void => undefined;
  const log = {
    debug: quiet,
    info: quiet,
    warn: quiet,
    error: (_: object, message: string) => void said.push(message),
  };
  return new IdentityGate({ client: kube, cluster: 'prod', takesOverFrom, log, clock });
};
const work = async (own: AbortSignal): Promise<void> => {
  done.push('begins');
  await new Promise((resolve) => own.addEventListener('abort', resolve, { once: true }));
  done.push('ends');
};

describe("the gate of the cluster's name", () => {
  test('the first cluster of a name gets it, and acts', async () => {
    const uid = await ownUid();
    const [gate, register] = [gateOf(), new Register()];
    const region = gate.whileOwn(register, stop.signal, work);
    await clock.settle();
    expect([gate.waitsFor, register.uid, done]).toEqual([undefined, uid, ['begins']]);
    stop.abort();
    await region;
    expect(done).toEqual(['begins', 'ends']);
  });

  test('the second cluster of a name does nothing, logs it once and waits', async () => {
    const uid = await ownUid();
    const [gate, register] = [gateOf(), new Register('other')];
    const region = gate.whileOwn(register, stop.signal, work);
    await clock.advance(60_000);
    expect([done, said.length, register.uid]).toEqual([[], 1, 'other']);
    expect(gate.waitsFor).toBe(
      'CLUSTER_NAME prod belongs to another cluster in this Temporal namespace: its kube-system has UID other, ' +
        `that of this cluster ${uid}. Give this one another CLUSTER_NAME or TEMPORAL_NAMESPACE; ` +
        'if the other is gone for good, set CLUSTER_TAKES_OVER_FROM=other',
    );
    await register.remove();
    await clock.advance(10_000);
    expect([gate.waitsFor, done]).toEqual([undefined, ['begins']]);
    stop.abort();
    await region;
  });

  test('CLUSTER_TAKES_OVER_FROM takes the name from the cluster that it names alone', async () => {
    const uid = await ownUid();
    const [third, old] = [new Register('third'), new Register('old')];
    const regions = [third, old].map((register) => gateOf('old').whileOwn(register, stop.signal, work));
    await clock.settle();
    expect([third.uid, old.uid, done]).toEqual(['third', uid, ['begins']]);
    stop.abort();
    await Promise.all(regions);
  });

  test('a cluster whose name was taken over stops within a minute; an unreachable Temporal changes nothing', async () => {
    await ownUid();
    const [gate, register] = [gateOf(), new Register()];
    const region = gate.whileOwn(register, stop.signal, work);
    await clock.settle();
    register.isAway = true;
    await clock.advance(120_000);
    expect([gate.waitsFor, done]).toEqual([undefined, ['begins']]);
    register.isAway = false;
    register.uid = 'new';
    await clock.advance(60_000);
    expect([done, gate.waitsFor?.includes('UID new')]).toEqual([['begins', 'ends'], true]);
    stop.abort();
    await region;
  });

  test('nothing is done before the API server and Temporal have answered', async () => {
    const [gate, register] = [gateOf(), new Register()];
    const region = gate.whileOwn(register, stop.signal, work);
    await clock.settle();
    expect([done, gate.waitsFor]).toEqual([
      [],
      'it cannot be found out which cluster this is: Namespace kube-system, metadata.uid: found none',
    ]);
    await ownUid();
    await clock.advance(10_000);
    expect(done).toEqual(['begins']);
    stop.abort();
    await region;
  });
});
