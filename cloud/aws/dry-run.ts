import type { EC2NodeClass } from '../../api/aws/ec2-node-class.js';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import { labels } from '../../api/labels.js';
import { conditionOf } from '../../core/conditions.js';
import type { ConditionChange } from '../../core/conditions.js';
import { isTransient } from '../../core/failures.js';
import { canonicalJson, hashText } from '../../core/hash.js';
import type { InstanceType } from '../../core/instance-type.js';
import { launchOptions } from '../../core/launch-options.js';
import { CachedByKey } from './cached.js';
import type { AwsCalls } from './calls.js';
import type { Clock } from './clock.js';
import { awsCode, isDryRunSuccess, isProfileUnknown, toDomainError } from './errors.js';
import { fleetRequest } from './fleet.js';
import { capacityTypeOf, templateKey, zoneOf } from './launch-choice.js';
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
const cacheMs = 30 * 60_000;
const succeeded: ConditionChange = { type, status: 'True' };

/**
 * Tries a resolved node class out before pods depend on it: makes the launch template of one type for real, then asks
 * CreateFleet and RunInstances whether they would do it (node-classes/dry-run). Success and a lacking permission hold for half an
 * hour; anything else may pass, such as a new profile that EC2 has not heard of yet, and is asked again.
 */
export class DryRun {
  private readonly verdicts: CachedByKey<Verdict>;

  constructor(private readonly deps: DryRunDeps) {
    this.verdicts = new CachedByKey(deps.clock, cacheMs);
  }

  /** Never throws: a cloud that throttles or is away leaves the former verdict. */
  async check(nodeClass: EC2NodeClass): Promise<ConditionChange> {
    const { spec, status } = nodeClass;
    const content = [
      nodeClass.metadata.uid,
      spec,
      status?.amis,
      status?.subnets,
      status?.securityGroups,
      status?.instanceProfile,
    ];
    const key = hashText(canonicalJson(content));
    try {
      const verdict = await this.verdicts.get(key, () => this.run(nodeClass));
      if (!verdict.lasting) this.verdicts.forget(key);
      return verdict.condition;
    } catch (error) {
      const before = conditionOf(status?.conditions, type);
      if (before?.status === 'True') return succeeded;
      const message = messageOf(error);
      return { type, status: 'Unknown', reason: 'CloudUnavailable', message };
    }
  }

  private async run(nodeClass: EC2NodeClass): Promise<Verdict> {
    const stage = sample(await this.deps.catalogue(nodeClass));
    // Nothing could be launched from it now: there is nothing to try, and nothing that would hold.
    if (stage === undefined) return passing(succeeded);
    const claim = sampleClaim(nodeClass);
    const pool = { metadata: { name: samplePool } } as NodePool;
    const request = { claim, pool, nodeClass, clientToken: '' };
    try {
      const templates = await this.deps.planner.plan(request, stage);
      const failed =
        (await this.tryFleet(nodeClass, stage, templates)) ?? (await this.tryInstance(nodeClass, stage, templates));
      return failed ?? { condition: succeeded, lasting: true };
    } catch (error) {
      return verdictOf(error, 'CreateLaunchTemplateAuthCheckFailed', 'ec2:CreateLaunchTemplate');
    }
  }

  private async tryFleet(
    nodeClass: EC2NodeClass,
    stage: LaunchStage,
    templates: Templates,
  ): Promise<Verdict | undefined> {
    const [option] = stage.options;
    const subnet = (nodeClass.status?.subnets ?? []).find(
      ({ zone }) => option !== undefined && zone === zoneOf(option),
    );
    if (option === undefined || subnet === undefined) return undefined;
    const input = fleetRequest({
      stage,
      templates,
      subnets: new Map([[subnet.zone, subnet]]),
      tags: launchTags(nodeClass, sampleClaim(nodeClass), samplePool, this.deps.clusterName),
      clientToken: '',
      prioritized: false,
      context: nodeClass.spec.context,
    });
    return outcome('CreateFleetAuthCheckFailed', 'ec2:CreateFleet', () =>
      this.deps.calls.createFleet({ ...input, ClientToken: undefined, DryRun: true }),
    );
  }

  /** One subnet that would do suffices; otherwise the first subnet's refusal is told. */
  private async tryInstance(
    nodeClass: EC2NodeClass,
    stage: LaunchStage,
    templates: Templates,
  ): Promise<Verdict | undefined> {
    let first: Verdict | undefined;
    const [option] = stage.options;
    const name = option?.type.name ?? '';
    const tags = tagList(launchTags(nodeClass, sampleClaim(nodeClass), samplePool, this.deps.clusterName));
    for (const subnet of nodeClass.status?.subnets ?? []) {
      const failed = await outcome('RunInstancesAuthCheckFailed', 'ec2:RunInstances', () =>
        this.deps.calls.runInstances({
          DryRun: true,
          MinCount: 1,
          MaxCount: 1,
          InstanceType: name as never,
          LaunchTemplate: {
            LaunchTemplateName: templates.get(option === undefined ? '' : templateKey(option))?.template,
            Version: '$Latest',
          },
          NetworkInterfaces: [
            {
              DeviceIndex: 0,
              SubnetId: subnet.id,
              Groups: (nodeClass.status?.securityGroups ?? []).map(({ id }) => id),
            },
          ],
          TagSpecifications: [
            { ResourceType: 'instance', Tags: tags },
            { ResourceType: 'volume', Tags: tags },
          ],
        }),
      );
      if (failed === undefined) return undefined;
      first ??= failed;
    }
    return first;
  }
}

type Templates = Awaited<ReturnType<TemplatePlanner['plan']>>;

const samplePool = 'dry-run';

function sampleClaim(nodeClass: EC2NodeClass): NodeClaim {
  return {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodeClaim',
    metadata: { name: samplePool, uid: samplePool, labels: { [labels.nodePool]: samplePool } },
    spec: {
      requirements: [],
      nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: nodeClass.metadata.name ?? '' },
      expireAfter: 'Never',
    },
  };
}

/** The cheapest on-demand offering; spot when there is none. */
function sample(types: readonly InstanceType[]): LaunchStage | undefined {
  const options = launchOptions(types, [], {});
  const option = options.find((each) => capacityTypeOf(each) === 'on-demand') ?? options[0];
  return option === undefined ? undefined : { capacityType: capacityTypeOf(option), options: [option] };
}

async function outcome(reason: string, action: string, dryRun: () => Promise<unknown>): Promise<Verdict | undefined> {
  try {
    await dryRun();
    return undefined;
  } catch (error) {
    return isDryRunSuccess(error) ? undefined : verdictOf(error, reason, action);
  }
}

interface Verdict {
  readonly condition: ConditionChange;
  /** Whether it is kept. */
  readonly lasting: boolean;
}

/** What a refusal says of the node class; throws where it says nothing of it. */
function verdictOf(error: unknown, reason: string, action: string): Verdict {
  const failure = toDomainError(error, action);
  if (isTransient(failure)) throw failure;
  if (failure.type === 'NodeClassNotReady') return passing(refused(...reasonIn(failure.message)));
  if (failure.type === 'InsufficientCapacity') return passing(succeeded);
  if (isProfileUnknown(failure)) {
    return passing({ type, status: 'Unknown', reason: 'InstanceProfileNotFound', message: failure.message });
  }
  // What is wrong with the node class is no lacking permission, and goes by its own name.
  const named = typeof failure.details['reason'] === 'string' ? failure.details['reason'] : 'ValidationFailed';
  const why = failure.type === 'Denied' ? reason : named;
  return { condition: refused(why, failure.message), lasting: awsCode(failure) === 'UnauthorizedOperation' };
}

const passing = (condition: ConditionChange): Verdict => ({ condition, lasting: false });

/** The reason that a message begins with. */
function reasonIn(text: string): [reason: string, message: string] {
  const [reason = '', ...rest] = text.split(': ');
  return rest.length > 0 && /^\w+$/.test(reason) ? [reason, rest.join(': ')] : ['ValidationFailed', text];
}

function refused(reason: string, message: string): ConditionChange {
  return { type, status: 'False', reason, message };
}
