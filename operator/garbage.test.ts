import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { Lease, Node } from '../api/kubernetes.js';
import { annotations, finalizers, instanceTags, labels } from '../api/labels.js';
import type { CloudInstance } from '../cloud/port.js';
import { DomainError } from '../core/failures.js';
import { type ActivityWorld, createActivityWorld, nodeClaim } from '../test/builders/activity-world.js';
import { collectInstances, collectLost, findLost, watchGarbage } from './garbage.js';
import type { OperatorContext } from './context.js';
import { until } from '../test/builders/until.js';
import { failingLoops, LeaderLoops } from './stuck/leader-loops.js';

describe('garbage collection of instances, claims and Nodes', () => {
  let world: ActivityWorld;

  beforeEach(async () => {
    world = await createActivityWorld();
  });
  afterEach(() => world.stop());

  const orphan = (ageSeconds: number): CloudInstance => ({
    providerId: 'fake:///a/i-1',
    instanceId: 'i-1',
    state: 'running',
    instanceType: 'm5.xlarge',
    zone: 'a',
    capacityType: 'spot',
    launchedAt: world.clock.now - ageSeconds * 1000,
    tags: {},
    labels: {},
  });
  const registered = { conditions: [{ type: 'Registered', status: 'True' as const }], providerID: 'fake:///a/i-1' };

  // Given an instance tagged by us without NodeClaim older than 30s, then it is terminated with its Node.
  // Rules `garbage-collection/instances-without-claim`, `invariants/no-orphans`.
  test('an instance without a claim is terminated after 30 seconds, with its Node', async () => {
    world.kube.put('Node', { metadata: { name: 'n1' }, spec: { providerID: 'fake:///a/i-1' } });
    await world.synced();
    world.cloud.addOrphan(orphan(29));
    expect(await collectInstances(world.deps)).toEqual({ terminated: [], failed: [] });

    world.clock.now += 2000;

    expect(await collectInstances(world.deps)).toEqual({ terminated: ['i-1'], failed: [] });
    expect(world.kube.objects('Node')).toEqual([]);
  });

  test('an instance of a claim is kept', async () => {
    world.cloud.addOrphan(orphan(3600));
    world.kube.put('NodeClaim', nodeClaim('c1', { status: { providerID: 'fake:///a/i-1' } }));

    expect(await collectInstances(world.deps)).toEqual({ terminated: [], failed: [] });
  });

  test('an instance of a deleted claim is terminated after 30 seconds, even during launches', async () => {
    world.cloud.addOrphan({ ...orphan(29), tags: { [instanceTags.nodeClaimUid]: 'uid-gone' } });
    world.kube.put('NodeClaim', nodeClaim('c1'));
    expect(await collectInstances(world.deps)).toEqual({ terminated: [], failed: [] });

    world.clock.now += 2000;

    expect(await collectInstances(world.deps)).toEqual({ terminated: ['i-1'], failed: [] });
  });

  test('an instance that names no claim is kept while any claim launches, until the launch timeout', async () => {
    world.cloud.addOrphan(orphan(120));
    world.kube.put('NodeClaim', nodeClaim('c1'));
    expect(await collectInstances(world.deps)).toEqual({ terminated: [], failed: [] });

    world.clock.now += 300_000;

    expect(await collectInstances(world.deps)).toEqual({ terminated: ['i-1'], failed: [] });
  });

  test('an instance of a claim that does not name it yet is kept, however long the API server was away', async () => {
    world.cloud.addOrphan({ ...orphan(3600), tags: { [instanceTags.nodeClaimUid]: 'uid-c1' } });
    world.kube.put('NodeClaim', nodeClaim('c1'));
    expect(await collectInstances(world.deps)).toEqual({ terminated: [], failed: [] });

    world.kube.put('NodeClaim', nodeClaim('c1', { status: { providerID: 'fake:///b/i-2' } }));

    expect(await collectInstances(world.deps)).toEqual({ terminated: ['i-1'], failed: [] });
  });

  test('a refused termination does not stop the collection of others', async () => {
    world.cloud.addOrphan(orphan(60));
    world.cloud.addOrphan({ ...orphan(60), providerId: 'fake:///a/i-2', instanceId: 'i-2' });
    world.cloud.failNext('terminate', new DomainError('Denied', 'not authorized to terminate i-1'));

    expect(await collectInstances(world.deps)).toEqual({
      terminated: ['i-2'],
      failed: [{ object: 'instance i-1', error: 'not authorized to terminate i-1' }],
    });
    expect(await collectInstances(world.deps)).toEqual({ terminated: ['i-1'], failed: [] });
  });

  test('a Node of another instance registered under the same name is kept', async () => {
    world.kube.put('Node', { metadata: { name: 'n1', uid: 'old' }, spec: { providerID: 'fake:///a/i-1' } });
    await world.synced();
    const stale = world.deps.cache.nodeByProviderId('fake:///a/i-1');
    Object.assign(world.deps.cache, { nodeByProviderId: () => stale });
    world.kube.remove('Node', { name: 'n1' });
    world.kube.put('Node', { metadata: { name: 'n1', uid: 'new' }, spec: { providerID: 'fake:///a/i-2' } });
    world.cloud.addOrphan(orphan(60));

    expect(await collectInstances(world.deps)).toEqual({ terminated: ['i-1'], failed: [] });

    expect(world.kube.objects('Node').map(({ metadata }) => metadata.uid)).toEqual(['new']);
  });

  test.each(['list', 'get'] as const)('nothing is collected while EC2 does not answer %s', async (call) => {
    world.kube.put('NodeClaim', nodeClaim('c1', { status: registered }));
    world.kube.put('Node', { metadata: { name: 'n1' }, spec: { providerID: 'fake:///a/i-1' } });
    await world.synced();
    const lost = await findLost(world.deps);
    world.cloud.failNext(call, new DomainError('Unavailable', 'no answer'));

    if (call === 'list') await expect(findLost(world.deps)).rejects.toThrow('no answer');
    else {
      expect(await collectLost(world.deps, lost)).toEqual({
        claims: [],
        nodes: [],
        failed: [{ object: 'NodeClaim c1', error: 'no answer' }],
      });
    }

    expect(world.kube.objects('NodeClaim')).toHaveLength(1);
  });

  describe('of claims that lost their instance', () => {
    const readyNode = {
      metadata: { name: 'n1' },
      spec: { providerID: 'fake:///a/i-1' },
      status: { conditions: [{ type: 'Ready', status: 'True' as const }] },
    };
    const lostClaims = async (): Promise<string[]> => (await findLost(world.deps)).claims.map(({ name }) => name);

    // Rule `garbage-collection/claims-without-instance`.
    test('a registered claim without instance is deleted, unless its node is Ready', async () => {
      world.kube.put('NodeClaim', nodeClaim('c1', { status: registered }));
      world.kube.put('Node', readyNode);
      await world.synced();
      expect(await lostClaims()).toEqual([]);

      world.kube.remove('Node', { name: 'n1' });
      await world.synced();
      const lost = await findLost(world.deps);

      expect(await collectLost(world.deps, lost)).toEqual({ claims: ['c1'], nodes: [], failed: [] });
      expect(world.kube.objects('NodeClaim').map(({ metadata }) => metadata.deletionTimestamp)).toEqual([
        expect.any(String),
      ]);
    });

    test('an instance that EC2 lists at the second look keeps its claim', async () => {
      world.kube.put('NodeClaim', nodeClaim('c1', { status: registered }));
      world.kube.put('Node', { ...readyNode, status: { conditions: [{ type: 'Ready', status: 'Unknown' }] } });
      await world.synced();
      const lost = await findLost(world.deps);
      expect(lost.claims).toEqual([{ name: 'c1', uid: 'uid-c1' }]);
      world.cloud.addOrphan(orphan(60));

      expect(await collectLost(world.deps, lost)).toEqual({ claims: [], nodes: [], failed: [] });

      expect(world.kube.objects('NodeClaim')).toHaveLength(1);
    });

    test('a Node that is Ready in the API server keeps its claim, even where the cache has it as not Ready', async () => {
      world.kube.put('NodeClaim', nodeClaim('c1', { status: { ...registered, nodeName: 'n1' } }));
      await world.synced();
      const lost = await findLost(world.deps);
      world.kube.put('Node', readyNode);

      expect(await collectLost(world.deps, lost)).toEqual({ claims: [], nodes: [], failed: [] });
    });

    // Rule `garbage-collection/claims-without-node`.
    test('a registered claim whose Node is gone is deleted though its instance exists', async () => {
      world.cloud.addOrphan(orphan(3600));
      world.kube.put('NodeClaim', nodeClaim('c1', { status: { ...registered, nodeName: 'n1' } }));
      await world.synced();
      const lost = await findLost(world.deps);

      expect(await collectLost(world.deps, lost)).toEqual({ claims: ['c1'], nodes: [], failed: [] });
    });

    test('a Node that registers again under any name keeps its claim', async () => {
      world.cloud.addOrphan(orphan(3600));
      world.kube.put('NodeClaim', nodeClaim('c1', { status: { ...registered, nodeName: 'n1' } }));
      await world.synced();
      const lost = await findLost(world.deps);
      expect(lost.claims).toEqual([{ name: 'c1', uid: 'uid-c1' }]);
      world.kube.put('Node', { metadata: { name: 'n2' }, spec: { providerID: 'fake:///a/i-1' } });

      expect(await collectLost(world.deps, lost)).toEqual({ claims: [], nodes: [], failed: [] });
    });

    test('a claim that is not registered yet is kept for its Node', async () => {
      world.cloud.addOrphan(orphan(3600));
      world.kube.put('NodeClaim', nodeClaim('c1', { status: { providerID: 'fake:///a/i-1' } }));
      await world.synced();

      expect(await lostClaims()).toEqual([]);
    });

    test('a denied deletion does not stop the collection of others', async () => {
      for (const name of ['c1', 'c2']) world.kube.put('NodeClaim', nodeClaim(name, { status: registered }));
      await world.synced();
      const lost = await findLost(world.deps);
      const remove = world.kube.delete.bind(world.kube);
      const deps = {
        ...world.deps,
        kube: {
          ...world.deps.kube,
          delete: async (...args: Parameters<typeof remove>) => {
            if (args[1].name === 'c1') throw new DomainError('Denied', 'an admission webhook says no');
            return remove(...args);
          },
        },
      };

      expect(await collectLost(deps, lost)).toEqual({
        claims: ['c2'],
        nodes: [],
        failed: [{ object: 'NodeClaim c1', error: 'an admission webhook says no' }],
      });
    });
  });

  describe('of Nodes that are being deleted without a claim', () => {
    const putNode = async (more: Partial<Node['metadata']> = {}): Promise<void> => {
      world.kube.put('Node', {
        metadata: {
          name: 'n1',
          uid: 'uid-n1',
          deletionTimestamp: '2026-01-05T11:00:00Z',
          finalizers: [finalizers.termination, 'example.com/other'],
          labels: { [labels.nodePool]: 'default' },
          ...more,
        },
        spec: { providerID: 'fake:///a/i-1' },
      });
      await world.synced();
    };
    const lost = { claims: [], nodes: [{ name: 'n1', uid: 'uid-n1' }] };
    const held = (): string[] | undefined => world.kube.objects('Node')[0]?.metadata.finalizers;

    test.each([
      ['of a NodePool', { [labels.nodePool]: 'default' }],
      ['of a claim without a NodePool', { [labels.ec2NodeClass]: 'default' }],
    ])('%s lose their finalizer once their instance is gone', async (_, own) => {
      await putNode({ labels: own });
      expect(await findLost(world.deps)).toEqual(lost);

      expect(await collectLost(world.deps, lost)).toEqual({ claims: [], nodes: ['n1'], failed: [] });

      expect(held()).toEqual(['example.com/other']);
    });

    test('keep it until their instance, collected like every one without a claim, is terminated', async () => {
      await putNode({ finalizers: [finalizers.termination] });
      world.cloud.addOrphan(orphan(60));
      expect(await collectLost(world.deps, lost)).toEqual({ claims: [], nodes: [], failed: [] });
      expect(held()).toEqual([finalizers.termination]);

      expect((await collectInstances(world.deps)).terminated).toEqual(['i-1']);
      expect(await collectLost(world.deps, lost)).toMatchObject({ nodes: ['n1'] });

      expect(world.kube.objects('Node')).toEqual([]);
    });

    test.each(['providerID', 'nodeName'])('are left to a claim that names them by %s', async (by) => {
      await putNode();
      const status = by === 'nodeName' ? { nodeName: 'n1' } : { providerID: 'fake:///a/i-1' };
      const before = await findLost(world.deps);
      world.kube.put('NodeClaim', nodeClaim('c1', { status }));
      await world.synced();

      expect((await findLost(world.deps)).nodes).toEqual([]);
      expect(await collectLost(world.deps, before)).toEqual({ claims: [], nodes: [], failed: [] });
      expect(held()).toContain(finalizers.termination);
    });

    test.each([
      ['are not being deleted', { deletionTimestamp: undefined }],
      ['are of no NodePool and no EC2NodeClass', { labels: {} }],
      ['came up anew', { uid: 'uid-other' }],
    ])('are left alone where they %s', async (_, more) => {
      await putNode(more);

      expect(await collectLost(world.deps, lost)).toEqual({ claims: [], nodes: [], failed: [] });

      expect(held()).toContain(finalizers.termination);
    });
  });
});

const providerID = 'fake:///a/i-1';
let world: ActivityWorld;
let stop: () => void;
let loops: LeaderLoops;
const lease = { namespace: 'stowage', name: 'leader' };
/** Each look asks what time it is once, at its end: there are no instances whose age it needs. */
let looks: () => number;

beforeEach(async () => {
  world = await createActivityWorld();
  const now = jest.fn(() => world.clock.now);
  looks = () => now.mock.calls.length;
  loops = new LeaderLoops(world.deps, lease);
  stop = watchGarbage({ ...world.deps, now } as unknown as OperatorContext, loops);
});
afterEach(() => {
  stop();
  world.stop();
});

/** Deletes a Node and waits until the watch has seen it. */
async function deleted(name: string, metadata: object = {}): Promise<void> {
  const own = { [labels.nodePool]: 'default' };
  world.kube.put('Node', {
    metadata: { name, labels: own, finalizers: [finalizers.termination], ...metadata },
    spec: { providerID },
  });
  await world.kube.delete('Node', { name });
  await world.synced();
}
const nodes = (): unknown[] => world.kube.objects('Node').map(({ metadata }) => metadata.name);

// Rule `garbage-collection/nodes-without-claim`.
test('a Node without a claim is checked at once, and released at a second check half a minute later', async () => {
  await deleted('n1');
  await until(() => looks() === 1);
  world.clock.now += 29_000;
  await deleted('n2');
  await until(() => looks() === 2);
  expect(nodes()).toEqual(['n1', 'n2']);

  world.clock.now += 1000;
  await deleted('n3');

  await until(() => nodes().length < 3);
  expect(nodes()).toEqual(['n2', 'n3']);
});

test('a Node without a claim is released half a minute after the clock was set back', async () => {
  await deleted('n1');
  await until(() => looks() === 1);
  world.clock.now -= 3_600_000;
  await deleted('n2');
  await until(() => looks() === 2);
  world.clock.now += 30_000;
  await deleted('n3');

  await until(() => nodes().length < 3);
  expect(nodes()).toEqual(['n3']);
});

test('a Node with a claim is not collected until the claim is gone', async () => {
  world.kube.put('NodeClaim', nodeClaim('c1', { status: { providerID } }));
  await world.synced();
  await deleted('n1');
  expect(looks()).toBe(0);

  world.kube.remove('NodeClaim', { name: 'c1' });
  await world.synced();

  await until(() => looks() === 1);
});

describe('a collection that fails', () => {
  const said = (): unknown => failingLoops(world.kube.objects('Lease')[0]);

  // Rule `garbage-collection/failures-are-visible`.
  test.each([
    ['in its list of instances', 'list', 'no answer'],
    ['for one instance', 'terminate', 'instance i-1: no answer'],
  ] as const)('%s is recorded on the lease until a collection succeeds', async (_, call, why) => {
    world.kube.put('Lease', { metadata: { ...lease } });
    if (call === 'terminate') {
      const launchedAt = world.clock.now - 60_000;
      const instance = { instanceId: 'i-1', state: 'running', instanceType: 'm5.large', zone: 'a' } as const;
      world.cloud.addOrphan({
        ...instance,
        providerId: providerID,
        capacityType: 'spot',
        launchedAt,
        tags: {},
        labels: {},
      });
    }
    world.cloud.failNext(call, new DomainError('Unavailable', 'no answer'));
    await deleted('n1');
    await until(() => loops.all.length > 0);
    expect(loops.all).toEqual([{ loop: 'collectGarbage', since: world.clock.now, why }]);
    expect(said()).toEqual(loops.all);

    await deleted('n2');

    await until(() => loops.all.length === 0);
    expect(said()).toEqual([]);
    expect(loops.all).toEqual([]);
  });

  test.each(['null', '[]', 'no JSON', '{"collectGarbage":null}', '{"__proto__":{"since":1,"why":"x"}}'])(
    'the annotation %s of a lease names no failing loop',
    (text) => {
      const metadata = { ...lease, annotations: { [annotations.failingLoops]: text } };
      expect(failingLoops({ metadata } as unknown as Lease)).toEqual([]);
    },
  );
});

test('a Node without a NodePool, or that only other finalizers keep, is not collected', async () => {
  await deleted('n1', { labels: {} });
  await deleted('n2', { finalizers: ['example.com/held'] });
  expect(looks()).toBe(0);
});
