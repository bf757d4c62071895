import type { EC2NodeClass } from '../../api/aws/ec2-node-class.js';
import { awsWellKnownLabels } from '../../api/aws/labels.js';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import { annotations } from '../../api/labels.js';
import { DomainError, isDomainError } from '../../core/failures.js';
import { hashText } from '../../core/hash.js';
import type { InstanceType } from '../../core/instance-type.js';
import type { CloudInstance, CloudProvider, NodeClass, NodeClassResolution, RepairPolicy } from '../port.js';
import { createAccount, withoutMaking } from './account.js';
import { CachedByKey } from './cached.js';
import { createCalls } from './calls.js';
import type { AwsCalls } from './calls.js';
import { systemClock } from './clock.js';
import type { Clock } from './clock.js';
import { ClusterFacts } from './cluster-facts.js';
import { DryRun } from './dry-run.js';
import { groupDrift, instanceDrift, staticDrift } from './drift.js';
import { Images } from './images.js';
import { InstanceProfiles } from './instance-profiles.js';
import { buildCatalogue } from './instance-types.js';
import { instanceIdOf, Instances, zoneOfProviderId } from './instances.js';
import { InterruptionQueue } from './interruption-queue.js';
import { KnownMemory } from './known-memory.js';
import { LaunchTemplates } from './launch-template.js';
import { Launcher } from './launcher.js';
import { createMachineTypes } from './machine-types.js';
import { Subnets } from './networks.js';
import { NodeClassResolver } from './node-class.js';
import { nodeExtras } from './node-extras.js';
import type { AwsOptions } from './options.js';
import { PlacementGroups } from './placement-groups.js';
import { Prices } from './prices.js';
import { Reservations } from './reservations.js';
import { pollInstanceStatus } from './status-poll.js';
import { Failures } from './sweeping.js';
import { TemplatePlanner } from './template-planner.js';
import { UserDataSizes } from './user-data-sizes.js';
import { UnavailableOfferings } from '../../core/unavailable-offerings.js';
import { shiftOf, ZonalShifts } from './zonal-shift.js';

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

const catalogueMs = 5 * 60_000;
const hour = 3_600_000;

export class AwsProvider implements CloudProvider {
  readonly name = 'aws';
  readonly nodeClassKind = { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass' };
  readonly wellKnownLabels = awsWellKnownLabels;
  readonly repairPolicies = repairPolicies;
  readonly interruptions: NonNullable<CloudProvider['interruptions']>;
  readonly account: NonNullable<CloudProvider['account']>;

  private readonly unavailable: UnavailableOfferings;
  private readonly prices: Prices;
  private readonly memory = new KnownMemory();
  private readonly machines: ReturnType<typeof createMachineTypes>;
  private readonly catalogues: CachedByKey<readonly InstanceType[]>;
  private readonly subnets: Subnets;
  private readonly reservations: Reservations;
  private readonly instances: Instances;
  private readonly templates: LaunchTemplates;
  private readonly profiles: InstanceProfiles;
  private readonly resolver: NodeClassResolver;
  private readonly launcher: Launcher;
  private readonly placementGroups: PlacementGroups;
  private readonly shifts: ZonalShifts | undefined;
  private readonly sizes = new UserDataSizes();
  readonly userDataBytes = this.sizes.bytes;
  private readonly toldShifts = new Map<string, readonly string[]>();
  /** Instances as they were last seen, for zones in which EC2 is not to be asked. */
  private seen = new Map<string, CloudInstance>();

  constructor(
    private readonly options: AwsOptions,
    calls: AwsCalls,
    clock: Clock,
  ) {
    const { clusterName, region } = options;
    const facts = new ClusterFacts(options, calls, clock);
    this.unavailable = new UnavailableOfferings(() => clock.now());
    this.prices = createPrices(options, calls, clock);
    if (options.zonalShift === true) {
      this.shifts = new ZonalShifts(calls, clock, () => facts.clusterArn(), options.onProblem);
    }
    this.machines = createMachineTypes(calls, clock);
    this.catalogues = new CachedByKey(clock, catalogueMs);
    this.subnets = new Subnets(calls, clock);
    this.reservations = new Reservations(calls, clock);
    this.instances = new Instances(calls, clusterName, clock);
    this.templates = new LaunchTemplates(calls, clusterName, clock);
    this.profiles = new InstanceProfiles(calls, { clusterName, region, isolated: options.isolatedVpc === true }, clock);
    this.placementGroups = new PlacementGroups(calls, clock);
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
    const catalogue = (nodeClass: EC2NodeClass): Promise<readonly InstanceType[]> => this.catalogue(nodeClass);
    const dryRun = new DryRun({ calls, clock, clusterName, planner, catalogue });
    const trials = withoutMaking(calls);
    const templates = new LaunchTemplates(trials, clusterName, clock);
    const tryingOut = new DryRun({
      ...{ calls: trials, clock, clusterName, catalogue },
      planner: new TemplatePlanner({ ...planning, templates }),
    });
    this.account = createAccount({
      calls,
      region,
      queueName: options.interruptionQueue,
      dryRun: (nodeClass) => tryingOut.check(nodeClass),
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
      expressions: options.kubeletExpressions === true,
      machines: () => this.machines.get(),
      ...(options.disableDryRun === true ? {} : { dryRun: (nodeClass) => dryRun.check(nodeClass) }),
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
    return this.catalogue(nodeClass as EC2NodeClass);
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
    const known = this.seen.get(providerId);
    if (known !== undefined && (await this.isShifted(providerId))) return known;
    return this.instances.get(id);
  }

  /** What a zonal shift hides is still there (zonal-shift/shifted-zone). */
  async list(): ReturnType<CloudProvider['list']> {
    const listed = await this.instances.list();
    if (this.shifts === undefined) return listed;
    const found = new Map<string, CloudInstance>(listed.map((instance) => [instance.providerId, instance]));
    for (const [providerId, instance] of this.seen) {
      if (!found.has(providerId) && (await this.isShifted(providerId))) found.set(providerId, instance);
    }
    this.seen = found;
    return [...found.values()];
  }

  /** Whether the instance's zone is one that EC2 is not to be asked about. */
  private async isShifted(providerId: string): Promise<boolean> {
    const zone = zoneOfProviderId(providerId);
    const shifts = (await this.shifts?.current()) ?? [];
    return shiftOf(shifts, zone, this.subnets.zoneIdOf(zone)) !== undefined;
  }

  /** Calls that change something in a shifted zone wait until the shift is over. */
  private async refuseShifted(action: string, providerId: string): Promise<void> {
    if (!(await this.isShifted(providerId))) return;
    const zone = zoneOfProviderId(providerId);
    throw new DomainError('Unavailable', `${action}: withheld, a zonal shift leads away from ${zone}`);
  }

  async terminate(providerId: string, launchedAt?: number): Promise<'terminating' | 'gone'> {
    const id = instanceIdOf(providerId);
    if (id === undefined) return 'gone';
    await this.refuseShifted('ec2:TerminateInstances', providerId);
    return this.instances.terminate(id, launchedAt);
  }

  async rebootInstance(providerId: string): Promise<'rebooting' | 'gone'> {
    const id = instanceIdOf(providerId);
    return id === undefined ? 'gone' : this.instances.reboot(id);
  }

  async tag(providerId: string, tags: Readonly<Record<string, string>>): Promise<void> {
    const id = instanceIdOf(providerId);
    if (id === undefined) throw new DomainError('Invalid', `${providerId} is no provider id of AWS`);
    await this.refuseShifted('ec2:CreateTags', providerId);
    await this.instances.tag(id, tags);
  }

  async resolveNodeClass(nodeClass: NodeClass): ReturnType<CloudProvider['resolveNodeClass']> {
    const resolution = await this.resolver.resolve(nodeClass as EC2NodeClass);
    const { name = '' } = nodeClass.metadata;
    const shifts = await this.shiftEvents(name);
    return { ...resolution, events: [...resolution.events, ...this.sizes.news(name), ...shifts] };
  }

  /** Which zones traffic is shifted away from since the node class was last resolved, and which it came back to. */
  private async shiftEvents(nodeClass: string): Promise<NodeClassResolution['events']> {
    if (this.shifts === undefined) return [];
    const now = await this.shifts.current();
    const before = this.toldShifts.get(nodeClass) ?? [];
    const zones = now.map(({ zone }) => zone);
    this.toldShifts.set(nodeClass, zones);
    return [
      ...zones
        .filter((zone) => !before.includes(zone))
        .map((zone) => shiftEvent('ZonalShiftActive', `A zonal shift leads away from ${zone}: it is left alone`)),
      ...before
        .filter((zone) => !zones.includes(zone))
        .map((zone) => shiftEvent('ZonalShiftCleared', `No zonal shift leads away from ${zone} any more`)),
    ];
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
      instanceDrift(instance, claim, ec2NodeClass, await this.catalogue(ec2NodeClass)) ?? groupDrift(instance, group)
    );
  }

  markUnavailable(offerings: Parameters<CloudProvider['markUnavailable']>[0]): void {
    // A reservation is counted, not timed: it is read again within a minute (reserved-capacity/used-up).
    for (const { reservationId } of offerings)
      if (reservationId !== undefined) this.reservations.exhausted(reservationId);
    this.unavailable.mark(offerings.filter(({ reservationId }) => reservationId === undefined));
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

  /** Built anew when the node class, prices or availability change, and every five minutes (instance-types/catalogue-age). */
  private async catalogue(given: EC2NodeClass): Promise<readonly InstanceType[]> {
    const [machines, prices, shifts, placementGroup] = await Promise.all([
      this.machines.get(),
      this.prices.current(),
      this.shifts?.current(),
      this.placementGroups.find(given.spec.placementGroupSelector),
    ]);
    const nodeClass = this.options.reservedCapacity === false ? withoutReservations(given) : given;
    const { spec, status } = nodeClass;
    await this.reservations.refresh((status?.capacityReservations ?? []).map((reservation) => reservation.id));
    const { kubelet, blockDeviceMappings, instanceStorePolicy, networkInterfaces, connectionTracking, cpuOptions } =
      spec;
    const { associatePublicIPAddress } = spec;
    const publicZones =
      associatePublicIPAddress === undefined
        ? await this.subnets.publicZones(status?.subnets ?? [])
        : new Set<string>();
    const content = [
      [
        nodeClass.metadata.uid,
        spec.amiFamily,
        spec.amiSelectorTerms,
        kubelet,
        blockDeviceMappings,
        instanceStorePolicy,
      ],
      [associatePublicIPAddress, [...publicZones]],
      [networkInterfaces, connectionTracking, cpuOptions, status?.subnets, status?.amis],
      [status?.capacityReservations, this.reservations.version, this.memory.version],
      [this.unavailable.version, this.subnets.version, prices.onDemandAt, prices.spotAt, shifts],
      placementGroup,
    ];
    return this.catalogues.get(hashText(JSON.stringify(content)), () =>
      Promise.resolve(
        buildCatalogue({
          machines,
          prices,
          unavailable: this.unavailable,
          nodeClass,
          region: this.options.region,
          extras: nodeExtras(spec, this.options.region),
          publicZones,
          vmMemoryOverheadPercent: this.options.vmMemoryOverheadPercent ?? 0.075,
          reservedEnis: this.options.reservedEnis ?? 0,
          ...(shifts === undefined ? {} : { shifts }),
          ...(placementGroup === undefined ? {} : { placementGroup }),
          subnetExhausted: (id) => this.subnets.isExhausted(id),
          knownMemory: (type, amiId) => this.memory.get(type, amiId),
          reservedCount: (id) => this.reservations.available(id),
        }),
      ),
    );
  }
}

/** With the gate off a launch knows of no reservation, as packing does not (reserved-capacity/gate-off). */
function withoutReservations(nodeClass: EC2NodeClass): EC2NodeClass {
  return { ...nodeClass, status: { ...nodeClass.status, capacityReservations: [] } };
}

function shiftEvent(reason: string, message: string): NodeClassResolution['events'][number] {
  return { type: 'Normal', reason, message };
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
