import { describe, expect, test } from 'vitest';
import { ec2NodeClass, refusal, steppingClock } from '../../test/builders/aws-world.js';
import type { InstanceType } from '../../core/instance-type.js';
import { DryRun } from './dry-run.js';
import type { DryRunDeps } from './dry-run.js';

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
  return { clock, types, check: () => dryRun.check(nodeClass), asked: () => asked };
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

  test('a launch template that is not there says nothing of the node class', async () => {
    const absent = refusal('InvalidLaunchTemplateName.NotFoundException', 'a', 'ec2:RunInstances');
    const { check } = world(absent, wouldDo);
    await expect(check()).resolves.toMatchObject({ status: 'Unknown', reason: 'LaunchTemplateNotFound' });
    await expect(check()).resolves.toMatchObject({ status: 'True' });
  });

  test('what was refused for want of a permission is kept for half an hour', async () => {
    const { check, asked, clock } = world(refusal('UnauthorizedOperation', 'no', 'ec2:RunInstances', 403), wouldDo);
    await expect(check()).resolves.toMatchObject({ status: 'False', reason: 'RunInstancesAuthCheckFailed' });
    await check();
    expect(asked()).toBe(1);
    clock.time += 31 * 60_000;
    await expect(check()).resolves.toMatchObject({ status: 'True' });
  });

  test('where nothing can be launched now, nothing was tried, and that is not kept', async () => {
    const { check, types, asked } = world(refusal('UnauthorizedOperation', 'no', 'ec2:RunInstances', 403));
    const [only] = types.splice(0);
    await expect(check()).resolves.toMatchObject({ status: 'True' });
    types.push(only!);
    await expect(check()).resolves.toMatchObject({ status: 'False', reason: 'RunInstancesAuthCheckFailed' });
    expect(asked()).toBe(1);
  });

  test.each(['InvalidParameterValue', 'InvalidGroup.NotFound', 'ExpiredToken', 'RequestExpired'])(
    '%s is told, and asked again at the next look',
    async (code) => {
      const { check } = world(refusal(code, 'no', 'ec2:RunInstances'), wouldDo);
      await expect(check()).resolves.toMatchObject({ status: expect.stringMatching(/False|Unknown/) });
      await expect(check()).resolves.toMatchObject({ status: 'True' });
    },
  );
});
