import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { createClusterCache } from '../../kube/cache.js';
import { createKubeClient } from '../../kube/client.js';
import { createEventRecorder } from '../../kube/events.js';
import { resources } from '../../kube/kinds.js';
import { leaseHolder, runAsLeader } from '../../kube/leases.js';
import type { Kind, KubeClient } from '../../kube/port.js';
import { kubeContract } from '../contracts/kube.js';
import { useStack } from './shared-stack.js';

const { stack } = useStack(['apiserver']);
/** Where the shipped Role lets Stowage write leases. */
const leaseNamespace = 'stowage';

kubeContract('a real API server', () => {
  const client = createKubeClient({ kubeconfig: stack().adminKubeconfig!, pageSize: 2 });
  return Promise.resolve({
    client,
    // No scheduler and no kubelet run here.
    run: async ({ namespace, name }, node) => {
      const binding = { apiVersion: 'v1', kind: 'Binding', metadata: { name }, target: { kind: 'Node', name: node } };
      const path = `/api/v1/namespaces/${namespace}/pods/${name}/binding`;
      const kubectl = ['--kubeconfig', stack().adminKubeconfig!, 'create', '--raw', path, '-f', '-'];
      execFileSync(stack().kubectl!, kubectl, { input: JSON.stringify(binding) });
      const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
      await client.patch('Pod', { namespace, name }, { status }, { subresource: 'status' });
    },
    stop: () => {
      client.close();
      return Promise.resolve();
    },
  });
});

describe('the cache on a real API server', () => {
  /** Events are only written, leases read one by one, and reviews answered: none of these is watched. */
  const unwatched: readonly Kind[] = [
    'Event',
    'Lease',
    'SelfSubjectAccessReview',
    'SelfSubjectReview',
    'SubjectAccessReview',
    'TokenReview',
  ];
  const kinds = (Object.keys(resources) as Kind[]).filter((kind) => !unwatched.includes(kind));
  let stop: AbortController;
  beforeEach(() => {
    stop = new AbortController();
  });
  // Also after a failure: a cache goes on for ever otherwise.
  afterEach(() => stop.abort());
  const optional: Kind[] = ['NodeOverlay', 'KWOKNodeClass', 'DisruptionPolicy', 'CapacityBuffer', 'EC2NodeClass'];

  test('lists and watches every kind with the rights of the shipped ClusterRole', async () => {
    const client = createKubeClient({ kubeconfig: stack().stowageKubeconfig! });
    const problems: string[] = [];
    const cache = createClusterCache({
      client,
      kinds,
      optional,
      onProblem: (kind, error) => problems.push(`${kind}: ${error.message}`),
    });
    await cache.start(AbortSignal.any([stop.signal, AbortSignal.timeout(20_000)])).catch(() => undefined);
    expect({ problems, unsynced: cache.unsynced }).toEqual({ problems: [], unsynced: [] });
    client.close();
  });
});

describe('with the ClusterRoles that are shipped', () => {
  test('a Lease is acquired, renewed and handed over', async () => {
    const client = createKubeClient({ kubeconfig: stack().stowageKubeconfig! });
    const lease = { namespace: leaseNamespace, name: 'kube-test' };
    const timing = { leaseDurationMs: 60_000, renewDeadlineMs: 40_000, retryPeriodMs: 100 };
    const errors: string[] = [];
    const onError = ({ message }: Error): number => errors.push(message);
    const order: string[] = [];
    const { signal } = new AbortController();
    const first = runAsLeader({ client, ...lease, ...timing, identity: 'a', onError }, signal, async () => {
      order.push('a leads');
      const renewed = (await client.get('Lease', lease))?.spec?.renewTime;
      await changedLease(async () => (await client.get('Lease', lease))?.spec?.renewTime !== renewed);
      const query = { client, name: lease.name, namespace: lease.namespace };
      expect(await leaseHolder(query)).toBe('a');
      order.push('a renewed');
    });
    const { leads } = await Promise.race([first.then(() => ({ leads: false })), waitForLease(client, lease)]);
    expect(leads).toBe(true);
    const second = runAsLeader({ client, ...lease, ...timing, identity: 'b', onError }, signal, () => {
      order.push('b leads');
      return Promise.resolve();
    });
    expect([await first, await second]).toEqual(['finished', 'finished']);
    expect(order).toEqual(['a leads', 'a renewed', 'b leads']);
    expect(errors).toEqual([]);
    expect((await client.get('Lease', lease))?.spec).toMatchObject({ holderIdentity: '', leaseTransitions: 1 });
    client.close();
  });

  test('an event is created, and its count grows when it repeats', async () => {
    const client = createKubeClient({ kubeconfig: stack().stowageKubeconfig! });
    const reader = createKubeClient({ kubeconfig: stack().adminKubeconfig! });
    const failures: string[] = [];
    const events = createEventRecorder({ client, onFailure: (_, { message }) => failures.push(message) });
    const name = `kube-test-${process.pid}`;
    const event = {
      regarding: { apiVersion: 'karpenter.sh/v1', kind: 'NodeClaim', name },
      type: 'Warning',
      reason: 'FailedDraining',
      message: 'blocked',
      dedupeMs: 0,
    } as const;
    for (let i = 0; i < 3; i++) events.publish(event);
    await events.idle();
    expect(failures).toEqual([]);
    const written = await reader.list('Event', { namespace: 'default', fieldSelector: `involvedObject.name=${name}` });
    expect(written).toMatchObject([{ reason: 'FailedDraining', count: 3, source: { component: 'karpenter' } }]);
    client.close();
    reader.close();
  });
});

const waitForLease = async (
  client: Pick<KubeClient, 'get'>,
  lease: { namespace: string; name: string },
): Promise<{ leads: boolean }> => {
  await changedLease(async () => ((await client.get('Lease', lease))?.spec?.holderIdentity ?? '') !== '');
  return { leads: true };
};

async function changedLease(condition: () => Promise<boolean>): Promise<void> {
  const signal = AbortSignal.timeout(10_000);
  while (!(await condition())) signal.throwIfAborted();
}
