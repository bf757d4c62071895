import { about, differs, notApplicable, same, type ConformanceCase } from '../conformance-case.js';
import { pathOf } from './iam-of-account.js';
import { later, owning } from './owning.js';

const a = { role: 'role-A' };
const unknown = { role: 'unknown' };
const others = {
  ours: { roles: ['role-1'] },
  second: { roles: ['role-2'], path: pathOf('uid-second') },
  foreign: { roles: ['role-3'], path: pathOf('uid-default', 'other-cluster') },
};
/** Role and path of the profile that a node class with a role gets. */
const makes = (at: number, title: string, role: string): ConformanceCase =>
  same(
    at,
    title,
    owning(
      async ({ look, iam }) => {
        const [profile] = await look({ role });
        return [iam.rolesOf(profile), iam.profiles.get(profile)?.Path];
      },
      [['NodeRole'], '/karpenter/us-west-2/test-cluster/uid-default/'],
    ),
  );
const path = 'paths have always the same four parts';

/** pkg/providers/instanceprofile/suite_test.go */
export const profileProviderCases: readonly ConformanceCase[] = about('instance profile provider', [
  makes(125, 'a role given with its path', 'CustomPath/NodeRole'),
  makes(126, 'a role given by name', 'NodeRole'),
  notApplicable(129, 'a profile without a path', 'every profile has the path of cluster and node class'),
  same(
    140,
    'deleting a node class deletes its own profiles',
    owning(
      async ({ remove, iam }) => {
        await remove();
        return [...iam.profiles.keys()];
      },
      ['second', 'foreign'],
      others,
    ),
  ),
  same(
    201,
    'the sweep takes only profiles of its cluster',
    owning(
      async ({ sweep, pass }) => {
        await sweep();
        pass(later);
        return sweep();
      },
      ['foreign'],
      others,
    ),
  ),
  makes(283, 'a profile has its name and path', 'NodeRole'),
  same(
    302,
    'a profile is deleted by name',
    owning(
      async ({ remove, iam }) => {
        await remove();
        return iam.asked.filter(([call]) => call === 'delete');
      },
      [['delete', 'ours']],
      others,
    ),
  ),
  same(
    325,
    'a profile is protected while it is used, and for an hour',
    owning(
      async ({ sweep, pass }) => {
        const left: boolean[] = [];
        for (const used of [['ours'], [], ['ours'], [], []]) {
          left.push((await sweep(used)).includes('ours'));
          pass(later);
        }
        return left;
      },
      [true, true, true, true, false],
      { ours: others.ours },
    ),
  ),
  same(
    342,
    'a cached profile expires fifteen minutes after it was read',
    owning(
      async ({ look, iam, pass }) => {
        const asked: number[] = [];
        for (let minutes = 0; minutes <= 20; minutes += 10) {
          await look(a);
          asked.push(iam.count('get'));
          pass(600_000);
        }
        return asked.map((count, i) => i > 0 && count > asked[i - 1]!);
      },
      [false, false, true],
    ),
  ),
  same(
    366,
    'an existing role is cached',
    owning(
      async ({ look, iam }) => {
        iam.roles = ['role-A'];
        return (await look(a)).slice(1);
      },
      ['True', 'InstanceProfileReady'],
    ),
  ),
  differs(
    [372, 379],
    'a missing role is looked up each time',
    'node-classes/instance-profiles',
    'IAM is asked of it again, for a profile that is made once, so that a role that was just made is found within a minute',
    owning(
      async ({ look, iam, pass }) => {
        iam.roles = [];
        const said = [(await look(unknown))[2]];
        pass(60_000);
        said.push((await look(unknown))[2]);
        iam.roles = ['unknown'];
        pass(60_000);
        said.push((await look(unknown))[2]);
        return [said, iam.count('create'), iam.profiles.size];
      },
      [['NodeRoleNotFound', 'NodeRoleNotFound', 'InstanceProfileReady'], 1, 1],
    ),
  ),
  notApplicable([397, 398, 399], 'paths of fewer parts', path),
  notApplicable(400, 'the path of a cluster', `${path}; the prefix that is listed is tested above`),
  makes(401, 'the path of a node class', 'NodeRole'),
]);
