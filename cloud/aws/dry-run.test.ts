import { describe, expect, jest, test } from '@jest/globals';
import { ec2NodeClass, refusal, steppingClock } from '../../test/builders/aws-world.js';
import type { InstanceType } from '../../core/instance-type.js';
import { type AccountDeps, asDryRuns, createAccount, DryRun, type DryRunDeps, triedReads } from './dry-run.js';
import { iamActions } from './iam-policy.js';

const requirements = [
  { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] },
  { key: 'topology.kubernetes.io/zone', operator: 'In', values: ['us-west-2a'] },
];
const type = {
  name: 'm5.large',
  requirements,
  offerings: [{ requirements, price: 1, available: true }],
  capacity: {},
  overhead: {},
} as unknown as InstanceType;

/** EC2 with one answer of RunInstances after the other; the last one stays. */
function world(...answers: Error[]) {
  const types = [type];
  const clock = steppingClock();
  let asked = 0;
  const next = () => Promise.reject(answers[Math.min(asked++, answers.length - 1)]!);
  const deps = {
    calls: { createFleet: () => Promise.reject(refusal('DryRunOperation')), runInstances: next },
    clock,
    clusterName: 'c',
    planner: { plan: () => Promise.resolve(new Map()) },
    catalogue: () => Promise.resolve(types),
  } as unknown as DryRunDeps;
  const nodeClass = {
    ...ec2NodeClass(),
    status: { subnets: [{ id: 'subnet-1', zone: 'us-west-2a' }], instanceProfile: 'p' },
  };
  const dryRun = new DryRun(deps);
  return { clock, types, dryRun, nodeClass, check: () => dryRun.check(nodeClass), asked: () => asked };
}

const noProfile = refusal(
  'InvalidParameterValue',
  'Value (p) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name',
  'ec2:RunInstances',
);
const wouldDo = refusal('DryRunOperation');

describe('the dry run of a node class', () => {
  test('a profile that EC2 does not know yet is waited for, and not held against the class', async () => {
    const { check, asked } = world(noProfile, noProfile, wouldDo);
    await expect(check()).resolves.toMatchObject({ status: 'Unknown', reason: 'InstanceProfileNotFound' });
    await expect(check()).resolves.toMatchObject({ status: 'Unknown' });
    await expect(check()).resolves.toMatchObject({ status: 'True' });
    await check();
    expect(asked()).toBe(3);
  });

  test('a missing launch template says nothing about the node class', async () => {
    const absent = refusal('InvalidLaunchTemplateName.NotFoundException', 'a', 'ec2:RunInstances');
    const { check } = world(absent, wouldDo);
    await expect(check()).resolves.toMatchObject({ status: 'Unknown', reason: 'LaunchTemplateNotFound' });
    await expect(check()).resolves.toMatchObject({ status: 'True' });
  });

  test('a refusal for lack of permission is kept for half an hour', async () => {
    const { check, asked, clock } = world(refusal('UnauthorizedOperation', 'no', 'ec2:RunInstances', 403), wouldDo);
    await expect(check()).resolves.toMatchObject({ status: 'False', reason: 'RunInstancesAuthCheckFailed' });
    await check();
    expect(asked()).toBe(1);
    clock.time += 31 * 60_000;
    await expect(check()).resolves.toMatchObject({ status: 'True' });
  });

  test.each([
    [1, 'True'],
    [0, 'Unknown'],
  ])(
    'while EC2 is unavailable, an earlier success of generation %s makes it %s',
    async (observedGeneration, status) => {
      const { dryRun, nodeClass } = world(refusal('ServiceUnavailable', 'later', 'ec2:RunInstances', 503));
      const conditions = [{ type: 'ValidationSucceeded', status: 'True' as const, observedGeneration }];
      const metadata = { ...nodeClass.metadata, generation: 1 };
      const checked = { ...nodeClass, metadata, status: { ...nodeClass.status, conditions } };
      await expect(dryRun.check(checked)).resolves.toMatchObject({ status });
    },
  );

  test('where nothing can be launched now, no result is kept', async () => {
    const { check, types, asked } = world(refusal('UnauthorizedOperation', 'no', 'ec2:RunInstances', 403));
    const [only] = types.splice(0);
    await expect(check()).resolves.toMatchObject({ status: 'True' });
    types.push(only!);
    await expect(check()).resolves.toMatchObject({ status: 'False', reason: 'RunInstancesAuthCheckFailed' });
    expect(asked()).toBe(1);
  });

  test.each(['InvalidParameterValue', 'InvalidGroup.NotFound', 'ExpiredToken', 'RequestExpired'])(
    '%s is reported, and tried again at the next look',
    async (code) => {
      const { check } = world(refusal(code, 'no', 'ec2:RunInstances'), wouldDo);
      await expect(check()).resolves.toMatchObject({ status: expect.stringMatching(/False|Unknown/) });
      await expect(check()).resolves.toMatchObject({ status: 'True' });
    },
  );
});

describe('account', () => {
  const wouldDo = refusal('DryRunOperation', 'would have succeeded', 'ec2:Some', 412);
  const unauthorized = refusal('UnauthorizedOperation', 'You are not authorized', 'ec2:DescribeImages', 403);

  /** EC2 that answers every dry run by success, but these. */
  function account(answers: Readonly<Record<string, () => Promise<unknown>>> = {}, queueName?: string) {
    const calls = new Proxy(
      {},
      {
        get: (_, name: string) => new Map(Object.entries(answers)).get(name) ?? (() => Promise.reject(wouldDo)),
      },
    ) as AccountDeps['calls'];
    const dryRun = jest.fn<AccountDeps['dryRun']>(() =>
      Promise.resolve({ type: 'ValidationSucceeded', status: 'True' }),
    );
    return { ...createAccount({ calls, region: 'us-west-2', queueName, dryRun }), dryRun };
  }

  describe('the account', () => {
    test('tries out every call that reads', () => {
      const reading = Object.entries(iamActions).filter(([, scope]) => scope === 'regional-read');
      expect([...triedReads].sort()).toEqual(reading.map(([action]) => action).sort());
    });

    test('lists refused permissions with their source', async () => {
      const found = await account({ describeImages: () => Promise.reject(unauthorized) }).permissions();

      expect(found.get('ec2:DescribeSubnets')).toBeUndefined();
      expect([...found].filter(([, refused]) => refused !== undefined).map(([action]) => action)).toEqual([
        'ec2:DescribeImages',
      ]);
      expect(found.get('ec2:DescribeImages')?.message).toContain('You are not authorized');
    });

    test('denied permissions are known, and wrong credentials are an error', async () => {
      await account({ describeInstances: () => Promise.reject(unauthorized) }).authenticate();
      await account().authenticate();

      const unknown = refusal('AuthFailure', 'not able to validate the provided access credentials');
      await expect(account({ describeInstances: () => Promise.reject(unknown) }).authenticate()).rejects.toThrow(
        'AuthFailure',
      );
    });

    test('a node class is validated without its own earlier verdict', async () => {
      const tried = account();
      const conditions = [{ type: 'ValidationSucceeded', status: 'True' as const }];
      await tried.tryOut({ ...ec2NodeClass(), status: { instanceProfile: 'p', conditions } });

      expect(tried.dryRun).toHaveBeenCalledWith(
        expect.objectContaining({ status: { instanceProfile: 'p', conditions: [] } }),
        undefined,
      );
    });

    test('reads the queue, which exists though its attributes may not be read', async () => {
      const getQueueUrl = () => Promise.resolve({ QueueUrl: 'https://sqs/q' });
      const getQueueAttributes = () => Promise.resolve({ Attributes: { ApproximateNumberOfMessages: '7' } });
      const denied = () => Promise.reject(refusal('AccessDenied', 'no', 'sqs:GetQueueAttributes', 403));
      const gone = () => Promise.reject(refusal('QueueDoesNotExist', 'no', 'sqs:GetQueueUrl'));

      expect(account().queue).toBeUndefined();
      await expect(account({ getQueueUrl, getQueueAttributes }, 'q').queue?.look()).resolves.toEqual({ waiting: 7 });
      await expect(account({ getQueueUrl, getQueueAttributes: denied }, 'q').queue?.look()).resolves.toEqual({
        waiting: undefined,
      });
      await expect(account({ getQueueUrl: gone }, 'q').queue?.look()).rejects.toMatchObject({ type: 'NotFound' });
    });
  });

  describe('dry runs of calls that create', () => {
    const calls = (answers: object): Parameters<typeof asDryRuns>[0] => answers as Parameters<typeof asDryRuns>[0];

    test('a launch template is made by a dry run alone', async () => {
      const createLaunchTemplate = jest.fn<(input: object) => Promise<never>>(() => Promise.reject(wouldDo));
      const input = { LaunchTemplateName: 'a', LaunchTemplateData: {} };
      await asDryRuns(calls({ createLaunchTemplate })).createLaunchTemplate(input);

      expect(createLaunchTemplate).toHaveBeenCalledWith({ ...input, DryRun: true });
    });

    test('a refusal of a dry run is reported', async () => {
      const refused = { createLaunchTemplate: () => Promise.reject(unauthorized) };
      await expect(
        asDryRuns(calls(refused)).createLaunchTemplate({ LaunchTemplateName: 'a', LaunchTemplateData: {} }),
      ).rejects.toBe(unauthorized);
    });
  });
});
