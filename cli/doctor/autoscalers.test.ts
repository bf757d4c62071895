import { describe, expect, test } from 'vitest';
import { DomainError } from '../../core/failures.js';
import type { KubeClient } from '../../kube/port.js';
import { createFakeKube } from '../../test/simulation/kube/fake.js';
import type { FakeKube } from '../../test/simulation/kube/fake.js';
import { createManualClock } from '../../test/builders/manual-clock.js';
import { clusterAutoscalerCheck, karpenterCheck, operatorCheck } from './autoscalers.js';
import type { Check, CheckOutcome } from './check.js';

const clock = createManualClock();
const karpenterLease = { namespace: 'kube-system', name: 'karpenter-leader-election' };
const ownLease = { namespace: 'stowage', name: 'stowage-leader-election' };
const casLease = { namespace: 'kube-system', name: 'cluster-autoscaler' };

function lease(kube: FakeKube, ref: { namespace: string; name: string }, ageMs: number): void {
  const renewTime = new Date(clock.now() - ageMs).toISOString();
  kube.put('Lease', { metadata: ref, spec: { holderIdentity: 'pod-1', leaseDurationSeconds: 15, renewTime } });
}

function deployment(kube: FakeKube, namespace: string, name: string, image: string, replicas?: number): void {
  const template = { metadata: {}, spec: { containers: [{ name: 'main', image }] } };
  kube.put('Deployment', {
    metadata: { namespace, name },
    spec: { template, ...(replicas === undefined ? {} : { replicas }) },
  });
}

/** A lease that seems dead is looked at twice. */
async function run(check: Check): Promise<CheckOutcome> {
  const running = check.run();
  await clock.advance(5000);
  return running;
}

describe('doctor check operator', () => {
  test('fails where nobody holds the lease or it has expired, and is ok with a leader', async () => {
    const kube = createFakeKube();
    expect(await run(operatorCheck(kube, ownLease, clock))).toMatchObject({
      state: 'failed',
      found: 'nobody holds the lease stowage/stowage-leader-election',
    });
    lease(kube, ownLease, 60_000);
    expect(await run(operatorCheck(kube, ownLease, clock))).toMatchObject({ state: 'failed' });
    lease(kube, ownLease, 1000);
    expect(await run(operatorCheck(kube, ownLease, clock))).toMatchObject({ state: 'ok', found: 'pod-1 leads' });
  });
});

describe('doctor check karpenter', () => {
  test('is ok where Karpenter does not run or its lease has expired, and fails while it holds the lease', async () => {
    const kube = createFakeKube();
    expect(await run(karpenterCheck(kube, karpenterLease, clock))).toMatchObject({ state: 'ok' });
    lease(kube, karpenterLease, 60_000);
    expect(await run(karpenterCheck(kube, karpenterLease, clock))).toMatchObject({ state: 'ok' });
    lease(kube, karpenterLease, 1000);
    expect(await run(karpenterCheck(kube, karpenterLease, clock))).toMatchObject({
      state: 'failed',
      found: expect.stringContaining('pod-1 holds the lease kube-system/karpenter-leader-election'),
      mend: expect.stringContaining('to zero'),
    });
  });

  test('warns of running replicas that do not hold the lease yet', async () => {
    const kube = createFakeKube();
    deployment(kube, 'kube-system', 'karpenter', 'public.ecr.aws/karpenter/controller:1.14.0');
    expect(await run(karpenterCheck(kube, karpenterLease, clock))).toMatchObject({
      state: 'warning',
      found: 'Deployment kube-system/karpenter runs, and does not hold its lease yet',
    });
  });

  test('fails where Karpenter runs in another namespace than the one of its lease that is checked', async () => {
    const kube = createFakeKube();
    const image = 'public.ecr.aws/karpenter/controller:1.14.0';
    deployment(kube, 'karpenter', 'karpenter', image, 0);
    expect(await run(karpenterCheck(kube, karpenterLease, clock))).toMatchObject({ state: 'ok' });
    deployment(kube, 'karpenter', 'karpenter', image, 2);
    expect(await run(karpenterCheck(kube, karpenterLease, clock))).toMatchObject({
      state: 'failed',
      found: 'Deployment karpenter/karpenter runs, and its lease is looked for in kube-system',
      mend: expect.stringContaining('KARPENTER_LEADER_ELECTION_NAMESPACE=karpenter'),
    });
  });
});

describe('doctor check cluster-autoscaler', () => {
  test('is ok where it does not run, and warns of its lease and of its Deployment', async () => {
    const kube = createFakeKube();
    expect(await run(clusterAutoscalerCheck(kube, clock))).toMatchObject({ state: 'ok', found: 'does not run' });
    lease(kube, casLease, 1000);
    expect(await run(clusterAutoscalerCheck(kube, clock))).toMatchObject({
      state: 'warning',
      found: 'pod-1 holds the lease kube-system/cluster-autoscaler',
    });
    deployment(kube, 'kube-system', 'cas', 'registry.k8s.io/autoscaling/cluster-autoscaler:v1.34.0');
    expect(await run(clusterAutoscalerCheck(kube, clock))).toMatchObject({
      state: 'warning',
      found: 'Deployment kube-system/cas runs',
    });
  });

  test('uses Deployments where the lease may not be read, and passes other errors on', async () => {
    const refusing = (error: Error): Pick<KubeClient, 'get' | 'list'> => ({
      list: () => Promise.resolve([]),
      get: () => Promise.reject(error),
    });
    expect(await run(clusterAutoscalerCheck(refusing(new DomainError('Denied', 'no')), clock))).toMatchObject({
      state: 'ok',
      found: expect.stringContaining('may not be read'),
    });
    await expect(clusterAutoscalerCheck(refusing(new Error('away')), clock).run()).rejects.toThrow('away');
  });
});

test('doctor checks operator and karpenter pass an error of the API server on', async () => {
  const kube = createFakeKube();
  kube.fail(new Error('away'));
  await expect(operatorCheck(kube, ownLease, clock).run()).rejects.toThrow('away');
  await expect(karpenterCheck(kube, karpenterLease, clock).run()).rejects.toThrow('away');
});
