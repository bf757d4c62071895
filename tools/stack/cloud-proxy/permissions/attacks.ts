import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { listOf, type Params } from '../query.js';
import type { Account, ServiceCall } from './account.js';
import { filledIn } from './authority.js';
import type { Policy } from './policy.js';

const cluster = 'c';
export const account = '123456789012';
const region = 'eu-central-1';

const file = (path: string): string => readFileSync(new URL(`../../../../deploy/${path}`, import.meta.url), 'utf8');

export const json = filledIn(file('iam-policy.json'), {
  AWS_PARTITION: 'aws',
  AWS_REGION: region,
  AWS_ACCOUNT_ID: account,
  CLUSTER_NAME: cluster,
  NODE_ROLE_NAME: 'nodes',
  INTERRUPTION_QUEUE: cluster,
});

export function cloudFormation(): Policy {
  const stack = parse(file('iam-cloudformation.yaml')) as {
    Resources: { ControllerPolicy: { Properties: { PolicyDocument: { 'Fn::Sub': string } } } };
  };
  return filledIn(stack.Resources.ControllerPolicy.Properties.PolicyDocument['Fn::Sub'], {
    'AWS::Partition': 'aws',
    'AWS::Region': region,
    'AWS::AccountId': account,
    ClusterName: cluster,
    NodeRoleName: 'nodes',
  });
}

const tagsOf = (name: string): Record<string, string> => ({
  [`kubernetes.io/cluster/${name}`]: 'owned',
  'eks:eks-cluster-name': name,
  'karpenter.sh/nodepool': 'general',
  'karpenter.k8s.aws/ec2nodeclass': 'default',
});
const own = tagsOf(cluster);
/** A managed node group's, which EKS tags as the cluster's too. */
const nodeGroup = { [`kubernetes.io/cluster/${cluster}`]: 'owned' };
const lacking = (tags: Record<string, string>, key: string): Record<string, string> =>
  Object.fromEntries(Object.entries(tags).filter(([each]) => each !== key));
const unnamed = lacking(own, 'eks:eks-cluster-name');
const unowned = lacking(own, 'kubernetes.io/cluster/c');
const poolless = lacking(own, 'karpenter.sh/nodepool');
const profileTags = { ...own, 'topology.kubernetes.io/region': region };

const data = (profile: string): Params => ({
  ImageId: 'ami-1',
  IamInstanceProfile: { Name: profile },
  NetworkInterface: { '1': { SecurityGroupId: { '1': 'sg-1' } } },
  TagSpecification: specifications(own, 'network-interface', 'spot-instances-request'),
});
const templates: Record<string, { tags: Record<string, string>; data: Params }> = {
  'lt-own': { tags: own, data: data('made') },
  'lt-admin': { tags: own, data: data('admins') },
  'lt-other': { tags: tagsOf('other'), data: data('made') },
  'lt-group': { tags: nodeGroup, data: data('made') },
  'lt-plain': { tags: {}, data: data('made') },
};
const instances: Record<string, Record<string, string>> = {
  'i-own': own,
  'i-other': tagsOf('other'),
  'i-group': nodeGroup,
  'i-plain': {},
};
const profileAt = (path: string, tags: Record<string, string>, role = 'nodes') => ({
  arn: `arn:aws:iam::${account}:instance-profile${path}`,
  roles: [`arn:aws:iam::${account}:role/${role}`],
  tags,
});
const ownFolder = `/karpenter/${region}/c/uid`;
const profiles: Record<string, ReturnType<typeof profileAt>> = {
  made: profileAt(`/karpenter/${region}/c/uid/made`, profileTags),
  untagged: profileAt(`/karpenter/${region}/c/uid/untagged`, {}),
  unowned: profileAt(`${ownFolder}/unowned`, lacking(profileTags, 'kubernetes.io/cluster/c')),
  classless: profileAt(`${ownFolder}/classless`, lacking(profileTags, 'karpenter.k8s.aws/ec2nodeclass')),
  regionless: profileAt(`${ownFolder}/regionless`, lacking(profileTags, 'topology.kubernetes.io/region')),
  elsewhere: profileAt(`/karpenter/us-east-1/c/uid/elsewhere`, {
    ...own,
    'topology.kubernetes.io/region': 'us-east-1',
  }),
  other: profileAt(`/karpenter/${region}/other/uid/other`, {
    ...tagsOf('other'),
    'topology.kubernetes.io/region': region,
  }),
  disguised: profileAt(`/admins/disguised`, profileTags, 'admins'),
  admins: profileAt(`/admins`, {}, 'admins'),
};

const worldIn = (where: string): Account => {
  const arn: Account['arn'] = (service, resource, owner = account) =>
    `arn:aws:${service}:${service === 'iam' ? '' : where}:${owner}:${resource}`;
  return {
    id: account,
    in: worldIn,
    arn,
    ec2Arn: (kind, id) => arn('ec2', `${kind}/${id}`, kind === 'image' || kind === 'snapshot' ? '' : account),
    tagsOf: (id) => instances[id] ?? templates[id]?.tags,
    template: (id) => templates[id] && { id, data: templates[id].data },
    profile: (name) => Promise.resolve(profiles[name]),
  };
};
export const world = worldIn(region);

function specifications(tags: Record<string, string>, ...kinds: string[]): Params {
  return listOf(kinds.map((ResourceType) => ({ ResourceType, Tag: tagList(tags) })));
}
function tagList(tags: Record<string, string>): Params {
  return listOf(Object.entries(tags).map(([Key, Value]) => ({ Key, Value })));
}

export const ec2 = (action: string, params: Params = {}, where = region): ServiceCall => ({
  service: 'ec2',
  action,
  params,
  region: where,
});
const json11 = (service: string, action: string, params: Record<string, unknown>): ServiceCall => ({
  service,
  action,
  params,
  region,
});
const iam = (action: string, params: Params): ServiceCall => ({ service: 'iam', action, params, region: 'us-east-1' });
export const on = (...ids: string[]): Params => ({ InstanceId: listOf(ids) });
const tagging = (id: string, tags: Record<string, string>): Params => ({
  ResourceId: listOf([id]),
  Tag: tagList(tags),
});
const run = (template: string, tags = specifications(own, 'instance', 'volume'), where = region): ServiceCall =>
  ec2(
    'RunInstances',
    { LaunchTemplate: { LaunchTemplateId: template }, SubnetId: 'subnet-1', TagSpecification: tags },
    where,
  );
const fleet = (
  template: string,
  tags = specifications(own, 'fleet', 'instance', 'volume'),
  type = 'spot',
): ServiceCall =>
  ec2('CreateFleet', {
    TargetCapacitySpecification: { DefaultTargetCapacityType: type },
    LaunchTemplateConfigs: listOf([
      { LaunchTemplateSpecification: { LaunchTemplateId: template }, Overrides: listOf([{ SubnetId: 'subnet-1' }]) },
    ]),
    TagSpecification: tags,
  });
const template = (tags?: Record<string, string>): ServiceCall =>
  ec2('CreateLaunchTemplate', {
    LaunchTemplateName: 'x',
    ...(tags && { TagSpecification: specifications(tags, 'launch-template') }),
  });
const newProfile = (Path: string, tags: Record<string, string>): ServiceCall =>
  iam('CreateInstanceProfile', {
    InstanceProfileName: 'new',
    Path,
    ...(Object.keys(tags).length > 0 && { Tags: { member: tagList(tags) } }),
  });
const onProfile = (action: string, name: string, more: Params = {}): ServiceCall =>
  iam(action, { InstanceProfileName: name, ...more });
const ownPath = `${ownFolder}/`;

/** Calls that the policy must refuse. */
export const attacks: [what: string, call: ServiceCall][] = [
  ['ends an instance without tags', ec2('TerminateInstances', on('i-plain'))],
  ["ends another cluster's instance", ec2('TerminateInstances', on('i-other'))],
  ["ends a managed node group's instance", ec2('TerminateInstances', on('i-group'))],
  ["ends its own instance together with another cluster's", ec2('TerminateInstances', on('i-own', 'i-other'))],
  ["restarts another cluster's instance", ec2('RebootInstances', on('i-other'))],
  ['stops its own instance', ec2('StopInstances', on('i-own'))],
  ["deletes another cluster's template", ec2('DeleteLaunchTemplate', { LaunchTemplateId: 'lt-other' })],
  ['deletes a template without tags', ec2('DeleteLaunchTemplate', { LaunchTemplateId: 'lt-plain' })],
  ["deletes a managed node group's template", ec2('DeleteLaunchTemplate', { LaunchTemplateId: 'lt-group' })],
  ["tags another cluster's instance as the cluster's", ec2('CreateTags', tagging('i-other', own))],
  ["tags an instance without tags as the cluster's", ec2('CreateTags', tagging('i-plain', own))],
  [
    "tags a node group's instance as a NodePool's",
    ec2('CreateTags', tagging('i-group', { 'karpenter.sh/nodepool': 'x' })),
  ],
  ['tags a subnet', ec2('CreateTags', tagging('subnet-1', { Name: 'x' }))],
  ['tags a security group', ec2('CreateTags', tagging('sg-1', own))],
  ["gives its instance another cluster's tag", ec2('CreateTags', tagging('i-own', tagsOf('other')))],
  ['changes the name of the cluster', ec2('CreateTags', tagging('i-own', { 'eks:eks-cluster-name': 'other' }))],
  ['adds a tag beside a name', ec2('CreateTags', tagging('i-own', { Name: 'x', owner: 'me' }))],
  ["tags a template as another cluster's", ec2('CreateTags', tagging('lt-own', tagsOf('other')))],
  ["tags another's template as its own", ec2('CreateTags', tagging('lt-other', own))],
  ["names a node group's instance", ec2('CreateTags', tagging('i-group', { Name: 'x' }))],
  ["names another cluster's instance", ec2('CreateTags', tagging('i-other', { Name: 'x' }))],
  ['names its own template', ec2('CreateTags', tagging('lt-own', { Name: 'x' }))],
  ['deletes tags', ec2('DeleteTags', tagging('i-own', { 'karpenter.sh/nodepool': 'general' }))],
  ['launches without a template or tags', ec2('RunInstances', { ImageId: 'ami-1', SubnetId: 'subnet-1' })],
  ['launches without the name of the cluster', run('lt-own', specifications(unnamed, 'instance', 'volume'))],
  [
    'launches without the tag that owns it for the cluster',
    run('lt-own', specifications(unowned, 'instance', 'volume')),
  ],
  ['launches without the tag of a NodePool', run('lt-own', specifications(poolless, 'instance', 'volume'))],
  ['launches for another cluster', run('lt-own', specifications(tagsOf('other'), 'instance', 'volume'))],
  ['launches with volumes without tags', run('lt-own', specifications(own, 'instance'))],
  ["launches from another cluster's template", run('lt-other')],
  ["launches from a node group's template", run('lt-group')],
  ['launches in another region', run('lt-own', undefined, 'us-east-1')],
  ["launches with an administrator's profile", run('lt-admin')],
  ['creates a fleet without tags', fleet('lt-own', specifications(own, 'instance', 'volume'))],
  [
    'creates a fleet for another cluster',
    fleet('lt-own', specifications(tagsOf('other'), 'fleet', 'instance', 'volume')),
  ],
  ["creates a fleet from another's template", fleet('lt-other')],
  ['creates a fleet with instances without tags', fleet('lt-own', specifications(own, 'fleet'))],
  ["creates a fleet with an administrator's profile", fleet('lt-admin')],
  ['makes a template without tags', template()],
  ['makes a template for another cluster', template(tagsOf('other'))],
  ['makes a template without the tag of a NodePool', template({ ...nodeGroup, 'eks:eks-cluster-name': cluster })],
  ['changes a template', ec2('CreateLaunchTemplateVersion', { LaunchTemplateId: 'lt-own' })],
  ['reads user data', ec2('DescribeInstanceAttribute', { InstanceId: 'i-own' })],
  ['changes an instance', ec2('ModifyInstanceAttribute', { InstanceId: 'i-own' })],
  ['gives an instance a profile', ec2('AssociateIamInstanceProfile', { InstanceId: 'i-own' })],
  ['describes instances in another region', ec2('DescribeInstances', {}, 'us-east-1')],
  ['makes a profile elsewhere', newProfile('/', profileTags)],
  ["makes a profile under another cluster's path", newProfile(`/karpenter/${region}/other/uid/`, profileTags)],
  ['makes a profile that no cluster owns', newProfile(ownPath, lacking(profileTags, 'kubernetes.io/cluster/c'))],
  [
    'makes a profile without the name of the cluster',
    newProfile(ownPath, lacking(profileTags, 'eks:eks-cluster-name')),
  ],
  ['makes a profile for no node class', newProfile(ownPath, lacking(profileTags, 'karpenter.k8s.aws/ec2nodeclass'))],
  ['makes a profile without tags', newProfile(ownPath, {})],
  [
    'makes a profile for another region',
    newProfile(ownPath, { ...profileTags, 'topology.kubernetes.io/region': 'us-east-1' }),
  ],
  [
    "makes an administrator's profile its own",
    onProfile('TagInstanceProfile', 'admins', { Tags: { member: tagList(profileTags) } }),
  ],
  [
    'gives its profile the role of an administrator',
    onProfile('AddRoleToInstanceProfile', 'made', { RoleName: 'admins' }),
  ],
  ["gives another's profile the role of nodes", onProfile('AddRoleToInstanceProfile', 'other', { RoleName: 'nodes' })],
  ["empties another cluster's profile", onProfile('RemoveRoleFromInstanceProfile', 'other', { RoleName: 'nodes' })],
  [
    "empties a profile that was tagged as the cluster's",
    onProfile('RemoveRoleFromInstanceProfile', 'disguised', { RoleName: 'admins' }),
  ],
  ['deletes a profile under its path that is not tagged', onProfile('DeleteInstanceProfile', 'untagged')],
  ['deletes a profile that no cluster owns', onProfile('DeleteInstanceProfile', 'unowned')],
  ['deletes a profile for no node class', onProfile('DeleteInstanceProfile', 'classless')],
  ['deletes a profile of no region', onProfile('DeleteInstanceProfile', 'regionless')],
  ["deletes another region's profile of the cluster", onProfile('DeleteInstanceProfile', 'elsewhere')],
  ['makes a role', iam('CreateRole', { RoleName: 'x' })],
  ['widens the role of nodes', iam('AttachRolePolicy', { RoleName: 'nodes' })],
  ['makes an access key', iam('CreateAccessKey', {})],
  ['reads a secret of the account', json11('ssm', 'GetParameter', { Name: '/prod/password' })],
  ['reads one by its ARN', json11('ssm', 'GetParameter', { Name: 'arn:aws:ssm:us-west-2:1:parameter/prod/password' })],
  ['writes a parameter', json11('ssm', 'PutParameter', { Name: '/aws/service/x' })],
  ["reads another's queue", json11('sqs', 'ReceiveMessage', { QueueUrl: `https://sqs/${account}/other` })],
  ['forges a notice', json11('sqs', 'SendMessage', { QueueUrl: `https://sqs/${account}/c` })],
  ['empties the queue', json11('sqs', 'PurgeQueue', { QueueUrl: `https://sqs/${account}/c` })],
  ['reads another EKS cluster', json11('eks', 'GET /clusters/other', {})],
  ['lists EKS clusters', json11('eks', 'GET /clusters', {})],
  [
    "reads another's zonal shift",
    json11('arc-zonal-shift', `GET /managedresources/${encodeURIComponent('arn:aws:eks:x')}`, {}),
  ],
];

const clusterArn = `arn:aws:eks:${region}:${account}:cluster/c`;
const queue = { QueueUrl: `https://sqs/${account}/c` };
/** What Stowage does. */
export const uses: ServiceCall[] = [
  ...[
    'CapacityReservations', 'Images', 'Instances', 'InstanceStatus', 'InstanceTypeOfferings', 'InstanceTypes', 'LaunchTemplates',
    'PlacementGroups', 'SecurityGroups', 'SpotPriceHistory', 'Subnets',
  ].map((what) => ec2(`Describe${what}`)), // prettier-ignore
  fleet('lt-own'),
  fleet('lt-own', undefined, 'on-demand'),
  run('lt-own'),
  template(own),
  ec2('CreateTags', tagging('i-own', { Name: 'n', 'karpenter.sh/nodeclaim': 'x' })),
  ec2('RebootInstances', on('i-own')),
  ec2('TerminateInstances', on('i-own')),
  ec2('DeleteLaunchTemplate', { LaunchTemplateId: 'lt-own' }),
  newProfile(ownPath, profileTags),
  onProfile('AddRoleToInstanceProfile', 'made', { RoleName: 'nodes' }),
  onProfile('RemoveRoleFromInstanceProfile', 'made', { RoleName: 'nodes' }),
  onProfile('DeleteInstanceProfile', 'made'),
  onProfile('GetInstanceProfile', 'admins'),
  iam('ListInstanceProfiles', { PathPrefix: '/karpenter/' }),
  json11('ssm', 'GetParameter', { Name: '/aws/service/eks/optimized-ami/1.36/x' }),
  json11('ssm', 'GetParameter', { Name: 'arn:aws:ssm:us-west-2::parameter/aws/service/eks/optimized-ami/1.36/x' }),
  json11('pricing', 'GetProducts', {}),
  json11('eks', 'GET /clusters/c', {}),
  json11('sqs', 'GetQueueUrl', { QueueName: 'c' }),
  json11('sqs', 'GetQueueAttributes', queue),
  json11('sqs', 'ReceiveMessage', queue),
  json11('sqs', 'DeleteMessageBatch', queue),
  json11('arc-zonal-shift', `GET /managedresources/${encodeURIComponent(clusterArn)}`, {}),
];
