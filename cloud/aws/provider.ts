import { type EC2NodeClass, ec2NodeClasses } from '../../api/aws/ec2-node-class.js';
import { awsLabels, awsWellKnownLabels } from '../../api/aws/labels.js';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import { annotations, labels } from '../../api/labels.js';
import { DomainError, isDomainError } from '../../core/failures.js';
import type { InstanceType } from '../../core/instance-type.js';
import type { CloudProvider, EndedInstance, NodeClass, ObservedCapacity } from '../port.js';
import { type AwsCalls, createCalls } from './calls.js';
import { machineMemory } from './capacity.js';
import { type Clock, systemClock } from './clock.js';
import { groupDrift, instanceDrift, staticDrift } from './drift.js';
import { instanceIdOf } from './instances.js';
import type { MachineTypes } from './machine-types.js';
import type { AwsOptions } from './options.js';
import { type AwsParts, createParts } from './parts.js';
import { Failures } from './sweeping.js';
import { compareText } from '../../core/text.js';
import { messageOf } from '../../core/error-message.js';
import { nameOf } from '../../core/names.js';
import type { RepairPolicy } from '../../core/conditions.js';

/** EC2 as a cloud provider for EC2NodeClass `karpenter.k8s.aws/v1`. Makes no call at creation. */
export function createAwsProvider(options: AwsOptions): AwsProvider {
  const clock = options.clock ?? systemClock;
  let answeredAt: number | undefined;
  const onCall: NonNullable<AwsOptions['onCall']> = (call) => {
    if (call.answered && call.action.startsWith('ec2:')) answeredAt = clock.now();
    options.onCall?.(call);
  };
  const provider = new AwsProvider(options, createCalls({ ...options, clock, onCall }), clock);
  return Object.defineProperty(provider, 'answeredAt', { get: () => answeredAt });
}

/** Node conditions of kubelet and the EKS node monitoring agent for broken machines (repair/policies). */
const repairPolicies: NonNullable<CloudProvider['repairPolicies']> = [
  ...(['False', 'Unknown'] as const).map((conditionStatus) => broken('Ready', conditionStatus, 30)),
  broken('AcceleratedHardwareReady', 'False', 10),
  ...['StorageReady', 'NetworkingReady', 'KernelReady', 'ContainerRuntimeReady'].map((type) =>
    broken(type, 'False', 30),
  ),
];

function broken(conditionType: string, conditionStatus: 'False' | 'Unknown', minutes: number): RepairPolicy {
  return { conditionType, conditionStatus, tolerationMs: minutes * 60_000 };
}

const hour = 3_600_000;

export class AwsProvider implements CloudProvider {
  readonly name = 'aws';
  readonly nodeClassKind = { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass' };
  readonly wellKnownLabels = awsWellKnownLabels;
  readonly openLabels: readonly string[] = [awsLabels.placementGroupPartition];
  readonly repairPolicies = repairPolicies;
  readonly interruptions: AwsParts['interruptions'];
  readonly account: AwsParts['account'];
  readonly poolEvents: CloudProvider['poolEvents'];
  readonly userDataBytes: NonNullable<CloudProvider['userDataBytes']>;

  private readonly parts: AwsParts;

  constructor(
    private readonly options: AwsOptions,
    calls: AwsCalls,
    clock: Clock,
  ) {
    const parts = createParts(options, calls, clock);
    this.parts = parts;
    this.interruptions = parts.interruptions;
    this.account = parts.account;
    this.poolEvents = parts.poolEvents;
    this.userDataBytes = parts.sizes.bytes;
  }

  instanceTypes(_pool: unknown, nodeClass: NodeClass): Promise<readonly InstanceType[]> {
    return this.parts.catalogues.of(nodeClass as EC2NodeClass);
  }

  /** The catalogue of the region, without a cluster. */
  regionTypes(): Promise<readonly InstanceType[]> {
    return typesOfRegion(this.parts, this.options);
  }

  get priceList(): CloudProvider['priceList'] {
    const { status } = this.parts.prices;
    return status && { source: status.source, at: status.onDemandAt };
  }

  launch: CloudProvider['launch'] = async (request) => {
    try {
      return await this.parts.launcher.launch(request);
    } catch (error) {
      if (!isDomainError(error, 'NodeClassNotReady')) throw error;
      return { ok: false, error: { kind: 'NodeClassNotReady', message: error.message, unavailable: [] } };
    }
  };

  async get(providerId: string): ReturnType<CloudProvider['get']> {
    const id = instanceIdOf(providerId);
    if (id === undefined) return undefined;
    const known = await this.parts.shifted.known(providerId);
    if (known !== undefined) return known;
    const found = await this.parts.instances.get(id);
    this.parts.shifted.remember(providerId, found);
    return found;
  }

  async whyEnded(providerId: string): Promise<EndedInstance | undefined> {
    const id = instanceIdOf(providerId);
    return id === undefined ? undefined : this.parts.instances.whyEnded(id);
  }

  async list(): ReturnType<CloudProvider['list']> {
    return this.parts.shifted.withHidden(await this.parts.instances.list());
  }

  async terminate(providerId: string, launchedAt?: number): Promise<'terminating' | 'gone'> {
    const id = instanceIdOf(providerId);
    if (id === undefined) return 'gone';
    await this.parts.shifted.refuse('ec2:TerminateInstances', providerId);
    return this.parts.instances.terminate(id, launchedAt);
  }

  async rebootInstance(providerId: string): Promise<'rebooting' | 'gone'> {
    const id = instanceIdOf(providerId);
    return id === undefined ? 'gone' : this.parts.instances.reboot(id);
  }

  async tag(providerId: string, tags: Readonly<Record<string, string>>): Promise<void> {
    const id = instanceIdOf(providerId);
    if (id === undefined) throw new DomainError('Invalid', `${providerId} is not an AWS provider id`);
    await this.parts.shifted.refuse('ec2:CreateTags', providerId);
    await this.parts.instances.tag(id, tags);
  }

  async resolveNodeClass(
    nodeClass: NodeClass,
    pools?: readonly NodePool[],
  ): ReturnType<CloudProvider['resolveNodeClass']> {
    const resolution = await this.parts.resolver.resolve(nodeClass as EC2NodeClass, pools);
    return {
      ...resolution,
      events: [...resolution.events, ...this.parts.sizes.warnings(nameOf(nodeClass))],
    };
  }

  async cleanUpNodeClass(nodeClass: NodeClass): Promise<void> {
    this.parts.sizes.forget(nameOf(nodeClass));
    const failed = new Failures();
    await failed.collect(() => this.parts.templates.cleanUp({ nodeClass: nameOf(nodeClass) }));
    if (this.options.isolatedVpc !== true)
      await failed.collect(() => this.parts.profiles.deleteAll(nodeClass as EC2NodeClass));
    failed.throwFirst();
  }

  async drift(claim: NodeClaim, _pool: unknown, nodeClass: NodeClass): Promise<string | undefined> {
    const ec2NodeClass = nodeClass as EC2NodeClass;
    const reason = staticDrift(claim, ec2NodeClass);
    const id = instanceIdOf(claim.status?.providerID ?? '');
    // A new instance matches its request, and EC2 may not show it yet.
    if (reason !== undefined || id === undefined || this.parts.instances.isYoung(id)) return reason;
    const instance = await this.parts.instances.get(id);
    if (instance === undefined) return undefined;
    const group = await this.parts.placementGroups.find(ec2NodeClass.spec.placementGroupSelector);
    return (
      instanceDrift(instance, claim, ec2NodeClass, await this.parts.catalogues.of(ec2NodeClass)) ??
      groupDrift(instance, group)
    );
  }

  markUnavailable(offerings: Parameters<CloudProvider['markUnavailable']>[0]): void {
    // Reservations are counted instead of timed: the count is read again within a minute (reserved-capacity/used-up).
    for (const { reservationId } of offerings)
      if (reservationId !== undefined) this.parts.reservations.exhausted(reservationId);
    this.parts.unavailable.add(offerings.filter(({ reservationId }) => reservationId === undefined));
  }

  isReservationEnding(reservationId: string): Promise<boolean> {
    return this.parts.reservations.isEnding(reservationId);
  }

  learnCapacity(observed: ObservedCapacity): void {
    const learn = ({ infos }: Pick<MachineTypes, 'infos'>): void => {
      const info = infos.find(({ InstanceType: name }) => name === observed.instanceType);
      if (info !== undefined) this.parts.capacity.learn(observed, machineMemory(info));
    };
    // Without an answer of EC2 it is evaluated again at the next change of the cluster.
    void this.parts.machines.get().then(learn, () => undefined);
  }

  async sweep(nodeClasses: readonly NodeClass[], claims: readonly NodeClaim[]): Promise<void> {
    const failed = new Failures();
    await failed.collect(() => this.parts.templates.cleanUp({ unusedForMs: hour }));
    if (this.options.isolatedVpc !== true) await failed.collect(() => this.sweepProfiles(nodeClasses, claims));
    failed.throwFirst();
  }

  private async sweepProfiles(nodeClasses: readonly NodeClass[], claims: readonly NodeClaim[]): Promise<void> {
    const used = [
      ...nodeClasses.map((nodeClass) => (nodeClass as EC2NodeClass).status?.instanceProfile),
      ...claims.map((claim) => claim.metadata.annotations?.[annotations.instanceProfileName]),
    ];
    await this.parts.profiles.sweep(new Set(used.filter((name) => name !== undefined)));
  }
}

/**
 * What a node class with the defaults of AL2023 can launch with a subnet in every zone of the region: the catalogue
 * without a cluster. Local Zones are left out because they have other prices.
 */
async function typesOfRegion(
  { machines, subnets, catalogues }: Pick<AwsParts, 'machines' | 'subnets' | 'catalogues'>,
  { region, onProblem }: Pick<AwsOptions, 'region' | 'onProblem'>,
): Promise<readonly InstanceType[]> {
  // First, so that an error that affects every call is reported once.
  const { zones: byType } = await machines.get();
  const zones = [...new Set([...byType.values()].flatMap((offered) => [...offered]))]
    .filter((zone) => zone.startsWith(region) && /^[a-z]$/.test(zone.slice(region.length)))
    .sort(compareText);
  await subnets.find([{}]).catch((error: unknown) => onProblem?.(`ids of zones are not known: ${messageOf(error)}`));
  return catalogues.of(nodeClassIn(zones.map((zone) => ({ zone, zoneID: subnets.zoneIdOf(zone) }))));
}

function nodeClassIn(zones: readonly { readonly zone: string; readonly zoneID: string | undefined }[]): EC2NodeClass {
  const nodeClass = ec2NodeClasses.mustParse({
    apiVersion: 'karpenter.k8s.aws/v1',
    kind: 'EC2NodeClass',
    metadata: { name: 'default' },
    spec: {
      role: 'nodes',
      amiSelectorTerms: [{ alias: 'al2023@latest' }],
      subnetSelectorTerms: [{ tags: { any: '*' } }],
      securityGroupSelectorTerms: [{ tags: { any: '*' } }],
      associatePublicIPAddress: false,
    },
  });
  const amis = ['amd64', 'arm64'].map((architecture) => ({
    id: architecture,
    requirements: [{ key: labels.arch, operator: 'In' as const, values: [architecture] }],
  }));
  const subnets = zones.map(({ zone, zoneID }) => ({ id: zone, zone, ...(zoneID === undefined ? {} : { zoneID }) }));
  return { ...nodeClass, status: { subnets, amis } };
}
