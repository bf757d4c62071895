import type { EC2NodeClass } from '../../api/aws/ec2-node-class.js';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import { awsLabels } from '../../api/aws/labels.js';
import { resolvedAmiFamily } from '../../api/aws/node-class-rules.js';
import { annotations, labels } from '../../api/labels.js';
import type { NodeSelectorRequirement } from '../../api/kubernetes.js';
import { conditionOf } from '../../core/conditions.js';
import type { ConditionChange } from '../../core/conditions.js';
import { isTransient } from '../../core/failures.js';
import { digestOf } from '../../core/hash.js';
import type { InstanceType } from '../../core/instance-type.js';
import { admits, intersects, launchOptions, requirementsOfPool } from '../../core/launch-options.js';
import { CachedByKey } from './cached.js';
import type { AwsCalls } from './calls.js';
import type { Clock } from './clock.js';
import { awsCode, isDryRunSuccess, isProfileUnknown, toDomainError } from './errors.js';
import { fleetRequest } from './fleet.js';
import { capacityTypeOf, templateKey, withoutSpecialHardware, zoneOf } from './launch-choice.js';
import type { LaunchStage } from './launch-choice.js';
import { launchTags, tagList } from './tags.js';
import type { TemplatePlanner } from './template-planner.js';
import { messageOf } from '../../core/error-message.js';

export interface DryRunDeps {
  readonly calls: Pick<AwsCalls, 'createFleet' | 'runInstances'>;
  readonly clock: Clock;
  readonly clusterName: string;
  readonly planner: TemplatePlanner;
  readonly catalogue: (nodeClass: EC2NodeClass) => Promise<readonly InstanceType[]>;
}

const type = 'ValidationSucceeded';
/** Written after each look: they are no reason for another. */
const ownAnnotations = { [annotations.ec2NodeClassHash]: '', [annotations.ec2NodeClassHashVersion]: '' };
const cacheMs = 30 * 60_000;
const succeeded: ConditionChange = { type, status: 'True' };
const launchTemplateNotFound = 'LaunchTemplateNotFound';

/**
 * Tries a resolved node class out before pods depend on it: makes the launch template of one type for real, then asks
 * CreateFleet and RunInstances whether they would do it (node-classes/dry-run). Success and a lacking permission hold for half an
 * hour; anything else may pass, such as a new profile that EC2 has not heard of yet, and is asked again.
 */
export class DryRun {
  private readonly results: CachedByKey<DryRunResult>;

  constructor(private readonly deps: DryRunDeps) {
    this.results = new CachedByKey(deps.clock, cacheMs);
  }

  /** Never throws: a cloud that throttles or is away leaves the former verdict. */
  async check(nodeClass: EC2NodeClass, pools: readonly NodePool[] = []): Promise<ConditionChange> {
    const { metadata, spec, status } = nodeClass;
    const content = [
      metadata.uid,
      // An annotation is how somebody has it tried out anew.
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
      if (before?.status === 'True') return succeeded;
      const message = messageOf(error);
      return { type, status: 'Unknown', reason: 'CloudUnavailable', message };
    }
  }

  private async run(nodeClass: EC2NodeClass, pools: readonly NodePool[]): Promise<DryRunResult> {
    const stage = sample(await this.deps.catalogue(nodeClass), nodeClass, pools);
    // Nothing could be launched from it now: there is nothing to try, and nothing that would hold.
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
    const told = { reason: 'CreateFleetAuthCheckFailed', action: 'ec2:CreateFleet', nodeClass };
    return outcome(told, () => this.deps.calls.createFleet({ ...input, ClientToken: undefined, DryRun: true }));
  }

  /** One subnet that would do suffices; otherwise the first subnet's refusal is told. A call that says nothing is no refusal. */
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
    const told = { reason: 'RunInstancesAuthCheckFailed', action: 'ec2:RunInstances', nodeClass };
    return outcome(told, () =>
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

/** Dedicated where some NodePool may launch so: that takes the most permissions. */
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
      nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: nodeClass.metadata.name ?? '' },
      expireAfter: 'Never',
    },
  };
}

/** Tried out where no NodePool says what is launched; every account may launch them. */
const usualTypes: readonly string[] = ['m5.large', 'm6g.large'];

/**
 * The cheapest on-demand offering of what the NodePools of the node class may launch, since a policy of the account may allow just
 * that; one without accelerators, whose image is that of most nodes, before all others. Spot when there is none.
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

/** What the verdict is told as. */
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
  /** Whether it is kept. */
  readonly lasting: boolean;
}

/** What a refusal says of the node class; throws where it says nothing of it. */
function resultOf(error: unknown, reason: string, action: string, { spec }: EC2NodeClass): DryRunResult {
  const failure = toDomainError(error, action);
  if (isTransient(failure)) throw failure;
  if (failure.type === 'NodeClassNotReady') return passing(refused(...reasonIn(failure.message)));
  if (failure.type === 'InsufficientCapacity') return passing(succeeded);
  if (isProfileUnknown(failure)) {
    // One that was made here is not known everywhere for some seconds; one that somebody names is to be seen to.
    const status = spec.instanceProfile === undefined ? 'Unknown' : 'False';
    return passing({ type, status, reason: 'InstanceProfileNotFound', message: failure.message });
  }
  if (failure.details['reason'] === launchTemplateNotFound) {
    // Made just now and not known everywhere; or not made at all, where nothing is to be made for a dry run.
    return passing({ type, status: 'Unknown', reason: launchTemplateNotFound, message: failure.message });
  }
  // What is wrong with the node class is no lacking permission, and goes by its own name.
  const named = typeof failure.details['reason'] === 'string' ? failure.details['reason'] : 'ValidationFailed';
  const why = failure.type === 'Denied' ? reason : named;
  return { condition: refused(why, failure.message), lasting: awsCode(failure) === 'UnauthorizedOperation' };
}

const passing = (condition: ConditionChange): DryRunResult => ({ condition, lasting: false });

/** The reason that a message begins with. */
function reasonIn(text: string): [reason: string, message: string] {
  const [reason = '', ...rest] = text.split(': ');
  return rest.length > 0 && /^\w+$/.test(reason) ? [reason, rest.join(': ')] : ['ValidationFailed', text];
}

function refused(reason: string, message: string): ConditionChange {
  return { type, status: 'False', reason, message };
}
