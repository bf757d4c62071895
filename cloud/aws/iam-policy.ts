/** Scope of a permission in the generated policy (settings/permissions). */
type IamScope =
  /** Read-only calls in the cluster's region. */
  | 'regional-read'
  /** Launches: on existing images, subnets, groups and templates; on new resources only with the cluster's tags. */
  | 'launch'
  /** Resources with the cluster's tags. */
  | 'tagged'
  /** Tagging resources at creation, and adding tags to the cluster's instances. */
  | 'tagging'
  | 'instance-profile'
  | 'instance-profile-list'
  | 'pass-role'
  | 'ssm'
  | 'pricing'
  | 'eks'
  | 'queue'
  | 'zonal-shift';

/**
 * Every permission that this provider uses. `calls.ts` can only make calls in this table, and the policies in deploy/
 * are generated from it, so they cannot lack one.
 */
export const iamActions = {
  'ec2:DescribeCapacityReservations': 'regional-read',
  'ec2:DescribeImages': 'regional-read',
  'ec2:DescribeInstances': 'regional-read',
  'ec2:DescribeInstanceStatus': 'regional-read',
  'ec2:DescribeInstanceTypeOfferings': 'regional-read',
  'ec2:DescribeInstanceTypes': 'regional-read',
  'ec2:DescribeLaunchTemplates': 'regional-read',
  'ec2:DescribePlacementGroups': 'regional-read',
  'ec2:DescribeSecurityGroups': 'regional-read',
  'ec2:DescribeSpotPriceHistory': 'regional-read',
  'ec2:DescribeSubnets': 'regional-read',
  'ec2:CreateFleet': 'launch',
  'ec2:RunInstances': 'launch',
  'ec2:CreateLaunchTemplate': 'launch',
  'ec2:CreateTags': 'tagging',
  'ec2:RebootInstances': 'tagged',
  'ec2:TerminateInstances': 'tagged',
  'ec2:DeleteLaunchTemplate': 'tagged',
  'iam:PassRole': 'pass-role',
  'iam:CreateInstanceProfile': 'instance-profile',
  'iam:TagInstanceProfile': 'instance-profile',
  'iam:AddRoleToInstanceProfile': 'instance-profile',
  'iam:RemoveRoleFromInstanceProfile': 'instance-profile',
  'iam:DeleteInstanceProfile': 'instance-profile',
  'iam:GetInstanceProfile': 'instance-profile',
  'iam:ListInstanceProfiles': 'instance-profile-list',
  'ssm:GetParameter': 'ssm',
  'pricing:GetProducts': 'pricing',
  'eks:DescribeCluster': 'eks',
  'sqs:GetQueueUrl': 'queue',
  'sqs:GetQueueAttributes': 'queue',
  'sqs:ReceiveMessage': 'queue',
  'sqs:DeleteMessage': 'queue',
  'arc-zonal-shift:GetManagedResource': 'zonal-shift',
} as const satisfies Readonly<Record<string, IamScope>>;

export type IamAction = keyof typeof iamActions;

/** Permissions that EC2 and IAM require in addition to the one named by the call. */
export const impliedActions: readonly IamAction[] = ['iam:PassRole', 'iam:TagInstanceProfile'];

/** Names in the policy; templates use placeholders. */
interface IamNames {
  readonly partition: string;
  readonly region: string;
  readonly account: string;
  readonly cluster: string;
  /** Name of the node role. */
  readonly nodeRole: string;
  readonly queue: string;
}

type Condition = Readonly<Record<string, Readonly<Record<string, string | readonly string[]>>>>;

interface IamStatement {
  readonly Sid: string;
  readonly Effect: 'Allow';
  readonly Action: readonly IamAction[];
  readonly Resource: string | readonly string[];
  readonly Condition?: Condition;
}

interface IamPolicy {
  readonly Version: '2012-10-17';
  readonly Statement: readonly IamStatement[];
}

/** The least permissions that the provider needs, from the table of its calls (settings/permissions). */
export function iamPolicy(names: IamNames): IamPolicy {
  return {
    Version: '2012-10-17',
    Statement: [
      ...launchStatements(names),
      ...changeStatements(names),
      ...profileStatements(names),
      ...readStatements(names),
    ],
  };
}

function actionsOf(...scopes: readonly IamScope[]): IamAction[] {
  return (Object.keys(iamActions) as IamAction[]).filter((action) => scopes.includes(iamActions[action]));
}

const owned = (kind: 'RequestTag' | 'ResourceTag', { cluster }: IamNames): Record<string, string> => ({
  [`aws:${kind}/kubernetes.io/cluster/${cluster}`]: 'owned',
});
const named = (kind: 'RequestTag' | 'ResourceTag', { cluster }: IamNames): Record<string, string> => ({
  [`aws:${kind}/eks:eks-cluster-name`]: cluster,
});
const ofPool = (kind: 'RequestTag' | 'ResourceTag'): Record<string, string> => ({
  [`aws:${kind}/karpenter.sh/nodepool`]: '*',
});
const ofClass = (kind: 'RequestTag' | 'ResourceTag'): Record<string, string> => ({
  [`aws:${kind}/karpenter.k8s.aws/ec2nodeclass`]: '*',
});

const launched = ['fleet', 'instance', 'volume', 'network-interface', 'spot-instances-request'];

function launchStatements(names: IamNames): IamStatement[] {
  const ec2 = (resource: string, account = names.account): string =>
    `arn:${names.partition}:ec2:${names.region}:${account}:${resource}/*`;
  const launch: IamAction[] = ['ec2:RunInstances', 'ec2:CreateFleet'];
  const tags = { ...owned('RequestTag', names), ...named('RequestTag', names) };
  return [
    {
      Sid: 'LaunchFromWhatThereIs',
      Effect: 'Allow',
      Action: launch,
      // Images and snapshots may belong to another account.
      Resource: [
        ...['image', 'snapshot'].map((resource) => ec2(resource, '')),
        ...['security-group', 'subnet', 'capacity-reservation', 'placement-group'].map((resource) =>
          ec2(resource, '*'),
        ),
      ],
    },
    {
      Sid: 'LaunchFromOwnTemplates',
      Effect: 'Allow',
      Action: launch,
      Resource: ec2('launch-template', '*'),
      Condition: { StringEquals: owned('ResourceTag', names), StringLike: ofPool('ResourceTag') },
    },
    // A separate statement for templates: the tags of a launch do not restrict the template it uses.
    {
      Sid: 'LaunchTagged',
      Effect: 'Allow',
      Action: launch,
      Resource: launched.map((resource) => ec2(resource, '*')),
      Condition: { StringEquals: tags, StringLike: ofPool('RequestTag') },
    },
    {
      Sid: 'MakeTemplatesTagged',
      Effect: 'Allow',
      Action: ['ec2:CreateLaunchTemplate'],
      Resource: ec2('launch-template', '*'),
      Condition: { StringEquals: tags, StringLike: ofPool('RequestTag') },
    },
    {
      Sid: 'TagWhatIsMade',
      Effect: 'Allow',
      Action: actionsOf('tagging'),
      Resource: [...launched, 'launch-template'].map((resource) => ec2(resource, '*')),
      Condition: {
        StringEquals: { ...tags, 'ec2:CreateAction': ['RunInstances', 'CreateFleet', 'CreateLaunchTemplate'] },
        StringLike: ofPool('RequestTag'),
      },
    },
  ];
}

function changeStatements(names: IamNames): IamStatement[] {
  const ec2 = (resource: string): string => `arn:${names.partition}:ec2:${names.region}:*:${resource}/*`;
  return [
    {
      Sid: 'CompleteTags',
      Effect: 'Allow',
      Action: actionsOf('tagging'),
      Resource: ec2('instance'),
      Condition: {
        StringEquals: owned('ResourceTag', names),
        StringLike: ofPool('ResourceTag'),
        StringEqualsIfExists: named('RequestTag', names),
        'ForAllValues:StringEquals': { 'aws:TagKeys': ['eks:eks-cluster-name', 'karpenter.sh/nodeclaim', 'Name'] },
      },
    },
    {
      Sid: 'RemoveOwn',
      Effect: 'Allow',
      Action: actionsOf('tagged'),
      Resource: [ec2('instance'), ec2('launch-template')],
      Condition: { StringEquals: owned('ResourceTag', names), StringLike: ofPool('ResourceTag') },
    },
  ];
}

function profileStatements(names: IamNames): IamStatement[] {
  const profiles = `arn:${names.partition}:iam::${names.account}:instance-profile`;
  // The caller chooses request tags: without the path, it could turn any profile into one of the cluster.
  const own = `${profiles}/karpenter/${names.region}/${names.cluster}/*`;
  const region = (kind: 'RequestTag' | 'ResourceTag'): Record<string, string> => ({
    ...owned(kind, names),
    [`aws:${kind}/topology.kubernetes.io/region`]: names.region,
  });
  return [
    {
      Sid: 'PassNodeRole',
      Effect: 'Allow',
      Action: actionsOf('pass-role'),
      Resource: `arn:${names.partition}:iam::${names.account}:role/${names.nodeRole}`,
      Condition: { StringEquals: { 'iam:PassedToService': ['ec2.amazonaws.com', 'ec2.amazonaws.com.cn'] } },
    },
    {
      Sid: 'MakeProfiles',
      Effect: 'Allow',
      Action: ['iam:CreateInstanceProfile', 'iam:TagInstanceProfile'],
      Resource: own,
      Condition: {
        StringEquals: { ...region('RequestTag'), ...named('RequestTag', names) },
        StringLike: ofClass('RequestTag'),
      },
    },
    {
      Sid: 'ChangeOwnProfiles',
      Effect: 'Allow',
      Action: ['iam:AddRoleToInstanceProfile', 'iam:RemoveRoleFromInstanceProfile', 'iam:DeleteInstanceProfile'],
      Resource: own,
      Condition: { StringEquals: region('ResourceTag'), StringLike: ofClass('ResourceTag') },
    },
    { Sid: 'ReadProfiles', Effect: 'Allow', Action: ['iam:GetInstanceProfile'], Resource: `${profiles}/*` },
    { Sid: 'ListProfiles', Effect: 'Allow', Action: actionsOf('instance-profile-list'), Resource: '*' },
  ];
}

function readStatements(names: IamNames): IamStatement[] {
  const { partition, region, account, cluster, queue } = names;
  return [
    {
      Sid: 'ReadRegion',
      Effect: 'Allow',
      Action: actionsOf('regional-read'),
      Resource: '*',
      Condition: { StringEquals: { 'aws:RequestedRegion': region } },
    },
    {
      Sid: 'ReadImageParameters',
      Effect: 'Allow',
      Action: actionsOf('ssm'),
      Resource: `arn:${partition}:ssm:${region}::parameter/aws/service/*`,
    },
    { Sid: 'ReadPrices', Effect: 'Allow', Action: actionsOf('pricing'), Resource: '*' },
    {
      Sid: 'ReadCluster',
      Effect: 'Allow',
      Action: actionsOf('eks'),
      Resource: `arn:${partition}:eks:${region}:${account}:cluster/${cluster}`,
    },
    {
      Sid: 'ReadZonalShifts',
      Effect: 'Allow',
      Action: actionsOf('zonal-shift'),
      Resource: '*',
      Condition: {
        StringEquals: {
          'arc-zonal-shift:ResourceIdentifier': `arn:${partition}:eks:${region}:${account}:cluster/${cluster}`,
        },
      },
    },
    {
      Sid: 'ReceiveInterruptions',
      Effect: 'Allow',
      Action: actionsOf('queue'),
      Resource: `arn:${partition}:sqs:${region}:${account}:${queue}`,
    },
  ];
}
