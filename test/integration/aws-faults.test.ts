import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { conditionOf, isTrue } from '../../core/conditions.js';
import { isDomainError } from '../../core/failures.js';
import type { EC2NodeClass, EC2NodeClassStatus } from '../../api/aws/ec2-node-class.js';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import type { CloudProvider, LaunchedInstance } from '../../cloud/port.js';
import {
  awsProvider,
  briefLags,
  claim,
  need,
  nodeClass,
  pool,
  requestFor,
  resolved,
  settled,
  useCloud,
} from './aws-subject.js';

const { stack, cloud } = useCloud();

const type = need('node.kubernetes.io/instance-type', 'm5.large');
const reservation = { id: 'cr-0fedcba9876543210', instanceType: 'm5.large', total: 100, available: 100 };

const bought = (more: object) => () =>
  cloud().configure({ capacityReservations: [{ ...reservation, zone: `${stack().region}a`, ...more }] });

/** What each kind of launch asks for, and what has to be scripted for it. */
const paths = {
  spot: { capacity: ['spot'], scripted: () => Promise.resolve() },
  'on-demand': { capacity: ['on-demand'], scripted: () => Promise.resolve() },
  'spot, then on-demand': {
    capacity: ['spot', 'on-demand'],
    scripted: () => cloud().setPools([{ capacityType: 'spot' }]),
  },
  reserved: { capacity: ['reserved'], scripted: () => Promise.resolve() },
  interruptible: { capacity: ['reserved'], scripted: bought({ interruptible: true }) },
  'capacity block': {
    capacity: ['reserved'],
    scripted: bought({ type: 'capacity-block', endDate: new Date(Date.now() + 30 * 24 * 3_600_000).toISOString() }),
  },
} as const;

describe('a lost answer of an AWS call', () => {
  let provider: CloudProvider;
  let shift: (ms: number) => void;
  let ready: EC2NodeClass;

  const resolveAnew = () =>
    resolved(provider, nodeClass(stack(), { capacityReservationSelectorTerms: [{ id: reservation.id }] }, 'faulty'));

  beforeAll(async () => {
    await cloud().reset();
    await cloud().configure(briefLags);
    ({ provider, shift } = awsProvider(stack()));
    await cloud().configure({ capacityReservations: [{ ...reservation, zone: `${stack().region}a` }] });
    ready = await resolveAnew();
    await provider.instanceTypes(pool, ready);
  });
  beforeEach(async () => {
    await cloud().reset();
    await cloud().configure(briefLags);
    await cloud().configure({ capacityReservations: [{ ...reservation, zone: `${stack().region}a` }] });
    // Templates, subnets and refusals that the provider knows of are forgotten: each life makes every call.
    shift(75 * 60_000);
  });
  afterAll(() => cloud().reset());

  /** As Temporal does it: the activity is tried again until it has worked. */
  async function insist<T>(attempt: () => Promise<T>): Promise<T> {
    let failure: unknown;
    for (let i = 0; i < 5; i++) {
      try {
        return await settled(attempt);
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  }

  const alive = async (given: NodeClaim) =>
    (await provider.list()).filter(
      ({ tags, state }) => tags['stowage.dev/nodeclaim-uid'] === given.metadata.uid && state !== 'shutting-down',
    );

  /** Launch, tags, termination, until the instance is gone. Gives what was launched. */
  async function life(given: NodeClaim): Promise<LaunchedInstance> {
    let attempts = 0;
    const result = await insist(() => provider.launch(requestFor(given, ready, attempts++ === 0)));
    if (!result.ok) throw new Error(result.error.message);
    const { providerId, instanceId } = result.value;
    const found = await settled(
      () => alive(given),
      (all) => all.length > 0,
    );
    expect(found.map((instance) => instance.instanceId)).toEqual([instanceId]);
    await insist(() => provider.tag(providerId, { Name: 'node' }));
    await insist(() => provider.terminate(providerId));
    expect(await alive(given)).toEqual([]);
    return result.value;
  }

  const given = (capacity: readonly string[]): NodeClaim =>
    claim([
      type,
      need('karpenter.sh/capacity-type', ...capacity),
      need('topology.kubernetes.io/zone', `${stack().region}a`),
    ]);

  test.each(Object.keys(paths) as (keyof typeof paths)[])(
    "%s: whichever call's answer is lost, there is one instance",
    async (path) => {
      const { capacity, scripted } = paths[path];
      await scripted();
      ready = await resolveAnew();
      await cloud().clearRequests();
      const { capacityType } = await life(given(capacity));
      const actions = [...new Set((await cloud().requests({ service: 'ec2' })).map(({ action }) => action))];
      expect(actions).toEqual(
        expect.arrayContaining(['CreateFleet', 'CreateLaunchTemplate', 'CreateTags', 'TerminateInstances']),
      );
      for (const action of actions) {
        shift(75 * 60_000);
        await cloud().addFault({ kind: 'lost', action, times: 1 });
        const again = await life(given(capacity));
        expect({ action, capacityType: again.capacityType }).toEqual({ action, capacityType });
        await cloud().clearFaults();
      }
    },
  );
});

describe('a lost CreateFleet answer, and a next attempt with other parameters', () => {
  const zone = () => `${stack().region}a`;
  const types = need('node.kubernetes.io/instance-type', 'm5.large', 'm5.xlarge');
  const onDemand = need('karpenter.sh/capacity-type', 'on-demand');
  const given = (): NodeClaim => claim([types, onDemand, need('topology.kubernetes.io/zone', zone())]);
  const largeIsOut = () => ({
    instanceType: 'm5.large',
    zone: zone(),
    capacityType: 'on-demand',
    reason: 'InsufficientInstanceCapacity',
  });
  const launched = async (own: NodeClaim): Promise<string[]> =>
    (await cloud().instances())
      .filter(({ tags }) => tags['stowage.dev/nodeclaim-uid'] === own.metadata.uid)
      .map(({ id }) => id);

  /** A node class whose dry runs are over; the answer to the first launch is lost. */
  const prepared = async (provider: CloudProvider, name: string): Promise<EC2NodeClass> => {
    const ready = await resolved(provider, nodeClass(stack(), {}, name));
    await cloud().clearRequests();
    await cloud().addFault({ kind: 'lost', action: 'CreateFleet', times: 1 });
    return ready;
  };

  beforeEach(async () => {
    await cloud().reset();
    await cloud().configure(briefLags);
  });
  afterAll(() => cloud().reset());

  test('without capacity: the first request is repeated with its own parameters, then a new one is made', async () => {
    const { provider } = awsProvider(stack());
    const ready = await prepared(provider, 'tokens-a');
    const own = given();
    await cloud().setPools([{ instanceType: 'm5.*' }]);
    await expect(provider.launch(requestFor(own, ready))).rejects.toThrow(/no instance of the claim is visible/);
    await cloud().setPools([]);
    provider.markUnavailable([largeIsOut()]);

    await expect(provider.launch(requestFor(own, ready, false))).resolves.toMatchObject({ ok: false });
    expect(await launched(own)).toEqual([]);
    const codes = (await cloud().requests({ action: 'CreateFleet' })).map(({ error }) => error);
    expect(codes).not.toContain('IdempotentParameterMismatch');
  });

  test('without capacity, the process restarted: a new token is used once an instance would be visible', async () => {
    const { provider: dead } = awsProvider(stack());
    const { provider, shift } = awsProvider(stack());
    const ready = await prepared(provider, 'tokens-b');
    const own = given();
    await cloud().setPools([{ instanceType: 'm5.*' }]);
    await expect(dead.launch(requestFor(own, ready))).rejects.toThrow(/no instance of the claim is visible/);
    await cloud().setPools([]);
    provider.markUnavailable([largeIsOut()]);

    const again = () => provider.launch(requestFor(own, ready, false));
    await expect(again()).rejects.toThrow(/IdempotentParameterMismatch/);
    shift(60_000);
    await expect(again()).rejects.toThrow(/IdempotentParameterMismatch/);
    await expect(again()).resolves.toMatchObject({ ok: true, value: { instanceType: 'm5.xlarge' } });
    expect(await launched(own)).toHaveLength(1);
  });

  test('with capacity, the process restarted: the instance is waited for, and no second one is launched', async () => {
    const { provider: dead } = awsProvider(stack());
    const { provider } = awsProvider(stack());
    const ready = await prepared(provider, 'tokens-c');
    const own = given();
    await cloud().configure({ visibleAfterMs: 3_600_000 });
    await expect(dead.launch(requestFor(own, ready))).rejects.toThrow(/no instance of the claim is visible/);
    provider.markUnavailable([largeIsOut()]);

    const again = () => provider.launch(requestFor(own, ready, false));
    await expect(again()).rejects.toThrow(/no instance of the claim is visible/);
    await cloud().configure({ visibleAfterMs: 0, tagsAfterMs: 0 });
    const [first] = await launched(own);
    await expect(again()).resolves.toMatchObject({ ok: true, value: { instanceId: first } });
    expect(await launched(own)).toHaveLength(1);
  });
});

describe('AWS input that cannot work', () => {
  const statusOf = async (provider: CloudProvider, given: EC2NodeClass) =>
    (await provider.resolveNodeClass(given)).status as EC2NodeClassStatus;
  beforeEach(async () => {
    await cloud().reset();
    await cloud().configure(briefLags);
  });
  afterAll(() => cloud().reset());

  test.each([
    ['ExpiredToken', 403, 'expired credentials'],
    ['AuthFailure', 401, 'credentials of another region'],
    ['UnauthorizedOperation', 403, 'a denied permission'],
  ])('%s: every condition names its call, and all are True again afterwards', async (code, status) => {
    const { provider } = awsProvider(stack());
    await cloud().addFault({ kind: 'error', service: 'ec2', action: '*', code, status, times: 0 });
    const broken = await statusOf(provider, nodeClass(stack(), {}, `denied-${code.toLowerCase()}`));
    expect(isTrue(broken.conditions, 'Ready')).toBe(false);
    for (const [condition, call] of [
      ['SubnetsReady', 'ec2:DescribeSubnets'],
      ['SecurityGroupsReady', 'ec2:DescribeSecurityGroups'],
      ['AMIsReady', 'ec2:DescribeImages'],
    ] as const) {
      expect(conditionOf(broken.conditions, condition)).toMatchObject({ status: 'False', reason: 'Unauthorized' });
      expect(conditionOf(broken.conditions, condition)?.message).toContain(call);
      expect(conditionOf(broken.conditions, condition)?.message).toContain(code);
    }
    await cloud().clearFaults();
    const mended = await statusOf(provider, nodeClass(stack(), {}, `denied-${code.toLowerCase()}`));
    expect(conditionOf(mended.conditions, 'SubnetsReady')).toMatchObject({ status: 'True' });
  });

  test.each([
    [{ subnetSelectorTerms: [{ id: 'subnet-0deleted0' }] }, 'SubnetsReady', /ec2:DescribeSubnets .*subnet-0deleted0/],
    [
      { amiFamily: 'AL2023' as const, amiSelectorTerms: [{ id: 'ami-0gone0000' }] },
      'AMIsReady',
      /ec2:DescribeImages .*ami-0gone0000/,
    ],
    [{ role: 'no-such-role' }, 'InstanceProfileReady', /role no-such-role does not exist/],
  ])('%j: the condition names call and resource, and another node class stays Ready', async (spec, type, message) => {
    const { provider } = awsProvider(stack(), {}, 'role' in spec ? 'local' : 'stowage');
    const [broken, sound] = await Promise.all([
      statusOf(provider, nodeClass(stack(), spec, 'broken')),
      statusOf(provider, nodeClass(stack(), {}, 'sound')),
    ]);
    expect(conditionOf(broken.conditions, type)).toMatchObject({ status: 'False' });
    expect(conditionOf(broken.conditions, type)?.message).toMatch(message);
    expect(isTrue(sound.conditions, 'SubnetsReady') && isTrue(sound.conditions, 'AMIsReady')).toBe(true);
  });

  test('a subnet deleted after it was resolved fails the launch with its name, and launches nothing', async () => {
    const { provider } = awsProvider(stack());
    const ready = await resolved(provider, nodeClass(stack(), {}, 'stale'));
    const zone = ready.status!.subnets![0]!.zone;
    const stale = { ...ready, status: { ...ready.status, subnets: [{ id: 'subnet-0123456789abcdef0', zone }] } };
    const given = claim([type]);
    const failure = await provider.launch(requestFor(given, stale)).catch((error: unknown) => error);
    expect(isDomainError(failure, 'LaunchFailed')).toBe(true);
    expect((failure as Error).message).toMatch(/ec2:CreateFleet.*subnet-0123456789abcdef0/);
    const uids = (await provider.list()).map(({ tags }) => tags['stowage.dev/nodeclaim-uid']);
    expect(uids).not.toContain(given.metadata.uid);
  });
});

test('in a shifted zone nothing is launched, terminated or tagged, and existing instances stay (zonal-shift/shifted-zone)', async () => {
  await cloud().reset();
  await cloud().configure(briefLags);
  const { provider, shift } = awsProvider(stack(), { zonalShift: true });
  const ready = await resolved(provider, nodeClass(stack(), {}, 'shifted'));
  const zone = `${stack().region}a`;
  const inZone = need('topology.kubernetes.io/zone', zone);
  const launched = await provider.launch(requestFor(claim([type, inZone]), ready));
  if (!launched.ok) throw new Error(launched.error.message);
  const { providerId } = launched.value;
  const listed = async () => (await provider.list()).map((instance) => instance.providerId);
  expect(await settled(listed, (ids) => ids.includes(providerId))).toContain(providerId);

  const zoneId = ready.status!.subnets!.find((subnet) => subnet.zone === zone)!.zoneID!;
  await cloud().configure({ shiftedZones: [zoneId] });
  shift(31_000);
  await cloud().clearRequests();
  for (const call of [() => provider.terminate(providerId), () => provider.tag(providerId, { Name: 'node' })]) {
    const failure = await call().catch((error: unknown) => error);
    expect(isDomainError(failure, 'Unavailable')).toBe(true);
    expect((failure as Error).message).toContain(`a zonal shift leads away from ${zone}`);
  }
  expect(await provider.get(providerId)).toMatchObject({ providerId });
  const anywhere = { ...pool, spec: { template: { spec: { requirements: [] } } } } as unknown as NodePool;
  const reasons = async () =>
    (await provider.poolEvents!([{ pool: anywhere, nodeClass: ready }])).map(({ reason }) => reason);
  expect(await reasons()).toEqual(['ZonalShiftActive']);
  expect(await reasons()).toEqual([]);
  expect(await cloud().requests({ service: 'ec2', action: 'DescribeInstances' })).toEqual([]);
  const offerings = (await provider.instanceTypes(pool, ready)).find(({ name }) => name === 'm5.large')!.offerings;
  const usable = offerings.filter(({ available }) => available).flatMap(({ requirements }) => requirements);
  expect(usable.flatMap(({ values }) => values ?? [])).not.toContain(zone);
  expect(await provider.launch(requestFor(claim([type, inZone]), ready))).toMatchObject({ ok: false });
  expect(await provider.launch(requestFor(claim([type]), ready))).toMatchObject({ ok: true });

  await cloud().configure({ shiftedZones: [] });
  shift(31_000);
  expect(await provider.terminate(providerId)).toBe('terminating');
  expect(await reasons()).toEqual(['ZonalShiftCleared']);
});
