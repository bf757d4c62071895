import { messageOf } from '../../../core/error-message.js';
import { refusal } from '../../builders/aws-world.js';
import { about, differs, notApplicable, same, type ConformanceCase } from '../conformance-case.js';
import { pathOf } from './iam-of-account.js';
import { later, owning, type Owner, type There } from './owning.js';

const a = { role: 'role-A' };
const b = { role: 'role-B' };
const given = { role: undefined, instanceProfile: 'given' };
const isReady = ['True', 'InstanceProfileReady'];
const changing = ['create', 'add', 'remove', 'delete'];
/** Roles of the profile of the node class, number of profiles, and whether it is ready. */
const outcome =
  (spec: object) =>
  async ({ iam, look }: Owner): Promise<unknown> => {
    const [profile, ...ready] = await look(spec);
    return [iam.rolesOf(profile), iam.profiles.size, ready];
  };
const becomes = (
  at: number,
  title: string,
  spec: object,
  expected: readonly unknown[],
  there: There = {},
): ConformanceCase => same(at, title, owning(outcome(spec), [...expected, isReady], there, Object.keys(there)[0]));
const rule = 'node-classes/instance-profiles';
const named = 'node class and role name the profile, so that no memory is needed of what was made';
const tagsOf = async ({ iam, look }: Owner): Promise<unknown> => {
  const [profile] = await look(a);
  return Object.fromEntries((iam.profiles.get(profile)?.Tags ?? []).map(({ Key = '', Value }) => [Key, Value]));
};
const tags = {
  'kubernetes.io/cluster/test-cluster': 'owned',
  'karpenter.k8s.aws/ec2nodeclass': 'default',
  'eks:eks-cluster-name': 'test-cluster',
  'topology.kubernetes.io/region': 'us-west-2',
};
/** The first profile of the node class outlives a change of its spec, and a sweep right after it. */
const protects = (at: number, title: string, spec: object): ConformanceCase =>
  same(
    at,
    title,
    owning(
      async ({ look, pass, sweep }) => {
        const [first] = await look(a);
        pass(5 * later);
        await look(spec);
        const left = await sweep();
        pass(later);
        return [left.includes(first), (await sweep()).includes(first)];
      },
      [true, false],
      { given: { path: '/' } },
    ),
  );
const own = (...roles: readonly string[]): There => ({ 'profile-A': { roles } });

/** pkg/controllers/nodeclass/instanceprofile_test.go */
export const profileStatusCases: readonly ConformanceCase[] = about('instance profile in the status of a node class', [
  becomes(37, 'is created with the role', a, [['role-A'], 1]),
  same(
    57,
    'is deleted with the node class, and created again for the next',
    owning(
      async ({ look, remove, iam }) => {
        for (const role of ['role-A', 'role-B', 'role-C']) await look({ role });
        const before = iam.profiles.size;
        await remove();
        const after = iam.profiles.size;
        await look(b);
        return [before, after, iam.profiles.size];
      },
      [3, 0, 1],
    ),
  ),
  becomes(99, 'gets the role that it lacks', a, [['role-A'], 2], own()),
  becomes(123, 'gets the role in place of another', { role: 'other' }, [['other'], 2], own('role-A')),
  same(
    150,
    'is unchanged with its role',
    owning(
      async ({ look, iam }) => [await look(a), iam.count(...changing)],
      [['profile-A', ...isReady], 0],
      own('role-A'),
      'profile-A',
    ),
  ),
  same(
    178,
    'is the one that the spec names',
    owning(({ look }) => look(given), ['given', ...isReady], { given: {} }),
  ),
  same(
    188,
    'is unchanged where the spec names it',
    owning(async ({ look, iam }) => [(await look(given)).slice(1), iam.count(...changing)], [isReady, 0], {
      given: {},
    }),
  ),
  same(
    199,
    'is another one for another role',
    owning(
      async ({ look, iam }) => {
        const profiles = [(await look(a))[0], (await look(b))[0]];
        return [new Set(profiles).size, profiles.map((each) => iam.rolesOf(each))];
      },
      [2, [['role-A'], ['role-B']]],
    ),
  ),
  same(
    228,
    'is not swept while it is new',
    owning(
      async ({ look, sweep, pass }) => {
        const [profile] = await look(a);
        const left = [await sweep([], true)];
        pass(later / 2);
        left.push(await sweep([], true));
        return left.map((each) => each.includes(profile));
      },
      [true, true],
    ),
  ),
  protects(243, 'of the old role is not swept right after the role changed', b),
  protects(373, 'is not swept after the spec names another', given),
  same(
    [267, 358],
    'is found again without the status',
    owning(
      async ({ look, forget, iam }) => {
        const [first] = await look(a);
        forget();
        const [again] = await look(a);
        return [first === again, iam.profiles.size];
      },
      [true, 1],
    ),
  ),
  becomes(298, 'of another role is not used', a, [['role-A'], 2], own('role-B')),
  becomes(329, 'of another node class is not used', a, [['role-A'], 2], {
    'profile-A': { roles: ['role-A'], path: pathOf('other') },
  }),
  same(
    404,
    'is separate for two node classes with one role',
    owning(
      async ({ look, other, iam }) => {
        const profiles = [(await look(a))[0], (await other('second')(a))[0]];
        return [new Set(profiles).size, profiles.map((each) => iam.rolesOf(each))];
      },
      [2, [['role-A'], ['role-A']]],
    ),
  ),
  differs(
    431,
    'is found again for a role that returns',
    rule,
    named,
    owning(
      async ({ look, iam }) => {
        const all: string[] = [];
        for (const role of ['role-A', 'role-B', 'role-C', 'role-A']) all.push((await look({ role }))[0]);
        return [all[0] === all[3], new Set(all).size, iam.profiles.size];
      },
      [true, 3, 3],
    ),
  ),
  same(
    475,
    'IAM does not answer',
    owning(
      async ({ look, iam }) => {
        iam.errors.set('get', refusal('ServiceFailure', 'words', 'iam:GetInstanceProfile', 500));
        return [await look(b), iam.count(...changing)];
      },
      [['profile-A', 'Unknown', 'AwaitingReconciliation'], 0],
      own('role-A'),
      'profile-A',
    ),
  ),
  same(506, 'has the tags', owning(tagsOf, tags)),
  differs(
    541,
    'is not there while the role cannot be added',
    rule,
    'the profile is completed at the next look: its name is the same, so that none piles up',
    owning(
      async ({ look, iam, pass }) => {
        iam.errors.set('add', refusal('AccessDenied', 'no', 'iam:AddRoleToInstanceProfile', 403));
        const [, ready] = await look(a);
        iam.errors.clear();
        pass(60_000);
        const [profile, then] = await look(a);
        return [ready, then, iam.profiles.size, iam.rolesOf(profile), iam.count('create')];
      },
      ['False', 'True', 1, ['role-A'], 1],
    ),
  ),
]);

interface Swept {
  readonly used?: readonly string[];
  readonly current?: string;
  readonly before?: (owner: Owner) => unknown;
}
/** The profiles that are left of one that is a day old, once it was swept twice, more than an hour apart, and what the last sweep says. */
const swept = (at: number, title: string, { used, current, before }: Swept, expected: unknown): ConformanceCase =>
  same(
    at,
    title,
    owning(
      async (owner) => {
        await before?.(owner);
        await owner.sweep(used);
        owner.pass(later);
        const message = await owner.sweep(used).then(() => '', messageOf);
        return [[...owner.iam.profiles.keys()], message];
      },
      expected,
      own('role-A'),
      current,
    ),
  );
const stays = [['profile-A'], ''];

/** pkg/controllers/nodeclass/garbagecollection/suite_test.go */
export const profileGarbageCases: readonly ConformanceCase[] = about('garbage collection of instance profiles', [
  swept(126, 'of a launched claim stays', { used: ['profile-A'] }, stays),
  swept(172, 'of a node class stays', { before: ({ look }) => look(a), current: 'profile-A' }, stays),
  protects(204, 'used a moment ago stays', b),
  swept(232, 'without a use is deleted', {}, [[], '']),
  notApplicable(
    260,
    'when the next sweep is',
    'a Schedule of Temporal begins one every half hour, also after a failure',
  ),
  swept(
    267,
    'that cannot be deleted stays, and the sweep fails',
    {
      before: ({ iam }) =>
        iam.errors.set('delete', refusal('AccessDenied', 'get failed', 'iam:DeleteInstanceProfile', 403)),
    },
    [['profile-A'], 'iam:DeleteInstanceProfile: AccessDenied: get failed'],
  ),
]);
