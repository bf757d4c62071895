import { describe, expect, test } from '@jest/globals';
import { ec2NodeClass, refusal, steppingClock } from '../../test/builders/aws-world.js';
import type { AwsCalls } from './calls.js';
import { LaunchTemplates } from './launch-template.js';
import type { TemplateInput } from './launch-template.js';

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
  test('deletes those that Stowage created, and no others', async () => {
    const { there, sweep } = account();
    await expect(sweep()).resolves.toBe(3);
    expect([...there.keys()]).toEqual(['managed', 'copied', 'named']);
  });

  test('goes on after one that may not be deleted, which is reported', async () => {
    const { there, sweep } = account((id) =>
      id === 'b' ? refusal('UnauthorizedOperation', 'no', 'ec2:DeleteLaunchTemplate', 403) : undefined,
    );
    await expect(sweep()).rejects.toMatchObject({ type: 'Denied' });
    expect([...there.keys()]).toEqual(['b', 'managed', 'copied', 'named']);
  });
});

/** EC2 that does not list new templates yet; `missing`: templates that another client deleted. */
function lagging() {
  const there = new Set<string>();
  const missing = new Set<string>();
  const listed = new Set<string>();
  const calls = {
    createLaunchTemplate: ({ LaunchTemplateName: name = '' }) => Promise.resolve(void there.add(name)),
    describeLaunchTemplates: ({ NextToken: token }: { NextToken?: string }) => {
      const all = [...there].filter((name) => listed.has(name));
      const at = Number(token ?? 0);
      return Promise.resolve({
        LaunchTemplates: all.slice(at, at + 1).map((name) => ({
          LaunchTemplateId: `lt-${name}`,
          LaunchTemplateName: name,
          Tags: [owned, ofClass],
          CreateTime: new Date(0),
        })),
        ...(at + 1 < all.length && { NextToken: String(at + 1) }),
      });
    },
    deleteLaunchTemplate: ({ LaunchTemplateName: name, LaunchTemplateId: id }: Record<string, string | undefined>) => {
      const which = name ?? id!.slice(3);
      if (missing.has(which) || !there.delete(which))
        return Promise.reject(refusal('UnauthorizedOperation', 'no', 'ec2:DeleteLaunchTemplate', 403));
      return Promise.resolve({});
    },
  } as unknown as AwsCalls;
  const templates = new LaunchTemplates(calls, 'c', steppingClock());
  const make = (name: string, ...imageIds: string[]) =>
    Promise.all(
      imageIds.map((imageId) =>
        templates.ensure({
          nodeClass: ec2NodeClass({}, name),
          imageId,
          userData: '',
          efaCards: 0,
          placement: {},
          tags: {},
        } as unknown as TemplateInput),
      ),
    );
  return { there, missing, listed, templates, make };
}

// Rule `node-classes/deletion`.
describe('the end of a node class', () => {
  const end = { nodeClass: 'default' };

  test('deletes three templates created at once, and those that EC2 does not list yet', async () => {
    const { there, listed, templates, make } = lagging();
    const [first = ''] = await make('default', 'ami-1', 'ami-2', 'ami-3');
    const [other] = await make('other', 'ami-4');
    listed.add(first);
    await expect(templates.cleanUp(end)).resolves.toBe(3);
    expect([...there]).toEqual([other]);
    await expect(templates.cleanUp(end)).resolves.toBe(0);
  });

  test('reads every page of the list', async () => {
    const { there, listed, templates, make } = lagging();
    for (const name of await make('default', 'ami-1', 'ami-2', 'ami-3')) listed.add(name);
    await expect(templates.cleanUp(end)).resolves.toBe(3);
    expect([...there]).toEqual([]);
  });

  test('counts a template deleted by another client as gone, though EC2 denies the call', async () => {
    const { there, missing, templates, make } = lagging();
    const [gone = ''] = await make('default', 'ami-1', 'ami-2');
    missing.add(gone);
    await expect(templates.cleanUp(end)).resolves.toBe(1);
    expect([...there]).toEqual([gone]);
  });
});
