import { describe, expect, test, vi } from 'vitest';
import { ec2NodeClass, refusal } from '../../test/builders/aws-world.js';
import { createAccount, triedReads, asDryRuns } from './account.js';
import type { AccountDeps } from './account.js';
import { iamActions } from './iam-actions.js';

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
  const dryRun = vi.fn<AccountDeps['dryRun']>(() => Promise.resolve({ type: 'ValidationSucceeded', status: 'True' }));
  return { ...createAccount({ calls, region: 'us-west-2', queueName, dryRun }), dryRun };
}

describe('the account', () => {
  test('tries out every call that reads', () => {
    const reading = Object.entries(iamActions).filter(([, scope]) => scope === 'regional-read');
    expect([...triedReads].sort()).toEqual(reading.map(([action]) => action).sort());
  });

  test('tells which permissions are refused, and by what', async () => {
    const found = await account({ describeImages: () => Promise.reject(unauthorized) }).permissions();

    expect(found.get('ec2:DescribeSubnets')).toBeUndefined();
    expect([...found].filter(([, refused]) => refused !== undefined).map(([action]) => action)).toEqual([
      'ec2:DescribeImages',
    ]);
    expect(found.get('ec2:DescribeImages')?.message).toContain('You are not authorized');
  });

  test('who is refused a permission is known; who gives wrong credentials is not', async () => {
    await account({ describeInstances: () => Promise.reject(unauthorized) }).authenticate();
    await account().authenticate();

    const unknown = refusal('AuthFailure', 'not able to validate the provided access credentials');
    await expect(account({ describeInstances: () => Promise.reject(unknown) }).authenticate()).rejects.toThrow(
      'AuthFailure',
    );
  });

  test('a node class is tried out without the verdict that it has', async () => {
    const tried = account();
    const conditions = [{ type: 'ValidationSucceeded', status: 'True' as const }];
    await tried.tryOut({ ...ec2NodeClass(), status: { instanceProfile: 'p', conditions } });

    expect(tried.dryRun).toHaveBeenCalledWith(
      expect.objectContaining({ status: { instanceProfile: 'p', conditions: [] } }),
      undefined,
    );
  });

  test('looks at the queue; one whose attributes nobody may read is there all the same', async () => {
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

describe('calls that make nothing', () => {
  const calls = (answers: object): Parameters<typeof asDryRuns>[0] => answers as Parameters<typeof asDryRuns>[0];

  test('a launch template is made by a dry run alone', async () => {
    const createLaunchTemplate = vi.fn<(input: object) => Promise<never>>(() => Promise.reject(wouldDo));
    const input = { LaunchTemplateName: 'a', LaunchTemplateData: {} };
    await asDryRuns(calls({ createLaunchTemplate })).createLaunchTemplate(input);

    expect(createLaunchTemplate).toHaveBeenCalledWith({ ...input, DryRun: true });
  });

  test('a refusal to make it is told', async () => {
    const refused = { createLaunchTemplate: () => Promise.reject(unauthorized) };
    await expect(
      asDryRuns(calls(refused)).createLaunchTemplate({ LaunchTemplateName: 'a', LaunchTemplateData: {} }),
    ).rejects.toBe(unauthorized);
  });
});
