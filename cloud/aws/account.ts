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
  /** Validates a node class by dry runs, without creating anything (calls of `withoutMaking`). */
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

/** The permissions that `permissions` checks. */
export const triedReads = Object.keys(reads) as readonly (keyof typeof reads)[];

/** Checks of the AWS account for operators who set it up. Every call is read-only or a dry run. */
export function createAccount({ calls, region, queueName, dryRun }: AccountDeps): CloudAccount {
  const tried = (action: keyof typeof reads): Promise<DomainError | undefined> =>
    refusalOf(action, () => reads[action](calls));
  return {
    place: `region ${region}`,
    time: () => calls.time(),
    authenticate: async () => {
      const refused = await tried('ec2:DescribeInstances');
      // EC2 refuses a permission only to authenticated callers; any other refusal is an error.
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

/**
 * While EC2 is unavailable, a dry run keeps the existing condition of the node class. Removing the condition makes the
 * failure visible here.
 */
function withoutValidation(nodeClass: EC2NodeClass): EC2NodeClass {
  if (nodeClass.status === undefined) return nodeClass;
  return { ...nodeClass, status: { ...nodeClass.status, conditions: [] } };
}

/** Throws if the queue does not exist or access to it is denied. */
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
    // Roles made for Karpenter may have permission to receive from the queue but not to read its attributes.
    if (isDomainError(error, 'Denied')) return { waiting: undefined };
    throw error;
  }
}

type TemplateCalls = Pick<
  AwsCalls,
  'createLaunchTemplate' | 'describeLaunchTemplates' | 'deleteLaunchTemplate' | 'createFleet' | 'runInstances'
>;

/**
 * Replaces calls that create launch templates by dry runs, so that a node class can be validated without creating one.
 */
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
    deleteLaunchTemplate: () =>
      Promise.reject(new DomainError('Invalid', 'a dry run does not delete launch templates')),
  };
}
