import type { EC2NodeClass } from '../../api/aws/ec2-node-class.js';
import { awsWellKnownLabels } from '../../api/aws/labels.js';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import { annotations } from '../../api/labels.js';
import { DomainError, isDomainError } from '../../core/failures.js';
import type { InstanceType } from '../../core/instance-type.js';
import type { CloudProvider, NodeClass, RepairPolicy } from '../port.js';
import { createAccount, asDryRuns } from './account.js';
import { createCalls } from './calls.js';
import type { AwsCalls } from './calls.js';
import { Catalogues } from './catalogues.js';
import { systemClock } from './clock.js';
import type { Clock } from './clock.js';
import { ClusterFacts } from './cluster-facts.js';
import { DryRun } from './dry-run.js';
import { groupDrift, instanceDrift, staticDrift } from './drift.js';
import { Images } from './images.js';
import { InstanceProfiles } from './instance-profiles.js';
import { instanceIdOf, Instances } from './instances.js';
import { InterruptionQueue } from './interruption-queue.js';
import { KnownMemory } from './known-memory.js';
import { LaunchTemplates } from './launch-template.js';
import { Launcher } from './launcher.js';
import { createMachineTypes } from './machine-types.js';
import { Subnets } from './networks.js';
import { NodeClassResolver } from './node-class.js';
import type { AwsOptions } from './options.js';
import { PlacementGroups } from './placement-groups.js';
import { Prices } from './prices.js';
import { Reservations } from './reservations.js';
import { ShiftedZones } from './shifted-zones.js';
import { pollInstanceStatus } from './status-poll.js';
import { Failures } from './sweeping.js';
import { TemplatePlanner } from './template-planner.js';
import { UserDataSizes } from './user-data-sizes.js';
import { UnavailableOfferings } from '../../core/unavailable-offerings.js';
import { shiftEvents } from './shift-events.js';
import { ZonalShifts } from './zonal-shift.js';

/** EC2 as a cloud provider for EC2NodeClass `karpenter.k8s.aws/v1`. Nothing is called before it is needed. */
export function createAwsProvider(options: AwsOptions): CloudProvider {
  const clock = options.clock ?? systemClock;
  let answeredAt: number | undefined;
  const onCall: NonNullable<AwsOptions['onCall']> = (call) => {
    if (call.answered && call.action.startsWith('ec2:')) answeredAt = clock.now();
    options.onCall?.(call);
  };
  const provider = new AwsProvider(options, createCalls({ ...options, clock, onCall }), clock);
  return Object.defineProperty(provider, 'answeredAt', { get: () => answeredAt });
}

/** What kubelet and the EKS node monitoring agent say of a broken machine (repair/policies). */
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

type DryRunOptions = ConstructorParameters<typeof DryRun>[0];
type PlannerOptions = ConstructorParameters<typeof TemplatePlanner>[0];

export class AwsProvider implements CloudProvider {
  readonly name = 'aws';
  readonly nodeClassKind = { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass' };
  readonly wellKnownLabels = awsWellKnownLabels;
  readonly repairPolicies = repairPolicies;
  readonly interruptions: NonNullable<CloudProvider['interruptions']>;
  readonly account: NonNullable<CloudProvider['account']>;
  readonly poolEvents: CloudProvider['poolEvents'];

  private readonly unavailable: UnavailableOfferings;
  private readonly prices: Prices;
  private readonly memory = new KnownMemory();
  private readonly machines: ReturnType<typeof createMachineTypes>;
  private readonly catalogues: Catalogues;
  private readonly subnets: Subnets;
  private readonly reservations: Reservations;
  private readonly instances: Instances;
  private readonly templates: LaunchTemplates;
  private readonly profiles: InstanceProfiles;
  private readonly resolver: NodeClassResolver;
  private readonly launcher: Launcher;
  private readonly placementGroups: PlacementGroups;
  private readonly shifted: ShiftedZones;
  private readonly sizes = new UserDataSizes();
  readonly userDataBytes = this.sizes.bytes;

  constructor(
    private readonly options: AwsOptions,
    calls: AwsCalls,
    clock: Clock,
  ) {
    const { clusterName, region } = options;
    const facts = new ClusterFacts(options, calls, clock);
    this.unavailable = new UnavailableOfferings(() => clock.now());
    this.prices = createPrices(options, calls, clock);
    this.machines = createMachineTypes(calls, clock);
    this.subnets = new Subnets(calls, clock);
    this.reservations = new Reservations(calls, clock);
    this.instances = new Instances(calls, clusterName, clock);
    this.templates = new LaunchTemplates(calls, clusterName, clock);
    this.profiles = new InstanceProfiles(calls, { clusterName, region, isolated: options.isolatedVpc === true }, clock);
    this.placementGroups = new PlacementGroups(calls, clock);
    const shifts = createShifts(options, calls, clock, () => facts.clusterArn());
    this.shifted = new ShiftedZones(shifts, this.subnets);
    this.poolEvents = shifts && shiftEvents(shifts);
    this.catalogues = new Catalogues({
      options,
      clock,
      shifts,
      machines: this.machines,
      prices: this.prices,
      unavailable: this.unavailable,
      memory: this.memory,
      subnets: this.subnets,
      reservations: this.reservations,
      placementGroups: this.placementGroups,
    });
    const images = new Images({ calls, clock, kubernetesVersion: () => facts.kubernetesVersion() });
    const planning = {
      clusterName,
      region,
      reservedEnis: options.reservedEnis ?? 0,
      templates: this.templates,
      facts,
      machines: () => this.machines.get(),
      sizes: this.sizes,
    };
    const planner = new TemplatePlanner(planning);
    const catalogue = (nodeClass: EC2NodeClass): Promise<readonly InstanceType[]> => this.catalogues.of(nodeClass);
    const dryRun = new DryRun({ calls, clock, clusterName, planner, catalogue });
    const dryRunOfAccount = withoutTemplates(calls, { clock, clusterName, catalogue }, planning);
    this.account = createAccount({
      calls,
      region,
      queueName: options.interruptionQueue,
      dryRun: (nodeClass, pools) => dryRunOfAccount.check(nodeClass, pools),
    });
    this.resolver = new NodeClassResolver({
      calls,
      clock,
      facts,
      subnets: this.subnets,
      placementGroups: this.placementGroups,
      reservations: this.reservations,
      images,
      profiles: this.profiles,
      caBundle: options.caBundle,
      reservedCapacity: options.reservedCapacity !== false,
      expressions: options.kubeletExpressions === true,
      machines: () => this.machines.get(),
      ...(options.disableDryRun === true ? {} : { dryRun: (nodeClass, pools) => dryRun.check(nodeClass, pools) }),
    });
    this.launcher = new Launcher({
      calls,
      reservations: this.reservations,
      clock,
      clusterName,
      instances: this.instances,
      subnets: this.subnets,
      templates: this.templates,
      planner,
      unavailable: this.unavailable,
      catalogue,
    });
    this.interruptions = createInterruptions(options, calls, clock);
  }

  instanceTypes(_pool: unknown, nodeClass: NodeClass): Promise<readonly InstanceType[]> {
    return this.catalogues.of(nodeClass as EC2NodeClass);
  }

  get priceList(): CloudProvider['priceList'] {
    const { status } = this.prices;
    return status && { source: status.source, at: status.onDemandAt };
  }

  launch: CloudProvider['launch'] = async (request) => {
    try {
      return await this.launcher.launch(request);
    } catch (error) {
      if (!isDomainError(error, 'NodeClassNotReady')) throw error;
      return { ok: false, error: { kind: 'NodeClassNotReady', message: error.message, unavailable: [] } };
    }
  };

  async get(providerId: string): ReturnType<CloudProvider['get']> {
    const id = instanceIdOf(providerId);
    if (id === undefined) return undefined;
    const known = await this.shifted.known(providerId);
    if (known !== undefined) return known;
    const found = await this.instances.get(id);
    this.shifted.remember(providerId, found);
    return found;
  }

  async list(): ReturnType<CloudProvider['list']> {
    return this.shifted.withHidden(await this.instances.list());
  }

  async terminate(providerId: string, launchedAt?: number): Promise<'terminating' | 'gone'> {
    const id = instanceIdOf(providerId);
    if (id === undefined) return 'gone';
    await this.shifted.refuse('ec2:TerminateInstances', providerId);
    return this.instances.terminate(id, launchedAt);
  }

  async rebootInstance(providerId: string): Promise<'rebooting' | 'gone'> {
    const id = instanceIdOf(providerId);
    return id === undefined ? 'gone' : this.instances.reboot(id);
  }

  async tag(providerId: string, tags: Readonly<Record<string, string>>): Promise<void> {
    const id = instanceIdOf(providerId);
    if (id === undefined) throw new DomainError('Invalid', `${providerId} is no provider id of AWS`);
    await this.shifted.refuse('ec2:CreateTags', providerId);
    await this.instances.tag(id, tags);
  }

  async resolveNodeClass(
    nodeClass: NodeClass,
    pools?: readonly NodePool[],
  ): ReturnType<CloudProvider['resolveNodeClass']> {
    const resolution = await this.resolver.resolve(nodeClass as EC2NodeClass, pools);
    return { ...resolution, events: [...resolution.events, ...this.sizes.warnings(nodeClass.metadata.name ?? '')] };
  }

  async cleanUpNodeClass(nodeClass: NodeClass): Promise<void> {
    this.sizes.forget(nodeClass.metadata.name ?? '');
    const failed = new Failures();
    await failed.collect(() => this.templates.cleanUp({ nodeClass: nodeClass.metadata.name ?? '' }));
    if (this.options.isolatedVpc !== true)
      await failed.collect(() => this.profiles.deleteAll(nodeClass as EC2NodeClass));
    failed.throwFirst();
  }

  async drift(claim: NodeClaim, _pool: unknown, nodeClass: NodeClass): Promise<string | undefined> {
    const ec2NodeClass = nodeClass as EC2NodeClass;
    const reason = staticDrift(claim, ec2NodeClass);
    const id = instanceIdOf(claim.status?.providerID ?? '');
    // What was launched a moment ago is as it was asked for, and EC2 may not show it yet.
    if (reason !== undefined || id === undefined || this.instances.isYoung(id)) return reason;
    const instance = await this.instances.get(id);
    if (instance === undefined) return undefined;
    const group = await this.placementGroups.find(ec2NodeClass.spec.placementGroupSelector);
    return (
      instanceDrift(instance, claim, ec2NodeClass, await this.catalogues.of(ec2NodeClass)) ??
      groupDrift(instance, group)
    );
  }

  markUnavailable(offerings: Parameters<CloudProvider['markUnavailable']>[0]): void {
    // A reservation is counted, not timed: it is read again within a minute (reserved-capacity/used-up).
    for (const { reservationId } of offerings)
      if (reservationId !== undefined) this.reservations.exhausted(reservationId);
    this.unavailable.add(offerings.filter(({ reservationId }) => reservationId === undefined));
  }

  isReservationEnding(reservationId: string): Promise<boolean> {
    return this.reservations.isEnding(reservationId);
  }

  learnMemory(observed: Parameters<NonNullable<CloudProvider['learnMemory']>>[0]): void {
    this.memory.learn(observed.instanceType, observed.imageId, observed.memory);
  }

  async refresh(): Promise<void> {
    await Promise.all([this.prices.refresh(), this.machines.refresh()]);
  }

  async sweep(nodeClasses: readonly NodeClass[], claims: readonly NodeClaim[]): Promise<void> {
    const failed = new Failures();
    await failed.collect(() => this.templates.cleanUp({ unusedForMs: hour }));
    if (this.options.isolatedVpc !== true) await failed.collect(() => this.sweepProfiles(nodeClasses, claims));
    failed.throwFirst();
  }

  private async sweepProfiles(nodeClasses: readonly NodeClass[], claims: readonly NodeClaim[]): Promise<void> {
    const used = [
      ...nodeClasses.map((nodeClass) => (nodeClass as EC2NodeClass).status?.instanceProfile),
      ...claims.map((claim) => claim.metadata.annotations?.[annotations.instanceProfileName]),
    ];
    await this.profiles.sweep(new Set(used.filter((name) => name !== undefined)));
  }
}

/** A dry run that makes no launch template. */
function withoutTemplates(
  calls: AwsCalls,
  { clock, clusterName, catalogue }: Pick<DryRunOptions, 'clock' | 'clusterName' | 'catalogue'>,
  planning: PlannerOptions,
): DryRun {
  const trials = asDryRuns(calls);
  const templates = new LaunchTemplates(trials, clusterName, clock);
  const planner = new TemplatePlanner({ ...planning, templates });
  return new DryRun({ calls: trials, clock, clusterName, catalogue, planner });
}

function createShifts(
  { zonalShift, onProblem }: AwsOptions,
  calls: AwsCalls,
  clock: Clock,
  clusterArn: () => Promise<string>,
): ZonalShifts | undefined {
  return zonalShift === true ? new ZonalShifts(calls, clock, clusterArn, onProblem) : undefined;
}

function createPrices(options: AwsOptions, calls: AwsCalls, clock: Clock): Prices {
  return new Prices({
    calls,
    region: options.region,
    clock,
    ...(options.priceStore === undefined ? {} : { store: options.priceStore }),
    ...(options.isolatedVpc === undefined ? {} : { isolated: options.isolatedVpc }),
    ...(options.priceRefreshMs === undefined ? {} : { refreshMs: options.priceRefreshMs }),
    ...(options.onProblem === undefined ? {} : { onProblem: options.onProblem }),
  });
}

/** The queue where one is configured, and always the status poll (interruption/status-checks). */
function createInterruptions(
  options: AwsOptions,
  calls: AwsCalls,
  clock: Clock,
): NonNullable<CloudProvider['interruptions']> {
  const { interruptionQueue: queueName, onProblem } = options;
  return {
    run: async (handle, signal, onIgnored) => {
      const queue = queueName === undefined ? undefined : new InterruptionQueue({ calls, queueName, clock, onProblem });
      await Promise.all([
        queue?.run(handle, signal, onIgnored),
        pollInstanceStatus({ calls, clock, onProblem }, handle, signal),
      ]);
    },
  };
}
