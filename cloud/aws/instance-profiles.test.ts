import { describe, expect, test } from '@jest/globals';
import { ec2NodeClass, refusal, steppingClock } from '../../test/builders/aws-world.js';
import type { AwsCalls } from './calls.js';
import { InstanceProfiles } from './instance-profiles.js';

/** IAM with profiles of this cluster, each an age of a day; `fail` says what each call meets. */
function iam(
  fail: (action: string, name: string) => Error | undefined,
  names: readonly string[] = [],
  isolated = false,
) {
  const clock = steppingClock(48 * 3_600_000);
  const path = '/karpenter/eu-central-1/c/uid-default/';
  const there = new Map(
    names.map((name) => [
      name,
      { InstanceProfileName: name, Path: path, CreateDate: new Date(0), Roles: [{ RoleName: 'nodes' }] },
    ]),
  );
  const asked: string[] = [];
  const call =
    <T>(action: string, answer: (name: string) => T) =>
    async ({ InstanceProfileName: name = '' }: { InstanceProfileName?: string }): Promise<T> => {
      await Promise.resolve();
      asked.push(action);
      const failure = fail(action, name);
      if (failure !== undefined) throw failure;
      return answer(name);
    };
  const calls = {
    getInstanceProfile: call('Get', (name) => {
      const profile = there.get(name);
      if (profile === undefined)
        throw refusal('NoSuchEntityException', 'no such profile', 'iam:GetInstanceProfile', 404);
      return { InstanceProfile: profile };
    }),
    listInstanceProfiles: call('List', () => ({ InstanceProfiles: [...there.values()] })),
    removeRoleFromInstanceProfile: call('RemoveRole', () => ({})),
    deleteInstanceProfile: call('Delete', (name) => void there.delete(name)),
  } as unknown as AwsCalls;
  const profiles = new InstanceProfiles(calls, { clusterName: 'c', region: 'eu-central-1', isolated }, clock);
  return { profiles, there, asked, clock };
}

const given = ec2NodeClass({ role: undefined, instanceProfile: 'mine' });

describe('a profile that the node class names', () => {
  test.each([
    ['cannot be reached', refusal('TimeoutError', 'no answer', 'iam:GetInstanceProfile', 599)],
    ['denies the call', refusal('AccessDenied', 'no', 'iam:GetInstanceProfile', 403)],
  ])('is used unchecked where IAM %s', async (_, failure) => {
    await expect(iam(() => failure).profiles.resolve(given)).resolves.toBe('mine');
  });

  test('is used without asking IAM in an isolated VPC', async () => {
    const { profiles, asked } = iam(() => undefined, [], true);
    await expect(profiles.resolve(given)).resolves.toBe('mine');
    expect(asked).toEqual([]);
  });

  test('is named in the error when it does not exist in IAM', async () => {
    await expect(iam(() => undefined).profiles.resolve(given)).rejects.toThrow('mine does not exist');
  });
});

test('an instance profile that may not be deleted does not stop the others', async () => {
  const denied = refusal('AccessDenied', 'no', 'iam:DeleteInstanceProfile', 403);
  const { profiles, there, clock } = iam(
    (action, name) => (action === 'Delete' && name === 'b' ? denied : undefined),
    ['a', 'b', 'c'],
  );
  await profiles.sweep(new Set());
  clock.time += 3_600_001;
  await expect(profiles.sweep(new Set())).rejects.toMatchObject({ type: 'Denied' });
  expect([...there.keys()]).toEqual(['b']);
});
