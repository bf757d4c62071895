import type { DescribePlacementGroupsCommandInput, PlacementGroup } from '@aws-sdk/client-ec2';
import { awsLabels } from '../../../api/aws/labels.js';
import type { EC2NodeClassStatus } from '../../../api/aws/ec2-node-class.js';
import { conditionOf } from '../../../core/conditions.js';
import { pinnedValue } from '../../../core/launch-options.js';
import { refusal } from '../../builders/aws-world.js';
import { about, differs, gives, notApplicable, same, type Check, type ConformanceCase } from '../conformance-case.js';
import { account, launched, type Given } from './account.js';

const group = (GroupId: string, GroupName: string, more: Partial<PlacementGroup> = {}): PlacementGroup => ({
  ...{ GroupId, GroupName, State: 'available', Strategy: 'cluster' },
  ...more,
});
const groups: readonly PlacementGroup[] = [
  group('pg-cluster', 'together'),
  group('pg-partition', 'apart', { Strategy: 'partition', PartitionCount: 7 }),
  group('pg-spread', 'wide', { Strategy: 'spread', SpreadLevel: 'rack' }),
  group('pg-pending', 'coming', { State: 'pending' }),
  group('pg-named', 'pg-odd'),
];

/** EC2 with these groups: it refuses names and ids that it does not know, or says nothing of them. */
class Groups {
  readonly asked: DescribePlacementGroupsCommandInput[] = [];
  there: readonly PlacementGroup[] = groups;
  isAway = false;
  isSilent = false;

  readonly calls = {
    describePlacementGroups: (input: DescribePlacementGroupsCommandInput) => {
      this.asked.push(input);
      if (this.isAway) return Promise.reject(refusal('InternalError', 'words', 'ec2:DescribePlacementGroups', 500));
      const { GroupIds: ids, GroupNames: names } = input;
      const found = this.there.filter(
        ({ GroupId = '', GroupName = '' }) => ids?.includes(GroupId) !== false && names?.includes(GroupName) !== false,
      );
      if (found.length === 0 && !this.isSilent) return Promise.reject(refusal('InvalidPlacementGroup.Unknown'));
      return Promise.resolve({ PlacementGroups: found });
    },
  };
}
const hour = 3_600_000;
const name = (of: string): object => ({ placementGroupSelector: { name: of } });
const id = (of: string): object => ({ placementGroupSelector: { id: of } });

interface Seen {
  /** The group and the number of its partitions that types are offered in, and whether the node class has what it needs of it. */
  readonly look: (spec: object) => Promise<readonly unknown[]>;
  readonly ec2: Groups;
  readonly pass: (ms: number) => void;
}
const sees = (play: (seen: Seen) => Promise<unknown>, expected: unknown): Check =>
  gives(async () => {
    const ec2 = new Groups();
    const { provider, nodeClass, clock } = account({ types: ['m5.large'], calls: ec2.calls });
    const look = async (more: object): Promise<readonly unknown[]> => {
      const given = { ...nodeClass, spec: { ...nodeClass.spec, ...more } };
      const status = (await provider.resolveNodeClass(given)).status as EC2NodeClassStatus;
      const condition = conditionOf(status.conditions, 'PlacementGroupReady');
      const types = await provider.instanceTypes(undefined, given).catch(() => []);
      const offered = types.flatMap(({ offerings }) => offerings.map(({ requirements }) => requirements));
      const values = (key: string): readonly string[] => [
        ...new Set(offered.flatMap((each) => pinnedValue(each, key) ?? [])),
      ];
      const ids = values(awsLabels.placementGroupId).join();
      return [condition?.status, ids, values(awsLabels.placementGroupPartition).length, condition?.reason];
    };
    return play({ look, ec2, pass: (ms) => void (clock.time += ms) });
  }, expected);
const ready = (of = '', partitions = 0): readonly unknown[] => ['True', of, partitions, 'PlacementGroupReady'];
const missing = ['False', '', 0, 'PlacementGroupNotFound'];
const finds = (at: number | readonly number[], title: string, spec: object, expected: unknown): ConformanceCase =>
  same(
    typeof at === 'number' ? at : [...at],
    title,
    sees(({ look }) => look(spec), expected),
  );
const asksFor = (at: number, title: string, spec: object, expected: unknown): ConformanceCase =>
  same(
    at,
    title,
    sees(
      async ({ look, ec2 }) => {
        await look(spec);
        return ec2.asked.map(({ GroupIds, GroupNames }) => [GroupIds, GroupNames]);
      },
      [expected],
    ),
  );
/** One node class after another, of one account, and how often EC2 was asked. */
const inTurn = (specs: readonly object[], expected: readonly unknown[], calls: number): Check =>
  sees(
    async ({ look, ec2 }) => {
      const all: unknown[] = [];
      for (const spec of specs) all.push(await look(spec));
      return [all, ec2.asked.length];
    },
    [expected, calls],
  );

/** pkg/controllers/nodeclass/placementgroup_test.go */
export const placementStatusCases: readonly ConformanceCase[] = about('placement group in the status of a node class', [
  finds(63, 'no selector', {}, ready()),
  finds(73, 'a cluster group by name', name('together'), ready('pg-cluster')),
  finds(85, 'a group by id', id('pg-cluster'), ready('pg-cluster')),
  finds(96, 'a partition group with its partitions', name('apart'), ready('pg-partition', 7)),
  finds(109, 'a spread group', name('wide'), ready('pg-spread')),
  finds(122, 'a group that does not exist', name('none'), missing),
  finds(135, 'a group that is not available yet', name('coming'), missing),
  same(151, 'is removed with the selector', inTurn([name('together'), {}], [ready('pg-cluster'), ready()], 1)),
  same(
    171,
    'changes with the selector',
    inTurn([name('together'), name('wide')], [ready('pg-cluster'), ready('pg-spread')], 2),
  ),
]);

/** pkg/providers/placementgroup/suite_test.go */
export const placementGroupCases: readonly ConformanceCase[] = about('placement group provider', [
  asksFor(84, 'looks up by name', name('together'), [undefined, ['together']]),
  asksFor(93, 'looks up by id', id('pg-cluster'), [['pg-cluster'], undefined]),
  asksFor(102, 'treats a name that looks like an id as a name', name('pg-odd'), [undefined, ['pg-odd']]),
  same(
    [108, 184, 248],
    'does not look up a found group again',
    sees(
      async ({ look, ec2 }) => {
        const before = await look(name('together'));
        ec2.there = [];
        return [before, await look(name('together')), ec2.asked.length];
      },
      [ready('pg-cluster'), ready('pg-cluster'), 1],
    ),
  ),
  same(
    [113],
    'looks up an id again',
    inTurn([name('together'), id('pg-cluster')], [ready('pg-cluster'), ready('pg-cluster')], 2),
  ),
  finds(135, 'finds a group by name', name('together'), ready('pg-cluster')),
  finds(144, 'finds a group by id', id('pg-cluster'), ready('pg-cluster')),
  finds([151, 160], 'finds nothing for an unknown name', name('nonexistent'), missing),
  differs(
    166,
    'without an answer of EC2 for a day',
    'node-classes/ready',
    'the group is still used, and the node class stays ready: what was resolved does not change while the cloud is away',
    sees(
      async ({ look, ec2, pass }) => {
        const before = await look(name('together'));
        pass(23 * hour);
        await look(name('together'));
        pass(2 * hour);
        ec2.isAway = true;
        return [before, await look(name('together')), ec2.asked.length > 1];
      },
      [ready('pg-cluster'), ready('pg-cluster'), true],
    ),
  ),
  same(
    199,
    'drops the group of another selector',
    inTurn([name('together'), name('other')], [ready('pg-cluster'), missing], 3),
  ),
  same(
    210,
    'EC2 answers without a group',
    sees(({ look, ec2 }) => {
      ec2.isSilent = true;
      return look(name('empty'));
    }, missing),
  ),
  finds(219, 'without a selector', {}, ready()),
  same(
    225,
    'takes the first of several groups',
    sees(({ look, ec2 }) => {
      ec2.there = [group('pg-first', 'twice'), group('pg-second', 'twice', { Strategy: 'spread' })];
      return look(name('twice'));
    }, ready('pg-first')),
  ),
  same(
    259,
    'drops the group when the selector is removed',
    inTurn([name('wide'), {}], [ready('pg-spread'), ready()], 1),
  ),
]);

const inGroup = (of: string): Given => ({ spec: name(of), calls: new Groups().calls, types: ['m5.large'] });
/** Labels of a node as it is launched: its group, and its partition. */
const labelled = (given: Given, expected: readonly unknown[], claim?: string): Check =>
  gives(async () => {
    const { instance, templates } = await launched(given, claim === undefined ? {} : { name: claim });
    const own = instance.labels;
    const number = templates[0]?.LaunchTemplateData?.Placement?.PartitionNumber;
    const partition = own[awsLabels.placementGroupPartition];
    return [own[awsLabels.placementGroupId], partition === undefined ? undefined : Number(partition) === number];
  }, expected);
const chosen =
  'the launch asks for one partition, so that its number is a label from the start and no registration waits for it';
const rule = 'instance-types/partitions';

/** pkg/cloudprovider/registrationhooks/placementgrouphook_test.go */
export const placementHookCases: readonly ConformanceCase[] = about('partition label of nodes in a placement group', [
  same(77, 'is not waited for without a group', labelled({ types: ['m5.large'] }, [undefined, undefined])),
  same(86, 'is not waited for in a cluster group', labelled(inGroup('together'), ['pg-cluster', undefined])),
  same(103, 'is not waited for in a spread group', labelled(inGroup('wide'), ['pg-spread', undefined])),
  same(121, 'is not waited for where it is known', labelled(inGroup('apart'), ['pg-partition', true])),
  differs(
    [131, 142],
    'is waited for in a partition group',
    rule,
    chosen,
    labelled(inGroup('apart'), ['pg-partition', true]),
  ),
  same(167, 'is not set in a group without partitions', labelled(inGroup('together'), ['pg-cluster', undefined])),
  notApplicable(189, 'an instance that is not found', 'no instance is looked up for its partition'),
  differs(
    200,
    'is set for each node separately',
    rule,
    chosen,
    gives(async () => {
      const names = ['a', 'b', 'c', 'd', 'e', 'f'];
      const found = await Promise.all(names.map((each) => launched(inGroup('apart'), { name: each })));
      const numbers = found.map(({ instance }) => instance.labels[awsLabels.placementGroupPartition]);
      return [numbers.every((number) => /^[1-7]$/.test(number ?? '')), new Set(numbers).size > 1];
    }, [true, true]),
  ),
]);
