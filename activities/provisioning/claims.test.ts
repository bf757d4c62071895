import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { MockActivityEnvironment } from '@temporalio/testing';
import type { PodSpec } from '../../api/kubernetes.js';
import { annotations, labels } from '../../api/labels.js';
import { DomainError } from '../../core/failures.js';
import {
  createActivityWorld,
  nodeClaim,
  nodeClass,
  nodePool,
  ready,
  quiet,
} from '../../test/builders/activity-world.js';
import type { ActivityWorld } from '../../test/builders/activity-world.js';
import type { LaunchStart } from '../../workflows/messages.js';
import { createClaimActivities } from './claims.js';
import type { ClaimsCreated, PlanNodesResult } from './contract.js';
import { createPlanningActivities } from './planning.js';

const pod = (name: string, cpu: string) => ({
  metadata: { name, namespace: 'default', uid: `pod-${name}`, creationTimestamp: '2026-01-05T11:00:00Z' },
  spec: { containers: [{ name: 'app', resources: { requests: { cpu } } }] },
  status: {
    phase: 'Pending',
    conditions: [{ type: 'PodScheduled', status: 'False' as const, reason: 'Unschedulable' }],
  },
});

describe('planning and creating claims', () => {
  let world: ActivityWorld;

  beforeEach(async () => {
    world = await createActivityWorld();
    world.kube.put('EC2NodeClass', nodeClass('default'));
    world.kube.put('NodePool', ready(nodePool('default', { limits: { cpu: '8' } })));
  });
  afterEach(() => world.stop());

  const planNow = async (without: string[] = []): Promise<PlanNodesResult> => {
    await world.synced();
    const planning = createPlanningActivities(world.deps);
    return new MockActivityEnvironment().run<[], PlanNodesResult, () => Promise<PlanNodesResult>>(() =>
      planning.planNodes({ marks: [], without }),
    );
  };
  async function create(planId: string): Promise<{ created: readonly { name: string }[]; refused: unknown }> {
    const plan = await planNow();
    if (plan.state !== 'planned') throw new Error(plan.reason);
    return createClaimActivities(world.deps).createClaims({ planId, ...plan, reason: 'provisioned' });
  }

  // Rules `node-claims/written-from-a-plan`, `scheduling/claim-requests`.
  test('a claim has what NodePool and plan specify', async () => {
    world.kube.put('Pod', pod('a', '1'));

    const { created } = await create('chain/1/0');

    const [claim] = world.kube.objects('NodeClaim');
    expect(created).toMatchObject([{ name: claim?.metadata.name, uid: claim?.metadata.uid }]);
    expect(claim?.metadata.name).toMatch(/^default-[0-9a-f]{10}$/);
    expect(claim?.metadata.labels).toMatchObject({
      [labels.nodePool]: 'default',
      'karpenter.k8s.aws/ec2nodeclass': 'default',
    });
    expect(claim?.metadata.annotations?.[annotations.nodePoolHash]).toMatch(/^[0-9a-f]+$/);
    expect(claim?.metadata.ownerReferences).toMatchObject([{ kind: 'NodePool', blockOwnerDeletion: true }]);
    expect(claim?.spec.resources?.requests).toMatchObject({ cpu: '1' });
    expect(claim?.spec.requirements).toContainEqual({
      key: labels.instanceType,
      operator: 'In',
      values: ['m5.xlarge'],
    });
    expect(world.events.map(({ reason }) => reason)).toEqual(['Nominated']);
  });

  // Rule `launch/one-instance`.
  test('a second attempt of the same plan creates nothing more, and gives the same names', async () => {
    world.kube.put('Pod', pod('a', '1'));
    const plan = await planNow();
    if (plan.state !== 'planned') throw new Error(plan.reason);
    const activities = createClaimActivities(world.deps);
    const input = { planId: 'chain/1/0', ...plan, reason: 'provisioned' };

    const first = await activities.createClaims(input);
    const second = await activities.createClaims(input);

    expect(first.created).toMatchObject([{ isNew: true }]);
    expect(first.created).toEqual(second.created.map((claim) => ({ ...claim, isNew: true })));
    expect(second.created[0]).not.toHaveProperty('isNew');
    expect(world.kube.objects('NodeClaim')).toHaveLength(1);
  });

  test('each NodeClaim has its launch started, which signals those that wait for this one', async () => {
    world.kube.put('Pod', pod('a', '3'));
    world.kube.put('Pod', pod('b', '3'));
    const plan = await planNow();
    if (plan.state !== 'planned') throw new Error(plan.reason);
    const launches: LaunchStart[] = [];
    Object.assign(world.deps.entities, {
      startLaunch: (launch: LaunchStart) => Promise.resolve(void launches.push(launch)),
    });
    const waiters = [[], ['replace/a', 'replace/b']];

    const { created } = await createClaimActivities(world.deps).createClaims({
      ...{ planId: 'chain/1/0', ...plan, reason: 'drifted', waiters },
    });

    const claims = created.map(({ name, uid }) => ({ name, uid }));
    const same = { cluster: 'test', nodePool: 'default', reason: 'drifted', isFirst: true };
    expect(claims).toHaveLength(2);
    expect(launches.map(({ input }) => input)).toEqual([
      { ...same, claim: claims[0] },
      { ...same, claim: claims[1], notify: 'replace/a', alsoNotify: ['replace/b'] },
    ]);
    expect(launches[0]?.summary).toBe(`${claims[0]?.name}: 1 pod, m5.xlarge`);
  });

  test('an attempt that could not start a launch fails after it has tried the others; the next one starts it', async () => {
    world.kube.put('Pod', pod('a', '3'));
    world.kube.put('Pod', pod('b', '3'));
    const plan = await planNow();
    if (plan.state !== 'planned') throw new Error(plan.reason);
    const activities = createClaimActivities(world.deps);
    const input = { planId: 'chain/1/0', ...plan, reason: 'provisioned' };
    const started: string[] = [];
    let refusals = 1;
    const startLaunch = ({ input: { claim } }: LaunchStart): Promise<void> => {
      if (refusals-- > 0) return Promise.reject(new DomainError('Unavailable', 'Temporal is away'));
      started.push(claim.uid);
      return Promise.resolve();
    };
    Object.assign(world.deps.entities, { startLaunch });

    await expect(activities.createClaims(input)).rejects.toThrow('Temporal is away');
    const { created } = await activities.createClaims(input);

    expect(new Set(started)).toEqual(new Set(created.map(({ uid }) => uid)));
    expect(world.kube.objects('NodeClaim')).toHaveLength(2);
  });

  test('another plan under an earlier id gets its own NodeClaims, as after a reset workflow', async () => {
    world.kube.put('Pod', pod('a', '1'));
    const plan = await planNow();
    if (plan.state !== 'planned') throw new Error(plan.reason);
    const activities = createClaimActivities(world.deps);
    const [claim] = plan.claims;
    const later = { ...plan, claims: [{ ...claim!, pods: ['default/b'] }] };

    const first = await activities.createClaims({ planId: 'chain/1/0', ...plan, reason: 'provisioned' });
    const second = await activities.createClaims({ planId: 'chain/1/0', ...later, reason: 'provisioned' });

    expect(second.created).toHaveLength(1);
    expect(second.created[0]?.name).not.toBe(first.created[0]?.name);
    expect(world.kube.objects('NodeClaim')).toHaveLength(2);
  });

  describe('a NodeClaim that the API server refuses', () => {
    const refuse = (isRefused: (pool: string) => boolean, error: Error): void => {
      const createOne = world.kube.create.bind(world.kube);
      Object.assign(world.kube, {
        create: (...args: Parameters<typeof createOne>) =>
          isRefused(args[1].metadata.labels?.[labels.nodePool] ?? '') ? Promise.reject(error) : createOne(...args),
      });
    };
    const denied = new DomainError('Denied', 'policy says no', { status: 403 });
    beforeEach(() => {
      world.kube.put('NodePool', ready(nodePool('preferred', { weight: 10 })));
      world.kube.put('Pod', pod('a', '1'));
    });

    test('makes its NodePool back off, others launch meanwhile, and it is tried again later', async () => {
      refuse((pool) => pool === 'preferred', denied);

      expect(await create('chain/1/0')).toMatchObject({
        created: [],
        refused: [{ index: 0, reason: 'policy says no' }],
        resting: [{ nodePool: 'preferred', until: world.clock.now + 10_000, message: 'policy says no' }],
      });
      expect(world.events.map(({ reason }) => reason)).toEqual(['NodeClaimRefused']);
      const { created } = await create('chain/1/1');
      expect(created).toMatchObject([{ nodePool: 'default' }]);
    });

    // Rule `provisioning/refused-claims`.
    describe('for what a pod requires', () => {
      const nodeClassRef = { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' };
      const open = { spec: { requirements: [{ key: 'team', operator: 'Exists' }], nodeClassRef } };
      const asks = (name: string, cpu: string, nodeSelector: Record<string, string>) => {
        const made = pod(name, cpu);
        return { ...made, spec: { ...made.spec, nodeSelector } };
      };
      let refusedTeam: string;
      const backedOff = async (): Promise<string | undefined> =>
        (await world.kube.get('NodePool', { name: 'preferred' }))?.metadata.annotations?.[annotations.refusals];

      beforeEach(() => {
        world.kube.put('NodePool', ready(nodePool('preferred', { weight: 10, template: open })));
        world.kube.put('Pod', asks('evil', '1', { team: 'evil' }));
        world.kube.put('Pod', asks('good', '1', { 'kubernetes.io/arch': 'amd64' }));
        refusedTeam = 'evil';
        const createOne = world.kube.create.bind(world.kube);
        Object.assign(world.kube, {
          create: (...args: Parameters<typeof createOne>) =>
            args[1].metadata.labels?.['team'] === refusedTeam ? Promise.reject(denied) : createOne(...args),
        });
      });

      test('keeps that pod alone from the NodePool: the others get nodes of it at once, and the pod gets an event', async () => {
        const first = await create('chain/1/0');
        expect(first).toMatchObject({ created: [], resting: [{ nodePool: 'preferred', pods: ['default/evil'] }] });
        expect(world.events).toContainEqual(
          expect.objectContaining({
            reason: 'NodeClaimRefused',
            regarding: expect.objectContaining({ kind: 'Pod', name: 'evil' }) as unknown,
          }),
        );

        const plan = await planNow();
        expect(plan).toMatchObject({ claims: [{ nodePool: 'preferred', pods: ['default/a', 'default/good'] }] });
        expect(plan).toMatchObject({ unschedulable: 1 });
        expect(world.events.find(({ reason }) => reason === 'FailedScheduling')?.message).toContain(
          'preferred: for this pod it backs off until',
        );
        expect((await create('chain/1/1')).refused).toEqual([]);
        // It is not forgotten because claims of other pods are created.
        expect(await backedOff()).toContain('default/evil');
      });

      test('is tried again after a while, and forgotten once a claim with the pod is created', async () => {
        await create('chain/1/0');
        world.clock.now += 10_000;
        expect(await create('chain/1/1')).toMatchObject({ resting: [{ until: world.clock.now + 20_000 }] });
        world.clock.now += 20_000;
        refusedTeam = 'none';
        await create('chain/1/2');
        expect(await backedOff()).toBeUndefined();
      });

      test('counts against the NodePool where a claim without such a pod is refused as well', async () => {
        world.kube.put('Pod', pod('a', '1'));
        refuse((name) => name === 'preferred', denied);
        await create('chain/1/0');
        const second = await create('chain/1/1');
        expect(second).toMatchObject({ resting: [{ nodePool: 'preferred', pods: ['default/evil', 'default/good'] }] });
        const third = (await create('chain/1/2')) as unknown as ClaimsCreated;
        expect(third.resting[0]?.pods).toBeUndefined();
      });
    });

    // Rule `provisioning/refused-claims`.
    test.each<[string, Partial<PodSpec>]>([
      ['its volume is', { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }] }],
      [
        'its spread puts it',
        {
          topologySpreadConstraints: [
            {
              maxSkew: 1,
              topologyKey: labels.zone,
              whenUnsatisfiable: 'DoNotSchedule',
              labelSelector: { matchLabels: { app: 'zonal' } },
            },
          ],
        },
      ],
    ])('for the zone where %s keeps that pod alone from the NodePool', async (_, spec) => {
      const bound = { 'pv.kubernetes.io/bind-completed': 'yes' };
      const isZone = { key: labels.zone, operator: 'In' as const, values: ['a'] };
      world.kube.put('PersistentVolumeClaim', {
        metadata: { name: 'data', namespace: 'default', annotations: bound },
        spec: { volumeName: 'v' },
      });
      world.kube.put('PersistentVolume', {
        metadata: { name: 'v' },
        spec: { nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [isZone] }] } } },
      });
      const made = pod('zonal', '1');
      const metadata = { ...made.metadata, labels: { app: 'zonal' } };
      world.kube.put('Pod', { ...made, metadata, spec: { ...made.spec, ...spec } });
      refuse((name) => name === 'preferred', denied);
      expect(await create('chain/1/0')).toMatchObject({
        resting: [{ nodePool: 'preferred', pods: ['default/zonal'] }],
      });
    });

    test('is forgotten when a claim is created', async () => {
      let isRefused = true;
      refuse((pool) => isRefused && pool === 'preferred', denied);
      await create('chain/1/0');
      isRefused = false;
      world.clock.now += 10_000;

      expect((await create('chain/1/1')).created).toMatchObject([{ nodePool: 'preferred' }]);
      const pool = await world.kube.get('NodePool', { name: 'preferred' });
      expect(pool?.metadata.annotations?.[annotations.refusals]).toBeUndefined();
    });

    test('makes the NodePool back off in the workflow where its annotation is refused too', async () => {
      refuse((pool) => pool === 'preferred', denied);
      Object.assign(world.kube, { patch: () => Promise.reject(denied) });
      const first = await create('chain/1/0');
      const planning = createPlanningActivities(world.deps);
      const { resting } = first as unknown as ClaimsCreated;

      const plan = await new MockActivityEnvironment().run<[], PlanNodesResult, () => Promise<PlanNodesResult>>(() =>
        planning.planNodes({ marks: [], without: [], resting }),
      );

      expect(plan).toMatchObject({ claims: [{ nodePool: 'default' }] });
    });

    test('is not assumed when no call was answered: the activity is retried', async () => {
      refuse((pool) => pool === 'preferred', new DomainError('Unavailable', 'connection refused'));

      await expect(create('chain/1/0')).rejects.toMatchObject({ type: 'Unavailable' });
    });

    // Rule `provisioning/refused-claims`.
    describe.each([
      ['a webhook that answers 503', new DomainError('Unavailable', 'failed calling webhook', { status: 503 })],
      ['a webhook that answers 504', new DomainError('Unavailable', 'failed calling webhook', { status: 504 })],
      ['a webhook that answers 429', new DomainError('Throttled', 'failed calling webhook', { status: 429 })],
      ['an error of our own', new TypeError('key.lastIndexOf is not a function')],
    ])('by %s', (_, error) => {
      const attempt = async (number: number): Promise<ClaimsCreated> => {
        const plan = await planNow();
        if (plan.state !== 'planned') throw new Error(plan.reason);
        const [first, ...others] = plan.claims;
        const input = { planId: 'chain/1/0', typeLists: plan.typeLists, reason: 'provisioned' };
        const claims = [first!, { ...first!, nodePool: 'default' }, first!, ...others];
        const env = new MockActivityEnvironment({ attempt: number }, quiet);
        const activities = createClaimActivities(world.deps);
        return env.run<[], ClaimsCreated, () => Promise<ClaimsCreated>>(() =>
          activities.createClaims({ ...input, claims }),
        );
      };

      test('counts as an outage at first', async () => {
        refuse((pool) => pool === 'preferred', error);
        await expect(attempt(2)).rejects.toThrow(error.message);
      });

      test("counts against the NodePool from the third attempt on: it backs off, and others' claims are created", async () => {
        refuse((pool) => pool === 'preferred', error);

        const { created, refused, resting } = await attempt(3);

        expect(created).toMatchObject([{ nodePool: 'default', index: 1 }]);
        expect(refused.map(({ index }) => index)).toEqual([0, 2]);
        expect(refused[0]?.reason).toContain(error.message);
        expect(resting).toMatchObject([{ nodePool: 'preferred' }]);
      });

      test('counts as an outage while NodePools cannot be listed, whatever the attempt', async () => {
        refuse((pool) => pool === 'preferred', error);
        const plan = await planNow();
        Object.assign(world.kube, { list: () => Promise.reject(new DomainError('Unavailable', 'connection refused')) });
        const env = new MockActivityEnvironment({ attempt: 100 }, quiet);
        if (plan.state !== 'planned') throw new Error(plan.reason);
        const running = env.run<[], ClaimsCreated, () => Promise<ClaimsCreated>>(() =>
          createClaimActivities(world.deps).createClaims({ planId: 'chain/1/0', ...plan, reason: 'provisioned' }),
        );
        await expect(running).rejects.toThrow('connection refused');
      });
    });

    test.each([
      ['Invalid', 400],
      ['Invalid', 413],
      ['Invalid', 422],
      ['Conflict', 409],
      ['NotFound', 404],
      ['Unavailable', 500],
    ] as const)('may be %s (%s)', async (type, status) => {
      refuse((pool) => pool === 'preferred', new DomainError(type, 'no', { status }));

      expect(await create('chain/1/0')).toMatchObject({ created: [], resting: [{ nodePool: 'preferred' }] });
    });
  });

  test('a claim of an earlier attempt that is being deleted is refused until it is gone', async () => {
    world.kube.put('Pod', pod('a', '1'));
    const plan = await planNow();
    if (plan.state !== 'planned') throw new Error(plan.reason);
    const activities = createClaimActivities(world.deps);
    const input = { planId: 'chain/1/0', ...plan, reason: 'provisioned' };
    const {
      created: [first],
    } = await activities.createClaims(input);
    const name = first?.name ?? '';
    await world.kube.delete('NodeClaim', { name });

    const reason = `NodeClaim ${name}, which an earlier attempt created, is being deleted`;
    expect(await activities.createClaims(input)).toMatchObject({ created: [], refused: [{ index: 0, reason }] });

    await world.kube.patch('NodeClaim', { name }, { metadata: { finalizers: null } });
    const { created } = await activities.createClaims(input);
    expect(created).toMatchObject([{ name }]);
    expect(created[0]?.uid).not.toBe(first?.uid);
  });

  // Rule `limits/checked-at-creation`.
  test('a claim is refused where live claims exceed a limit by now', async () => {
    world.kube.put('Pod', pod('a', '1'));
    const plan = await planNow();
    if (plan.state !== 'planned') throw new Error(plan.reason);
    world.kube.put('NodeClaim', nodeClaim('other', { status: { capacity: { cpu: '9' }, providerID: 'x' } }));

    const { created, refused } = await createClaimActivities(world.deps).createClaims({
      planId: 'chain/1/0',
      ...plan,
      reason: 'provisioned',
    });

    expect(created).toEqual([]);
    expect(refused).toEqual([{ index: 0, reason: 'cpu of NodePool default exceeds its limit' }]);
  });

  test('the next plan waits for a claim without an instance', async () => {
    world.kube.put('NodeClaim', nodeClaim('launching'));
    world.kube.put('Pod', pod('a', '1'));
    await world.synced();
    const running = planNow();
    world.kube.put('NodeClaim', nodeClaim('launching', { status: { providerID: 'fake:///a/i-9' } }));

    await expect(running).resolves.toMatchObject({ state: 'planned' });
  });

  test('pods that fit nowhere get an event with the reason', async () => {
    world.kube.put('Pod', pod('huge', '64'));

    const plan = await planNow();

    expect(plan).toMatchObject({ state: 'planned', claims: [], unschedulable: 1 });
    expect(world.events).toMatchObject([{ type: 'Warning', reason: 'FailedScheduling' }]);
  });
});
