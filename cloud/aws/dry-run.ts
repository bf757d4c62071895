import type { EC2NodeClass } from '../../api/aws/ec2-node-class.js';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import { awsLabels } from '../../api/aws/labels.js';
import { resolvedAmiFamily } from '../../api/aws/node-class-rules.js';
import { annotations, labels } from '../../api/labels.js';
import type { NodeSelectorRequirement } from '../../api/kubernetes.js';
import { type ConditionChange, conditionOf, isOfGeneration } from '../../core/conditions.js';
import { DomainError, isDomainError, isTransient } from '../../core/failures.js';
import { digestOf } from '../../core/hash.js';
import type { InstanceType } from '../../core/instance-type.js';
import { admits, intersects, launchOptions, requirementsOfPool } from '../../core/launch-options.js';
import { CachedByKey } from './cached.js';
import type { AwsCalls } from './calls.js';
import type { Clock } from './clock.js';
import { awsCode, isDryRunSuccess, isProfileUnknown, toDomainError } from './errors.js';
import { fleetRequest } from './fleet.js';
import { capacityTypeOf, type LaunchStage, templateKey, withoutSpecialHardware, zoneOf } from './launch-choice.js';
import { launchTags, tagList } from './tags.js';
import type { TemplatePlanner } from './template-planner.js';
import { messageOf } from '../../core/error-message.js';
import type { CloudAccount, QueueState } from '../port.js';
import type { IamAction } from './iam-policy.js';
import { nameOf } from '../../core/names.js';

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

export interface DryRunDeps {
  readonly calls: Pick<AwsCalls, 'createFleet' | 'runInstances'>;
  readonly clock: Clock;
  readonly clusterName: string;
  readonly planner: TemplatePlanner;
  readonly catalogue: (nodeClass: EC2NodeClass) => Promise<readonly InstanceType[]>;
}

const type = 'ValidationSucceeded';
/** Written after each validation, so their change must not trigger another. */
const ownAnnotations = { [annotations.ec2NodeClassHash]: '', [annotations.ec2NodeClassHashVersion]: '' };
const cacheMs = 30 * 60_000;
const succeeded: ConditionChange = { type, status: 'True' };
const launchTemplateNotFound = 'LaunchTemplateNotFound';

/**
 * Validates a resolved node class before pods depend on it: creates the launch template of one type, then makes dry
 * runs of CreateFleet and RunInstances (node-classes/dry-run). Success and missing permissions are cached for half an
 * hour. Other failures may be temporary, such as a new profile that EC2 does not know yet, and are checked again.
 */
export class DryRun {
  private readonly results: CachedByKey<DryRunResult>;

  constructor(private readonly deps: DryRunDeps) {
    this.results = new CachedByKey(deps.clock, cacheMs);
  }

  /** Never throws: if the cloud throttles or is unavailable, the previous result of the same spec stays. */
  async check(nodeClass: EC2NodeClass, pools: readonly NodePool[] = []): Promise<ConditionChange> {
    const { metadata, spec, status } = nodeClass;
    const content = [
      metadata.uid,
      // Changing an annotation triggers a new validation.
      { ...metadata.annotations, ...ownAnnotations },
      pools.map(requirementsOfPool),
      spec,
      status?.amis,
      status?.subnets,
      status?.securityGroups,
      status?.instanceProfile,
    ];
    const key = digestOf(content);
    try {
      const verdict = await this.results.get(key, () => this.run(nodeClass, pools));
      if (!verdict.lasting) this.results.forget(key);
      return verdict.condition;
    } catch (error) {
      const before = conditionOf(status?.conditions, type);
      if (before?.status === 'True' && isOfGeneration(before, metadata.generation)) return succeeded;
      const message = messageOf(error);
      return { type, status: 'Unknown', reason: 'CloudUnavailable', message };
    }
  }

  private async run(nodeClass: EC2NodeClass, pools: readonly NodePool[]): Promise<DryRunResult> {
    const stage = sample(await this.deps.catalogue(nodeClass), nodeClass, pools);
    // Nothing could be launched now, so there is nothing to validate and no result to cache.
    if (stage === undefined) return passing(succeeded);
    const claim = sampleClaim(nodeClass, pools);
    const request = { claim, nodeClass, clientToken: '' };
    try {
      const templates = await this.deps.planner.plan(request, stage);
      const failed =
        (await this.tryFleet(nodeClass, stage, templates)) ?? (await this.tryInstance(nodeClass, stage, templates));
      return failed ?? { condition: succeeded, lasting: true };
    } catch (error) {
      return resultOf(error, 'CreateLaunchTemplateAuthCheckFailed', 'ec2:CreateLaunchTemplate', nodeClass);
    }
  }

  private async tryFleet(
    nodeClass: EC2NodeClass,
    stage: LaunchStage,
    templates: Templates,
  ): Promise<DryRunResult | undefined> {
    const [option] = stage.options;
    const subnet = (nodeClass.status?.subnets ?? []).find(
      ({ zone }) => option !== undefined && zone === zoneOf(option),
    );
    if (option === undefined || subnet === undefined) return undefined;
    const input = fleetRequest({
      stage,
      templates,
      subnets: new Map([[subnet.zone, subnet]]),
      tags: launchTags(nodeClass, sampleClaim(nodeClass), this.deps.clusterName),
      clientToken: '',
      prioritized: false,
      context: nodeClass.spec.context,
    });
    const reportedAs = { reason: 'CreateFleetAuthCheckFailed', action: 'ec2:CreateFleet', nodeClass };
    return outcome(reportedAs, () => this.deps.calls.createFleet({ ...input, ClientToken: undefined, DryRun: true }));
  }

  /**
   * One subnet that succeeds suffices; otherwise reports the failure of the first subnet. A call without a clear result
   * is not a failure.
   */
  private async tryInstance(
    nodeClass: EC2NodeClass,
    stage: LaunchStage,
    templates: Templates,
  ): Promise<DryRunResult | undefined> {
    let first: DryRunResult | undefined;
    let silent: Error | undefined;
    for (const { id } of nodeClass.status?.subnets ?? []) {
      try {
        const failed = await this.tryIn(id, { nodeClass, stage, templates });
        if (failed === undefined) return undefined;
        first ??= failed;
      } catch (error) {
        silent ??= error as Error;
      }
    }
    if (first === undefined && silent !== undefined) throw silent;
    return first;
  }

  private tryIn(
    subnetId: string,
    { nodeClass, stage, templates }: { nodeClass: EC2NodeClass; stage: LaunchStage; templates: Templates },
  ): Promise<DryRunResult | undefined> {
    const [option] = stage.options;
    const key = option === undefined ? '' : templateKey(option);
    const tags = tagList(launchTags(nodeClass, sampleClaim(nodeClass), this.deps.clusterName));
    const groups = (nodeClass.status?.securityGroups ?? []).map(({ id }) => id);
    const reportedAs = { reason: 'RunInstancesAuthCheckFailed', action: 'ec2:RunInstances', nodeClass };
    return outcome(reportedAs, () =>
      this.deps.calls.runInstances({
        ...{ DryRun: true, MinCount: 1, MaxCount: 1 },
        InstanceType: option?.type.name as never,
        LaunchTemplate: { LaunchTemplateName: templates.get(key)?.template, Version: '$Latest' },
        NetworkInterfaces: [{ DeviceIndex: 0, SubnetId: subnetId, Groups: groups }],
        TagSpecifications: [
          { ResourceType: 'instance', Tags: tags },
          { ResourceType: 'volume', Tags: tags },
        ],
      }),
    );
  }
}

type Templates = Awaited<ReturnType<TemplatePlanner['plan']>>;

const samplePool = 'dry-run';

/** Dedicated if some NodePool may launch dedicated instances: that needs most permissions. */
function sampleClaim(nodeClass: EC2NodeClass, pools: readonly NodePool[] = []): NodeClaim {
  const asked = pools.flatMap((pool) =>
    requirementsOfPool(pool).filter(({ key }) => key === awsLabels.instanceTenancy),
  );
  const isDedicated = asked.some((requirement) => admits(requirement, 'dedicated'));
  return {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodeClaim',
    metadata: { name: samplePool, uid: samplePool, labels: { [labels.nodePool]: samplePool } },
    spec: {
      requirements: isDedicated ? [{ key: awsLabels.instanceTenancy, operator: 'In', values: ['dedicated'] }] : [],
      nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: nameOf(nodeClass) },
      expireAfter: 'Never',
    },
  };
}

/** Used if no NodePool determines the types; every account may launch them. */
const usualTypes: readonly string[] = ['m5.large', 'm6g.large'];

/**
 * The cheapest on-demand offering that the node class's NodePools may launch, since a policy of the account may allow
 * only these. Types without accelerators come first: they have the image of most nodes. Spot if there is no on-demand
 * offering.
 */
function sample(
  types: readonly InstanceType[],
  { spec }: EC2NodeClass,
  pools: readonly NodePool[],
): LaunchStage | undefined {
  const isWindows = resolvedAmiFamily(spec).startsWith('Windows');
  const wanted = isWindows ? [] : types.filter(isOf(pools.map(requirementsOfPool)));
  const usual = types.filter(({ name }) => usualTypes.includes(name));
  const among = [wanted, usual, types].find((each) => each.length > 0) ?? [];
  const options = withoutSpecialHardware(launchOptions(among, [], {}));
  const option = options.find((each) => capacityTypeOf(each) === 'on-demand') ?? options[0];
  return option === undefined ? undefined : { capacityType: capacityTypeOf(option), options: [option] };
}

const isOf =
  (wanted: readonly (readonly NodeSelectorRequirement[])[]) =>
  ({ requirements }: InstanceType): boolean =>
    wanted.some((each) => intersects(each, requirements));

/** How the result is reported in the condition. */
interface ReportedAs {
  readonly reason: string;
  readonly action: string;
  readonly nodeClass: EC2NodeClass;
}

async function outcome(
  { reason, action, nodeClass }: ReportedAs,
  dryRun: () => Promise<unknown>,
): Promise<DryRunResult | undefined> {
  try {
    await dryRun();
    return undefined;
  } catch (error) {
    return isDryRunSuccess(error) ? undefined : resultOf(error, reason, action, nodeClass);
  }
}

interface DryRunResult {
  readonly condition: ConditionChange;
  /** Whether the result is cached. */
  readonly lasting: boolean;
}

/** Maps a failure to a result for the node class; rethrows if it is unrelated to the node class. */
function resultOf(error: unknown, reason: string, action: string, { spec }: EC2NodeClass): DryRunResult {
  const failure = toDomainError(error, action);
  if (isTransient(failure)) throw failure;
  if (failure.type === 'NodeClassNotReady') return passing(refused(...reasonIn(failure.message)));
  if (failure.type === 'InsufficientCapacity') return passing(succeeded);
  if (isProfileUnknown(failure)) {
    // A profile created here is not known everywhere for some seconds. A missing profile that the user named needs a
    // fix by the user.
    const status = spec.instanceProfile === undefined ? 'Unknown' : 'False';
    return passing({ type, status, reason: 'InstanceProfileNotFound', message: failure.message });
  }
  if (failure.details['reason'] === launchTemplateNotFound) {
    // Created just now and not known everywhere yet; or not created at all, as in a dry run.
    return passing({ type, status: 'Unknown', reason: launchTemplateNotFound, message: failure.message });
  }
  // An error in the node class is not a missing permission, and has its specific reason.
  const named = typeof failure.details['reason'] === 'string' ? failure.details['reason'] : 'ValidationFailed';
  const why = failure.type === 'Denied' ? reason : named;
  return { condition: refused(why, failure.message), lasting: awsCode(failure) === 'UnauthorizedOperation' };
}

const passing = (condition: ConditionChange): DryRunResult => ({ condition, lasting: false });

/** The reason at the start of a message. */
function reasonIn(text: string): [reason: string, message: string] {
  const [reason = '', ...rest] = text.split(': ');
  return rest.length > 0 && /^\w+$/.test(reason) ? [reason, rest.join(': ')] : ['ValidationFailed', text];
}

function refused(reason: string, message: string): ConditionChange {
  return { type, status: 'False', reason, message };
}
