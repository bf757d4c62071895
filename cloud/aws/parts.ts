import type { EC2NodeClass } from '../../api/aws/ec2-node-class.js';
import type { InstanceType } from '../../core/instance-type.js';
import { UnavailableOfferings } from '../../core/unavailable-offerings.js';
import type { CloudProvider } from '../port.js';
import { asDryRuns, createAccount, DryRun } from './dry-run.js';
import type { AwsCalls } from './calls.js';
import { Catalogues } from './catalogues.js';
import type { Clock } from './clock.js';
import { ClusterFacts } from './cluster-facts.js';
import { Images } from './images.js';
import { InstanceProfiles } from './instance-profiles.js';
import { Instances } from './instances.js';
import { InterruptionQueue } from './interruption-queue.js';
import { KnownCapacity } from './known-capacity.js';
import { LaunchTemplates } from './launch-template.js';
import { Launcher } from './launcher.js';
import { createMachineTypes } from './machine-types.js';
import { Subnets } from './networks.js';
import { NodeClassResolver } from './node-class.js';
import type { AwsOptions } from './options.js';
import { PlacementGroups } from './placement-groups.js';
import { Prices } from './prices.js';
import { Reservations } from './reservations.js';
import { ShiftedZones, shiftEvents, ZonalShifts } from './zonal-shift.js';
import { pollInstanceStatus } from './status-poll.js';
import { TemplatePlanner } from './template-planner.js';
import { UserDataSizes } from './user-data-sizes.js';

/** The components of the provider. */
export interface AwsParts extends AwsState {
  readonly resolver: NodeClassResolver;
  readonly launcher: Launcher;
  readonly account: NonNullable<CloudProvider['account']>;
  readonly interruptions: NonNullable<CloudProvider['interruptions']>;
}

/** The provider's state about EC2. */
interface AwsState {
  readonly facts: ClusterFacts;
  readonly prices: Prices;
  readonly machines: ReturnType<typeof createMachineTypes>;
  readonly unavailable: UnavailableOfferings;
  readonly capacity: KnownCapacity;
  readonly subnets: Subnets;
  readonly reservations: Reservations;
  readonly placementGroups: PlacementGroups;
  readonly catalogues: Catalogues;
  readonly instances: Instances;
  readonly templates: LaunchTemplates;
  readonly profiles: InstanceProfiles;
  readonly shifted: ShiftedZones;
  readonly sizes: UserDataSizes;
  readonly poolEvents: CloudProvider['poolEvents'];
}

type DryRunOptions = ConstructorParameters<typeof DryRun>[0];
type PlannerOptions = ConstructorParameters<typeof TemplatePlanner>[0];

/** Creates the components of a provider with these options. Makes no call yet. */
export function createParts(options: AwsOptions, calls: AwsCalls, clock: Clock): AwsParts {
  const state = createState(options, calls, clock);
  const { catalogues, facts, machines, templates, sizes } = state;
  const { clusterName, region } = options;
  const reservedEnis = options.reservedEnis ?? 0;
  const planning = { clusterName, region, reservedEnis, templates, facts, machines: () => machines.get(), sizes };
  const planner = new TemplatePlanner(planning);
  const catalogue = (nodeClass: EC2NodeClass): Promise<readonly InstanceType[]> => catalogues.of(nodeClass);
  const dryRun = new DryRun({ calls, clock, clusterName, planner, catalogue });
  const dryRunOfAccount = withoutTemplates(calls, { clock, clusterName, catalogue }, planning);
  return {
    ...state,
    resolver: createResolver(state, { options, calls, clock }, dryRun),
    launcher: new Launcher({ ...state, calls, clock, clusterName, planner, catalogue }),
    account: createAccount({
      calls,
      region,
      queueName: options.interruptionQueue,
      dryRun: (nodeClass, pools) => dryRunOfAccount.check(nodeClass, pools),
    }),
    interruptions: createInterruptions(options, calls, clock),
  };
}

function createState(options: AwsOptions, calls: AwsCalls, clock: Clock): AwsState {
  const { clusterName, region, isolatedVpc: isolated = false } = options;
  const facts = new ClusterFacts(options, calls, clock);
  const subnets = new Subnets(calls, clock);
  const shifts = createShifts(options, calls, clock, () => facts.clusterArn());
  const machines = createMachineTypes(calls, clock);
  const sources = {
    machines,
    prices: createPrices(options, calls, clock),
    unavailable: new UnavailableOfferings(() => clock.now()),
    capacity: new KnownCapacity(),
    subnets,
    reservations: new Reservations(calls, clock),
    placementGroups: new PlacementGroups(calls, clock),
  };
  return {
    ...sources,
    facts,
    catalogues: new Catalogues({ ...sources, options, clock, shifts }),
    instances: new Instances(calls, clusterName, clock),
    templates: new LaunchTemplates(calls, clusterName, clock),
    profiles: new InstanceProfiles(calls, { clusterName, region, isolated }, clock),
    shifted: new ShiftedZones(shifts, subnets),
    sizes: new UserDataSizes(),
    poolEvents: shifts && shiftEvents(shifts),
  };
}

function createResolver(
  { facts, subnets, placementGroups, reservations, profiles, machines }: AwsState,
  { options, calls, clock }: { readonly options: AwsOptions; readonly calls: AwsCalls; readonly clock: Clock },
  dryRun: DryRun,
): NodeClassResolver {
  return new NodeClassResolver({
    calls,
    clock,
    facts,
    subnets,
    placementGroups,
    reservations,
    images: new Images({ calls, clock, kubernetesVersion: () => facts.kubernetesVersion() }),
    profiles,
    caBundle: options.caBundle,
    reservedCapacity: options.reservedCapacity !== false,
    expressions: options.kubeletExpressions === true,
    machines: () => machines.get(),
    reservedEnis: options.reservedEnis ?? 0,
    ...(options.disableDryRun === true ? {} : { dryRun: (nodeClass, pools) => dryRun.check(nodeClass, pools) }),
  });
}

/** A dry run without creating a launch template. */
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

/** The queue if one is configured, and always the status poll (interruption/status-checks). */
function createInterruptions(
  options: AwsOptions,
  calls: AwsCalls,
  clock: Clock,
): NonNullable<CloudProvider['interruptions']> {
  const { interruptionQueue: queueName, region, onProblem } = options;
  return {
    run: async (handle, signal, onIgnored) => {
      const queue =
        queueName === undefined ? undefined : new InterruptionQueue({ calls, queueName, region, clock, onProblem });
      await Promise.all([
        queue?.run(handle, signal, onIgnored),
        pollInstanceStatus({ calls, clock, onProblem }, handle, signal),
      ]);
    },
  };
}
