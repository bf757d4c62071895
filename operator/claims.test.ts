import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { finalizers } from '../api/labels.js';
import { createActivityWorld, nodeClaim, nodePool } from '../test/builders/activity-world.js';
import type { ActivityWorld } from '../test/builders/activity-world.js';
import { watchClaims } from './claims.js';
import type { OperatorContext } from './context.js';
import { watchPendingPods } from './pending-pods.js';
import type { Starter } from './starter.js';

const initialized = (): { type: string; status: 'True' }[] =>
  ['Launched', 'Registered', 'Initialized'].map((type) => ({ type, status: 'True' }));

describe('operator', () => {
  let world: ActivityWorld;
  let calls: string[];
  let stops: (() => void)[];

  beforeEach(async () => {
    world = await createActivityWorld();
    calls = [];
    stops = [];
  });
  afterEach(() => {
    for (const stop of stops) stop();
    world.stop();
  });

  const context = (): OperatorContext => {
    const note =
      (name: string, key: (...args: never[]) => string) =>
      (...args: never[]): Promise<string> => {
        calls.push(`${name} ${key(...args)}`);
        return Promise.resolve('started');
      };
    const starter = {
      launch: note('launch', (claim: { name: string }) => claim.name),
      terminate: note('terminate', (claim: { name: string }) => claim.name),
      expire: note('expire', (claim: { name: string }, _pool: string, at: number) => `${claim.name} ${at}`),
      claimChanged: note('claimChanged', (uid: string) => uid),
      nodeChanged: note('nodeChanged', (uid: string) => uid),
      disrupt: note('disrupt', () => ''),
      podsPending: note('podsPending', (uids: string[]) => uids.join()),
    };
    return { ...world.deps, starter: starter as unknown as Starter, window: { idleMs: 1000, maxMs: 10_000 } };
  };
  const seen = async (call: string): Promise<void> => {
    const end = Date.now() + 5000;
    while (!calls.some((one) => one.startsWith(call))) {
      if (Date.now() > end) throw new Error(`never saw ${call} in ${calls.join('; ')}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  };
  const created = '2026-01-05T11:00:00Z';
  const claim = (name: string, more: { metadata?: object; status?: object; spec?: object } = {}) => {
    const base = nodeClaim(name, { spec: more.spec ?? {} });
    const metadata = { ...base.metadata, creationTimestamp: created, ...more.metadata };
    return { ...base, metadata, ...(more.status === undefined ? {} : { status: more.status }) };
  };

  test('finds at its start what was missed: launches, deletions and expiries', async () => {
    world.kube.put('NodeClaim', claim('unlaunched'));
    world.kube.put('NodeClaim', claim('up', { status: { conditions: initialized() }, spec: { expireAfter: '2h' } }));
    world.kube.put(
      'NodeClaim',
      claim('forever', { status: { conditions: initialized() }, spec: { expireAfter: 'Never' } }),
    );
    world.kube.put(
      'NodeClaim',
      claim('leaving', { metadata: { deletionTimestamp: created, finalizers: [finalizers.termination] } }),
    );
    await world.synced();

    stops.push(watchClaims(context()));
    await seen('claimChanged');

    expect(calls.sort()).toEqual([
      'claimChanged uid-leaving',
      `expire up ${Date.parse('2026-01-05T13:00:00Z')}`,
      'launch unlaunched',
      'terminate leaving',
    ]);
  });

  test('a drain that was stopped is begun again, as long as the claim is there', async () => {
    const leaving = claim('leaving', {
      metadata: { deletionTimestamp: created, finalizers: [finalizers.termination] },
    });
    world.kube.put('NodeClaim', leaving);
    await world.synced();
    stops.push(watchClaims(context(), 20));
    const times = (call: string): number => calls.filter((one) => one === call).length;
    const until = async (holds: () => boolean): Promise<void> => {
      const end = Date.now() + 5000;
      while (!holds()) {
        if (Date.now() > end) throw new Error(`never came: ${calls.join('; ')}`);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    };

    await until(() => times('terminate leaving') >= 1);
    // Whatever changes of the claim: before its time it is not asked for again.
    world.kube.put('NodeClaim', { ...leaving, metadata: { ...leaving.metadata, annotations: { a: 'b' } } });
    await world.synced();
    await until(() => times('claimChanged uid-leaving') === 1);
    expect(times('terminate leaving')).toBe(1);
    world.clock.now += 21;
    await until(() => times('terminate leaving') === 2);
    world.clock.now += 21;
    await until(() => times('terminate leaving') === 3);

    expect(times('claimChanged uid-leaving')).toBe(1);
    world.kube.put('NodeClaim', { ...leaving, metadata: { ...leaving.metadata, finalizers: [] } });
    await world.synced();
  });

  test('a claim of another provider is none of ours', async () => {
    const foreign = claim('foreign');
    foreign.spec = { ...foreign.spec, nodeClassRef: { group: 'other.example', kind: 'OtherClass', name: 'x' } };
    world.kube.put('NodeClaim', foreign);
    world.kube.put('NodeClaim', claim('ours'));
    await world.synced();

    stops.push(watchClaims(context()));
    await seen('launch ours');

    expect(calls).toEqual(['launch ours']);
  });

  test('deleting a Node deletes its claim', async () => {
    world.kube.put(
      'NodeClaim',
      claim('c1', {
        status: { conditions: initialized(), providerID: 'fake:///a/i-1' },
        metadata: { finalizers: [finalizers.termination] },
      }),
    );
    world.kube.put('Node', {
      metadata: { name: 'n1', finalizers: [finalizers.termination] },
      spec: { providerID: 'fake:///a/i-1' },
    });
    await world.synced();
    stops.push(watchClaims(context()));

    await world.kube.delete('Node', { name: 'n1' });

    await seen('terminate c1');
  });

  test('a node that joined while nobody watched wakes its launch at the start; one that is initialized does not', async () => {
    const up = claim('up', { status: { conditions: initialized(), providerID: 'fake:///a/i-2' } });
    world.kube.put('NodeClaim', up);
    world.kube.put('NodeClaim', claim('joined', { status: { providerID: 'fake:///a/i-1' } }));
    world.kube.put('NodeClaim', claim('alone', { status: { providerID: 'fake:///a/i-3' } }));
    for (const i of [1, 2]) {
      world.kube.put('Node', { metadata: { name: `n${i}` }, spec: { providerID: `fake:///a/i-${i}` } });
    }
    await world.synced();

    stops.push(watchClaims(context()));
    await seen('nodeChanged');

    expect(calls.filter((call) => call.startsWith('nodeChanged'))).toEqual(['nodeChanged uid-joined']);
  });

  test('a node that joined before its claim names the instance wakes the launch then', async () => {
    world.kube.put('Node', { metadata: { name: 'n1' }, spec: { providerID: 'fake:///a/i-1' } });
    world.kube.put('NodeClaim', claim('c1'));
    await world.synced();
    stops.push(watchClaims(context()));
    await seen('launch c1');
    expect(calls).not.toContain('nodeChanged uid-c1');

    world.kube.put('NodeClaim', claim('c1', { status: { providerID: 'fake:///a/i-1' } }));

    await seen('nodeChanged uid-c1');
  });

  test('a node that changes wakes its launch, a heartbeat does not', async () => {
    world.kube.put('NodeClaim', claim('c1', { status: { providerID: 'fake:///a/i-1' } }));
    const node = { metadata: { name: 'n1' }, spec: { providerID: 'fake:///a/i-1' } };
    const condition = { type: 'Ready', status: 'False' as const, lastHeartbeatTime: created };
    world.kube.put('Node', { ...node, status: { conditions: [condition] } });
    await world.synced();
    stops.push(watchClaims(context()));
    await seen('nodeChanged uid-c1');
    calls.length = 0;

    world.kube.put('Node', { ...node, status: { conditions: [{ ...condition, lastHeartbeatTime: 'later' }] } });
    await world.synced();
    expect(calls.filter((call) => call.startsWith('nodeChanged'))).toEqual([]);
    world.kube.put('Node', { ...node, status: { conditions: [{ ...condition, status: 'True' }] } });

    await seen('nodeChanged uid-c1');
  });

  test('pods that pend for lack of a node are told in one signal; others are not', async () => {
    world.kube.put('NodePool', nodePool('default'));
    const pod = (name: string, reason: string, owner?: string): void =>
      void world.kube.put('Pod', {
        metadata: {
          name,
          namespace: 'default',
          uid: name,
          ...(owner === undefined
            ? {}
            : { ownerReferences: [{ apiVersion: 'apps/v1', kind: owner, name: 'o', uid: 'o' }] }),
        },
        spec: { containers: [] },
        status: { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason }] },
      });
    stops.push(watchPendingPods(context()));

    pod('a', 'Unschedulable');
    pod('gated', 'SchedulingGated');
    pod('daemon', 'Unschedulable', 'DaemonSet');
    pod('b', 'Unschedulable');

    await seen('podsPending');
    expect(calls).toEqual(['podsPending a,b']);
  });
});
