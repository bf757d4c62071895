/** Scope of a permission in the generated policy (settings/permissions). */
export type IamScope =
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
