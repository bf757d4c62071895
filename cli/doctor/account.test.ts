import { describe, expect, test } from '@jest/globals';
import type { CloudAccount } from '../../cloud/port.js';
import { DomainError } from '../../core/failures.js';
import { createFakeKube } from '../../test/simulation/kube/fake.js';
import { ec2NodeClass } from '../../test/builders/aws-world.js';
import { cloudCheck, cloudPermissionsCheck, credentialsCheck, launchCheck, queueCheck } from './account.js';

const denied = new DomainError('Denied', 'ec2:DescribeImages: UnauthorizedOperation');
const away = () => Promise.reject(new Error('away'));
const account = (more: Partial<CloudAccount> = {}): (() => CloudAccount) => {
  const whole: CloudAccount = {
    place: 'region us-west-2',
    time: () => Promise.resolve(0),
    authenticate: () => Promise.resolve(),
    permissions: () => Promise.resolve(new Map([['ec2:DescribeImages', undefined]])),
    tryOut: () => Promise.resolve({ type: 'ValidationSucceeded', status: 'True' }),
    ...more,
  };
  return () => whole;
};

describe('doctor check cloud', () => {
  test('is ok with a region, and skipped without a cloud', async () => {
    expect(await cloudCheck(account()).run()).toMatchObject({ state: 'ok', found: 'region us-west-2' });
    expect(await cloudCheck(() => undefined).run()).toMatchObject({ state: 'skipped' });
  });

  test('passes invalid settings on as an error', () => {
    const broken = (): never => {
      throw new Error('AWS_REGION is missing');
    };
    expect(() => cloudCheck(broken).run()).toThrow('AWS_REGION is missing');
  });
});

describe('doctor check cloud-credentials', () => {
  test('is ok when accepted, and passes a denial on as an error', async () => {
    expect(await credentialsCheck(account()).run()).toMatchObject({ state: 'ok', found: 'accepted' });
    await expect(credentialsCheck(account({ authenticate: () => Promise.reject(denied) })).run()).rejects.toBe(denied);
  });
});

describe('doctor check cloud-permissions', () => {
  const verdict = (refused: DomainError | undefined) => {
    const permissions = () => Promise.resolve(new Map([['ec2:DescribeImages', refused]]));
    return cloudPermissionsCheck(account({ permissions })).run();
  };

  test('is ok when all are allowed, failed when one is denied, a warning when it cannot know', async () => {
    expect(await verdict(undefined)).toMatchObject({ state: 'ok', found: '1 permission to read' });
    expect(await verdict(denied)).toMatchObject({ state: 'failed', found: 'denied: ec2:DescribeImages' });
    expect(await verdict(new DomainError('Throttled', 'slow down'))).toMatchObject({
      state: 'warning',
      found: 'unknown: slow down',
    });
  });

  test('passes an error of the cloud on', async () => {
    await expect(cloudPermissionsCheck(account({ permissions: away })).run()).rejects.toThrow('away');
  });
});

describe('doctor check cloud-launch', () => {
  const kube = createFakeKube();
  const conditions = ['SubnetsReady', 'SecurityGroupsReady', 'AMIsReady', 'InstanceProfileReady'].map((type) => ({
    type,
    status: 'True' as const,
  }));
  kube.put('EC2NodeClass', { ...ec2NodeClass(), status: { conditions } });
  const dryRun = (status: 'True' | 'False' | 'Unknown', reason = 'Why') => ({
    tryOut: () => Promise.resolve({ type: 'ValidationSucceeded', status, reason, message: 'because' }),
  });

  test('is ok when EC2 would launch, failed when it would refuse, a warning when it cannot know', async () => {
    expect(await launchCheck(account(), kube).run()).toMatchObject({
      state: 'ok',
      found: 'EC2 would launch from 1 node class',
    });
    expect(await launchCheck(account(dryRun('False')), kube).run()).toMatchObject({
      state: 'failed',
      found: 'EC2NodeClass default: Why: because',
      mend: expect.stringContaining('deploy/iam-policy.json'),
    });
    expect(await launchCheck(account(dryRun('Unknown')), kube).run()).toMatchObject({
      state: 'warning',
      found: 'EC2NodeClass default: Why: because',
    });
  });

  test('is ok, and says so, where the launch template does not exist yet', async () => {
    expect(await launchCheck(account(dryRun('Unknown', 'LaunchTemplateNotFound')), kube).run()).toEqual({
      state: 'ok',
      found: 'EC2 would make a launch template for default; a launch can be tried only once the first node needs it',
      mend: '',
    });
  });

  test('is skipped where no node class is resolved', async () => {
    const unresolved = createFakeKube();
    expect(await launchCheck(account(), unresolved).run()).toMatchObject({ state: 'skipped' });
    unresolved.put('EC2NodeClass', { ...ec2NodeClass(), status: { conditions: conditions.slice(1) } });
    expect(await launchCheck(account(), unresolved).run()).toMatchObject({ state: 'skipped' });
  });

  test('passes an error of the cloud on', async () => {
    await expect(launchCheck(account({ tryOut: away }), kube).run()).rejects.toThrow('away');
  });
});

describe('doctor check interruption-queue', () => {
  const verdict = (waiting: number | undefined) =>
    queueCheck(account({ queue: { name: 'q', look: () => Promise.resolve({ waiting }) } })).run();

  test('warns without a queue, with many messages waiting, and with unreadable attributes', async () => {
    expect(await queueCheck(account()).run()).toMatchObject({
      state: 'warning',
      found: expect.stringContaining('INTERRUPTION_QUEUE is not set'),
    });
    expect(await verdict(1)).toMatchObject({ state: 'ok', found: 'q, 1 message waiting' });
    expect(await verdict(5000)).toMatchObject({ state: 'warning', found: expect.stringContaining('5000 messages') });
    expect(await verdict(undefined)).toMatchObject({
      state: 'warning',
      mend: expect.stringContaining('sqs:GetQueueAttributes'),
    });
  });

  test('passes the error for a queue that does not exist on', async () => {
    const check = queueCheck(account({ queue: { name: 'q', look: away } }));
    await expect(check.run()).rejects.toThrow('away');
    expect(check.unanswered).toContain('INTERRUPTION_QUEUE');
  });
});
