import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import {
  clusterAutoscalerCheck,
  definitionsCheck,
  firstDifference,
  karpenterCheck,
  kubernetesCheck,
  oldestKubernetes,
  operatorCheck,
} from './kubernetes.js';
import { isOlder, versionIn } from '../../core/versions.js';
import { annotations } from '../../api/labels.js';
import { crdManifests } from '../../api/crds.js';
import type { Kinds, KubeClient } from '../../kube/port.js';
import { createFakeKube, type FakeKube } from '../../test/simulation/kube/fake.js';
import { DomainError } from '../../core/failures.js';
import { createManualClock } from '../../test/builders/manual-clock.js';
import type { Check, CheckOutcome } from './check.js';

const verdict = (version: string) => kubernetesCheck({ serverVersion: () => Promise.resolve(version) }).run();

describe('doctor check kubernetes', () => {
  test.each([
    ['v1.36.1', 'ok'],
    ['v1.29.0-eks-036c24b', 'ok'],
    ['v1.28.15', 'failed'],
    ['unknown', 'warning'],
  ])('on Kubernetes %s is %s', async (version, state) => {
    expect(await verdict(version)).toMatchObject({ state, found: expect.stringContaining(version) });
  });

  test('passes an error of the API server on', async () => {
    const check = kubernetesCheck({ serverVersion: () => Promise.reject(new Error('away')) });
    await expect(check.run()).rejects.toThrow('away');
    expect(check.unanswered).toContain('KUBECONFIG');
  });

  test('requires the kubeVersion of the chart', () => {
    const { kubeVersion } = parse(readFileSync('deploy/chart/Chart.yaml', 'utf8')) as { kubeVersion: string };
    expect(versionIn(kubeVersion)).toBe(oldestKubernetes);
  });
});

test.each([
  ['1.9', '1.10', true],
  ['1.10', '1.9.9', false],
  ['2.0', '1.25.0', false],
  ['1.25', '1.25.0', false],
])('doctor compares versions: %s is older than %s: %s', (version, than, expected) => {
  expect(isOlder(version, than)).toBe(expected);
});

describe('definitions', () => {
  type Definition = Kinds['CustomResourceDefinition'];
  const established = { conditions: [{ type: 'Established', status: 'True' as const }] };
  const [first] = crdManifests();
  const name = first?.metadata.name ?? '';

  /** The verdict on a cluster with this version's definitions, as `change` leaves them. */
  async function verdict(change: (definition: Definition) => Definition | undefined = (each) => each) {
    const kube = createFakeKube();
    for (const manifest of crdManifests()) {
      const { metadata, spec } = manifest as unknown as Definition;
      const definition = { apiVersion: '', kind: '', metadata, spec: structuredClone(spec), status: established };
      const changed = metadata.name === name ? change(definition) : definition;
      if (changed !== undefined) kube.put('CustomResourceDefinition', changed);
    }
    return definitionsCheck(kube).run();
  }

  describe('doctor check definitions', () => {
    test('is ok with the CRDs of this version, defaults of the API server included', async () => {
      const { state } = await verdict((each) => ({
        ...each,
        spec: { ...each.spec, conversion: { strategy: 'None' } },
      }));
      expect(state).toBe('ok');
    });

    test.each([
      ['is missing', () => undefined, `${name} is missing`],
      ['is not served', (each: Definition): Definition => ({ ...each, status: {} }), `${name} is not established`],
      [
        'is of an older version',
        (each: Definition): Definition => {
          const spec = each.spec as { versions: { schema: { openAPIV3Schema: { properties: { spec: unknown } } } }[] };
          spec.versions[0]!.schema.openAPIV3Schema.properties.spec = { type: 'object', description: 'old' };
          return each;
        },
        `${name} is not that of this version: spec.versions[0].schema.openAPIV3Schema.properties.spec`,
      ],
    ])('fails where one of the CRDs %s', async (_name, change, found) => {
      const answer = await verdict(change);
      expect(answer.state).toBe('failed');
      expect(answer.found).toContain(found);
      expect(answer.mend).toContain('stowage crds --apply');
    });

    test('passes an error of the API server on', async () => {
      const kube = createFakeKube();
      kube.fail(new Error('away'));
      await expect(definitionsCheck(kube).run()).rejects.toThrow('away');
    });
  });

  describe('first difference of two CRDs', () => {
    test.each([
      [{ a: 1 }, { a: 1, b: 2 }, undefined],
      [{ a: { b: 1 } }, { a: {} }, 'x.a.b'],
      [{ a: { b: 1 } }, {}, 'x.a'],
      [{ a: false, b: 0, c: '', d: [], e: {}, f: { g: false } }, {}, undefined],
      [{ a: [1, 2] }, { a: [1] }, 'x.a'],
      [{ a: [1, { b: 2 }] }, { a: [1, { b: 3 }] }, 'x.a[1].b'],
      [{ a: [1] }, { a: { 0: 1 } }, 'x.a'],
      [{ a: { b: 1 } }, { a: 'text' }, 'x.a'],
      [{ a: { b: 1 } }, { a: null }, 'x.a'],
      [{ constructor: 'own' }, {}, 'x.constructor'],
    ])('of %j in %j is at %s', (wanted, found, path) => {
      expect(firstDifference(wanted, found, 'x')).toBe(path);
    });
  });
});

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
  test('fails where the lease has no holder or has expired, and is ok with a leader', async () => {
    const kube = createFakeKube();
    expect(await run(operatorCheck(kube, ownLease, clock))).toMatchObject({
      state: 'failed',
      found: 'no operator holds the lease stowage/stowage-leader-election',
    });
    lease(kube, ownLease, 60_000);
    expect(await run(operatorCheck(kube, ownLease, clock))).toMatchObject({ state: 'failed' });
    lease(kube, ownLease, 1000);
    expect(await run(operatorCheck(kube, ownLease, clock))).toMatchObject({ state: 'ok', found: 'pod-1 leads' });
  });

  // Rule `garbage-collection/failures-are-visible`.
  test('warns of a leader whose garbage collection fails', async () => {
    const kube = createFakeKube();
    lease(kube, ownLease, 1000);
    const text = JSON.stringify({ collectGarbage: { since: clock.now(), why: 'not authorized to list' } });
    await kube.patch('Lease', ownLease, { metadata: { annotations: { [annotations.failingLoops]: text } } });

    expect(await run(operatorCheck(kube, ownLease, clock))).toMatchObject({
      state: 'warning',
      found: 'pod-1 leads, and collectGarbage: it fails: not authorized to list',
    });
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
