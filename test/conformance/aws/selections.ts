import type { EC2NodeClassStatus } from '../../../api/aws/ec2-node-class.js';
import { conditionOf } from '../../../core/conditions.js';
import { passes, tagValues } from '../../../tools/stack/cloud-proxy/filters.js';
import { about, gives, same, type Check, type ConformanceCase } from '../conformance-case.js';
import { account, type Given } from './account.js';

type Tags = Readonly<Record<string, string>>;
interface Filters {
  readonly Filters?: readonly { readonly Name?: string; readonly Values?: string[] }[];
  readonly NextToken?: string;
}

/** Answers by filters as EC2 does, in pages of these objects each. */
function answering<T extends { readonly tags: Tags }>(
  key: string,
  pages: readonly (readonly T[])[],
  own: Readonly<Record<string, (object: T) => string>>,
  shown: (object: T) => object,
) {
  const asked: Filters[] = [];
  const call = (input: Filters): Promise<object> => {
    asked.push(input);
    const page = Number(input.NextToken ?? 0);
    const filters = new Map((input.Filters ?? []).map(({ Name = '', Values = [] }) => [Name, Values]));
    const valuesOf = (object: T) => (name: string) =>
      own[name] === undefined ? tagValues(name, new Map(Object.entries(object.tags))) : [own[name](object)];
    const found = pages[page]!.filter((object) => passes(filters, valuesOf(object)));
    return Promise.resolve({
      [key]: found.map(shown),
      ...(page + 1 < pages.length && { NextToken: String(page + 1) }),
    });
  };
  return { call, asked };
}

interface ASubnet {
  readonly id: string;
  readonly zone: string;
  readonly free: number;
  readonly tags: Tags;
}
interface AGroup {
  readonly id: string;
  readonly name: string;
  readonly tags: Tags;
}
const places = ['1a', '1b', '1c', '1a-local'];
const fourSubnets = places.map((place, i): ASubnet => ({
  ...{ id: `subnet-test${i + 1}`, zone: `test-zone-${place}`, free: 100 },
  tags: { any: 'thing', Name: `test-subnet-${i + 1}`, foo: 'bar', ...(i === 2 && { TestTag: '' }) },
}));
const threeGroups = [1, 2, 3].map((i): AGroup => ({
  ...{ id: `sg-test${i}`, name: `securityGroup-test${i}` },
  tags: { any: 'thing', Name: `test-security-group-${i}`, foo: 'bar', ...(i === 3 && { TestTag: '' }) },
}));

interface There {
  readonly subnets?: readonly (readonly ASubnet[])[];
  readonly groups?: readonly (readonly AGroup[])[];
}

/** Resolves a node class with one selection after the other, each from what the one before found. */
async function resolve(there: There, ...specs: readonly object[]) {
  const subnets = answering(
    'Subnets',
    there.subnets ?? [fourSubnets],
    { 'subnet-id': ({ id }: ASubnet) => id },
    ({ id, zone, free }) => ({
      ...{ SubnetId: id, AvailabilityZone: zone, AvailabilityZoneId: zone.replace('test-zone', 'tz1') },
      AvailableIpAddressCount: free,
    }),
  );
  const groups = answering(
    'SecurityGroups',
    there.groups ?? [threeGroups],
    { 'group-id': ({ id }: AGroup) => id, 'group-name': ({ name }: AGroup) => name },
    ({ id, name }) => ({ GroupId: id, GroupName: name }),
  );
  const given: Given = {
    types: ['m5.large'],
    options: { disableDryRun: true },
    calls: { describeSubnets: subnets.call, describeSecurityGroups: groups.call, describeImages: noImages },
  };
  const { provider, nodeClass } = account(given);
  let status: EC2NodeClassStatus = {};
  const answers: EC2NodeClassStatus[] = [];
  for (const spec of specs) {
    // As the schema lets none through that Karpenter's tests select by.
    const changed = { ...nodeClass, spec: { ...nodeClass.spec, ...anything, ...spec }, status };
    status = (await provider.resolveNodeClass(changed)).status;
    answers.push(status);
  }
  return { answers, calls: { subnets: subnets.asked.length, groups: groups.asked.length } };
}
const noImages = (): Promise<object> => Promise.resolve({});
const every = [{ tags: { any: '*' } }];
const anything = { subnetSelectorTerms: every, securityGroupSelectorTerms: every };
const subnetTerms = (...subnetSelectorTerms: readonly object[]): object => ({ subnetSelectorTerms });
const groupTerms = (...securityGroupSelectorTerms: readonly object[]): object => ({ securityGroupSelectorTerms });

const subnetsIn = (status: EC2NodeClassStatus): readonly unknown[] => [
  (status.subnets ?? []).map(({ id }) => id),
  conditionOf(status.conditions, 'SubnetsReady')?.status,
];
const groupsIn = (status: EC2NodeClassStatus): readonly unknown[] => [
  (status.securityGroups ?? []).map(({ id }) => id),
  conditionOf(status.conditions, 'SecurityGroupsReady')?.status,
];
const selects = (
  look: (status: EC2NodeClassStatus) => readonly unknown[],
  there: There,
  steps: readonly (readonly [terms: object, ids: readonly string[]])[],
): Check =>
  gives(
    async () => (await resolve(there, ...steps.map(([terms]) => terms))).answers.map(look),
    steps.map(([, ids]) => [ids, ids.length > 0 ? 'True' : 'False']),
  );
const subnets = (...steps: readonly (readonly [terms: object, ids: readonly string[]])[]): Check =>
  selects(subnetsIn, {}, steps);
const groups = (...steps: readonly (readonly [terms: object, ids: readonly string[]])[]): Check =>
  selects(groupsIn, {}, steps);
const all4 = fourSubnets.map(({ id }) => id);
const all3 = threeGroups.map(({ id }) => id);
const byName = (what: string, i: number): object => ({ tags: { Name: `test-${what}-${i}` } });
const firstTwoSubnets = subnetTerms(byName('subnet', 1), byName('subnet', 2));
const firstTwoGroups = groupTerms(byName('security-group', 1), byName('security-group', 2));
const none = { tags: { foo: 'invalid' } };
const s1 = 'subnet-test1';
const s2 = 'subnet-test2';
const g1 = 'sg-test1';
const g2 = 'sg-test2';

/** pkg/controllers/nodeclass/subnet_test.go */
export const subnetStatusCases: readonly ConformanceCase[] = about('subnets in the status of a node class', [
  same(
    54,
    'have their zones',
    gives(
      async () => (await resolve({}, {})).answers[0]?.subnets,
      fourSubnets.map(({ id, zone }) => ({ id, zone, zoneID: zone.replace('test-zone', 'tz1') })),
    ),
  ),
  same(
    82,
    'are sorted by free addresses',
    selects(subnetsIn, { subnets: [[20, 100, 50].map((free, i) => ({ ...fourSubnets[i]!, free }))] }, [
      [{}, [s2, 'subnet-test3', s1]],
    ]),
  ),
  same(110, 'selected by tags', subnets([firstTwoSubnets, [s1, s2]])),
  same(136, 'selected by id', subnets([subnetTerms({ id: s1 }), [s1]])),
  same(154, 'change with other tags', subnets([{}, all4], [firstTwoSubnets, [s1, s2]])),
  same(210, 'change with another id', subnets([{}, all4], [subnetTerms({ id: s1 }), [s1]])),
  same(254, 'not found make it not Ready', subnets([subnetTerms(none), []])),
  same(266, 'no longer found make it not Ready', subnets([{}, all4], [subnetTerms(none), []])),
]);

/** pkg/controllers/nodeclass/securitygroup_test.go */
export const groupStatusCases: readonly ConformanceCase[] = about('security groups in the status of a node class', [
  same(
    51,
    'have their names',
    gives(
      async () => (await resolve({}, {})).answers[0]?.securityGroups,
      threeGroups.map(({ id, name }) => ({ id, name })),
    ),
  ),
  same(71, 'selected by tags', groups([firstTwoGroups, [g1, g2]])),
  same(95, 'selected by id', groups([groupTerms({ id: g1 }), [g1]])),
  same(112, 'change with other tags', groups([{}, all3], [firstTwoGroups, [g1, g2]])),
  same(154, 'change with another id', groups([{}, all3], [groupTerms({ id: g1 }), [g1]])),
  same(189, 'not found make it not Ready', groups([groupTerms(none), []])),
  same(201, 'no longer found make it not Ready', groups([{}, all3], [groupTerms(none), []])),
]);

const tagged = (id: string, ...keys: readonly number[]): ASubnet & AGroup => ({
  ...{ id, name: `name-${id}`, zone: 'test-zone-1a', free: 10 },
  tags: Object.fromEntries(keys.map((key) => [`tag-key-${key}`, `tag-value-${key}`])),
});
const three = [[tagged('x-1', 1), tagged('x-2', 2), tagged('x-3', 1, 2)]];
const bothTags = { tags: { 'tag-key-1': 'tag-value-1', 'tag-key-2': 'tag-value-2' } };
const eitherTag = [1, 2].map((key) => ({ tags: { [`tag-key-${key}`]: `tag-value-${key}` } }));
const paged = (id: string): ASubnet & AGroup => ({ ...tagged(id), tags: { any: 'thing' } });
const bar = { foo: 'bar' };
/** The same selection again and again, from several at once. */
const together = (look: (status: EC2NodeClassStatus) => readonly unknown[], expected: readonly string[]): Check =>
  gives(async () => {
    const all = await Promise.all(Array.from({ length: 20 }, () => resolve({}, {})));
    return [...new Set(all.map(({ answers }) => JSON.stringify(look(answers[0]!))))];
  }, [JSON.stringify([expected, 'True'])]);

/** pkg/providers/subnet/suite_test.go */
export const subnetCases: readonly ConformanceCase[] = about('subnet selector terms', [
  same([102, 313], 'select by id', subnets([subnetTerms({ id: s1 }), [s1]])),
  same(120, 'select by several ids', subnets([subnetTerms({ id: s1 }, { id: s2 }), [s1, s2]])),
  same(148, 'select by ids and tags', subnets([subnetTerms({ id: s1, tags: bar }, { id: s2, tags: bar }), [s1, s2]])),
  same([178, 339], 'select by a tag', subnets([subnetTerms(byName('subnet', 1)), [s1]])),
  same(196, 'select by several values of a tag', subnets([firstTwoSubnets, [s1, s2]])),
  same(224, 'select by an id and a tag', subnets([subnetTerms({ id: s2, tags: bar }), [s2]])),
  same(243, 'read over an empty page', selects(subnetsIn, { subnets: [[], [paged('x-1')]] }, [[{}, ['x-1']]])),
  same(
    267,
    'read several pages',
    selects(subnetsIn, { subnets: [[paged('x-1')], [paged('x-2')], [paged('x-3')]] }, [[{}, ['x-1', 'x-2', 'x-3']]]),
  ),
  same(
    371,
    'need all tags of one term, of any term',
    selects(subnetsIn, { subnets: three }, [
      [subnetTerms(bothTags), ['x-3']],
      [subnetTerms(...eitherTag), ['x-1', 'x-2', 'x-3']],
    ]),
  ),
  same(457, 'share a call for parallel requests', together(subnetsIn, all4)),
]);

/** pkg/providers/securitygroup/suite_test.go */
export const groupCases: readonly ConformanceCase[] = about('security group selector terms', [
  same(101, 'select all', groups([{}, all3])),
  same([119, 137], 'select by tags', groups([firstTwoGroups, [g1, g2]])),
  same([159, 275], 'select by id', groups([groupTerms({ id: g1 }), [g1]])),
  same(174, 'select by several ids', groups([groupTerms({ id: g1 }, { id: g2 }), [g1, g2]])),
  same(196, 'select by ids and tags', groups([groupTerms({ id: g1, tags: bar }, { id: g2, tags: bar }), [g1, g2]])),
  same(220, 'select by an id and a tag', groups([groupTerms({ id: g2, tags: bar }), [g2]])),
  same(
    [236, 301],
    'select by names',
    groups([groupTerms({ name: 'securityGroup-test2' }, { name: 'securityGroup-test3' }), [g2, 'sg-test3']]),
  ),
  same(
    258,
    'select by a name and a tag',
    groups([groupTerms({ name: 'securityGroup-test3', tags: { TestTag: '*' } }), ['sg-test3']]),
  ),
  same(327, 'select by a tag', groups([groupTerms(byName('security-group', 1)), [g1]])),
  same(
    359,
    'need all tags of one term, of any term',
    selects(groupsIn, { groups: three }, [
      [groupTerms(bothTags), ['x-3']],
      [groupTerms(...eitherTag), ['x-1', 'x-2', 'x-3']],
    ]),
  ),
  same(442, 'share a call for parallel requests', together(groupsIn, all3)),
  same(506, 'read over an empty page', selects(groupsIn, { groups: [[], [paged('x-1')]] }, [[{}, ['x-1']]])),
  same(
    531,
    'read several pages',
    selects(groupsIn, { groups: [[paged('x-1')], [paged('x-2')], [paged('x-3')]] }, [[{}, ['x-1', 'x-2', 'x-3']]]),
  ),
]);
