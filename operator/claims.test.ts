import FakeTimers from '@sinonjs/fake-timers';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Taint } from '../api/kubernetes.js';
import { finalizers, labels } from '../api/labels.js';
import { createActivityWorld, nodeClaim, nodePool } from '../test/builders/activity-world.js';
import type { ActivityWorld } from '../test/builders/activity-world.js';
import { watchClaims } from './claims.js';
import type { OperatorContext } from './context.js';
import { watchPendingPods } from './pending-pods.js';
import type { ObservedCluster, WorkflowStart } from './observed-cluster.js';
import type { Starter } from './starter.js';
import { observedCluster } from './watch-workflows.js';
import type { ExpireNodeInput, TerminateNodeInput } from '../workflows/messages.js';
import { WorkflowReconciler } from './workflow-reconciler.js';

const initialized = (): { type: string; status: 'True' }[] =>
  ['Launched', 'Registered', 'Initialized'].map((type) => ({ type, status: 'True' }));

describe("the operator's workflows for NodeClaims", () => {
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
    const started = ({ type, input }: WorkflowStart): string => {
      const { claim, expiresAt, deleteClaim } = input as Partial<ExpireNodeInput & TerminateNodeInput>;
      const more = [
        ...(expiresAt === undefined ? [] : [expiresAt]),
        ...(deleteClaim === true ? ['and the claim'] : []),
      ];
      return [type, claim!.name, ...more].join(' ');
    };
    const starter = {
      start: (workflow: WorkflowStart) => {
        calls.push(started(workflow));
        return Promise.resolve('started');
      },
      claimChanged: note('claimChanged', (uid: string) => uid),
      nodeChanged: note('nodeChanged', (uid: string) => uid),
      podsPending: note('podsPending', () => ''),
    };
    const own = {
      ...world.deps,
      starter: starter as unknown as Starter,
      window: { idleMs: 1000, maxMs: 10_000 },
    };
    const observe = (): ObservedCluster => observedCluster(own);
    return { ...own, workflows: new WorkflowReconciler(own.starter, observe, world.deps.log, world.deps.metrics) };
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

  test('at its start it starts launches, terminations and expirations that were missed', async () => {
    world.kube.put('NodeClaim', claim('unlaunched'));
    world.kube.put('NodeClaim', claim('up', { status: { conditions: initialized() }, spec: { expireAfter: '1h' } }));
    world.kube.put(
      'NodeClaim',
      claim('forever', { status: { conditions: initialized() }, spec: { expireAfter: 'Never' } }),
    );
    world.kube.put(
      'NodeClaim',
      claim('deleting', { metadata: { deletionTimestamp: created, finalizers: [finalizers.termination] } }),
    );
    await world.synced();

    stops.push(watchClaims(context(), () => void calls.push('disrupt ')));
    for (const call of ['claimChanged', 'launchNode', 'expireNode', 'terminateNode']) await seen(call);

    expect(calls.sort()).toEqual([
      'claimChanged uid-deleting',
      `expireNode up ${Date.parse('2026-01-05T12:00:00Z')}`,
      'launchNode unlaunched',
      'terminateNode deleting',
    ]);
  });

  // Rule `node-claims/managed`.
  test("a claim of another provider's node class is ignored", async () => {
    const foreign = claim('foreign');
    foreign.spec = { ...foreign.spec, nodeClassRef: { group: 'other.example', kind: 'OtherClass', name: 'x' } };
    world.kube.put('NodeClaim', foreign);
    world.kube.put('NodeClaim', claim('ours'));
    await world.synced();

    stops.push(watchClaims(context(), () => void calls.push('disrupt ')));
    await seen('launchNode ours');

    expect(calls).toEqual(['launchNode ours']);
  });

  // Rule `registration/registered-anew`.
  test('a Node created anew starts launchNode once more, one that has all of its claim does not', async () => {
    const status = { conditions: initialized(), providerID: 'fake:///a/i-1', nodeName: 'n1' };
    world.kube.put('NodeClaim', claim('c1', { status, spec: { expireAfter: '1h' } }));
    const node = { metadata: { name: 'n1', labels: { [labels.registered]: 'true' } }, spec: { providerID: 'fake:///a/i-1' } }; // prettier-ignore
    world.kube.put('Node', node);
    await world.synced();
    stops.push(watchClaims(context(), () => void calls.push('disrupt ')));
    await seen('expireNode c1');
    expect(calls.filter((call) => call.startsWith('launchNode'))).toEqual([]);

    world.kube.remove('Node', { name: 'n1' });
    world.kube.put('Node', { ...node, metadata: { name: 'n1' } });
    await world.synced();

    await seen('launchNode c1');
  });

  // Rule `termination/deleted-node`.
  test.each([
    ['', { finalizers: [finalizers.termination] }],
    [', be its claim without the finalizer', {}],
  ])('deleting a Node terminates its claim%s', async (_, metadata) => {
    world.kube.put(
      'NodeClaim',
      claim('c1', { status: { conditions: initialized(), providerID: 'fake:///a/i-1' }, metadata }),
    );
    world.kube.put('Node', {
      metadata: { name: 'n1', finalizers: [finalizers.termination] },
      spec: { providerID: 'fake:///a/i-1' },
    });
    await world.synced();
    stops.push(watchClaims(context(), () => void calls.push('disrupt ')));

    await world.kube.delete('Node', { name: 'n1' });

    await seen('terminateNode c1 and the claim');
    expect((await world.kube.get('NodeClaim', { name: 'c1' }))?.metadata.deletionTimestamp).toBeUndefined();
  });

  // Rule `termination/node-first`.
  test('a claim whose Node only other finalizers keep is released once the Node is gone', async () => {
    const conditions = [...initialized(), { type: 'InstanceTerminating', status: 'True' as const }];
    const metadata = { deletionTimestamp: created, finalizers: [finalizers.termination] };
    world.kube.put('NodeClaim', claim('c1', { status: { conditions, providerID: 'fake:///a/i-1' }, metadata }));
    const node = { metadata: { name: 'n1', deletionTimestamp: created }, spec: { providerID: 'fake:///a/i-1' } };
    world.kube.put('Node', { ...node, metadata: { ...node.metadata, finalizers: ['example.com/registry'] } });
    world.kube.put('NodeClaim', claim('c2', { metadata }));
    await world.synced();
    stops.push(watchClaims(context(), () => void calls.push('disrupt ')));
    await seen('terminateNode c2');
    expect(calls.filter((call) => call.startsWith('terminateNode'))).toEqual(['terminateNode c2']);

    world.kube.remove('Node', { name: 'n1' });
    await world.synced();

    await seen('terminateNode c1');
  });

  test('at its start it signals launches whose node joined meanwhile, and none that is initialized', async () => {
    const up = claim('up', { status: { conditions: initialized(), providerID: 'fake:///a/i-2' } });
    world.kube.put('NodeClaim', up);
    world.kube.put('NodeClaim', claim('joined', { status: { providerID: 'fake:///a/i-1' } }));
    world.kube.put('NodeClaim', claim('alone', { status: { providerID: 'fake:///a/i-3' } }));
    for (const i of [1, 2]) {
      world.kube.put('Node', { metadata: { name: `n${i}` }, spec: { providerID: `fake:///a/i-${i}` } });
    }
    await world.synced();

    stops.push(watchClaims(context(), () => void calls.push('disrupt ')));
    await seen('nodeChanged');

    expect(calls.filter((call) => call.startsWith('nodeChanged'))).toEqual(['nodeChanged uid-joined']);
  });

  test('a node that joined before its claim names the instance signals the launch when it does', async () => {
    world.kube.put('Node', { metadata: { name: 'n1' }, spec: { providerID: 'fake:///a/i-1' } });
    world.kube.put('NodeClaim', claim('c1'));
    await world.synced();
    stops.push(watchClaims(context(), () => void calls.push('disrupt ')));
    await seen('launchNode c1');
    expect(calls).not.toContain('nodeChanged uid-c1');

    world.kube.put('NodeClaim', claim('c1', { status: { providerID: 'fake:///a/i-1' } }));

    await seen('nodeChanged uid-c1');
  });

  test('a changed node signals its launch, a heartbeat does not', async () => {
    world.kube.put('NodeClaim', claim('c1', { status: { providerID: 'fake:///a/i-1' } }));
    const node = { metadata: { name: 'n1' }, spec: { providerID: 'fake:///a/i-1' } };
    const condition = { type: 'Ready', status: 'False' as const, lastHeartbeatTime: created };
    world.kube.put('Node', { ...node, status: { conditions: [condition] } });
    await world.synced();
    stops.push(watchClaims(context(), () => void calls.push('disrupt ')));
    await seen('nodeChanged uid-c1');
    calls.length = 0;

    world.kube.put('Node', { ...node, status: { conditions: [{ ...condition, lastHeartbeatTime: 'later' }] } });
    await world.synced();
    expect(calls.filter((call) => call.startsWith('nodeChanged'))).toEqual([]);
    world.kube.put('Node', { ...node, status: { conditions: [{ ...condition, status: 'True' }] } });

    await seen('nodeChanged uid-c1');
  });

  test('changes of a node that is initialized before they are signalled are not', async () => {
    const clock = FakeTimers.install({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    stops.push(() => clock.uninstall());
    const providerID = 'fake:///a/i-1';
    world.kube.put('NodeClaim', claim('c1', { status: { providerID } }));
    await world.synced();
    stops.push(watchClaims(context(), () => void calls.push('disrupt ')));
    const node = { metadata: { name: 'n1' }, spec: { providerID } };
    world.kube.put('Node', { ...node, status: { conditions: [{ type: 'Ready', status: 'True' }] } });
    await world.synced();
    world.kube.put('NodeClaim', claim('c1', { status: { providerID, conditions: initialized() } }));
    await world.synced();

    await clock.tickAsync(5000);

    expect(calls.filter((call) => call.startsWith('nodeChanged'))).toEqual([]);
  });

  test('a node that is Ready soon after it joined signals its launch once, another one after a while (registration/in-one-step)', async () => {
    const clock = FakeTimers.install({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    stops.push(() => clock.uninstall());
    const status = (providerID: string): object => ({ status: { providerID } });
    const put = (name: string, ready: 'True' | 'False', taints: Taint[] = []): void =>
      void world.kube.put('Node', {
        metadata: { name },
        spec: { providerID: `fake:///a/${name}`, taints },
        status: { conditions: [{ type: 'Ready', status: ready }] },
      });
    for (const name of ['soon', 'late']) world.kube.put('NodeClaim', claim(name, status(`fake:///a/${name}`)));
    await world.synced();
    stops.push(watchClaims(context(), () => void calls.push('disrupt ')));
    const signalled = (): string[] => calls.filter((call) => call.startsWith('nodeChanged'));
    for (const name of ['soon', 'late']) put(name, 'False');
    await world.synced();
    await clock.tickAsync(1000);
    expect(signalled()).toEqual([]);
    // The taint goes a moment after the node is Ready.
    put('soon', 'True', [{ key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }]);
    await world.synced();
    await clock.tickAsync(300);
    expect(signalled()).toEqual([]);
    put('soon', 'True');
    await world.synced();
    await clock.tickAsync(300);
    expect(signalled()).toEqual(['nodeChanged uid-soon']);

    await clock.tickAsync(10_000);

    expect(signalled()).toEqual(['nodeChanged uid-soon', 'nodeChanged uid-late']);
  });

  // Rule `provisioning/pending-pods`.
  test('unschedulable pods are signalled to provision in one signal; others are not', async () => {
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
    expect(calls).toEqual(['podsPending ']);
  });
});
