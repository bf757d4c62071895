import { randomUUID } from 'node:crypto';
import { AwsError } from './aws-error.js';
import type { Cloud, Subnet } from './cloud.js';
import type { CapacityKind } from './pools.js';
import { listOf, param, struct, structs, type Params } from './query.js';
import { inOrderOf, onDemandStrategies, spotStrategies, type Candidate } from './strategies.js';
import { factsOf, securityGroupIds, type LaunchTemplate } from './templates.js';
import { element, itemsOf, textOf, type XmlElement } from './xml.js';

/** An override resolved against its template, or the error that it ends in. */
interface Option extends Candidate {
  template: LaunchTemplate;
  version: number;
  data: Params;
  overrides: Params;
  subnetId: string | undefined;
  freeAddresses: number;
  maxPrice: number | undefined;
  refusal?: { code: string; message: string };
}

interface Failure {
  option: Option;
  code: string;
  message: string;
}

interface Launched {
  option: Option;
  ids: string[];
}

/** CreateFleet of type `instant`. */
export async function createFleet(cloud: Cloud, params: Params): Promise<XmlElement> {
  if (param(params, 'Type') !== 'instant') {
    throw new AwsError('UnsupportedOperation', 'The local cloud knows fleets of type instant alone.');
  }
  const target = struct(params, 'TargetCapacitySpecification');
  const wanted = Number(param(target, 'TotalTargetCapacity') ?? 0);
  if (!Number.isInteger(wanted) || wanted < 1) {
    throw new AwsError('InvalidParameterValue', 'TotalTargetCapacity must be at least 1.');
  }
  const capacityType: CapacityKind = param(target, 'DefaultTargetCapacityType') === 'spot' ? 'spot' : 'on-demand';
  const strategy = strategyOf(params, capacityType);
  const options = await resolveOptions(cloud, params, capacityType);
  if (param(params, 'DryRun') === 'true') throw dryRunSucceeds();
  const ordered = inOrderOf(strategy, options).map((candidate) => candidate as Option);
  const fleetId = `fleet-${randomUUID()}`;
  const { launched, failures } = await fill(cloud, params, fleetId, ordered, wanted, strategy === 'diversified');
  return element('CreateFleetResponse', [
    element('requestId', randomUUID()),
    element('fleetId', fleetId),
    element('fleetInstanceSet', launched.flatMap(instanceItems)),
    failures.length > 0 ? element('errorSet', failures.map(errorItem)) : undefined,
  ]);
}

export const dryRunSucceeds = (): AwsError =>
  new AwsError('DryRunOperation', 'Request would have succeeded, but DryRun flag is set.', 412);

function strategyOf(params: Params, capacityType: CapacityKind): string {
  const group = capacityType === 'spot' ? 'SpotOptions' : 'OnDemandOptions';
  const strategy = param(params, group, 'AllocationStrategy') ?? 'lowest-price';
  const known: readonly string[] = capacityType === 'spot' ? spotStrategies : onDemandStrategies;
  if (!known.includes(strategy)) {
    throw new AwsError(
      'InvalidParameterValue',
      `${group}.AllocationStrategy: ${strategy} is not one of ${known.join(', ')}.`,
    );
  }
  return strategy;
}

async function resolveOptions(cloud: Cloud, params: Params, capacityType: CapacityKind): Promise<Option[]> {
  const options: Option[] = [];
  const subnets = await cloud.subnets();
  for (const config of structs(params, 'LaunchTemplateConfigs')) {
    const { template, version, data } = cloud.templates.resolve(struct(config, 'LaunchTemplateSpecification'));
    const overrides = structs(config, 'Overrides');
    for (const override of overrides.length > 0 ? overrides : [{}]) {
      options.push(
        await resolveOption(cloud, { template, version, data, override, capacityType, subnets, order: options.length }),
      );
    }
  }
  if (options.length === 0) throw new AwsError('MissingParameter', 'The request must contain LaunchTemplateConfigs.');
  return options;
}

async function resolveOption(
  cloud: Cloud,
  given: Pick<Option, 'template' | 'version' | 'data' | 'capacityType' | 'order'> & {
    override: Params;
    subnets: ReadonlyMap<string, Subnet>;
  },
): Promise<Option> {
  const { override, data, capacityType } = given;
  if (Object.keys(struct(override, 'InstanceRequirements')).length > 0) {
    throw new AwsError('UnsupportedOperation', 'The local cloud does not choose types by InstanceRequirements.');
  }
  const instanceType = param(override, 'InstanceType') ?? param(data, 'InstanceType') ?? '';
  const subnetId = param(override, 'SubnetId') ?? param(data, 'NetworkInterface', '1', 'SubnetId');
  const subnet = subnetId === undefined ? undefined : given.subnets.get(subnetId);
  const zone = subnet?.zone ?? param(override, 'AvailabilityZone') ?? (await cloud.firstZone());
  const machine = await cloud.catalogue.machine(instanceType);
  const priority = param(override, 'Priority');
  const maxPrice = param(override, 'MaxPrice') ?? param(override, 'SpotPrice');
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
    priority: priority === undefined ? undefined : Number(priority),
    maxPrice: maxPrice === undefined ? undefined : Number(maxPrice),
  };
  const refusal =
    subnetId !== undefined && subnet === undefined
      ? { code: 'InvalidSubnetID.NotFound', message: `The subnet ID '${subnetId}' does not exist` }
      : await refusalOf(cloud, option);
  return refusal === undefined ? option : { ...option, refusal };
}

/** Why an override can never launch, whatever the capacity. */
async function refusalOf(cloud: Cloud, option: Option): Promise<{ code: string; message: string } | undefined> {
  const { instanceType, zone, data, overrides } = option;
  const machine = await cloud.catalogue.machine(instanceType);
  if (machine === undefined) {
    return { code: 'InvalidInstanceType', message: `The instance type '${instanceType}' does not exist` };
  }
  const zones = await cloud.catalogue.zones();
  if (!(zones.get(instanceType)?.has(zone) ?? false)) {
    const message = `Your requested instance type (${instanceType}) is not supported in your requested Availability Zone (${zone}).`;
    return { code: 'Unsupported', message };
  }
  const imageId = param(overrides, 'ImageId') ?? param(data, 'ImageId') ?? '';
  const architecture = cloud.imageArchitectures.get(imageId);
  if (architecture !== undefined && !machine.architectures.includes(architecture)) {
    const types = machine.architectures.join(',');
    const message = `The architecture '${types}' of the specified instance type does not match the architecture '${architecture}' of the specified AMI.`;
    return { code: 'InvalidParameterValue', message };
  }
  if (option.capacityType === 'spot' && option.maxPrice !== undefined && option.maxPrice < option.price) {
    const message = `Your Spot request price of ${option.maxPrice} is lower than the minimum required Spot request fulfillment price of ${option.price}.`;
    return { code: 'SpotMaxPriceTooLow', message };
  }
  return undefined;
}

/** Tries the options in turn until the target is met; what was tried in vain is told. */
async function fill(
  cloud: Cloud,
  params: Params,
  fleetId: string,
  ordered: readonly Option[],
  wanted: number,
  spread: boolean,
): Promise<{ launched: Launched[]; failures: Failure[] }> {
  const launched: Launched[] = [];
  const failures: Failure[] = [];
  const share = spread ? Math.ceil(wanted / ordered.length) : wanted;
  let missing = wanted;
  for (const option of ordered) {
    if (missing === 0) break;
    const asked = Math.min(share, missing);
    const { granted, error } = grant(cloud, option, asked);
    if (error !== undefined) failures.push({ option, ...error });
    if (granted === 0) continue;
    try {
      const ids = await launchInstances(cloud, params, fleetId, option, granted);
      launched.push({ option, ids });
      missing -= ids.length;
    } catch (failure) {
      if (!(failure instanceof AwsError)) throw failure;
      failures.push({ option, code: failure.code, message: failure.message });
    }
  }
  return { launched, failures };
}

function grant(
  cloud: Cloud,
  option: Option,
  asked: number,
): { granted: number; error?: { code: string; message: string } } {
  if (option.refusal !== undefined) return { granted: 0, error: option.refusal };
  const reservationId = factsOf(option.data).capacityReservationId;
  if (reservationId !== undefined) return cloud.takeReservation(reservationId, option, asked);
  if (option.subnetId !== undefined) {
    if (option.freeAddresses < asked) {
      const message = `There are not enough free addresses in subnet '${option.subnetId}' to satisfy the requested number of instances.`;
      return { granted: 0, error: { code: 'InsufficientFreeAddressesInSubnet', message } };
    }
  }
  return cloud.pools.take(option, asked);
}

/** Lets moto launch from one option, and lays over its instances what moto drops. */
async function launchInstances(
  cloud: Cloud,
  params: Params,
  fleetId: string,
  option: Option,
  count: number,
): Promise<string[]> {
  const spot = option.capacityType === 'spot';
  const { template, version, data, overrides } = option;
  const answer = await cloud.moto.ec2('CreateFleet', {
    Type: 'instant',
    LaunchTemplateConfigs: listOf([
      {
        LaunchTemplateSpecification: { LaunchTemplateId: template.id, Version: String(version) },
        Overrides: listOf([{ ...overrides, InstanceType: option.instanceType }]),
      },
    ]),
    TargetCapacitySpecification: {
      TotalTargetCapacity: String(count),
      DefaultTargetCapacityType: option.capacityType,
      ...(spot ? { SpotTargetCapacity: String(count) } : { OnDemandTargetCapacity: String(count) }),
    },
    SpotOptions: { AllocationStrategy: 'lowest-price' },
    OnDemandOptions: { AllocationStrategy: 'lowest-price' },
    TagSpecification: struct(params, 'TagSpecification'),
  });
  const ids = itemsOf(answer, 'fleetInstanceSet').flatMap((item) =>
    itemsOf(item, 'instanceIds').map((each) => each.text),
  );
  if (ids.length === 0) {
    throw new AwsError('InternalError', `moto launched nothing: ${textOf(answer, 'fleetId') ?? 'no fleet'}`);
  }
  await cloud.instances.adopt(ids, {
    ...factsOf(data),
    lifecycle: spot ? 'spot' : undefined,
    securityGroups: await cloud.securityGroups(securityGroupIds(data)),
    clientToken: param(params, 'ClientToken'),
    systemTags: {
      'aws:ec2:fleet-id': fleetId,
      'aws:ec2launchtemplate:id': template.id,
      'aws:ec2launchtemplate:version': String(version),
    },
  });
  return ids;
}

function templateAndOverrides({ template, version, overrides, instanceType, subnetId, zone }: Option): XmlElement {
  const plain = ['ImageId', 'MaxPrice', 'Priority', 'WeightedCapacity'].flatMap((name) => {
    const value = param(overrides, name);
    return value === undefined ? [] : [element(name[0]!.toLowerCase() + name.slice(1), value)];
  });
  return element('launchTemplateAndOverrides', [
    element('launchTemplateSpecification', [
      element('launchTemplateId', template.id),
      element('launchTemplateName', template.name),
      element('version', version),
    ]),
    element('overrides', [
      element('instanceType', instanceType),
      subnetId === undefined ? undefined : element('subnetId', subnetId),
      element('availabilityZone', zone),
      ...plain,
    ]),
  ]);
}

const instanceItems = ({ option, ids }: Launched): XmlElement[] => [
  element('item', [
    templateAndOverrides(option),
    element('lifecycle', option.capacityType),
    element(
      'instanceIds',
      ids.map((id) => element('item', id)),
    ),
    element('instanceType', option.instanceType),
  ]),
];

const errorItem = ({ option, code, message }: Failure): XmlElement =>
  element('item', [
    templateAndOverrides(option),
    element('lifecycle', option.capacityType),
    element('errorCode', code),
    element('errorMessage', message),
  ]);
