import type {
  CreateFleetCommandInput,
  CreateFleetError,
  CreateLaunchTemplateCommandInput,
  DescribeCapacityReservationsCommandInput,
  FleetLaunchTemplateOverridesRequest,
  InstanceTypeInfo,
  RequestLaunchTemplateData,
} from '@aws-sdk/client-ec2';
import type { EC2NodeClass } from '../../../api/aws/ec2-node-class.js';
import type { NodeSelectorRequirement } from '../../../api/kubernetes.js';
import { labels } from '../../../api/labels.js';
import type { AwsCalls } from '../../../cloud/aws/calls.js';
import type { AwsOptions } from '../../../cloud/aws/options.js';
import { AwsProvider } from '../../../cloud/aws/provider.js';
import type { LaunchedInstance, LaunchRequest } from '../../../cloud/port.js';
import type { InstanceType } from '../../../core/instance-type.js';
import { nodeClaim, nodePool } from '../../builders/activity-world.js';
import { ec2NodeClass, steppingClock } from '../../builders/aws-world.js';
import { all, oneOf } from '../world.js';
import { known, machines } from './machines.js';

/** What an account has, and what it says; what is not said is there in plenty. */
export interface Given {
  /** Of the node class. */
  readonly spec?: object;
  readonly status?: object;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly nodeClassName?: string;
  /** Names of `machines`, or described. */
  readonly types?: readonly (string | InstanceTypeInfo)[];
  /** Where each type is sold; every type in every zone where it is absent. */
  readonly soldIn?: readonly string[];
  readonly options?: Partial<AwsOptions>;
  /** Pools of capacity without any, as `type/zone/capacity type`. */
  readonly empty?: readonly string[];
  /** Errors of every CreateFleet, in place of an instance. */
  readonly errors?: readonly CreateFleetError[];
  /** On-demand prices by type; those of `machines` where it is absent. */
  readonly prices?: Readonly<Record<string, number>>;
  /** Spot prices by type and zone. */
  readonly spot?: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** Other calls, by their names. */
  readonly calls?: object;
  /** Instances that reservations have room for. */
  readonly reserved?: Readonly<Record<string, number>>;
}

/** What a claim asks for, besides on-demand capacity. */
export interface Asked {
  readonly name?: string;
  readonly needs?: readonly (NodeSelectorRequirement & { minValues?: number })[];
  readonly capacityTypes?: readonly string[];
  readonly requests?: Readonly<Record<string, string>>;
  readonly taints?: readonly object[];
  readonly startupTaints?: readonly object[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly overlaid?: LaunchRequest['overlaid'];
}

const arch = (value: string): NodeSelectorRequirement => oneOf(labels.arch, value);
/** A node class that everything was found of. */
export const resolved = {
  instanceProfile: 'test-profile',
  subnets: all.map((zone, i) => ({ id: `subnet-${i + 1}`, zone, zoneID: `tz1-az${i + 1}` })),
  securityGroups: ['sg-1', 'sg-2', 'sg-3'].map((id) => ({ id })),
  amis: ['amd64', 'arm64'].map((value) => ({ id: `ami-${value}`, name: value, requirements: [arch(value)] })),
  conditions: [{ type: 'Ready', status: 'True' }],
};

export const now = Date.parse('2026-06-01T00:00:00Z');

type Launching = ReturnType<AwsProvider['launch']>;

interface Sent {
  readonly templates: CreateLaunchTemplateCommandInput[];
  readonly fleets: CreateFleetCommandInput[];
}

export interface Account {
  readonly provider: AwsProvider;
  readonly nodeClass: EC2NodeClass;
  readonly sent: Sent;
  readonly clock: ReturnType<typeof steppingClock>;
  readonly types: () => Promise<readonly InstanceType[]>;
  readonly launch: (asked?: Asked) => Launching;
}

export function account(given: Given = {}): Account {
  const sent: Sent = { templates: [], fleets: [] };
  const types = (given.types ?? Object.keys(machines)).map((each) => (typeof each === 'string' ? known(each) : each));
  const clock = steppingClock(now);
  const prices = given.prices ?? Object.fromEntries(Object.entries(machines).map(([name, [price]]) => [name, price]));
  const calls = { ...described(given, types, prices), ...launching(given, sent), ...given.calls };
  const options: AwsOptions = {
    ...{ region: 'us-west-2', clusterName: 'test-cluster', isolatedVpc: true, clock },
    ...{ clusterEndpoint: 'https://test-cluster', caBundle: 'Y2EtYnVuZGxlCg==', serviceCidr: '10.0.0.0/16' },
    clusterDns: () => Promise.resolve('10.0.100.10'),
    kubernetesVersion: () => Promise.resolve('1.32'),
    priceStore: {
      load: () => Promise.resolve(JSON.stringify({ onDemand: prices, onDemandAt: now })),
      save: () => Promise.resolve(),
    },
    ...given.options,
  };
  const provider = new AwsProvider(options, calls as unknown as AwsCalls, clock);
  const made = ec2NodeClass(given.spec, given.nodeClassName);
  const nodeClass = {
    ...made,
    metadata: { ...made.metadata, annotations: given.annotations },
    status: { ...resolved, ...given.status },
  } as unknown as EC2NodeClass;
  return {
    ...{ provider, nodeClass, sent, clock },
    types: () => provider.instanceTypes(nodePool('default'), nodeClass),
    launch: (asked: Asked = {}) => provider.launch(requestOf(asked, nodeClass)),
  };
}

function described({ soldIn = all, spot, reserved = {} }: Given, types: readonly InstanceTypeInfo[], prices: object) {
  const sold = types.flatMap(({ InstanceType }) => soldIn.map((Location) => ({ InstanceType, Location })));
  const spotOf = spot ?? spotPrices(prices as Record<string, number>);
  return {
    describeInstanceTypes: () => Promise.resolve({ InstanceTypes: types }),
    describeInstanceTypeOfferings: () => Promise.resolve({ InstanceTypeOfferings: sold }),
    describeSpotPriceHistory: () =>
      Promise.resolve({
        SpotPriceHistory: Object.entries(spotOf).flatMap(([InstanceType, zones]) =>
          Object.entries(zones).map(([AvailabilityZone, price]) => ({
            ...{ InstanceType, AvailabilityZone },
            SpotPrice: String(price),
          })),
        ),
      }),
    describeSubnets: () =>
      Promise.resolve({
        Subnets: resolved.subnets.map(({ id, zone, zoneID }) => ({
          ...{ SubnetId: id, AvailabilityZone: zone, AvailabilityZoneId: zoneID, AvailableIpAddressCount: 100 },
        })),
      }),
    describeCapacityReservations: ({ CapacityReservationIds: ids }: DescribeCapacityReservationsCommandInput) =>
      Promise.resolve({
        CapacityReservations: Object.entries(reserved)
          .filter(([id]) => ids?.includes(id) !== false)
          .map(([CapacityReservationId, AvailableInstanceCount]) => ({
            CapacityReservationId,
            AvailableInstanceCount,
          })),
      }),
    describeInstances: () => Promise.resolve({}),
  };
}

const spotPrices = (prices: Readonly<Record<string, number>>): Record<string, Record<string, number>> =>
  Object.fromEntries(
    Object.entries(prices).map(([name, price]) => [name, Object.fromEntries(all.map((zone) => [zone, price * 0.3]))]),
  );

function launching({ empty = [], errors }: Given, sent: Sent) {
  return {
    createLaunchTemplate: (input: CreateLaunchTemplateCommandInput) => Promise.resolve(void sent.templates.push(input)),
    createFleet: (input: CreateFleetCommandInput) => {
      sent.fleets.push(input);
      return Promise.resolve(errors === undefined ? answer(input, empty, sent.fleets.length) : { Errors: errors });
    },
  };
}

/** The first of the overrides whose pool has capacity, and an error for each that has none. */
function answer(input: CreateFleetCommandInput, empty: readonly string[], number: number) {
  const capacityType = input.TargetCapacitySpecification?.DefaultTargetCapacityType ?? '';
  const overrides = (input.LaunchTemplateConfigs ?? []).flatMap(({ Overrides = [] }) => Overrides);
  const keyOf = ({ InstanceType, AvailabilityZone }: (typeof overrides)[number]): string =>
    `${InstanceType ?? ''}/${AvailabilityZone ?? ''}/${capacityType}`;
  const Errors = overrides
    .filter((each) => empty.includes(keyOf(each)))
    .map((Overrides) => ({
      ...{ ErrorCode: 'InsufficientInstanceCapacity', ErrorMessage: 'none left' },
      LaunchTemplateAndOverrides: { Overrides },
    }));
  const found = overrides.find((each) => !empty.includes(keyOf(each)));
  if (found === undefined) return { Errors };
  const made = { InstanceIds: [`i-${number}`], InstanceType: found.InstanceType };
  return { Errors, Instances: [{ ...made, LaunchTemplateAndOverrides: { Overrides: found } }] };
}

let claims = 0;

export function requestOf(asked: Asked, nodeClass: EC2NodeClass): LaunchRequest {
  const { needs = [], capacityTypes = ['on-demand'], requests = {}, overlaid } = asked;
  const name = asked.name ?? `claim-${(claims += 1)}`;
  const claim = nodeClaim(name, {
    spec: {
      requirements: [oneOf(labels.capacityType, ...capacityTypes), ...needs],
      resources: { requests },
      ...(asked.taints === undefined ? {} : { taints: asked.taints }),
      ...(asked.startupTaints === undefined ? {} : { startupTaints: asked.startupTaints }),
    },
  });
  const metadata = {
    ...claim.metadata,
    labels: { ...claim.metadata.labels, ...asked.labels },
    annotations: asked.annotations ?? {},
  };
  return {
    claim: { ...claim, metadata },
    nodeClass,
    clientToken: `uid-${name}`,
    firstAttempt: true,
    ...(overlaid === undefined ? {} : { overlaid }),
  };
}

/** The launch templates that a launch makes, and its request; throws where it fails. */
export async function launched(
  given: Given,
  asked: Asked = {},
): Promise<Sent & { readonly instance: LaunchedInstance }> {
  const world = account(given);
  const result = await world.launch(asked);
  if (!result.ok) throw new Error(`${result.error.kind}: ${result.error.message}`);
  return { ...world.sent, instance: result.value };
}

/** The bodies of the launch templates that a launch makes. */
export const templatesOf = async (given: Given, asked: Asked = {}): Promise<RequestLaunchTemplateData[]> =>
  (await launched(given, asked)).templates.map(({ LaunchTemplateData: data = {} }) => data);

/** The user data of the launch templates that a launch makes, in words. */
export const userDataOf = async (given: Given, asked: Asked = {}): Promise<string[]> =>
  (await templatesOf(given, asked)).map(({ UserData = '' }) => Buffer.from(UserData, 'base64').toString());

/** Overrides of the requests that were sent. */
export const overridesOf = (
  fleets: readonly CreateFleetCommandInput[],
): readonly FleetLaunchTemplateOverridesRequest[] =>
  fleets.flatMap(({ LaunchTemplateConfigs = [] }) => LaunchTemplateConfigs).flatMap(({ Overrides = [] }) => Overrides);

/** What comes of an attempt: what it gives, or the kind of refusal or error. */
export async function outcomeOf(attempt: Launching): Promise<string> {
  try {
    const result = await attempt;
    return result.ok ? result.value.instanceType : result.error.kind;
  } catch (error) {
    return (error as { type?: string }).type ?? String(error);
  }
}
