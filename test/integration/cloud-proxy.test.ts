import {
  CreateFleetCommand,
  CreateLaunchTemplateCommand,
  CreateTagsCommand,
  DescribeCapacityReservationsCommand,
  DescribeInstancesCommand,
  DescribeInstanceStatusCommand,
  DescribeSubnetsCommand,
  EC2Client,
  paginateDescribeInstanceTypes,
  paginateDescribeSpotPriceHistory,
  TerminateInstancesCommand,
  type CreateFleetCommandInput,
  type CreateFleetCommandOutput,
  type FleetLaunchTemplateOverridesRequest,
} from '@aws-sdk/client-ec2';
import {
  AddRoleToInstanceProfileCommand,
  CreateInstanceProfileCommand,
  IAMClient,
  ListInstanceProfilesCommand,
} from '@aws-sdk/client-iam';
import { GetProductsCommand, PricingClient } from '@aws-sdk/client-pricing';
import { DeleteMessageCommand, ReceiveMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { GetParameterCommand, SSMClient } from '@aws-sdk/client-ssm';
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { nodeRole } from '../../tools/stack/node-class.js';
import { useStack } from './shared-stack.js';

const { stack, cloud } = useStack(['cloud']);

interface Message {
  'detail-type': string;
  source: string;
  account: string;
  detail: { 'instance-id'?: string; state?: string };
}

describe('the local cloud of the stack', () => {
  let ec2: EC2Client;
  let impatient: EC2Client;
  let sqs: SQSClient;
  let subnets: { id: string; zone: string }[];
  const template = `cloud-proxy-test-${process.pid}`;
  const launched: string[] = [];
  const clients: { destroy: () => void }[] = [];

  beforeAll(async () => {
    const options = clientOptions();
    ec2 = new EC2Client(options);
    impatient = new EC2Client({ ...options, maxAttempts: 1 });
    sqs = new SQSClient(options);
    clients.push(ec2, impatient, sqs);
    await profile('test-profile');
    const { Subnets } = await ec2.send(
      new DescribeSubnetsCommand({ Filters: [{ Name: 'tag:karpenter.sh/discovery', Values: [stack().cluster] }] }),
    );
    subnets = Subnets!.map(({ SubnetId, AvailabilityZone }) => ({ id: SubnetId!, zone: AvailabilityZone! }));
    await ec2.send(
      new CreateLaunchTemplateCommand({
        LaunchTemplateName: template,
        LaunchTemplateData: {
          ImageId: await imageId(),
          IamInstanceProfile: { Name: 'test-profile' },
          MetadataOptions: { HttpTokens: 'required' },
        },
      }),
    );
  });

  // Tests of what EC2 lags behind set their own times.
  beforeEach(() => cloud().configure({ visibleAfterMs: 0, tagsAfterMs: 0, profileUnknownMs: 0, shuttingDownMs: 300 }));
  afterEach(async () => {
    await cloud().reset();
  });

  afterAll(async () => {
    await cloud().reclaim(launched);
    for (const client of clients) client.destroy();
  });

  const clientOptions = (): {
    region: string;
    endpoint: string;
    credentials: { accessKeyId: string; secretAccessKey: string };
  } => ({
    region: stack().region,
    endpoint: stack().awsEndpoint!,
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  });

  /** An instance profile with the role of nodes. */
  async function profile(name: string): Promise<void> {
    const iam = new IAMClient(clientOptions());
    clients.push(iam);
    await iam.send(new CreateInstanceProfileCommand({ InstanceProfileName: name }));
    const RoleName = nodeRole(stack().cluster);
    await iam.send(new AddRoleToInstanceProfileCommand({ InstanceProfileName: name, RoleName }));
  }

  async function imageId(): Promise<string> {
    const ssm = new SSMClient(clientOptions());
    clients.push(ssm);
    const Name = '/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/standard/recommended/image_id';
    return (await ssm.send(new GetParameterCommand({ Name }))).Parameter!.Value!;
  }

  const inZones = (types: string[], zones = subnets): FleetLaunchTemplateOverridesRequest[] =>
    zones.flatMap(({ id }) => types.map((type) => ({ InstanceType: type as 'm5.large', SubnetId: id })));

  const request = (
    overrides: FleetLaunchTemplateOverridesRequest[],
    given: Partial<CreateFleetCommandInput> = {},
  ): CreateFleetCommandInput => ({
    Type: 'instant',
    TargetCapacitySpecification: { TotalTargetCapacity: 1, DefaultTargetCapacityType: 'spot' },
    SpotOptions: { AllocationStrategy: 'price-capacity-optimized' },
    LaunchTemplateConfigs: [
      { LaunchTemplateSpecification: { LaunchTemplateName: template, Version: '$Latest' }, Overrides: overrides },
    ],
    ...given,
  });

  async function launch(input: CreateFleetCommandInput, client = ec2): Promise<CreateFleetCommandOutput> {
    const fleet = await client.send(new CreateFleetCommand(input));
    launched.push(...idsOf(fleet));
    return fleet;
  }

  const idsOf = (fleet: CreateFleetCommandOutput): string[] =>
    (fleet.Instances ?? []).flatMap(({ InstanceIds }) => InstanceIds ?? []);

  const errorsOf = (fleet: CreateFleetCommandOutput): string[] =>
    (fleet.Errors ?? []).map(
      ({ ErrorCode, LaunchTemplateAndOverrides: where }) =>
        `${ErrorCode!} ${where!.Overrides!.InstanceType!} ${where!.Overrides!.AvailabilityZone!}`,
    );

  test('a fleet launches from the cheapest pool, at any position in the request', async () => {
    await cloud().setSpot({ instanceType: 'c5.large', zone: subnets[1]!.zone, price: 0.001 });
    const fleet = await launch(request(inZones(['p5.48xlarge', 'm5.large', 'c5.large'])));
    expect(fleet.Instances).toHaveLength(1);
    expect(fleet.Instances![0]).toMatchObject({
      InstanceType: 'c5.large',
      Lifecycle: 'spot',
      LaunchTemplateAndOverrides: { Overrides: { SubnetId: subnets[1]!.id } },
    });
    expect(fleet.Errors).toBeUndefined();
  });

  test('capacity-optimized prefers deep spot pools to cheap ones, and priorities where they are given', async () => {
    await cloud().setSpot({ instanceType: 'm5.large', depth: 10 });
    const deep = await launch(request(inZones(['c5.large', 'm5.large'])));
    expect(deep.Instances![0]!.InstanceType).toBe('m5.large');

    const overrides = inZones(['m5.large', 'c5.large'], subnets.slice(0, 1)).map((override, index) => ({
      ...override,
      Priority: 2 - index,
    }));
    const given: Partial<CreateFleetCommandInput> = {
      TargetCapacitySpecification: { TotalTargetCapacity: 1, DefaultTargetCapacityType: 'on-demand' },
      OnDemandOptions: { AllocationStrategy: 'prioritized' },
    };
    const prioritized = await launch(request(overrides, given));
    expect(prioritized.Instances![0]).toMatchObject({ InstanceType: 'c5.large', Lifecycle: 'on-demand' });
  });

  test('a fleet reports each pool without capacity, and launches from the next', async () => {
    await cloud().setPools([{ instanceType: 'c5.large' }, { instanceType: 'm5.large', zone: subnets[0]!.zone }]);
    await cloud().setSpot({ instanceType: 'c5.large', price: 0.001 });
    await cloud().setSpot({ instanceType: 'm5.large', zone: subnets[0]!.zone, price: 0.002 });
    const fleet = await launch(request(inZones(['c5.large', 'm5.large'])));
    expect(idsOf(fleet)).toHaveLength(1);
    expect(errorsOf(fleet).sort()).toEqual(
      [...subnets.map(({ zone }) => `c5.large ${zone}`), `m5.large ${subnets[0]!.zone}`]
        .map((pool) => `InsufficientInstanceCapacity ${pool}`)
        .sort(),
    );
  });

  test('a fleet without any capacity answers with errors alone', async () => {
    await cloud().setPools([{ code: 'UnfulfillableCapacity' }]);
    const fleet = await launch(request(inZones(['c5.large', 'm5.large'])));
    expect(idsOf(fleet)).toEqual([]);
    expect(fleet.Errors).toHaveLength(6);
  });

  test('a fleet launches as many instances as there is capacity for', async () => {
    await cloud().setPools([{ capacity: 2 }]);
    const target = { TotalTargetCapacity: 5, DefaultTargetCapacityType: 'on-demand' as const };
    const fleet = await launch(
      request(inZones(['m5.large'], subnets.slice(0, 1)), { TargetCapacitySpecification: target }),
    );
    expect(idsOf(fleet)).toHaveLength(2);
    expect(fleet.Errors).toHaveLength(1);
  });

  test('overrides that can never launch are refused one by one', async () => {
    const overrides = [
      ...inZones(['m6g.large'], subnets.slice(0, 1)),
      { InstanceType: 'm5.large' as const, SubnetId: 'subnet-00000000000000000' },
    ];
    const fleet = await launch(request(overrides));
    expect((fleet.Errors ?? []).map(({ ErrorCode }) => ErrorCode).sort()).toEqual([
      'InvalidParameterValue',
      'InvalidSubnetID.NotFound',
    ]);
  });

  test('a subnet without free addresses has another error than missing capacity', async () => {
    await cloud().configure({ freeAddresses: { [subnets[0]!.id]: 0 } });
    const fleet = await launch(request(inZones(['m5.large'], subnets.slice(0, 1))));
    expect(errorsOf(fleet)).toEqual([`InsufficientFreeAddressesInSubnet m5.large ${subnets[0]!.zone}`]);
    const { Subnets } = await ec2.send(new DescribeSubnetsCommand({ SubnetIds: [subnets[0]!.id] }));
    expect(Subnets![0]!.AvailableIpAddressCount).toBe(0);
  });

  test('a client token launches once, and is refused with other parameters', async () => {
    const token = `token-${process.pid}`;
    const first = await launch(request(inZones(['m5.large']), { ClientToken: token }));
    const second = await launch(request(inZones(['m5.large']), { ClientToken: token }));
    expect(idsOf(second)).toEqual(idsOf(first));
    await expect(launch(request(inZones(['c5.large']), { ClientToken: token }))).rejects.toMatchObject({
      name: 'IdempotentParameterMismatch',
    });
  });

  test('a request whose answer is lost takes effect; the retry with the same token returns the same instance', async () => {
    const before = (await cloud().instances()).length;
    await cloud().addFault({ kind: 'lost', action: 'CreateFleet' });
    const input = request(inZones(['m5.large']), { ClientToken: `lost-${process.pid}` });
    await expect(launch(input, impatient)).rejects.toThrow();
    const after = await cloud().instances();
    expect(after).toHaveLength(before + 1);
    const fleet = await launch(input);
    expect(idsOf(fleet)).toEqual([after.find(({ clientToken }) => clientToken === `lost-${process.pid}`)!.id]);
    expect(await cloud().instances()).toHaveLength(before + 1);
  });

  test('a termination whose answer is lost still ends the instance', async () => {
    const before = (await cloud().instances()).length;
    await cloud().addFault({ kind: 'lost', action: 'TerminateInstances' });
    const id = idsOf(await launch(request(inZones(['m5.large']))))[0]!;
    await expect(impatient.send(new TerminateInstancesCommand({ InstanceIds: [id] }))).rejects.toThrow();
    expect(await cloud().isRunning(id)).toBe(false);
    expect(await cloud().instances()).toHaveLength(before + 1);
  });

  test('throttling, errors and cut connections have no effect on resources, and are logged', async () => {
    const before = (await cloud().instances()).length;
    await cloud().clearRequests();
    await cloud().addFault({ kind: 'throttle', action: 'CreateFleet' });
    await cloud().addFault({ kind: 'error', action: 'CreateFleet', code: 'UnauthorizedOperation', status: 403 });
    await cloud().addFault({ kind: 'cut', action: 'CreateFleet' });
    const attempt = (): Promise<unknown> => launch(request(inZones(['m5.large'])), impatient);
    await expect(attempt()).rejects.toMatchObject({ name: 'RequestLimitExceeded' });
    await expect(attempt()).rejects.toMatchObject({ name: 'UnauthorizedOperation' });
    await expect(attempt()).rejects.toThrow();
    expect(await cloud().instances()).toHaveLength(before);
    const log = await cloud().requests({ service: 'ec2', action: 'CreateFleet' });
    expect(log.map(({ fault, status }) => [fault, status])).toEqual([
      ['throttle', 503],
      ['error', 403],
      ['cut', 0],
    ]);
    expect(log[0]!.params).toMatchObject({
      Type: 'instant',
      TargetCapacitySpecification: { TotalTargetCapacity: '1' },
    });
  });

  test('a launched instance becomes visible after a while, and its tags later still', async () => {
    await cloud().configure({ visibleAfterMs: 3_600_000, tagsAfterMs: 3_600_000 });
    const Tags = [{ Key: 'late', Value: randomUUID() }];
    const fleet = await launch(
      request(inZones(['m5.large']), { TagSpecifications: [{ ResourceType: 'instance', Tags }] }),
    );
    const [id = ''] = idsOf(fleet);
    const look = async (): Promise<string> => {
      try {
        const { Reservations } = await ec2.send(new DescribeInstancesCommand({ InstanceIds: [id] }));
        return String(Reservations![0]!.Instances![0]!.Tags?.some(({ Key }) => Key === 'late') ?? false);
      } catch (error) {
        return (error as Error).name;
      }
    };
    expect(await look()).toBe('InvalidInstanceID.NotFound');
    await cloud().configure({ visibleAfterMs: 0 });
    expect(await look()).toBe('false');
    await cloud().configure({ tagsAfterMs: 0 });
    expect(await look()).toBe('true');
    const Filters = [{ Name: 'tag:late', Values: [Tags[0]!.Value] }];
    expect((await ec2.send(new DescribeInstancesCommand({ Filters }))).Reservations).toHaveLength(1);
  });

  test('a launch with a new instance profile fails until EC2 knows it', async () => {
    const name = `young-${process.pid}`;
    await profile(name);
    const young = `${template}-young`;
    await ec2.send(
      new CreateLaunchTemplateCommand({
        LaunchTemplateName: young,
        LaunchTemplateData: { ImageId: await imageId(), IamInstanceProfile: { Name: name } },
      }),
    );
    const LaunchTemplateConfigs = [
      {
        LaunchTemplateSpecification: { LaunchTemplateName: young, Version: '$Latest' },
        Overrides: inZones(['m5.large']),
      },
    ];
    const refused = async (): Promise<string[]> =>
      ((await launch(request([], { LaunchTemplateConfigs }))).Errors ?? []).map(({ ErrorMessage }) => ErrorMessage!);
    await cloud().configure({ profileUnknownMs: 3_600_000 });
    expect(await refused()).toContainEqual(expect.stringMatching(/young.*Invalid IAM Instance Profile name/));
    await cloud().configure({ profileUnknownMs: 0 });
    expect(await refused()).toEqual([]);
  });

  test.each(['termination', 'stop'] as const)(
    '%s protection keeps an instance, and those of its zone in the same call',
    async (kind) => {
      const [first, second] = subnets;
      const inZone = async (subnet: typeof first): Promise<string> =>
        idsOf(await launch(request(inZones(['m5.large'], [subnet!]))))[0]!;
      const [kept, neighbour, elsewhere] = [await inZone(first), await inZone(first), await inZone(second)];
      await cloud().configure({ protectedInstances: { [kept]: kind } });
      const end = new TerminateInstancesCommand({ InstanceIds: [neighbour, kept, elsewhere] });
      await expect(ec2.send(end)).rejects.toMatchObject({
        name: 'OperationNotPermitted',
        message: expect.stringContaining(kept),
      });
      const running = await Promise.all([kept, neighbour, elsewhere].map((id) => cloud().isRunning(id)));
      expect(running).toEqual([true, true, false]);
    },
  );

  test('answers can be delayed', async () => {
    await cloud().configure({ latencyMs: { from: 80, to: 160 } });
    await ec2.send(new DescribeSubnetsCommand({}));
    const [asked] = await cloud().requests({ action: 'DescribeSubnets' });
    expect(asked!.durationMs).toBeGreaterThanOrEqual(75);
  });

  test('calls beyond the request budget are throttled', async () => {
    await cloud().configure({ rateLimits: { DescribeSubnets: { perSecond: 0.001, burst: 2 } } });
    const ask = (): Promise<unknown> => impatient.send(new DescribeSubnetsCommand({}));
    await ask();
    await ask();
    await expect(ask()).rejects.toMatchObject({ name: 'RequestLimitExceeded' });
  });

  test('an instance is described with the values of its launch template', async () => {
    const tags = [{ Key: 'team', Value: 'blue' }];
    const fleet = await launch(
      request(inZones(['m5.large']), { TagSpecifications: [{ ResourceType: 'instance', Tags: tags }] }),
    );
    const id = idsOf(fleet)[0]!;
    await ec2.send(new CreateTagsCommand({ Resources: [id], Tags: [{ Key: 'Name', Value: 'node-1' }] }));
    const { Reservations } = await ec2.send(
      new DescribeInstancesCommand({
        Filters: [
          { Name: 'tag:team', Values: ['blue'] },
          { Name: 'tag:Name', Values: ['node-*'] },
          { Name: 'instance-state-name', Values: ['pending', 'running'] },
        ],
      }),
    );
    const [instance, ...others] = Reservations!.flatMap(({ Instances }) => Instances!);
    expect(others).toEqual([]);
    expect(instance).toMatchObject({
      InstanceId: id,
      InstanceLifecycle: 'spot',
      IamInstanceProfile: { Arn: expect.stringContaining('test-profile') },
      MetadataOptions: { HttpTokens: 'required' },
    });
    expect(instance!.PrivateDnsName).toMatch(/^ip-[\d-]+\.us-west-2\.compute\.internal$/);
    expect(instance!.Tags).toEqual(
      expect.arrayContaining([
        { Key: 'Name', Value: 'node-1' },
        { Key: 'aws:ec2:fleet-id', Value: fleet.FleetId },
      ]),
    );
  });

  test('state changes take time, and each is a message on the queue', async () => {
    await cloud().configure({ pendingMs: 200, shuttingDownMs: 200 });
    const id = idsOf(await launch(request(inZones(['m5.large']))))[0]!;
    const stateNow = async (): Promise<string> => {
      const { Reservations } = await ec2.send(new DescribeInstancesCommand({ InstanceIds: [id] }));
      return Reservations![0]!.Instances![0]!.State!.Name!;
    };
    const seen = [await stateNow()];
    while (seen.at(-1) !== 'running') seen.push(await stateNow());
    await ec2.send(new TerminateInstancesCommand({ InstanceIds: [id] }));
    while (seen.at(-1) !== 'terminated') seen.push(await stateNow());
    const order = ['pending', 'running', 'shutting-down', 'terminated'];
    // A slow look may miss a state; the queue misses none.
    expect([...new Set(seen)]).toEqual(order.filter((state) => seen.includes(state)));

    const states: string[] = [];
    while (states.length < 4) {
      for (const message of await receive())
        if (message.detail['instance-id'] === id) states.push(message.detail.state!);
    }
    expect(states.sort()).toEqual(order);
  });

  async function receive(): Promise<Message[]> {
    const QueueUrl = stack().queueUrl!;
    const { Messages = [] } = await sqs.send(
      new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10, WaitTimeSeconds: 1 }),
    );
    for (const { ReceiptHandle } of Messages)
      await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle: ReceiptHandle! }));
    return Messages.map(({ Body }) => JSON.parse(Body!) as Message);
  }

  test('a spot interruption is a warning first and a termination later', async () => {
    const id = idsOf(await launch(request(inZones(['m5.large']))))[0]!;
    await cloud().interruptSpot(id, { delayMs: 300 });
    let warning: Message | undefined;
    while (warning === undefined) {
      warning = (await receive()).find((each) => each['detail-type'] === 'EC2 Spot Instance Interruption Warning');
    }
    expect(warning).toMatchObject({ source: 'aws.ec2', account: '123456789012', detail: { 'instance-id': id } });
    while (await cloud().isRunning(id));
  });

  test('an unknown instance is an error, also beside known ones', async () => {
    const id = idsOf(await launch(request(inZones(['m5.large']))))[0]!;
    const ids = [id, 'i-00000000000000000'];
    await expect(ec2.send(new DescribeInstancesCommand({ InstanceIds: ids }))).rejects.toMatchObject({
      name: 'InvalidInstanceID.NotFound',
    });
    await expect(ec2.send(new TerminateInstancesCommand({ InstanceIds: ids }))).rejects.toMatchObject({
      name: 'InvalidInstanceID.NotFound',
    });
    expect(await cloud().isRunning(id)).toBe(true);
  });

  test('scripted health shows in the instance status', async () => {
    const id = idsOf(await launch(request(inZones(['m5.large']))))[0]!;
    await cloud().setInstanceState(id, 'running');
    await cloud().setHealth(id, { systemStatus: 'impaired', events: [{ code: 'instance-retirement' }] });
    const { InstanceStatuses } = await ec2.send(new DescribeInstanceStatusCommand({ InstanceIds: [id] }));
    expect(InstanceStatuses![0]).toMatchObject({
      SystemStatus: { Status: 'impaired' },
      InstanceStatus: { Status: 'ok' },
      Events: [{ Code: 'instance-retirement' }],
    });
  });

  test('a capacity reservation runs out', async () => {
    const { zone, id } = subnets[0]!;
    const reservation = { id: 'cr-1234', instanceType: 'm5.large', zone, total: 1, available: 1 };
    await cloud().configure({ capacityReservations: [reservation] });
    const name = `${template}-reserved`;
    await ec2.send(
      new CreateLaunchTemplateCommand({
        LaunchTemplateName: name,
        LaunchTemplateData: {
          ImageId: await imageId(),
          CapacityReservationSpecification: {
            CapacityReservationPreference: 'capacity-reservations-only',
            CapacityReservationTarget: { CapacityReservationId: reservation.id },
          },
        },
      }),
    );
    const input = request([], {
      TargetCapacitySpecification: { TotalTargetCapacity: 1, DefaultTargetCapacityType: 'on-demand' },
      LaunchTemplateConfigs: [
        {
          LaunchTemplateSpecification: { LaunchTemplateName: name, Version: '$Latest' },
          Overrides: [{ InstanceType: 'm5.large', SubnetId: id }],
        },
      ],
    });
    expect(idsOf(await launch(input))).toHaveLength(1);
    expect(errorsOf(await launch(input))).toEqual([`ReservationCapacityExceeded m5.large ${zone}`]);
    const { CapacityReservations } = await ec2.send(new DescribeCapacityReservationsCommand({}));
    expect(CapacityReservations![0]).toMatchObject({ CapacityReservationId: 'cr-1234', AvailableInstanceCount: 0 });
  });

  test('lists are paged', async () => {
    const types = new Set<string>();
    let pages = 0;
    for await (const page of paginateDescribeInstanceTypes({ client: ec2, pageSize: 100 }, {})) {
      expect(page.InstanceTypes!.length).toBeLessThanOrEqual(100);
      for (const type of page.InstanceTypes!) types.add(type.InstanceType!);
      pages++;
    }
    expect(types.size).toBeGreaterThan(1000);
    expect(pages).toBe(Math.ceil(types.size / 100));
  });

  test('on-demand prices come from the price list, spot prices are below them', async () => {
    const pricing = new PricingClient({ ...clientOptions(), region: 'us-east-1' });
    clients.push(pricing);
    const { PriceList } = await pricing.send(
      new GetProductsCommand({
        ServiceCode: 'AmazonEC2',
        Filters: [
          { Type: 'TERM_MATCH', Field: 'regionCode', Value: 'us-west-2' },
          { Type: 'TERM_MATCH', Field: 'instanceType', Value: 'm5.large' },
        ],
      }),
    );
    const product = JSON.parse(String(PriceList![0])) as {
      terms: { OnDemand: Record<string, { priceDimensions: Record<string, { pricePerUnit: { USD: string } }> }> };
    };
    const term = Object.values(product.terms.OnDemand)[0]!;
    const onDemand = Number(Object.values(term.priceDimensions)[0]!.pricePerUnit.USD);
    expect(onDemand).toBeCloseTo(0.096);
    const spot: number[] = [];
    const input = { InstanceTypes: ['m5.large' as const], ProductDescriptions: ['Linux/UNIX'], StartTime: new Date() };
    for await (const page of paginateDescribeSpotPriceHistory({ client: ec2 }, input)) {
      spot.push(...page.SpotPriceHistory!.map(({ SpotPrice }) => Number(SpotPrice)));
    }
    expect(spot.length).toBeGreaterThanOrEqual(3);
    expect(Math.max(...spot)).toBeLessThan(onDemand);
  });

  test('instance profiles are listed by their path', async () => {
    const iam = new IAMClient(clientOptions());
    clients.push(iam);
    const InstanceProfileName = `profile-${process.pid}`;
    await iam.send(new CreateInstanceProfileCommand({ InstanceProfileName, Path: `/karpenter/${process.pid}/` }));
    const list = async (PathPrefix: string): Promise<string[]> => {
      const { InstanceProfiles } = await iam.send(new ListInstanceProfilesCommand({ PathPrefix }));
      return InstanceProfiles!.map((profile) => profile.InstanceProfileName!);
    };
    expect(await list(`/karpenter/${process.pid}/`)).toEqual([InstanceProfileName]);
    expect(await list('/other/')).toEqual([]);
  });
});
