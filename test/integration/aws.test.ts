import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { conditionOf, isTrue } from '../../core/conditions.js';
import { isDomainError } from '../../core/failures.js';
import type { EC2NodeClass, EC2NodeClassStatus } from '../../api/aws/ec2-node-class.js';
import { readMime } from '../../cloud/aws/user-data/mime.js';
import { createInterruptionActivities } from '../../activities/interruption/inspect-instance.js';
import { createActivityWorld } from '../builders/activity-world.js';
import { describeCloudProvider } from '../contracts/cloud.js';
import type { CloudInstance, CloudProvider, LaunchedInstance } from '../../cloud/port.js';
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
import type { InterruptionNotice } from '../../core/interruption-kinds.js';

// A provider reads the whole catalogue of a region before its first launch.
const { stack, cloud } = useCloud();

/** The instance, once EC2 shows it. */
const described = (provider: CloudProvider, providerId: string) =>
  settled(
    () => provider.get(providerId),
    (found) => found !== undefined,
  );

describeCloudProvider('aws', async () => {
  // What providers are held to holds for every instance type that EC2 has.
  await cloud().configure({ ...briefLags, instanceFamilies: null });
  const { provider } = awsProvider(stack());
  const ready = await resolved(provider, nodeClass(stack()));
  const types = ['m5.large', 'm5.xlarge', 'c5.large'];
  return {
    provider,
    pool,
    nodeClass: ready,
    claim: (name, instanceTypes) => {
      const given = claim([need('node.kubernetes.io/instance-type', ...(instanceTypes ?? types))]);
      return { ...given, metadata: { ...given.metadata, name, uid: `contract-${process.pid}-${name}` } };
    },
    exhaust: (instanceType) => cloud().setPools([{ instanceType }]),
    shown: async (providerId) => {
      const tagged = (all: readonly CloudInstance[]): boolean => all.some((each) => each.providerId === providerId);
      await settled(() => provider.list(), tagged);
    },
  };
});

describe('EC2 launches', () => {
  let provider: CloudProvider;
  let shift: (ms: number) => void;
  let ready: EC2NodeClass;

  beforeAll(async () => {
    ({ provider, shift } = awsProvider(stack()));
    ready = await resolved(provider, nodeClass(stack()));
    // Loads types and prices, so that tests see the requests of launches alone.
    await provider.instanceTypes(pool, ready);
  });
  beforeEach(async () => {
    await cloud().reset();
    await cloud().configure(briefLags);
    await cloud().clearRequests();
    // What earlier tests found out of capacity is forgotten, pauses for refusing again included.
    shift(75 * 60_000);
  });
  afterAll(() => cloud().reset());

  const requests = (action: string) => cloud().requests({ service: 'ec2', action });
  /** The instances of a claim, of which there is one at least. */
  const instancesOf = (uid: string | undefined) =>
    settled(
      async () => (await provider.list()).filter((instance) => instance.tags['stowage.dev/nodeclaim-uid'] === uid),
      (found) => found.length > 0,
    );
  /** What the cloud launched for a claim, whether EC2 shows it yet or not. */
  const launchedFor = async (uid: string | undefined) =>
    (await cloud().instances()).filter(({ tags }) => tags['stowage.dev/nodeclaim-uid'] === uid);
  const spotOrOnDemand = need('karpenter.sh/capacity-type', 'spot', 'on-demand');
  const amd64 = need('kubernetes.io/arch', 'amd64');

  // Rules `launch/fleet-request`, `launch/tags`, `instance-types/offerings`.
  test("one CreateFleet asks for up to 60 types in every zone, with the claim's tags and token", async () => {
    const given = claim([need('karpenter.sh/capacity-type', 'spot'), amd64], { cpu: '1500m', memory: '3Gi' });
    const result = await provider.launch(requestFor(given, ready));
    if (!result.ok) throw new Error(result.error.message);
    expect(result.value).toMatchObject({
      capacityType: 'spot',
      labels: {
        'karpenter.sh/nodepool': 'general',
        'karpenter.k8s.aws/ec2nodeclass': 'default',
        'kubernetes.io/arch': 'amd64',
      },
      annotations: { 'karpenter.k8s.aws/ec2nodeclass-hash-version': 'stowage-v1' },
    });
    const [fleet, ...more] = await requests('CreateFleet');
    expect(more).toEqual([]);
    const params = fleet!.params as Record<string, unknown> & {
      LaunchTemplateConfigs: Record<
        string,
        { Overrides: Record<string, { InstanceType: string; AvailabilityZone: string }> }
      >;
      TagSpecification?: unknown;
    };
    expect(params).toMatchObject({
      Type: 'instant',
      ClientToken: given.metadata.uid,
      TargetCapacitySpecification: { DefaultTargetCapacityType: 'spot', TotalTargetCapacity: '1' },
      SpotOptions: { AllocationStrategy: 'price-capacity-optimized' },
    });
    const overrides = Object.values(params.LaunchTemplateConfigs).flatMap((config) => Object.values(config.Overrides));
    expect(new Set(overrides.map((override) => override.InstanceType)).size).toBe(60);
    expect(new Set(overrides.map((override) => override.AvailabilityZone)).size).toBe(3);
    expect(new Set(overrides.map((each) => `${each.InstanceType}/${each.AvailabilityZone}`)).size).toBe(
      overrides.length,
    );
    const [instance] = await instancesOf(given.metadata.uid);
    expect(instance?.tags).toMatchObject({
      [`kubernetes.io/cluster/${stack().cluster}`]: 'owned',
      'eks:eks-cluster-name': stack().cluster,
      'karpenter.sh/nodepool': 'general',
      'karpenter.sh/nodeclaim': given.metadata.name,
      'karpenter.k8s.aws/ec2nodeclass': 'default',
    });
  });

  // Rule `launch-templates/identity`.
  test('the launch template has what a node needs, and equal launches share it', async () => {
    const type = need('node.kubernetes.io/instance-type', 'r5.large');
    // Beyond the time for which a template is trusted to be there.
    shift(6 * 60_000);
    await provider.launch(requestFor(claim([type]), ready));
    await provider.launch(requestFor(claim([type]), ready));
    const templates = await requests('CreateLaunchTemplate');
    expect(templates).toHaveLength(1);
    const { LaunchTemplateData: data } = templates[0]!.params as { LaunchTemplateData: Record<string, unknown> };
    expect(data).toMatchObject({
      ImageId: ready.status!.amis![0]!.id,
      IamInstanceProfile: { Name: ready.status!.instanceProfile },
      BlockDeviceMapping: {
        '1': { DeviceName: '/dev/xvda', Ebs: { Encrypted: 'true', VolumeType: 'gp3', VolumeSize: '20' } },
      },
      MetadataOptions: {
        HttpEndpoint: 'enabled',
        HttpProtocolIpv6: 'disabled',
        HttpPutResponseHopLimit: '1',
        HttpTokens: 'required',
        InstanceMetadataTags: 'disabled',
      },
      NetworkInterface: { '1': { DeviceIndex: '0', SecurityGroupId: { '1': ready.status!.securityGroups![0]!.id } } },
    });
    const [part] = readMime(Buffer.from(String(data['UserData']), 'base64').toString('utf8'));
    expect(part?.contentType).toBe('application/node.eks.aws');
    for (const text of [
      'team=blue',
      'example.com/starting',
      'karpenter.sh/unregistered',
      'https://cluster.example',
      'maxPods: 29',
    ]) {
      expect(part?.body).toContain(text);
    }
  });

  test('59 of 60 types out of capacity take one CreateFleet', async () => {
    const types = (await provider.instanceTypes(pool, ready))
      .filter((type) => type.offerings.some((offering) => offering.available))
      .filter((type) => /^[cmr][567]\w*\.(large|xlarge|2xlarge)$/.test(type.name))
      .filter((type) =>
        type.requirements.some((each) => each.key === 'kubernetes.io/arch' && each.values?.[0] === 'amd64'),
      )
      .map((type) => type.name)
      .slice(0, 60);
    expect(types).toHaveLength(60);
    await cloud().setPools(types.slice(0, 59).map((instanceType) => ({ instanceType, capacityType: 'spot' as const })));
    const spot = need('karpenter.sh/capacity-type', 'spot');
    const result = await provider.launch(
      requestFor(claim([spot, need('node.kubernetes.io/instance-type', ...types)]), ready),
    );
    expect(result).toMatchObject({ ok: true, value: { instanceType: types[59], capacityType: 'spot' } });
    expect(await requests('CreateFleet')).toHaveLength(1);
  });

  test('pools that refused are unavailable although the launch succeeded (launch/unavailable-offerings)', async () => {
    await cloud().setPools([{ instanceType: 'm5.large', capacityType: 'spot' }]);
    const types = need('node.kubernetes.io/instance-type', 'm5.large', 'm5.xlarge');
    const result = await provider.launch(requestFor(claim([need('karpenter.sh/capacity-type', 'spot'), types]), ready));
    if (!result.ok) throw new Error(result.error.message);
    expect(result.value.instanceType).toBe('m5.xlarge');
    expect(result.value.unavailable).toContainEqual(
      expect.objectContaining({
        instanceType: 'm5.large',
        capacityType: 'spot',
        reason: 'InsufficientInstanceCapacity',
      }),
    );
    const offerings = async () =>
      (await provider.instanceTypes(pool, ready))
        .find((type) => type.name === 'm5.large')!
        .offerings.filter((offering) => offering.requirements.some((each) => each.values?.[0] === 'spot'));
    expect((await offerings()).map((offering) => offering.available)).toEqual([false, false, false]);
    shift(3 * 60_000 + 1);
    expect((await offerings()).map((offering) => offering.available)).toEqual([true, true, true]);
  });

  test('without spot capacity the same launch takes on-demand', async () => {
    await cloud().setPools([{ capacityType: 'spot' }]);
    const types = need('node.kubernetes.io/instance-type', 'm5.large', 'c5.large');
    const given = claim([spotOrOnDemand, types]);
    const result = await provider.launch(requestFor(given, ready));
    expect(result).toMatchObject({ ok: true, value: { capacityType: 'on-demand', instanceType: 'c5.large' } });
    if (result.ok) expect(result.value.unavailable.map((offering) => offering.capacityType)).toContain('spot');
    const tokens = (await requests('CreateFleet')).map(
      (request) => (request.params as { ClientToken: string }).ClientToken,
    );
    expect(tokens).toEqual([given.metadata.uid, `${given.metadata.uid!}-od`]);
  });

  test.each([
    ['InternalError', 'LaunchFailed'],
    ['RequestLimitExceeded', 'Throttled'],
  ] as const)('%s within the fleet is %s, and the next attempt has another token', async (code, failure) => {
    await cloud().setPools([{ instanceType: 'm5.large', code }]);
    const given = claim([
      need('karpenter.sh/capacity-type', 'on-demand'),
      need('node.kubernetes.io/instance-type', 'm5.large'),
    ]);
    const error = await provider.launch(requestFor(given, ready)).catch((caught: unknown) => caught);
    expect(isDomainError(error, failure)).toBe(true);
    expect(await launchedFor(given.metadata.uid)).toEqual([]);
    await cloud().setPools([]);
    expect(await provider.launch(requestFor(given, ready, false))).toMatchObject({ ok: true });
    const tokens = (await requests('CreateFleet')).map(({ params }) => (params as { ClientToken: string }).ClientToken);
    expect(tokens).toEqual([`${given.metadata.uid!}-od`, `${given.metadata.uid!}-od-1`]);
    expect(await instancesOf(given.metadata.uid)).toHaveLength(1);
  });

  // Rule `interruption/restarted`.
  test('a notice on a NodeClaim counts where EC2 confirms it: of a spot instance, or of one that ends', async () => {
    const world = await createActivityWorld();
    const interruptions = createInterruptionActivities({ ...world.deps, cloud: provider });
    const launchAs = async (capacityType: string): Promise<LaunchedInstance> => {
      const given = claim([need('karpenter.sh/capacity-type', capacityType)]);
      const result = await provider.launch(requestFor(given, ready));
      if (!result.ok) throw new Error(result.error.message);
      await described(provider, result.value.providerId);
      world.kube.put('NodeClaim', { ...given, status: { providerID: result.value.providerId } });
      await world.synced();
      return result.value;
    };
    const judged = async ({ instanceId }: LaunchedInstance, kind: string): Promise<string> =>
      (await interruptions.inspectInstance({ instanceId, kind, at: world.clock.now, toConfirm: true })).state;
    const onDemand = await launchAs('on-demand');
    const spot = await launchAs('spot');

    for (const kind of ['spot_interrupted', 'instance_stopped', 'instance_terminated'])
      expect(await judged(onDemand, kind)).toBe('refuted');
    expect(await judged(spot, 'capacity_reservation_interrupted')).toBe('refuted');
    expect(await judged(spot, 'spot_interrupted')).toBe('known');

    await provider.terminate(onDemand.providerId);
    await settled(
      () => provider.get(onDemand.providerId),
      (found) => found?.state !== 'running',
    );
    expect(await judged(onDemand, 'instance_terminated')).toBe('known');
    world.stop();
  });

  // Rule `instance-types/efa`.
  test('a claim has EFA interfaces only where it requests them', async () => {
    const type = need('node.kubernetes.io/instance-type', 'c5n.18xlarge');
    const without = await provider.launch(requestFor(claim([type]), ready));
    const efa = 'vpc.amazonaws.com/efa';
    const having = await provider.launch(requestFor(claim([type], { cpu: '1', [efa]: '1' }), ready));
    if (!without.ok || !having.ok) throw new Error('not launched');
    expect([without.value.capacity[efa], without.value.allocatable[efa]]).toEqual([undefined, undefined]);
    expect([having.value.capacity[efa], having.value.allocatable[efa]]).toEqual([1, 1]);
  });

  test('without any capacity the launch is refused with every offering named, and no instance exists (launch/no-capacity)', async () => {
    await cloud().setPools([{}]);
    const given = claim([spotOrOnDemand, need('node.kubernetes.io/instance-type', 'm5.large')]);
    const result = await provider.launch(requestFor(given, ready));
    if (result.ok) throw new Error('launched');
    expect(result.error.kind).toBe('InsufficientCapacity');
    expect(result.error.message).toContain('InsufficientInstanceCapacity');
    expect(result.error.unavailable).toHaveLength(6);
    expect(await launchedFor(given.metadata.uid)).toEqual([]);
    const again = await provider.launch(
      requestFor(claim([need('node.kubernetes.io/instance-type', 'm5.large')]), ready),
    );
    expect(again).toMatchObject({ ok: false });
    expect(await requests('CreateFleet')).toHaveLength(2);
  });

  test('a zone is unavailable only when all its subnets are exhausted (launch/exhausted-subnets)', async () => {
    const subnets = ready.status!.subnets!;
    await cloud().configure({ freeAddresses: { [subnets[0]!.id]: 0 } });
    const zone = need('topology.kubernetes.io/zone', subnets[0]!.zone);
    const type = need('node.kubernetes.io/instance-type', 'm5.large');
    const result = await provider.launch(requestFor(claim([type, zone]), ready));
    if (result.ok) throw new Error('launched');
    const types = await provider.instanceTypes(pool, ready);
    const reasons = types
      .find((each) => each.name === 'm5.large')!
      .offerings.filter((offering) => !offering.available)
      .map((offering) => offering.unavailableReason);
    expect(reasons).toEqual(['no subnet of the zone has free addresses', 'no subnet of the zone has free addresses']);
    const elsewhere = await provider.launch(requestFor(claim([type]), ready));
    expect(elsewhere).toMatchObject({ ok: true });
  });

  test('with a price overlay EC2 gets priorities instead of choosing by its own prices (launch/overlaid-prices)', async () => {
    const overlaid = (given: ReturnType<typeof claim>) => ({
      ...given,
      metadata: { ...given.metadata, annotations: { 'karpenter.sh/price-overlay-applied': 'true' } },
    });
    const types = need('node.kubernetes.io/instance-type', 'm5.large', 'c5.large');
    for (const [capacityType, strategy] of [
      ['spot', { SpotOptions: { AllocationStrategy: 'capacity-optimized-prioritized' } }],
      ['on-demand', { OnDemandOptions: { AllocationStrategy: 'prioritized' } }],
    ] as const) {
      await cloud().clearRequests();
      const given = overlaid(claim([types, need('karpenter.sh/capacity-type', capacityType)]));
      expect(await provider.launch(requestFor(given, ready))).toMatchObject({ ok: true });
      const [fleet] = await requests('CreateFleet');
      expect(fleet?.params).toMatchObject(strategy);
      expect(JSON.stringify(fleet?.params)).toMatch(/"Priority":"0\.\d+"/);
    }
  });

  test('ten equal launches are ten requests, each with its own token (launch/one-request-a-claim)', async () => {
    const claims = Array.from({ length: 10 }, () => claim([need('node.kubernetes.io/instance-type', 'm5.large')]));
    const launched = await Promise.all(claims.map((given) => provider.launch(requestFor(given, ready))));
    expect(launched.every(({ ok }) => ok)).toBe(true);
    const fleets = await requests('CreateFleet');
    const tokens = fleets.map(({ params }) => (params as { ClientToken: string }).ClientToken);
    expect(new Set(tokens)).toEqual(new Set(claims.map(({ metadata }) => metadata.uid)));
    expect(fleets).toHaveLength(10);
    const ids = launched.map((result) => (result.ok ? result.value.instanceId : ''));
    expect(new Set(ids).size).toBe(10);
  });

  test('a deleted launch template is created again, once (launch/lost-template)', async () => {
    const type = need('node.kubernetes.io/instance-type', 'c5.xlarge');
    await provider.launch(requestFor(claim([type]), ready));
    await awsProvider(stack()).provider.cleanUpNodeClass({ ...ready, metadata: { name: 'default', uid: 'another' } });
    await cloud().clearRequests();
    const result = await provider.launch(requestFor(claim([type]), ready));
    expect(result.ok).toBe(true);
    expect(await requests('CreateFleet')).toHaveLength(2);
    expect(await requests('CreateLaunchTemplate')).toHaveLength(1);
  });

  test('a node class that is outdated, not ready or unknown refuses a launch (launch/node-class-not-ready)', async () => {
    const ahead = { ...ready, metadata: { ...ready.metadata, generation: 2 } };
    expect(await provider.launch(requestFor(claim(), ahead))).toMatchObject({
      ok: false,
      error: { kind: 'NodeClassNotReady' },
    });
    const unresolved = { ...ready, status: {} };
    const failure = await provider.launch(requestFor(claim(), unresolved)).catch((error: unknown) => error);
    expect(isDomainError(failure, 'LaunchFailed')).toBe(true);
    expect(await requests('CreateFleet')).toEqual([]);
  });

  test.each(['CreateLaunchTemplate', 'CreateFleet', 'DescribeInstances', 'DescribeSubnets'])(
    'a lost answer to %s leaves one instance',
    async (action) => {
      await cloud().addFault({ kind: 'lost', action });
      const given = claim([
        need('node.kubernetes.io/instance-type', 'm6i.large'),
        need('karpenter.sh/capacity-type', 'spot'),
      ]);
      shift(6 * 60_000);
      const first = await provider.launch(requestFor(given, ready, false)).catch((error: unknown) => error);
      const again = await provider.launch(requestFor(given, ready, false));
      if (!again.ok) throw new Error(`${again.error.message}; before: ${String(first)}`);
      expect(await instancesOf(given.metadata.uid)).toHaveLength(1);
    },
  );

  test('a CreateFleet whose answer was lost and whose instance is not visible yet is found later, by another process too', async () => {
    await cloud().configure({ visibleAfterMs: 60_000 });
    await cloud().addFault({ kind: 'lost', action: 'CreateFleet' });
    const given = claim([need('node.kubernetes.io/instance-type', 'm6i.large')]);
    const failure = await provider.launch(requestFor(given, ready)).catch((error: unknown) => error);
    expect(isDomainError(failure, 'LaunchFailed')).toBe(true);
    // Not seen, and asked with other parameters: EC2 remembers the token and launches nothing.
    const other = { ...given, spec: { ...given.spec, resources: { requests: { cpu: '1900m' } } } };
    const narrowed = { ...ready, status: { ...ready.status, subnets: ready.status!.subnets!.slice(0, 1) } };
    const second = await awsProvider(stack())
      .provider.launch(requestFor(other, narrowed, false))
      .catch((error: unknown) => error);
    expect(isDomainError(second, 'LaunchFailed')).toBe(true);
    await cloud().configure({ visibleAfterMs: 0, tagsAfterMs: 0 });
    const found = await awsProvider(stack()).provider.launch(requestFor(given, ready, false));
    expect(found.ok).toBe(true);
    expect(await instancesOf(given.metadata.uid)).toHaveLength(1);
  });

  test('60 parallel throttled launches end with one instance each', async () => {
    await cloud().configure({ rateLimits: { CreateFleet: { perSecond: 20, burst: 20 } } });
    const claims = Array.from({ length: 60 }, () => claim([need('node.kubernetes.io/instance-type', 'm5.large')]));
    const launchAll = (given: readonly (typeof claims)[number][], first: boolean) =>
      Promise.allSettled(given.map((each) => provider.launch(requestFor(each, ready, first))));
    let outcomes = await launchAll(claims, true);
    for (let round = 0; round < 20 && outcomes.some((outcome) => outcome.status === 'rejected'); round++) {
      outcomes = await launchAll(claims, false);
    }
    expect(outcomes.every((outcome) => outcome.status === 'fulfilled' && outcome.value.ok)).toBe(true);
    const uids = new Set(claims.map((each) => each.metadata.uid));
    const launched = await settled(
      async () => (await provider.list()).filter((instance) => uids.has(instance.tags['stowage.dev/nodeclaim-uid'])),
      (found) => found.length >= 60,
    );
    expect(launched).toHaveLength(60);
  });
});

describe('EC2 node classes', () => {
  const statusOf = async (spec: Partial<EC2NodeClass['spec']>, name = 'default', version = 'v1.32.1') => {
    // The policy of an installation names one role: another role has another policy too.
    const key = spec.role === undefined ? 'stowage' : 'local';
    const { provider } = awsProvider(stack(), { kubernetesVersion: () => Promise.resolve(version) }, key);
    return (await resolved(provider, nodeClass(stack(), spec, name))).status!;
  };
  beforeEach(async () => {
    await cloud().reset();
    await cloud().configure(briefLags);
  });

  // Rules `node-classes/images`, `launch-templates/image-of-a-type`.
  test.each(['al2023@latest', 'al2@latest', 'bottlerocket@latest', 'windows2022@latest'])(
    'AMI alias %s resolves to its images',
    async (alias) => {
      const status = await statusOf({ amiSelectorTerms: [{ alias }] });
      expect(isTrue(status.conditions, 'Ready')).toBe(true);
      expect(status.amis!.length).toBeGreaterThan(0);
      const { provider } = awsProvider(stack(), { kubernetesVersion: () => Promise.resolve('v1.32.1') });
      const ready = await resolved(provider, nodeClass(stack(), { amiSelectorTerms: [{ alias }] }));
      const result = await provider.launch(
        requestFor(claim([need('node.kubernetes.io/instance-type', 'm5.large')]), ready),
      );
      expect(result).toMatchObject({ ok: true, value: { imageId: expect.stringMatching(/^ami-/) } });
    },
  );

  // Rule `node-classes/ready`.
  test.each([
    [{ subnetSelectorTerms: [{ id: 'subnet-0123456789abcdef0' }] }, 'SubnetsReady', 'SubnetsNotFound'],
    [{ securityGroupSelectorTerms: [{ tags: { no: 'such' } }] }, 'SecurityGroupsReady', 'SecurityGroupsNotFound'],
    [{ amiFamily: 'AL2023' as const, amiSelectorTerms: [{ id: 'ami-0123456789abcdef0' }] }, 'AMIsReady', 'AMINotFound'],
    [{ role: 'no-such-role' }, 'InstanceProfileReady', 'NodeRoleNotFound'],
    [{ role: undefined, instanceProfile: 'no-such-profile' }, 'InstanceProfileReady', 'InstanceProfileNotFound'],
    [
      { kubelet: { evictionSoft: { 'memory.available': '1Gi' } } },
      'ValidationSucceeded',
      'InvalidKubeletConfiguration',
    ],
  ])('%j: %s is False for %s, and the other conditions stay', async (spec, type, reason) => {
    const status = await statusOf(spec, `broken-${reason.toLowerCase()}`);
    expect(conditionOf(status.conditions, type)).toMatchObject({ status: 'False', reason });
    expect(isTrue(status.conditions, 'Ready')).toBe(false);
    const others = ['SubnetsReady', 'SecurityGroupsReady', 'AMIsReady', 'InstanceProfileReady'].filter(
      (each) => each !== type,
    );
    expect(others.every((each) => isTrue(status.conditions, each))).toBe(true);
  });

  // Rule `node-classes/unsupported-alias`.
  test('the al2 alias is unsupported from Kubernetes 1.33 on', async () => {
    const status = await statusOf({ amiSelectorTerms: [{ alias: 'al2@latest' }] }, 'old', 'v1.33.0');
    expect(conditionOf(status.conditions, 'AMIsReady')).toMatchObject({ status: 'False', reason: 'UnsupportedAlias' });
  });

  test('a denied call is named, and what other calls resolved stays', async () => {
    await cloud().addFault({
      kind: 'error',
      action: 'DescribeSubnets',
      code: 'UnauthorizedOperation',
      status: 403,
      times: 0,
    });
    const status = await statusOf({});
    const condition = conditionOf(status.conditions, 'SubnetsReady');
    expect(condition).toMatchObject({ status: 'False', reason: 'Unauthorized' });
    expect(condition?.message).toContain('ec2:DescribeSubnets');
    expect(isTrue(status.conditions, 'AMIsReady')).toBe(true);
  });

  // Rule `node-classes/dry-run`.
  test.each([
    ['CreateFleet', 'CreateFleetAuthCheckFailed'],
    ['RunInstances', 'RunInstancesAuthCheckFailed'],
    ['CreateLaunchTemplate', 'CreateLaunchTemplateAuthCheckFailed'],
  ])('a dry run finds that %s is denied', async (action, reason) => {
    await cloud().addFault({ kind: 'error', action, code: 'UnauthorizedOperation', status: 403, times: 0 });
    // A launch template that no other test uses, so that it has to be created.
    const status = await statusOf({ userData: `echo ${action}` }, `denied-${action.toLowerCase()}`);
    const condition = conditionOf(status.conditions, 'ValidationSucceeded');
    expect(condition).toMatchObject({ status: 'False', reason });
    expect(condition?.message).toContain(`ec2:${action}`);
  });

  test('dry runs launch nothing, and are not repeated while nothing changes', async () => {
    const { provider } = awsProvider(stack());
    const ready = await resolved(provider, nodeClass(stack(), {}, 'tried-once'));
    expect(isTrue(ready.status?.conditions, 'Ready')).toBe(true);
    const ours = (await provider.list()).filter((each) => each.tags['karpenter.k8s.aws/ec2nodeclass'] === 'tried-once');
    expect(ours).toEqual([]);
    await cloud().clearRequests();
    await provider.resolveNodeClass(ready);
    expect(await cloud().requests({ service: 'ec2', action: 'CreateFleet' })).toEqual([]);
  });

  test('an outage of AWS changes nothing of a resolved node class', async () => {
    const { provider } = awsProvider(stack());
    const ready = await resolved(provider, nodeClass(stack()));
    await cloud().addFault({
      kind: 'error',
      service: 'ec2',
      action: '*',
      code: 'InternalError',
      status: 500,
      times: 0,
    });
    const again = (await provider.resolveNodeClass(ready)).status as EC2NodeClassStatus;
    expect(isTrue(again.conditions, 'Ready')).toBe(true);
    expect(again.subnets).toEqual(ready.status?.subnets);
  });

  // Rules `node-classes/deletion`, `node-classes/instance-profiles`.
  test('deleting a node class deletes its launch templates and instance profile', async () => {
    const { provider } = awsProvider(stack());
    const ready = await resolved(provider, nodeClass(stack(), {}, 'short-lived'));
    await provider.launch(requestFor(claim([need('node.kubernetes.io/instance-type', 'm5.large')]), ready));
    await cloud().clearRequests();
    await provider.cleanUpNodeClass(ready);
    const actions = (await cloud().requests({})).map((request) => request.action);
    expect(actions).toContain('DeleteLaunchTemplate');
    expect(actions).toContain('DeleteInstanceProfile');
    const { provider: other } = awsProvider(stack());
    await cloud().clearRequests();
    await other.cleanUpNodeClass(ready);
    expect((await cloud().requests({})).map((request) => request.action)).not.toContain('DeleteLaunchTemplate');
  });
});

test('a registered node with less memory shrinks later estimates, one with more does not (instance-types/known-memory)', async () => {
  await cloud().reset();
  await cloud().configure(briefLags);
  const { provider } = awsProvider(stack());
  const ready = await resolved(provider, nodeClass(stack()));
  const memory = async () => {
    const types = await provider.instanceTypes(pool, ready);
    return types.find((type) => type.name === 'm5.large')!.capacity['memory'];
  };
  const estimate = (await memory())!;
  const imageId = ready.status!.amis!.find((ami) => ami.requirements[0]?.values?.[0] === 'amd64')!.id;
  const learn = (image: string, bytes: number): void => {
    const of = { instanceType: 'm5.large', imageId: image, nodeClassHash: '', expected: {} };
    provider.learnCapacity!({ ...of, capacity: { memory: bytes } });
  };
  learn(imageId, estimate - 1000);
  learn(imageId, estimate);
  learn('ami-other', 1);
  expect(await memory()).toBe(estimate - 1000);
});

describe('EC2 capacity reservations', () => {
  const reservation = { id: 'cr-0123456789abcdef0', instanceType: 'm5.large', total: 1, available: 1 };
  const inReservations = { capacityReservationSelectorTerms: [{ id: reservation.id }] };
  const m5 = need('node.kubernetes.io/instance-type', 'm5.large', 'm5.xlarge');

  // Rule `reserved-capacity/price`.
  test('a reservation is used first while it lasts; then the claim gets what else it allows', async () => {
    await cloud().reset();
    await cloud().configure(briefLags);
    const { provider } = awsProvider(stack());
    const plain = await resolved(provider, nodeClass(stack()));
    const zone = plain.status!.subnets![0]!.zone;
    await cloud().configure({ capacityReservations: [{ ...reservation, zone }] });
    const ready = await resolved(provider, nodeClass(stack(), inReservations, 'reserved'));
    expect(isTrue(ready.status?.conditions, 'Ready')).toBe(true);
    expect(ready.status?.capacityReservations).toMatchObject([
      {
        id: reservation.id,
        availabilityZone: zone,
        instanceType: 'm5.large',
        reservationType: 'default',
        state: 'active',
      },
    ]);
    await cloud().clearRequests();
    // Another process than the one that resolved the node class.
    const { provider: launcher } = awsProvider(stack());
    const first = await launcher.launch(requestFor(claim([m5]), ready));
    if (!first.ok) throw new Error(first.error.message);
    expect(first.value).toMatchObject({
      instanceType: 'm5.large',
      zone,
      capacityType: 'reserved',
      labels: {
        'karpenter.k8s.aws/capacity-reservation-id': reservation.id,
        'karpenter.k8s.aws/capacity-reservation-type': 'default',
      },
    });
    expect(await described(provider, first.value.providerId)).toMatchObject({ capacityType: 'reserved' });
    const [template] = await cloud().requests({ service: 'ec2', action: 'CreateLaunchTemplate' });
    expect(template?.params).toMatchObject({
      LaunchTemplateData: {
        CapacityReservationSpecification: {
          CapacityReservationPreference: 'capacity-reservations-only',
          CapacityReservationTarget: { CapacityReservationId: reservation.id },
        },
      },
    });
    const second = await launcher.launch(requestFor(claim([m5]), ready));
    if (!second.ok) throw new Error(second.error.message);
    expect(second.value.capacityType).not.toBe('reserved');
    expect(second.value.labels['karpenter.k8s.aws/capacity-reservation-id']).toBeUndefined();
  });

  test('a reservation that refuses is unavailable, and on-demand is not (reserved-capacity/used-up)', async () => {
    await cloud().reset();
    await cloud().configure(briefLags);
    const { provider } = awsProvider(stack());
    const plain = await resolved(provider, nodeClass(stack()));
    const zone = plain.status!.subnets![0]!.zone;
    await cloud().configure({ capacityReservations: [{ ...reservation, zone }] });
    const ready = await resolved(provider, nodeClass(stack(), inReservations, 'reserved'));
    await cloud().configure({ capacityReservations: [{ ...reservation, zone, available: 0 }] });
    const only = claim([m5, need('karpenter.sh/capacity-type', 'reserved')]);
    expect(await provider.launch(requestFor(only, ready))).toMatchObject({ ok: false, error: { unavailable: [] } });
    const types = await provider.instanceTypes(pool, ready);
    const offerings = types.find((type) => type.name === 'm5.large')!.offerings;
    const reserved = offerings.filter((offering) => offering.reservationCapacity !== undefined);
    expect(reserved).toMatchObject([{ available: false, reservationCapacity: 0 }]);
    expect(offerings.filter((offering) => !reserved.includes(offering)).every((offering) => offering.available)).toBe(
      true,
    );
  });

  // Rule `reserved-capacity/one-kind-a-request`.
  test.each([
    ['capacity block', { type: 'capacity-block' as const }, 'capacity-block', 'capacity-block', undefined],
    [
      'interruptible reservation',
      { interruptible: true },
      'reserved-capacity',
      'interruptible-capacity-reservation',
      { ReservationType: { '1': 'interruptible-capacity-reservation' } },
    ],
  ])('a %s is requested as its market type', async (_, kind, target, market, options) => {
    await cloud().reset();
    const endDate = new Date(Date.now() + 24 * 3_600_000).toISOString();
    const zone = `${stack().region}a`;
    await cloud().configure({ capacityReservations: [{ ...reservation, ...kind, zone, endDate }] });
    const { provider } = awsProvider(stack());
    const ready = await resolved(provider, nodeClass(stack(), inReservations, 'bought-ahead'));
    await cloud().clearRequests();
    const result = await provider.launch(requestFor(claim([m5]), ready));
    if (!result.ok) throw new Error(result.error.message);
    expect(result.value).toMatchObject({
      capacityType: 'reserved',
      instanceType: 'm5.large',
      zone,
      labels: {
        'karpenter.k8s.aws/capacity-reservation-id': reservation.id,
        'karpenter.k8s.aws/capacity-reservation-interruptible': String(market.startsWith('interruptible')),
      },
    });
    const [fleet] = await cloud().requests({ service: 'ec2', action: 'CreateFleet' });
    const params = fleet?.params as Record<string, unknown>;
    expect(params).toMatchObject({ TargetCapacitySpecification: { DefaultTargetCapacityType: target } });
    expect([params['OnDemandOptions'], params['SpotOptions']]).toEqual([undefined, undefined]);
    expect(params['ReservedCapacityOptions']).toEqual(options);
    const [template] = await cloud().requests({ service: 'ec2', action: 'CreateLaunchTemplate' });
    expect(template?.params).toMatchObject({
      LaunchTemplateData: {
        InstanceMarketOptions: { MarketType: market },
        CapacityReservationSpecification: { CapacityReservationPreference: 'capacity-reservations-only' },
      },
    });
    expect(await described(provider, result.value.providerId)).toMatchObject({ capacityType: 'reserved' });
    await cloud().reset();
  });

  test('a capacity block is not used in its last 40 minutes (reserved-capacity/block-ends)', async () => {
    await cloud().reset();
    const endDate = new Date(Date.now() + 39 * 60_000).toISOString();
    const block = { ...reservation, zone: 'us-west-2a', type: 'capacity-block' as const, endDate };
    await cloud().configure({ capacityReservations: [block] });
    const { provider } = awsProvider(stack());
    const ready = await resolved(provider, nodeClass(stack(), inReservations, 'reserved'));
    expect(ready.status?.capacityReservations).toMatchObject([
      { reservationType: 'capacity-block', state: 'expiring' },
    ]);
    await cloud().reset();
  });
});

describe('EC2 drift', () => {
  test('is found for each field of the node class that an instance was made from', async () => {
    await cloud().reset();
    await cloud().configure(briefLags);
    const { provider } = awsProvider(stack());
    const ready = await resolved(provider, nodeClass(stack()));
    const given = claim([need('node.kubernetes.io/instance-type', 'm5.large')]);
    const result = await provider.launch(requestFor(given, ready));
    if (!result.ok) throw new Error(result.error.message);
    const { providerId, annotations, labels } = result.value;
    const launched = {
      ...given,
      metadata: { ...given.metadata, annotations, labels },
      status: { providerID: providerId },
    };
    const drift = (changed: Partial<EC2NodeClass>) => provider.drift(launched, pool, { ...ready, ...changed });
    const status = (changed: object) => ({ status: { ...ready.status, ...changed } });
    // Young instances are not looked at; once EC2 has shown it, it is no longer one.
    expect(await drift({})).toBeUndefined();
    await described(provider, providerId);
    expect(await drift({})).toBeUndefined();
    const marks = { ...ready.metadata.annotations, 'karpenter.k8s.aws/ec2nodeclass-hash': 'other' };
    expect(await drift({ metadata: { ...ready.metadata, annotations: marks } })).toBe('NodeClassDrift');
    const [ami] = ready.status!.amis!;
    expect(await drift(status({ amis: [{ ...ami, id: 'ami-newer' }, ...ready.status!.amis!] }))).toBe('AMIDrift');
    expect(await drift(status({ securityGroups: [{ id: 'sg-other' }] }))).toBe('SecurityGroupDrift');
    expect(await drift(status({ subnets: [{ id: 'subnet-other', zone: 'us-west-2a' }] }))).toBe('SubnetDrift');
  });
});

describe('the interruption queue', () => {
  /** Receives until `enough` returns true for all notices so far; state changes of other tests' instances may come between. */
  const receive = async (enough: (seen: readonly InterruptionNotice[], ignored: readonly string[]) => boolean) => {
    const { provider } = awsProvider(stack(), { interruptionQueue: stack().cluster });
    const stop = new AbortController();
    const seen: InterruptionNotice[] = [];
    const ignored: string[] = [];
    const take = (): void => {
      if (enough(seen, ignored)) stop.abort();
    };
    await provider.interruptions!.run(
      (interruption) => {
        seen.push(interruption);
        take();
        return Promise.resolve();
      },
      stop.signal,
      (reason) => {
        ignored.push(reason);
        take();
      },
    );
    return { seen, ignored };
  };
  const event = (source: string, type: string, detail: object) =>
    JSON.stringify({
      version: '0',
      id: `event-${type}`,
      source,
      'detail-type': type,
      time: '2026-11-21T10:00:00Z',
      detail,
    });

  test('every kind of message is parsed; others, unparsable ones too, are deleted and counted (interruption/messages)', async () => {
    await cloud().reset();
    const id = 'i-0123456789abcdef0';
    for (const body of [
      event('aws.ec2', 'EC2 Spot Instance Interruption Warning', { 'instance-id': id, 'instance-action': 'terminate' }),
      event('aws.ec2', 'EC2 Instance Rebalance Recommendation', { 'instance-id': id }),
      event('aws.ec2', 'EC2 Instance State-change Notification', { 'instance-id': id, state: 'stopping' }),
      event('aws.ec2', 'EC2 Instance State-change Notification', { 'instance-id': id, state: 'running' }),
      'no JSON at all',
    ]) {
      await cloud().sendToQueue(body);
    }
    const ours = (seen: readonly InterruptionNotice[]) => seen.filter((interruption) => interruption.instanceId === id);
    const { seen, ignored } = await receive(
      (all, rest) => ours(all).length === 3 && rest.includes('malformed') && rest.includes('no-op'),
    );
    expect(
      ours(seen)
        .map((interruption) => interruption.kind)
        .sort(),
    ).toEqual(['instance_stopped', 'rebalance_recommendation', 'spot_interrupted']);
    expect(ignored).toContain('malformed');
    expect(ours(seen)[0]).toMatchObject({ at: Date.parse('2026-11-21T10:00:00Z') });
  });

  test('each of 200 messages is handled once', async () => {
    await cloud().reset();
    for (let i = 0; i < 200; i += 50) {
      await Promise.all(
        Array.from({ length: 50 }, (_, j) =>
          cloud().sendToQueue(
            event('aws.ec2', 'EC2 Instance Rebalance Recommendation', {
              'instance-id': `i-${String(i + j).padStart(17, '0')}`,
            }),
          ),
        ),
      );
    }
    const ours = (seen: readonly InterruptionNotice[]) =>
      seen.filter((interruption) => interruption.instanceId.startsWith('i-0000000000000'));
    const { seen } = await receive((all) => ours(all).length >= 200);
    expect(new Set(ours(seen).map((interruption) => interruption.instanceId)).size).toBe(200);
    expect(ours(seen)).toHaveLength(200);
  });

  // Rule `interruption/reading-the-queue`.
  test('a notice whose handling failed stays on the queue', async () => {
    await cloud().reset();
    const id = 'i-0fffffffffffffff0';
    await cloud().sendToQueue(event('aws.ec2', 'EC2 Spot Instance Interruption Warning', { 'instance-id': id }));
    const stop = new AbortController();
    const { provider, problems } = awsProvider(stack(), { interruptionQueue: stack().cluster });
    let attempts = 0;
    await provider.interruptions!.run((interruption) => {
      if (interruption.instanceId !== id) return Promise.resolve();
      attempts += 1;
      // The queue shows it again once its visibility timeout is over.
      if (attempts === 2) stop.abort();
      return attempts === 1 ? Promise.reject(new Error('Temporal is away')) : Promise.resolve();
    }, stop.signal);
    expect(attempts).toBe(2);
    expect(problems.join()).toContain('Temporal is away');
  });
});

describe('EC2 prices', () => {
  test('the last known prices survive a restart without EC2', async () => {
    await cloud().reset();
    let saved: string | undefined;
    const priceStore = {
      load: () => Promise.resolve(saved),
      save: (text: string) => {
        saved = text;
        return Promise.resolve();
      },
    };
    const first = awsProvider(stack(), { priceStore });
    const ready = await resolved(first.provider, nodeClass(stack()));
    const before = await first.provider.instanceTypes(pool, ready);
    await cloud().addFault({
      kind: 'error',
      service: 'pricing',
      action: '*',
      code: 'AccessDeniedException',
      status: 403,
      times: 0,
    });
    await cloud().addFault({
      kind: 'error',
      action: 'DescribeSpotPriceHistory',
      code: 'UnauthorizedOperation',
      status: 403,
      times: 0,
    });
    const second = awsProvider(stack(), { priceStore });
    expect(await second.provider.instanceTypes(pool, ready)).toEqual(before);
    expect(second.problems.join()).toContain('pricing:GetProducts');
    const third = awsProvider(stack());
    const offerings = (await third.provider.instanceTypes(pool, ready)).flatMap((type) => type.offerings);
    const bought = offerings.filter(({ available }) => available).map(({ requirements }) => requirements[0]!.values);
    expect(new Set(bought.flat())).toEqual(new Set(['on-demand']));
    expect(third.provider.priceList).toMatchObject({ source: 'estimate' });
    await cloud().reset();
  });
});
