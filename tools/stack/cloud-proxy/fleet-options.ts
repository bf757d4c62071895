import { AwsError } from './aws-error.js';
import type { Cloud, Subnet } from './cloud.js';
import { profileName } from './permissions/launch-demands.js';
import type { CapacityKind } from './pools.js';
import { param, struct, structs, type Params } from './query.js';
import type { Candidate } from './strategies.js';
import { securityGroupIds, type LaunchTemplate } from './templates.js';

interface Refusal {
  code: string;
  message: string;
}

/** An override resolved against its template, or the error that it ends in. */
export interface Option extends Candidate {
  template: LaunchTemplate;
  version: number;
  data: Params;
  overrides: Params;
  subnetId: string | undefined;
  freeAddresses: number;
  maxPrice: number | undefined;
  refusal?: Refusal;
}

/** Every override of the request in its order. Throws EC2's errors for templates that are not there. */
export async function resolveOptions(cloud: Cloud, params: Params, capacityType: CapacityKind): Promise<Option[]> {
  const options: Option[] = [];
  const subnets = await cloud.subnets();
  const profiles = new CheckedProfiles(cloud);
  for (const config of structs(params, 'LaunchTemplateConfigs')) {
    const { template, version, data } = cloud.templates.resolve(struct(config, 'LaunchTemplateSpecification'));
    const overrides = structs(config, 'Overrides');
    for (const override of overrides.length > 0 ? overrides : [{}]) {
      options.push(
        await resolveOption(cloud, {
          ...{ template, version, data, override, capacityType, subnets, profiles },
          order: options.length,
        }),
      );
    }
  }
  if (options.length === 0) throw new AwsError('MissingParameter', 'The request must contain LaunchTemplateConfigs.');
  return options;
}

const numberAt = (params: Params, name: string): number | undefined => {
  const value = param(params, name);
  return value === undefined ? undefined : Number(value);
};

function refuseRequirements(override: Params): void {
  if (Object.keys(struct(override, 'InstanceRequirements')).length === 0) return;
  throw new AwsError('UnsupportedOperation', 'The local cloud does not choose types by InstanceRequirements.');
}

async function resolveOption(
  cloud: Cloud,
  given: Pick<Option, 'template' | 'version' | 'data' | 'capacityType' | 'order'> & {
    override: Params;
    subnets: ReadonlyMap<string, Subnet>;
    profiles: CheckedProfiles;
  },
): Promise<Option> {
  const { override, data, capacityType } = given;
  refuseRequirements(override);
  const instanceType = param(override, 'InstanceType') ?? param(data, 'InstanceType') ?? '';
  const subnetId = param(override, 'SubnetId') ?? param(data, 'NetworkInterface', '1', 'SubnetId');
  const subnet = subnetId === undefined ? undefined : given.subnets.get(subnetId);
  const zone = subnet?.zone ?? param(override, 'AvailabilityZone') ?? (await cloud.firstZone());
  const machine = await cloud.catalogue.machine(instanceType);
  const option: Option = {
    template: given.template,
    version: given.version,
    data,
    overrides: override,
    subnetId,
    freeAddresses: subnet?.freeAddresses ?? Number.POSITIVE_INFINITY,
    capacityType,
    instanceType,
    zone,
    order: given.order,
    price: machine === undefined ? 0 : cloud.priceOf(machine, zone, capacityType),
    depth: cloud.market.depth(instanceType, zone),
    priority: numberAt(override, 'Priority'),
    maxPrice: numberAt(override, 'MaxPrice') ?? numberAt(override, 'SpotPrice'),
  };
  const refusal = await refusalOf(cloud, option, subnet, given.profiles);
  return refusal === undefined ? option : { ...option, refusal };
}

/** Why an override can never launch, at any capacity. */
async function refusalOf(
  cloud: Cloud,
  option: Option,
  subnet: Subnet | undefined,
  profiles: CheckedProfiles,
): Promise<Refusal | undefined> {
  const { instanceType, zone, data, overrides, subnetId } = option;
  if (subnetId !== undefined && subnet === undefined) {
    return { code: 'InvalidSubnetID.NotFound', message: `The subnet ID '${subnetId}' does not exist` };
  }
  const machine = await cloud.catalogue.machine(instanceType);
  if (machine === undefined) {
    return { code: 'InvalidInstanceType', message: `The instance type '${instanceType}' does not exist` };
  }
  const zones = await cloud.catalogue.zones();
  if (!(zones.get(instanceType)?.has(zone) ?? false)) {
    const message = `Your requested instance type (${instanceType}) is not supported in your requested Availability Zone (${zone}).`;
    return { code: 'Unsupported', message };
  }
  const unusable =
    (await otherNetwork(cloud, securityGroupIds(data), subnetId ?? '', subnet)) ??
    (await profiles.unusable(profileName(data)));
  if (unusable !== undefined) return { code: unusable.code, message: unusable.message };
  const imageId = param(overrides, 'ImageId') ?? param(data, 'ImageId') ?? '';
  const architecture = cloud.imageArchitectures.get(imageId);
  if (architecture !== undefined && !machine.architectures.includes(architecture)) {
    const types = machine.architectures.join(',');
    const message = `The architecture '${types}' of the specified instance type does not match the architecture '${architecture}' of the specified AMI.`;
    return { code: 'InvalidParameterValue', message };
  }
  return overPriced(option);
}

function overPriced(option: Option): Refusal | undefined {
  if (option.capacityType === 'spot' && option.maxPrice !== undefined && option.maxPrice < option.price) {
    const message = `Your Spot request price of ${option.maxPrice} is lower than the minimum required Spot request fulfillment price of ${option.price}.`;
    return { code: 'SpotMaxPriceTooLow', message };
  }
  return undefined;
}

/** What EC2 says of groups and a subnet that are of different VPCs, or of groups that are not there. */
export async function otherNetwork(
  cloud: Cloud,
  groups: readonly string[],
  subnetId: string,
  subnet: Subnet | undefined,
): Promise<AwsError | undefined> {
  if (subnet === undefined) return undefined;
  try {
    const apart = (await cloud.securityGroups(groups)).find(({ vpc }) => vpc !== subnet.vpc);
    if (apart === undefined) return undefined;
    const message = `Security group ${apart.id} and subnet ${subnetId} belong to different networks.`;
    return new AwsError('InvalidParameter', message);
  } catch (error) {
    if (error instanceof AwsError) return error;
    throw error;
  }
}

/** What EC2 says of a profile that it cannot launch with. */
export async function unusableProfile(cloud: Cloud, name: string | undefined): Promise<AwsError | undefined> {
  if (name === undefined || (await cloud.profiles.isUsable(name))) return undefined;
  return new AwsError(
    'InvalidParameterValue',
    `Value (${name}) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name`,
  );
}

/** The instance profiles of one request, each looked up once: a fleet of hundreds of overrides has one or two. */
class CheckedProfiles {
  readonly #checked = new Map<string | undefined, Promise<AwsError | undefined>>();

  constructor(private readonly cloud: Cloud) {}

  unusable(name: string | undefined): Promise<AwsError | undefined> {
    const known = this.#checked.get(name) ?? unusableProfile(this.cloud, name);
    this.#checked.set(name, known);
    return known;
  }
}
