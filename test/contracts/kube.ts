import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Pod } from '../../api/kubernetes.js';
import { isDomainError } from '../../core/failures.js';
import type { Kind, Kinds, KubeClient, NewObject, WatchEvent } from '../../kube/port.js';

export interface ContractSubject {
  readonly client: KubeClient;
  /** Makes a pod run on a node, as scheduler and kubelet would. */
  readonly run: (pod: { namespace: string; name: string }, node: string) => Promise<void>;
  readonly stop: () => Promise<void>;
}

const namespace = `kube-contract-${process.pid}`;

const pod = (name: string, more: Partial<Pod['spec']> = {}): NewObject<Pod> => ({
  metadata: { name, namespace, labels: { app: name.replace(/-\d+$/, '') } },
  spec: {
    containers: [{ name: 'main', image: 'registry.example/none', resources: { requests: { cpu: '100m' } } }],
    schedulerName: 'none',
    ...more,
  },
});

const lease = (name: string, labels: Record<string, string> = {}): NewObject<Kinds['Lease']> => ({
  metadata: { name, namespace, labels },
  spec: { holderIdentity: 'a', leaseDurationSeconds: 15 },
});

/** What Stowage relies on in an API server. The fake and a real server pass the same suite. */
export function kubeContract(name: string, makeSubject: () => Promise<ContractSubject>): void {
  describe(`the Kubernetes contract, ${name}`, () => {
    let subject: ContractSubject;
    let client: KubeClient;
    beforeAll(async () => {
      subject = await makeSubject();
      client = subject.client;
      await client.create('Namespace', { metadata: { name: namespace } });
    });
    afterAll(async () => {
      for (const { metadata } of await client.list('Pod', { namespace })) {
        await client.delete('Pod', { namespace, name: metadata.name! }, { gracePeriodSeconds: 0 });
      }
      await client.delete('Namespace', { name: namespace });
      await subject.stop();
    });

    const collect = async <K extends Kind>(
      kind: K,
      resourceVersion: string,
      options: { labelSelector?: string },
      isEnough: (events: readonly WatchEvent<Kinds[K]>[]) => boolean,
    ): Promise<WatchEvent<Kinds[K]>[]> => {
      const events: WatchEvent<Kinds[K]>[] = [];
      const stop = new AbortController();
      const outcome = await client.watch(
        kind,
        { namespace, resourceVersion, signal: stop.signal, ...options },
        (event) => {
          if (event.type !== 'BOOKMARK') events.push(event);
          if (isEnough(events)) stop.abort();
        },
      );
      expect(outcome).toBe('ended');
      return events;
    };

    test('the version is that of Kubernetes', async () => {
      expect(await client.serverVersion()).toMatch(/^v1\.\d+\.\d+/);
    });

    describe('get and create', () => {
      test('get of an absent object gives undefined', async () => {
        expect(await client.get('Lease', { namespace, name: 'absent' })).toBeUndefined();
        expect(await client.get('Node', { name: 'absent' })).toBeUndefined();
      });

      test('create gives the object a UID and a resource version, and get returns it', async () => {
        const { outcome, object } = await client.create('Lease', lease('created'));
        expect(outcome).toBe('created');
        expect(object).toMatchObject({
          apiVersion: 'coordination.k8s.io/v1',
          kind: 'Lease',
          metadata: { name: 'created', namespace },
          spec: { holderIdentity: 'a', leaseDurationSeconds: 15 },
        });
        expect(object.metadata.uid).toMatch(/^[0-9a-f-]{36}$/);
        expect(object.metadata.resourceVersion).toMatch(/^\d+$/);
        expect(object.metadata.creationTimestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
        expect(await client.get('Lease', { namespace, name: 'created' })).toEqual(object);
      });

      test('create under a taken name returns the existing object unchanged', async () => {
        const first = await client.create('Lease', lease('taken'));
        const second = await client.create('Lease', {
          metadata: { name: 'taken', namespace },
          spec: { holderIdentity: 'b' },
        });
        expect(second).toEqual({ outcome: 'exists', object: first.object });
      });

      test('create makes up a name from generateName', async () => {
        const make = () => client.create('Lease', { metadata: { generateName: 'made-', namespace } });
        const names = [(await make()).object.metadata.name, (await make()).object.metadata.name];
        expect(names[0]).toMatch(/^made-\w{5}$/);
        expect(names[1]).not.toBe(names[0]);
      });

      test('create without a name is invalid', async () => {
        await expect(client.create('Lease', { metadata: { namespace } })).rejects.toMatchObject({
          name: 'DomainError',
          type: 'Invalid',
        });
      });

      test('create of a namespaced kind without a namespace is invalid', async () => {
        const error: unknown = await client.get('Pod', { name: 'anywhere' }).catch((thrown: unknown) => thrown);
        expect(isDomainError(error, 'Invalid')).toBe(true);
      });

      test('create ignores the status where it is a subresource', async () => {
        const { object } = await client.create('PodDisruptionBudget', {
          metadata: { name: 'fresh', namespace },
          spec: { minAvailable: 1, selector: { matchLabels: { app: 'none' } } },
          status: { disruptionsAllowed: 5, currentHealthy: 5, desiredHealthy: 1, expectedPods: 5 },
        });
        expect(object.status?.disruptionsAllowed ?? 0).toBe(0);
        expect(object.metadata.generation).toBe(1);
      });

      test('create of a Node keeps its status', async () => {
        const name = `${namespace}-node`;
        const { object } = await client.create('Node', {
          metadata: { name },
          spec: { providerID: `kwok://${name}`, taints: [{ key: 'example.com/t', effect: 'NoSchedule' }] },
          status: { capacity: { cpu: '4' }, allocatable: { cpu: '3900m' } },
        });
        expect(object.status).toMatchObject({ capacity: { cpu: '4' }, allocatable: { cpu: '3900m' } });
        expect(await client.delete('Node', { name })).toBe('deleted');
      });
    });

    describe('lists', () => {
      test('lists have every object with its kind, selected by labels', async () => {
        await client.create('Lease', lease('listed-1', { list: 'x', part: 'a' }));
        await client.create('Lease', lease('listed-2', { list: 'x', part: 'b' }));
        await client.create('Lease', lease('listed-3', { list: 'x' }));
        const names = async (labelSelector: string) =>
          (await client.list('Lease', { namespace, labelSelector })).map(({ metadata }) => metadata.name);
        expect(await names('list=x')).toEqual(['listed-1', 'listed-2', 'listed-3']);
        expect(await names('list=x,part!=a')).toEqual(['listed-2', 'listed-3']);
        expect(await names('list,part in (a, b)')).toEqual(['listed-1', 'listed-2']);
        expect(await names('list=x,!part')).toEqual(['listed-3']);
        const [first] = await client.list('Lease', { namespace, labelSelector: 'list=x' });
        expect(first).toMatchObject({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' });
      });

      test('lists can be selected by fields', async () => {
        await client.create('Lease', lease('by-field'));
        const found = await client.list('Lease', { namespace, fieldSelector: 'metadata.name=by-field' });
        expect(found.map(({ metadata }) => metadata.name)).toEqual(['by-field']);
      });

      test('lists are transformed object by object', async () => {
        await client.create('Lease', lease('transformed', { transform: 'yes' }));
        const { items, resourceVersion } = await client.listForWatch('Lease', {
          namespace,
          labelSelector: 'transform=yes',
          transform: (object) => ({ ...object, metadata: { name: object.metadata.name?.toUpperCase() } }),
        });
        expect(items.map(({ metadata }) => metadata)).toEqual([{ name: 'TRANSFORMED' }]);
        expect(resourceVersion).toMatch(/^\d+$/);
      });
    });

    describe('patch', () => {
      test('a merge patch sets fields, removes those that are null, and increments the resource version', async () => {
        const { object } = await client.create('Lease', lease('patched', { keep: '1', drop: '1' }));
        const answer = await client.patch(
          'Lease',
          { namespace, name: 'patched' },
          {
            metadata: { labels: { drop: null, add: '1' } },
            spec: { holderIdentity: 'b' },
          },
        );
        expect(answer).toMatchObject({
          outcome: 'patched',
          object: {
            metadata: { labels: { keep: '1', add: '1' }, uid: object.metadata.uid },
            spec: { holderIdentity: 'b', leaseDurationSeconds: 15 },
          },
        });
        const now = (answer as { object: Kinds['Lease'] }).object.metadata;
        expect(now.labels).toEqual({ keep: '1', add: '1' });
        expect(Number(now.resourceVersion)).toBeGreaterThan(Number(object.metadata.resourceVersion));
      });

      test('a patch that changes nothing keeps the resource version', async () => {
        const { object } = await client.create('Lease', lease('untouched'));
        const answer = await client.patch('Lease', { namespace, name: 'untouched' }, { spec: { holderIdentity: 'a' } });
        expect(answer).toMatchObject({
          outcome: 'patched',
          object: { metadata: { resourceVersion: object.metadata.resourceVersion } },
        });
      });

      test('a patch with another resource version or UID is a conflict', async () => {
        const { object } = await client.create('Lease', lease('contested'));
        const ref = { namespace, name: 'contested' };
        const { resourceVersion } = object.metadata;
        const change = (metadata: object, holderIdentity: string) =>
          client.patch('Lease', ref, { metadata, spec: { holderIdentity } });
        expect(await change({ resourceVersion }, 'b')).toMatchObject({ outcome: 'patched' });
        expect(await change({ resourceVersion }, 'c')).toEqual({ outcome: 'conflict' });
        expect(await change({ uid: '11111111-2222-4333-8444-555555555555' }, 'd')).toEqual({ outcome: 'conflict' });
        expect((await client.get('Lease', ref))?.spec?.holderIdentity).toBe('b');
      });

      test('a patch of an absent object says that it is gone', async () => {
        expect(
          await client.patch('Lease', { namespace, name: 'absent' }, { metadata: { labels: { a: 'b' } } }),
        ).toEqual({
          outcome: 'gone',
        });
      });

      test('patches of status and of spec leave each other alone', async () => {
        const ref = { namespace, name: 'split' };
        const selector = { matchLabels: { app: 'none' } };
        await client.create('PodDisruptionBudget', { metadata: ref, spec: { minAvailable: 1, selector } });
        const counts = { currentHealthy: 2, desiredHealthy: 1, expectedPods: 2, disruptionsAllowed: 1 };
        await client.patch('PodDisruptionBudget', ref, { spec: { minAvailable: 2 }, status: counts });
        expect(await client.get('PodDisruptionBudget', ref)).toMatchObject({
          metadata: { generation: 2 },
          spec: { minAvailable: 2 },
        });
        expect((await client.get('PodDisruptionBudget', ref))?.status?.disruptionsAllowed ?? 0).toBe(0);
        const options = { subresource: 'status' } as const;
        await client.patch('PodDisruptionBudget', ref, { spec: { minAvailable: 3 }, status: counts }, options);
        expect(await client.get('PodDisruptionBudget', ref)).toMatchObject({
          metadata: { generation: 2 },
          spec: { minAvailable: 2 },
          status: counts,
        });
      });
    });

    test('a custom resource has status, generation, UID and finalizers as a built-in kind does', async () => {
      const ref = { name: `${namespace}-claim` };
      const spec = {
        nodeClassRef: { group: 'karpenter.kwok.sh', kind: 'KWOKNodeClass', name: 'none' },
        requirements: [],
        resources: { requests: { cpu: '1' } },
      };
      const metadata = { ...ref, finalizers: ['karpenter.sh/termination'] };
      const claim = { metadata, spec, status: { providerID: 'kwok://early' } } as unknown as NewObject<
        Kinds['NodeClaim']
      >;
      const { object } = await client.create('NodeClaim', claim);
      expect(object).toMatchObject({ apiVersion: 'karpenter.sh/v1', kind: 'NodeClaim', metadata: { generation: 1 } });
      expect(object.status?.providerID).toBeUndefined();
      const status = { providerID: 'kwok://late' };
      const change = { metadata: { labels: { from: 'status' } }, status };
      expect(await client.patch('NodeClaim', ref, change, { subresource: 'status' })).toMatchObject({
        outcome: 'patched',
        object: { metadata: { generation: 1 }, status },
      });
      expect((await client.get('NodeClaim', ref))?.metadata.labels?.from).toBeUndefined();
      await client.patch('NodeClaim', ref, { metadata: { labels: { from: 'main' } }, status: { providerID: 'no' } });
      expect(await client.get('NodeClaim', ref)).toMatchObject({ metadata: { labels: { from: 'main' } }, status });
      const other = { metadata: { uid: '11111111-2222-4333-8444-555555555555', labels: { from: 'other' } } };
      expect(await client.patch('NodeClaim', ref, other)).toEqual({ outcome: 'conflict' });
      expect(await client.patch('NodeClaim', ref, { metadata: { resourceVersion: '1' } })).toEqual({
        outcome: 'conflict',
      });
      expect(await client.delete('NodeClaim', ref, { uid: object.metadata.uid! })).toBe('deleted');
      const deleted = (await client.get('NodeClaim', ref))?.metadata;
      expect(deleted?.deletionTimestamp).toBeDefined();
      expect(deleted?.generation).toBe(2);
      await client.patch('NodeClaim', ref, { metadata: { finalizers: null } });
      expect(await client.get('NodeClaim', ref)).toBeUndefined();
    });

    describe('delete', () => {
      test('delete removes only the object with the given UID', async () => {
        const { object } = await client.create('Lease', lease('deleted'));
        const ref = { namespace, name: 'deleted' };
        expect(await client.delete('Lease', ref, { uid: '11111111-2222-4333-8444-555555555555' })).toBe('gone');
        expect(await client.get('Lease', ref)).toBeDefined();
        expect(await client.delete('Lease', ref, { uid: object.metadata.uid! })).toBe('deleted');
        expect(await client.get('Lease', ref)).toBeUndefined();
        expect(await client.delete('Lease', ref)).toBe('gone');
      });

      test('delete waits for finalizers, and none can be added meanwhile', async () => {
        const ref = { namespace, name: 'held' };
        await client.create('Lease', { ...lease('held'), metadata: { ...ref, finalizers: ['example.com/hold'] } });
        expect(await client.delete('Lease', ref)).toBe('deleted');
        const marked = await client.get('Lease', ref);
        expect(marked?.metadata.deletionTimestamp).toBeDefined();
        expect(await client.delete('Lease', ref)).toBe('deleted');
        expect((await client.get('Lease', ref))?.metadata.deletionTimestamp).toBe(marked?.metadata.deletionTimestamp);
        await expect(
          client.patch('Lease', ref, { metadata: { finalizers: ['example.com/hold', 'example.com/more'] } }),
        ).rejects.toMatchObject({ type: 'Invalid' });
        expect(await client.patch('Lease', ref, { metadata: { finalizers: [] } })).toMatchObject({
          outcome: 'patched',
        });
        expect(await client.get('Lease', ref)).toBeUndefined();
      });

      test('deleting a pod without a node removes it at once; a bound one terminates until its deletion is forced', async () => {
        await client.create('Pod', pod('floating'));
        expect(await client.delete('Pod', { namespace, name: 'floating' })).toBe('deleted');
        expect(await client.get('Pod', { namespace, name: 'floating' })).toBeUndefined();

        const ref = { namespace, name: 'bound' };
        await client.create('Pod', pod('bound', { terminationGracePeriodSeconds: 60 }));
        await subject.run(ref, 'some-node');
        expect(await client.delete('Pod', ref)).toBe('deleted');
        expect((await client.get('Pod', ref))?.metadata).toMatchObject({ deletionGracePeriodSeconds: 60 });
        expect(await client.delete('Pod', ref, { gracePeriodSeconds: 20 })).toBe('deleted');
        expect((await client.get('Pod', ref))?.metadata).toMatchObject({ deletionGracePeriodSeconds: 20 });
        expect(await client.delete('Pod', ref, { gracePeriodSeconds: 0 })).toBe('deleted');
        expect(await client.get('Pod', ref)).toBeUndefined();
      });
    });

    describe('evict', () => {
      const running = async (name: string): Promise<{ namespace: string; name: string; uid: string }> => {
        const { object } = await client.create('Pod', pod(name));
        await subject.run({ namespace, name }, 'some-node');
        return { namespace, name, uid: object.metadata.uid! };
      };
      const budget = async (name: string, app: string, disruptionsAllowed: number): Promise<void> => {
        const ref = { namespace, name };
        await client.create('PodDisruptionBudget', {
          metadata: ref,
          spec: { minAvailable: 1, selector: { matchLabels: { app } } },
        });
        const counts = { currentHealthy: 2, desiredHealthy: 1, expectedPods: 2, observedGeneration: 1 };
        const status = { ...counts, disruptionsAllowed };
        await client.patch('PodDisruptionBudget', ref, { status }, { subresource: 'status' });
      };

      test('an eviction terminates the pod with the given UID', async () => {
        const target = await running('evicted-1');
        expect(await client.evict({ ...target, uid: '11111111-2222-4333-8444-555555555555' })).toEqual({
          outcome: 'gone',
        });
        expect((await client.get('Pod', target))?.metadata.deletionTimestamp).toBeUndefined();
        expect(await client.evict({ ...target, gracePeriodSeconds: 40 })).toEqual({ outcome: 'evicted' });
        expect((await client.get('Pod', target))?.metadata).toMatchObject({ deletionGracePeriodSeconds: 40 });
        expect(await client.evict({ namespace, name: 'absent', uid: target.uid })).toEqual({ outcome: 'gone' });
      });

      test('an eviction uses up the PodDisruptionBudget, and is blocked at disruptionsAllowed 0', async () => {
        const [first, second] = [await running('guarded-1'), await running('guarded-2')];
        await budget('guard', 'guarded', 1);
        expect(await client.evict(first)).toEqual({ outcome: 'evicted' });
        const left = await client.get('PodDisruptionBudget', { namespace, name: 'guard' });
        expect(left?.status?.disruptionsAllowed).toBe(0);
        expect(await client.evict(second)).toMatchObject({
          outcome: 'blocked',
          message: expect.stringContaining('disruption budget') as unknown,
        });
      });

      test('an eviction is blocked where two PodDisruptionBudgets select the pod', async () => {
        const target = await running('contended-1');
        await budget('one', 'contended', 1);
        await budget('two', 'contended', 1);
        expect(await client.evict(target)).toMatchObject({
          outcome: 'blocked',
          message: expect.stringContaining('more than one PodDisruptionBudget') as unknown,
        });
      });
    });

    describe('watch', () => {
      test('a watch gives every change after its resource version, in order', async () => {
        const { resourceVersion } = await client.listForWatch('Lease', { namespace });
        const watched = collect('Lease', resourceVersion, { labelSelector: 'w=1' }, (events) => events.length === 4);
        const ref = { namespace, name: 'watched' };
        await client.create('Lease', lease('watched', { w: '1' }));
        await client.patch('Lease', ref, { spec: { holderIdentity: 'b' } });
        await client.create('Lease', lease('unwatched', { w: '2' }));
        await client.patch('Lease', { namespace, name: 'unwatched' }, { metadata: { labels: { w: '1' } } });
        await client.delete('Lease', ref);
        const events = await watched;
        expect(events.map(({ type, object }) => `${type} ${object.metadata.name ?? ''}`)).toEqual([
          'ADDED watched',
          'MODIFIED watched',
          'ADDED unwatched',
          'DELETED watched',
        ]);
        expect(events[1]?.object).toMatchObject({ kind: 'Lease', spec: { holderIdentity: 'b' } });
        const versions = events.map(({ object }) => Number(object.metadata.resourceVersion));
        expect(versions).toEqual([...versions].sort((a, b) => a - b));
      });

      test('a watch shows an object that no longer matches its selector as deleted', async () => {
        await client.create('Lease', lease('leaving', { w: 'leaving' }));
        const { resourceVersion } = await client.listForWatch('Lease', { namespace });
        const watched = collect(
          'Lease',
          resourceVersion,
          { labelSelector: 'w=leaving' },
          (events) => events.length > 0,
        );
        await client.patch('Lease', { namespace, name: 'leaving' }, { metadata: { labels: { w: null } } });
        expect((await watched).map(({ type }) => type)).toEqual(['DELETED']);
      });

      test('a watch is open before its signal is aborted, and ends then', async () => {
        const { resourceVersion } = await client.listForWatch('Lease', { namespace });
        const stop = new AbortController();
        let opened = 0;
        const onOpen = (): void => {
          opened++;
          stop.abort();
        };
        const watching = client.watch('Lease', { resourceVersion, signal: stop.signal, onOpen }, () => undefined);
        expect(await watching).toBe('ended');
        expect(opened).toBe(1);
      });
    });
  });
}
