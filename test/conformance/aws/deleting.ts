import type { LaunchTemplate } from '@aws-sdk/client-ec2';
import { messageOf } from '../../../core/error-message.js';
import { resolveNodeClass } from '../../../operator/node-classes.js';
import { nodeClaim } from '../../builders/activity-world.js';
import { ec2NodeClass, refusal } from '../../builders/aws-world.js';
import { passes, tagValues } from '../../../tools/stack/cloud-proxy/filters.js';
import { about, same, type Check, type ConformanceCase } from '../conformance-case.js';
import { IamOfAccount, type Made } from './iam-of-account.js';
import { inPlace, type Place } from './instances.js';

const kind = 'EC2NodeClass';
const name = 'default';
const tagsOf = (nodeClass: string): Readonly<Record<string, string>> => ({
  ...{ 'kubernetes.io/cluster/test-cluster': 'owned', 'eks:eks-cluster-name': 'test-cluster' },
  'karpenter.k8s.aws/ec2nodeclass': nodeClass,
});

/** Launch templates by id, as EC2 lists and deletes them. */
class Templates {
  readonly there = new Map<string, LaunchTemplate>();
  refuses = false;

  put(id: string, tags: Readonly<Record<string, string>>): void {
    this.there.set(id, {
      ...{ LaunchTemplateId: id, LaunchTemplateName: `karpenter.k8s.aws/${id}`, CreateTime: new Date(0) },
      Tags: Object.entries(tags).map(([Key, Value]) => ({ Key, Value })),
    });
  }

  readonly calls = {
    describeLaunchTemplates: ({ Filters = [] }: { Filters?: readonly { Name?: string; Values?: string[] }[] }) => {
      const filters = new Map(Filters.map(({ Name = '', Values = [] }) => [Name, Values]));
      const found = [...this.there.values()].filter(({ Tags = [] }) =>
        passes(filters, (of) => tagValues(of, new Map(Tags.map(({ Key = '', Value = '' }) => [Key, Value])))),
      );
      return Promise.resolve({ LaunchTemplates: found });
    },
    deleteLaunchTemplate: ({ LaunchTemplateId: id = '' }) => {
      if (this.refuses) return Promise.reject(refusal('UnauthorizedOperation', 'no', 'ec2:DeleteLaunchTemplate', 403));
      return Promise.resolve(void this.there.delete(id));
    },
  };
}

interface Deleted extends Place {
  readonly iam: IamOfAccount;
  readonly templates: Templates;
  /** Deletes the node class and reconciles it; resolves with the error, or with the time of the next attempt. */
  readonly remove: () => Promise<unknown>;
  readonly look: () => Promise<unknown>;
  /** Whether the node class is there. */
  readonly isThere: () => boolean;
}
interface Given {
  readonly spec?: object;
  readonly profiles?: Readonly<Record<string, Made>>;
  readonly isolatedVpc?: boolean;
  readonly clusterName?: string;
}

/** Plays a case of a node class that goes. */
const going = (play: (it: Deleted) => Promise<unknown>, expected: unknown, given: Given = {}): Check => {
  const { spec = {}, profiles = {}, isolatedVpc = false, clusterName = 'test-cluster' } = given;
  const iam = new IamOfAccount();
  const templates = new Templates();
  return inPlace(
    (place) => {
      for (const [each, made] of Object.entries(profiles)) iam.put(each, made);
      const { kube, deps } = place;
      const isThere = (): boolean => kube.objects(kind).length > 0;
      const look = (): Promise<unknown> =>
        resolveNodeClass(deps, kind, name).then((again) => again?.afterMs, messageOf);
      const remove = async (): Promise<unknown> => {
        await kube.delete(kind, { name });
        return look();
      };
      kube.put(kind, ec2NodeClass(spec));
      return play({ ...place, ...{ iam, templates, remove, look, isThere } });
    },
    expected,
    { calls: { ...iam.calls, ...templates.calls }, options: { isolatedVpc, clusterName, disableDryRun: true } },
  );
};
const profilesOf = ({ iam }: Deleted): readonly string[] => [...iam.profiles.keys()];
/** As hashstructure of Go hashes `us-west-2default`. */
const legacy = 'test-cluster_4067990795380418201';
const given: Given = {
  spec: { role: undefined, instanceProfile: 'given' },
  profiles: { given: { roles: ['fake'], path: '/' } },
};
/** Profiles before and after the node class goes, and whether it does. */
const takes =
  (before?: (it: Deleted) => void) =>
  async (it: Deleted): Promise<unknown> => {
    await it.look();
    before?.(it);
    const there = profilesOf(it).length;
    await it.remove();
    return [there, profilesOf(it).length, it.isThere()];
  };

/** pkg/controllers/nodeclass/suite_test.go */
export const deletionCases: readonly ConformanceCase[] = about('deleting a node class', [
  same(
    141,
    'a launch template that cannot be deleted keeps the node class',
    going(
      async (it) => {
        it.templates.put('lt-1', tagsOf(name));
        await it.look();
        it.templates.refuses = true;
        const problem = await it.remove();
        const before = it.isThere();
        it.templates.refuses = false;
        await it.look();
        return [problem, before, it.isThere()];
      },
      ['ec2:DeleteLaunchTemplate: UnauthorizedOperation: no', true, false],
    ),
  ),
  same(
    155,
    'launch templates of other owners stay',
    going(
      async (it) => {
        it.templates.put('lt-1', { 'karpenter.k8s.aws/cluster': 'test-cluster' });
        it.templates.put('lt-2', tagsOf('other'));
        await it.remove();
        return [[...it.templates.there.keys()], it.isThere()];
      },
      [['lt-1', 'lt-2'], false],
    ),
  ),
  same(
    170,
    'its launch templates are deleted',
    going(
      async (it) => {
        for (const id of ['lt-1', 'lt-2']) it.templates.put(id, tagsOf(name));
        await it.look();
        await it.remove();
        return [it.templates.there.size, it.isThere()];
      },
      [0, false],
    ),
  ),
  same(190, 'its instance profile is deleted', going(takes(), [1, 0, false])),
  same(
    207,
    'an instance profile without a role is deleted',
    going(
      takes(({ iam }) => {
        for (const each of iam.profiles.keys()) iam.put(each);
      }),
      [1, 0, false],
    ),
  ),
  same(
    226,
    'an absent instance profile is no failure',
    going(
      takes(({ iam }) => iam.profiles.clear()),
      [0, 0, false],
    ),
  ),
  same(
    237,
    'the instance profile of an early release is deleted too',
    going(takes(), [2, 0, false], { profiles: { [legacy]: { roles: ['fake-role'], path: '/' } } }),
  ),
  same(
    260,
    'it waits for its claims, and not for those of a class of another group',
    going(
      async (it) => {
        for (const each of ['a', 'b']) it.kube.put('NodeClaim', nodeClaim(each));
        const { nodeClassRef, ...spec } = nodeClaim('c').spec;
        const foreign = { ...nodeClassRef, group: 'example.com' };
        it.kube.put('NodeClaim', nodeClaim('c', { spec: { ...spec, nodeClassRef: foreign } }));
        await it.look();
        await it.synced();
        const waits = [[await it.remove(), it.isThere()]];
        for (const each of ['a', 'b']) {
          it.kube.remove('NodeClaim', { name: each });
          await it.synced();
          waits.push([await it.look(), it.isThere()]);
        }
        return [waits, profilesOf(it).length, it.events.map(({ reason }) => reason)];
      },
      [
        [
          [600_000, true],
          [600_000, true],
          [undefined, false],
        ],
        0,
        ['WaitingOnNodeClaimTermination', 'WaitingOnNodeClaimTermination'],
      ],
    ),
  ),
  same(
    306,
    'an instance profile named in the spec is kept',
    going(
      async (it) => {
        const gone = await takes()(it);
        return [gone, it.iam.count('delete', 'remove')];
      },
      [[1, 1, false], 0],
      given,
    ),
  ),
  same(
    334,
    'a cluster name that IAM does not accept is no failure',
    going(
      async (it) => {
        await it.look();
        const before = it.iam.asked.length;
        await it.remove();
        return [it.isThere(), it.iam.asked.slice(before).map(([call]) => call)];
      },
      [false, ['list']],
      { ...given, clusterName: 'aws:12345678910:eu-central-1:kubernetes' },
    ),
  ),
  same(
    351,
    'in an isolated VPC instance profiles stay',
    going(
      async (it) => {
        const gone = await takes()(it);
        return [gone, it.iam.count('delete', 'remove')];
      },
      [[1, 1, false], 0],
      { isolatedVpc: true },
    ),
  ),
]);
