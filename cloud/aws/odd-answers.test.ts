import type { Instance } from '@aws-sdk/client-ec2';
import { describe, expect, test } from '@jest/globals';
import { refusal, steppingClock } from '../../test/builders/aws-world.js';
import type { AwsCalls } from './calls.js';
import { InstanceProfiles } from './instance-profiles.js';
import { Images } from './images.js';
import { Instances } from './instances.js';
import { InterruptionQueue } from './interruption-queue.js';
import { LaunchTemplates } from './launch-template.js';
import { createMachineTypes } from './machine-types.js';
import { findSecurityGroups, Subnets } from './networks.js';
import { allPages } from './pages.js';
import { Prices } from './prices.js';
import { Reservations } from './reservations.js';
import { readStatus } from './status-poll.js';

const hour = 3_600_000;
const calls = (some: object): AwsCalls => some as unknown as AwsCalls;
const answer =
  <T>(value: T) =>
  (): Promise<T> =>
    Promise.resolve(value);
const whole = (id: string, more: Partial<Instance> = {}): Instance => ({
  InstanceId: id,
  InstanceType: 'm5.large',
  Placement: { AvailabilityZone: 'a' },
  LaunchTime: new Date(0),
  State: { Name: 'running' },
  ...more,
});
const ec2 = (...given: Instance[]): Instances =>
  new Instances(
    calls({ describeInstances: answer({ Reservations: [{ Instances: given }, {}] }) }),
    'c',
    steppingClock(),
  );

describe('pages', () => {
  test('with a repeated token fail instead of being read for ever', async () => {
    let asked = 0;
    const circle = (token: string | undefined) => {
      asked += 1;
      return Promise.resolve({ items: [1], NextToken: token === 'a' ? 'b' : 'a' });
    };
    await expect(allPages('ec2:DescribeImages', circle, ({ items }) => items)).rejects.toMatchObject({
      type: 'Unavailable',
      message: expect.stringContaining('ec2:DescribeImages'),
    });
    expect(asked).toBe(3);
  });

  test('without an end fail after 10,001 calls, and empty ones are skipped', async () => {
    let asked = 0;
    const endless = () => Promise.resolve({ NextToken: String((asked += 1)) });
    await expect(allPages('ec2:DescribeSubnets', endless, () => [])).rejects.toMatchObject({ type: 'Unavailable' });
    expect(asked).toBe(10_001);
    const answers = [{ NextToken: 'a' }, { items: [], NextToken: 'b' }, { items: [1, 2], NextToken: '' }];
    expect(
      await allPages(
        'ec2:DescribeSubnets',
        () => Promise.resolve(answers.shift()!),
        (p) => p.items,
      ),
    ).toEqual([1, 2]);
  });

  test('of IAM with the same marker end too', async () => {
    const page = { InstanceProfiles: [], IsTruncated: true, Marker: 'm' };
    const cluster = { clusterName: 'c', region: 'eu-central-1' };
    const profiles = new InstanceProfiles(calls({ listInstanceProfiles: answer(page) }), cluster, steppingClock());
    await expect(profiles.sweep(new Set())).rejects.toMatchObject({ type: 'Unavailable' });
  });
});

// Rule `garbage-collection/described-in-part`.
describe('instances', () => {
  test('listed twice count once, and incomplete ones are ignored', async () => {
    const listed = await ec2(
      whole('i-1'),
      whole('i-1', { State: { Name: 'stopping' } }),
      whole('i-2', { Placement: {} }),
      whole('i-3', { LaunchTime: undefined }),
      {},
    ).list();
    expect(listed.map(({ providerId, state }) => [providerId, state])).toEqual([['aws:///a/i-1', 'stopping']]);
  });

  test('described by id and incomplete count as neither present nor gone', async () => {
    await expect(ec2(whole('i-2', { Placement: undefined })).get('i-2')).rejects.toMatchObject({ type: 'Unavailable' });
    await expect(ec2({ InstanceId: 'i-2', State: { Name: 'terminated' } }).get('i-2')).resolves.toBeUndefined();
  });

  test('of an unknown state, type or lifecycle are present', async () => {
    const odd = whole('i-1', {
      State: { Name: 'hibernated' as never },
      InstanceLifecycle: 'borrowed' as never,
      InstanceType: 'z9.nano' as never,
      Tags: [{}, { Key: 'a' }],
    });
    await expect(ec2(odd).get('i-1')).resolves.toMatchObject({ state: 'hibernated', capacityType: 'on-demand' });
  });

  test('whose ending EC2 does not mention in its answer are ending', async () => {
    const instances = new Instances(calls({ terminateInstances: answer({}) }), 'c', steppingClock());
    await expect(instances.terminate('i-1')).resolves.toBe('terminating');
  });
});

describe('credentials that expire in the middle of a batch', () => {
  test('are one error for all instances that are not terminated yet', async () => {
    let asked = 0;
    const instances = new Instances(
      calls({
        terminateInstances: ({ InstanceIds: ids = [] }: { InstanceIds?: string[] }) => {
          asked += 1;
          // A protected instance has the batch halved; the first half ends, then the token is over.
          if (asked === 1) return Promise.reject(refusal('OperationNotPermitted'));
          if (asked > 2) return Promise.reject(refusal('ExpiredToken', 'expired', 'ec2:TerminateInstances', 403));
          return Promise.resolve({ TerminatingInstances: ids.map((InstanceId) => ({ InstanceId })) });
        },
      }),
      'c',
      steppingClock(),
    );
    const ended = await Promise.allSettled(Array.from({ length: 100 }, (_, i) => instances.terminate(`i-${i}`)));
    expect(ended.filter(({ status }) => status === 'fulfilled')).toHaveLength(50);
    expect(ended[99]).toMatchObject({
      status: 'rejected',
      reason: { type: 'Denied', details: { code: 'ExpiredToken' } },
    });
    expect(asked).toBe(3);
  });

  test('during the lookup of a denied instance do not stop other terminations', async () => {
    const instances = new Instances(
      calls({
        terminateInstances: ({ InstanceIds: ids = [] }: { InstanceIds?: string[] }) =>
          ids.includes('i-0') ? Promise.reject(refusal('UnauthorizedOperation', 'no', 'a', 403)) : Promise.resolve({}),
        describeInstances: () => Promise.reject(refusal('ExpiredToken', 'expired', 'ec2:DescribeInstances', 403)),
      }),
      'c',
      steppingClock(),
    );
    const ended = await Promise.allSettled(['i-0', 'i-1'].map((id) => instances.terminate(id)));
    expect(ended).toMatchObject([{ reason: { details: { code: 'UnauthorizedOperation' } } }, { value: 'terminating' }]);
  });
});

describe('AWS objects without an id', () => {
  const terms = [{ tags: { a: 'b' } }];

  test('subnets, security groups, reservations, images and status without an id are left out', async () => {
    const subnets = [
      { SubnetId: 'subnet-1', AvailabilityZone: 'a' },
      { SubnetId: 'subnet-2' },
      { AvailabilityZone: 'a' },
    ];
    const found = await new Subnets(calls({ describeSubnets: answer({ Subnets: subnets }) }), steppingClock()).find(
      terms,
    );
    expect(found).toEqual([{ id: 'subnet-1', zone: 'a', freeAddresses: 0 }]);
    const groups = calls({
      describeSecurityGroups: answer({ SecurityGroups: [{}, { GroupId: 'sg-1' }, { GroupId: 'sg-1' }] }),
    });
    expect(await findSecurityGroups(groups, terms)).toEqual([{ id: 'sg-1' }]);
    const reservations = { CapacityReservations: [{}, { CapacityReservationId: 'cr-1', ReservationType: 'barter' }] };
    const reserved = new Reservations(calls({ describeCapacityReservations: answer(reservations) }), steppingClock());
    expect(await reserved.find(terms)).toMatchObject([{ id: 'cr-1', reservationType: 'default', state: 'active' }]);
    const images = {
      Images: [{ Architecture: 'x86_64' }, { ImageId: 'ami-1', Architecture: 'x86_64', CreationDate: '?' }],
    };
    const kubernetesVersion = answer('1.34');
    const found2 = new Images({
      calls: calls({ describeImages: answer(images) }),
      clock: steppingClock(),
      kubernetesVersion,
    });
    expect(await found2.resolve({ amiSelectorTerms: terms })).toMatchObject([{ id: 'ami-1' }]);
    expect(readStatus({ Events: [{ Code: 'instance-stop' }] }, 0)).toEqual([]);
  });

  test('templates and profiles of no age are not swept', async () => {
    const removed: string[] = [];
    const remove = (input: object) => Promise.resolve(void removed.push(JSON.stringify(input)));
    const clock = steppingClock(5 * hour);
    const ours = { LaunchTemplateName: 'karpenter.k8s.aws/1', Tags: [{ Key: 'karpenter.k8s.aws/ec2nodeclass' }] };
    const templates = calls({
      describeLaunchTemplates: answer({ LaunchTemplates: [ours] }),
      deleteLaunchTemplate: remove,
    });
    await new LaunchTemplates(templates, 'c', clock).cleanUp({ unusedForMs: hour });
    const path = '/karpenter/eu-central-1/c/uid/';
    const listed = {
      InstanceProfiles: [
        { InstanceProfileName: 'p', Path: path },
        { Path: path, CreateDate: new Date(0) },
      ],
    };
    const profiles = calls({ listInstanceProfiles: answer(listed), deleteInstanceProfile: remove });
    await new InstanceProfiles(profiles, { clusterName: 'c', region: 'eu-central-1' }, clock).sweep(new Set());
    expect(removed).toEqual([]);
  });
});

describe('instance types', () => {
  const offered = { InstanceTypeOfferings: [{ InstanceType: 'm5.large', Location: 'a' }] };

  test('instance types listed twice count once', async () => {
    const twice = [{ InstanceType: 'm5.large' }, {}, { InstanceType: 'm5.large' }];
    const made = createMachineTypes(
      calls({
        describeInstanceTypes: answer({ InstanceTypes: twice }),
        describeInstanceTypeOfferings: answer(offered),
      }),
      steppingClock(),
    );
    expect((await made.get()).infos).toHaveLength(1);
  });

  test.each([
    ['types', {}, offered],
    ['offerings', { InstanceTypes: [{ InstanceType: 'm5.large' }] }, {}],
  ])('an empty list of %s is not kept for half a day', async (_, types, offerings) => {
    let empty = true;
    const described = () => Promise.resolve(empty ? types : { InstanceTypes: [{ InstanceType: 'm5.large' }] });
    const zoned = () => Promise.resolve(empty ? offerings : offered);
    const made = createMachineTypes(
      calls({ describeInstanceTypes: described, describeInstanceTypeOfferings: zoned }),
      steppingClock(),
    );
    await expect(made.get()).rejects.toMatchObject({ type: 'Unavailable' });
    empty = false;
    expect((await made.get()).infos).toHaveLength(1);
  });
});

test('a price that cannot be read costs itself alone', async () => {
  const good = {
    product: { attributes: { instanceType: 'm5.large' } },
    terms: { OnDemand: { a: { priceDimensions: { b: { pricePerUnit: { USD: '0.1' } } } } } },
  };
  const PriceList = ['{"product":', 'null', '{"terms":{"OnDemand":{"a":{}}}}', JSON.stringify(good)];
  const SpotPriceHistory = [
    { SpotPrice: 'dear' },
    { InstanceType: 'm5.large', AvailabilityZone: 'a', SpotPrice: '-1' },
  ];
  const asked = calls({ getProducts: answer({ PriceList }), describeSpotPriceHistory: answer({ SpotPriceHistory }) });
  const prices = new Prices({ calls: asked, region: 'us-west-2', clock: steppingClock(1000 * hour) });
  expect(await prices.current()).toMatchObject({ onDemand: { 'm5.large': 0.1 }, spot: {} });
});

test('a queue URL missing in an answer is asked for again', async () => {
  const urls = [{}, { QueueUrl: 'q' }];
  const stop = new AbortController();
  const problems: string[] = [];
  const received: unknown[] = [];
  const queue = new InterruptionQueue({
    calls: calls({
      getQueueUrl: () => Promise.resolve(urls.shift()),
      receiveMessages: ({ QueueUrl: url }: { QueueUrl?: string }) => {
        received.push(url);
        stop.abort();
        return Promise.resolve({});
      },
    }),
    queueName: 'q',
    region: 'us-west-2',
    clock: steppingClock(),
    onProblem: (problem) => void problems.push(problem),
  });
  await queue.run(answer(undefined), stop.signal);
  expect(received).toEqual(['q']);
  expect(problems).toEqual([expect.stringContaining('sqs:GetQueueUrl')]);
});
