import { describe, expect, test } from '@jest/globals';
import { refusal, steppingClock } from '../../test/builders/aws-world.js';
import type { AwsCalls } from './calls.js';
import { LaunchTemplates } from './launch-template.js';

const owned = { Key: 'kubernetes.io/cluster/c', Value: 'owned' };
const ofClass = { Key: 'karpenter.k8s.aws/ec2nodeclass', Value: 'default' };

/** An account that others keep launch templates in, too. */
function account(fail: (id: string) => Error | undefined = () => undefined) {
  const ours = ['a', 'b', 'c'].map((id) => ({ id, name: `karpenter.k8s.aws/${id}`, tags: [owned, ofClass] }));
  const others = [
    // Managed node groups and Terraform tag theirs as the cluster's, too.
    { id: 'managed', name: 'eks-managed', tags: [owned] },
    { id: 'copied', name: 'copied', tags: [owned, ofClass] },
    { id: 'named', name: 'karpenter.k8s.aws/by-hand', tags: [owned] },
  ];
  const there = new Map([...ours, ...others].map((each) => [each.id, each]));
  const calls = {
    describeLaunchTemplates: () =>
      Promise.resolve({
        LaunchTemplates: [...there.values()].map(({ id, name, tags }) => ({
          LaunchTemplateId: id,
          LaunchTemplateName: name,
          Tags: tags,
          CreateTime: new Date(0),
        })),
      }),
    deleteLaunchTemplate: ({ LaunchTemplateId: id = '' }) => {
      const failure = fail(id);
      return failure === undefined ? Promise.resolve(void there.delete(id)) : Promise.reject(failure);
    },
  } as unknown as AwsCalls;
  const hour = 3_600_000;
  const templates = new LaunchTemplates(calls, 'c', steppingClock(48 * hour));
  return { there, sweep: () => templates.cleanUp({ unusedForMs: hour }) };
}

describe('the sweep of launch templates', () => {
  test('deletes those that this program made, and nobody else’s', async () => {
    const { there, sweep } = account();
    await expect(sweep()).resolves.toBe(3);
    expect([...there.keys()]).toEqual(['managed', 'copied', 'named']);
  });

  test('one that may not be deleted keeps no other from it, and is told', async () => {
    const { there, sweep } = account((id) =>
      id === 'b' ? refusal('UnauthorizedOperation', 'no', 'ec2:DeleteLaunchTemplate', 403) : undefined,
    );
    await expect(sweep()).rejects.toMatchObject({ type: 'Denied' });
    expect([...there.keys()]).toEqual(['b', 'managed', 'copied', 'named']);
  });
});
