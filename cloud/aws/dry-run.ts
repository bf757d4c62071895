import type { EC2NodeClass } from '../../api/aws/ec2-node-class.js';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import { labels } from '../../api/labels.js';
import { conditionOf } from '../../core/conditions.js';
import type { ConditionChange } from '../../core/conditions.js';
import { isDomainError } from '../../core/failures.js';
import { canonicalJson, hashText } from '../../core/hash.js';
import type { InstanceType } from '../../core/instance-type.js';
import { launchOptions } from '../../core/launch-options.js';
import { CachedByKey } from './cached.js';
import type { AwsCalls } from './calls.js';
import type { Clock } from './clock.js';
import { isDryRunSuccess, toDomainError } from './errors.js';
import { fleetRequest } from './fleet.js';
import { capacityTypeOf, templateKey, zoneOf } from './launch-choice.js';
import type { LaunchStage } from './launch-choice.js';
import { launchTags, tagList } from './tags.js';
import type { TemplatePlanner } from './template-planner.js';

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
 * CreateFleet and RunInstances whether they would do it (section 1.4). The verdict holds for half an hour.
 */
export class DryRun {
  private readonly verdicts: CachedByKey<ConditionChange>;

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
      return await this.verdicts.get(key, () => this.run(nodeClass));
    } catch (error) {
      const before = conditionOf(status?.conditions, type);
      if (before?.status === 'True') return succeeded;
      const message = error instanceof Error ? error.message : String(error);
      return { type, status: 'Unknown', reason: 'CloudUnavailable', message };
    }
  }

  private async run(nodeClass: EC2NodeClass): Promise<ConditionChange> {
    const stage = sample(await this.deps.catalogue(nodeClass));
    // Nothing could be launched from it now: there is nothing to try.
    if (stage === undefined) return succeeded;
    const claim = sampleClaim(nodeClass);
    const pool = { metadata: { name: samplePool } } as NodePool;
    const request = { claim, pool, nodeClass, clientToken: '' };
    try {
      const templates = await this.deps.planner.plan(request, stage);
      const failed =
        (await this.tryFleet(nodeClass, stage, templates)) ?? (await this.tryInstance(nodeClass, stage, templates));
      return failed ?? succeeded;
    } catch (error) {
      const failure = toDomainError(error, 'ec2:CreateLaunchTemplate');
      if (failure.type === 'NodeClassNotReady') {
        const [reason = 'ValidationFailed', ...rest] = failure.message.split(': ');
        return refused(
          /^\w+$/.test(reason) ? reason : 'ValidationFailed',
          rest.length > 0 ? rest.join(': ') : failure.message,
        );
      }
      if (isPassing(failure)) throw failure;
      return refused('CreateLaunchTemplateAuthCheckFailed', failure.message);
    }
  }

  private async tryFleet(
    nodeClass: EC2NodeClass,
    stage: LaunchStage,
    templates: Templates,
  ): Promise<ConditionChange | undefined> {
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
  ): Promise<ConditionChange | undefined> {
    let first: ConditionChange | undefined;
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

async function outcome(
  reason: string,
  action: string,
  dryRun: () => Promise<unknown>,
): Promise<ConditionChange | undefined> {
  try {
    await dryRun();
    return undefined;
  } catch (error) {
    if (isDryRunSuccess(error)) return undefined;
    const failure = toDomainError(error, action);
    if (isPassing(failure)) throw failure;
    return refused(reason, failure.message);
  }
}

function refused(reason: string, message: string): ConditionChange {
  return { type, status: 'False', reason, message };
}

function isPassing(error: unknown): boolean {
  return isDomainError(error, 'Throttled') || isDomainError(error, 'Unavailable');
}
