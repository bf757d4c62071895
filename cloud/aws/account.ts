import type { EC2NodeClass } from '../../api/aws/ec2-node-class.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import type { ConditionChange } from '../../core/conditions.js';
import { DomainError, isDomainError } from '../../core/failures.js';
import type { CloudAccount, QueueState } from '../port.js';
import type { AwsCalls } from './calls.js';
import { awsCode, isDryRunSuccess, toDomainError } from './errors.js';
import type { IamAction } from './iam-actions.js';

type Reads = Pick<
  AwsCalls,
  | 'describeCapacityReservations'
  | 'describeImages'
  | 'describeInstances'
  | 'describeInstanceStatus'
  | 'describeInstanceTypeOfferings'
  | 'describeInstanceTypes'
  | 'describeLaunchTemplates'
  | 'describePlacementGroups'
  | 'describeSecurityGroups'
  | 'describeSpotPriceHistory'
  | 'describeSubnets'
>;

export interface AccountDeps {
  readonly calls: Reads & Pick<AwsCalls, 'time' | 'getQueueUrl' | 'getQueueAttributes'>;
  readonly region: string;
  readonly queueName: string | undefined;
  /** The dry run of a node class, by calls of `withoutMaking`. */
  readonly dryRun: (nodeClass: EC2NodeClass, pools?: readonly NodePool[]) => Promise<ConditionChange>;
}

/** Every call to EC2 that reads (scope `regional-read`), as a dry run. */
const reads = {
  'ec2:DescribeCapacityReservations': (calls) => calls.describeCapacityReservations({ DryRun: true }),
  'ec2:DescribeImages': (calls) => calls.describeImages({ DryRun: true, Owners: ['self'] }),
  'ec2:DescribeInstances': (calls) => calls.describeInstances({ DryRun: true }),
  'ec2:DescribeInstanceStatus': (calls) => calls.describeInstanceStatus({ DryRun: true }),
  'ec2:DescribeInstanceTypeOfferings': (calls) => calls.describeInstanceTypeOfferings({ DryRun: true }),
  'ec2:DescribeInstanceTypes': (calls) => calls.describeInstanceTypes({ DryRun: true }),
  'ec2:DescribeLaunchTemplates': (calls) => calls.describeLaunchTemplates({ DryRun: true }),
  'ec2:DescribePlacementGroups': (calls) => calls.describePlacementGroups({ DryRun: true }),
  'ec2:DescribeSecurityGroups': (calls) => calls.describeSecurityGroups({ DryRun: true }),
  'ec2:DescribeSpotPriceHistory': (calls) => calls.describeSpotPriceHistory({ DryRun: true }),
  'ec2:DescribeSubnets': (calls) => calls.describeSubnets({ DryRun: true }),
} as const satisfies Partial<Record<IamAction, (calls: Reads) => Promise<unknown>>>;

/** The permissions that `permissions` tries out. */
export const triedReads = Object.keys(reads) as readonly (keyof typeof reads)[];

/** What people who set the account up want to know of it; every call reads or is a dry run. */
export function createAccount({ calls, region, queueName, dryRun }: AccountDeps): CloudAccount {
  const tried = (action: keyof typeof reads): Promise<DomainError | undefined> =>
    refusalOf(action, () => reads[action](calls));
  return {
    place: `region ${region}`,
    time: () => calls.time(),
    authenticate: async () => {
      const refused = await tried('ec2:DescribeInstances');
      // To be refused a permission one must be known.
      if (refused !== undefined && awsCode(refused) !== 'UnauthorizedOperation') throw refused;
    },
    permissions: async () =>
      new Map(await Promise.all(triedReads.map(async (action) => [action, await tried(action)] as const))),
    tryOut: (nodeClass, pools) => dryRun(withoutValidation(nodeClass as EC2NodeClass), pools),
    ...(queueName === undefined ? {} : { queue: { name: queueName, look: () => inspectQueue(calls, queueName) } }),
  };
}

/** Undefined where the call is allowed. */
async function refusalOf(action: IamAction, call: () => Promise<unknown>): Promise<DomainError | undefined> {
  try {
    await call();
    return undefined;
  } catch (error) {
    return isDryRunSuccess(error) ? undefined : toDomainError(error, action);
  }
}

/** A dry run falls back on the verdict that the node class has while EC2 is away: here it is to say that it is. */
function withoutValidation(nodeClass: EC2NodeClass): EC2NodeClass {
  if (nodeClass.status === undefined) return nodeClass;
  return { ...nodeClass, status: { ...nodeClass.status, conditions: [] } };
}

/** Throws where there is no such queue, or nobody lets us find it. */
async function inspectQueue(
  calls: Pick<AwsCalls, 'getQueueUrl' | 'getQueueAttributes'>,
  queueName: string,
): Promise<QueueState> {
  const { QueueUrl } = await calls.getQueueUrl(queueName);
  try {
    const { Attributes } = await calls.getQueueAttributes({
      QueueUrl,
      AttributeNames: ['ApproximateNumberOfMessages'],
    });
    return { waiting: Number(Attributes?.ApproximateNumberOfMessages ?? 0) };
  } catch (error) {
    // Roles that were made for Karpenter may receive from the queue, and not read its attributes.
    if (isDomainError(error, 'Denied')) return { waiting: undefined };
    throw error;
  }
}

type TemplateCalls = Pick<
  AwsCalls,
  'createLaunchTemplate' | 'describeLaunchTemplates' | 'deleteLaunchTemplate' | 'createFleet' | 'runInstances'
>;

/** Calls by which a node class can be tried out without making its launch template: that is a dry run as well. */
export function asDryRuns(calls: TemplateCalls): TemplateCalls {
  return {
    ...calls,
    createLaunchTemplate: async (input) => {
      const refused = await refusalOf('ec2:CreateLaunchTemplate', () =>
        calls.createLaunchTemplate({ ...input, DryRun: true }),
      );
      if (refused !== undefined) throw refused;
      return { $metadata: {} };
    },
    deleteLaunchTemplate: () => Promise.reject(new DomainError('Invalid', 'trying out deletes no launch template')),
  };
}
