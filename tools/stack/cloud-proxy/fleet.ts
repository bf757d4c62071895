import { randomUUID } from 'node:crypto';
import { AwsError } from './aws-error.js';
import type { Cloud } from './cloud.js';
import { resolveOptions, type Option } from './fleet-options.js';
import { tagsByType } from './launch-facts.js';
import type { OverrideRefusal } from './permissions/authority.js';
import { placementOf } from './placement.js';
import type { CapacityKind } from './pools.js';
import { listOf, param, struct, type Params } from './query.js';
import { inOrderOf, onDemandStrategies, spotStrategies } from './strategies.js';
import { factsOf, securityGroupIds } from './templates.js';
import { element, itemsOf, textOf, type XmlElement } from './xml.js';

interface FleetRequest {
  cloud: Cloud;
  params: Params;
  fleetId: string;
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

/** CreateFleet of type `instant`. `refused`: why the caller may create the fleet and launch nothing with it. */
export async function createFleet(cloud: Cloud, params: Params, refused?: OverrideRefusal): Promise<XmlElement> {
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
  const resolved = await resolveOptions(cloud, params, capacityType);
  const options = refused === undefined ? resolved : resolved.map((option) => ({ ...option, refusal: refused }));
  if (param(params, 'DryRun') === 'true') throw dryRunSucceeds();
  const ordered = inOrderOf(strategy, options).map((candidate) => candidate as Option);
  const fleetId = `fleet-${randomUUID()}`;
  const share = strategy === 'diversified' ? Math.ceil(wanted / ordered.length) : wanted;
  const { launched, failures } = await fill({ cloud, params, fleetId }, ordered, wanted, share);
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

/** Tries the options in turn until the target is met; the errors of failed options are returned. */
async function fill(
  request: FleetRequest,
  ordered: readonly Option[],
  wanted: number,
  share: number,
): Promise<{ launched: Launched[]; failures: Failure[] }> {
  const launched: Launched[] = [];
  const failures: Failure[] = [];
  let missing = wanted;
  for (const option of ordered) {
    if (missing === 0) break;
    const asked = Math.min(share, missing);
    const { granted, error } = grant(request.cloud, option, asked);
    if (error !== undefined) failures.push({ option, ...error });
    if (granted === 0) continue;
    try {
      const ids = await launchInstances(request, option, granted);
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
  const reservationId = factsOf(option.data, cloud.region).capacityReservationId;
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
  { cloud, params, fleetId }: FleetRequest,
  option: Option,
  count: number,
): Promise<string[]> {
  const spot = option.capacityType === 'spot';
  const { template, version, data } = option;
  const answer = await cloud.moto.ec2('CreateFleet', fleetParams(option, count, struct(params, 'TagSpecification')));
  const ids = itemsOf(answer, 'fleetInstanceSet').flatMap((item) =>
    itemsOf(item, 'instanceIds').map((each) => each.text),
  );
  if (ids.length === 0) {
    throw new AwsError('InternalError', `moto launched nothing: ${textOf(answer, 'fleetId') ?? 'no fleet'}`);
  }
  const facts = factsOf(data, cloud.region);
  await cloud.instances.adopt(ids, {
    ...facts,
    tagsOf: { ...facts.tagsOf, ...tagsByType(params) },
    namedByResource: cloud.namesByResource.has(option.subnetId ?? ''),
    lifecycle: spot ? 'spot' : undefined,
    securityGroups: await cloud.securityGroups(securityGroupIds(data)),
    placement: placementOf(cloud, data),
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

function fleetParams(
  { template, version, overrides, instanceType, capacityType }: Option,
  count: number,
  tags: ReturnType<typeof struct>,
): Parameters<FleetRequest['cloud']['moto']['ec2']>[1] {
  const spot = capacityType === 'spot';
  return {
    Type: 'instant',
    LaunchTemplateConfigs: listOf([
      {
        LaunchTemplateSpecification: { LaunchTemplateId: template.id, Version: String(version) },
        Overrides: listOf([{ ...overrides, InstanceType: instanceType }]),
      },
    ]),
    TargetCapacitySpecification: {
      TotalTargetCapacity: String(count),
      DefaultTargetCapacityType: capacityType,
      ...(spot ? { SpotTargetCapacity: String(count) } : { OnDemandTargetCapacity: String(count) }),
    },
    SpotOptions: { AllocationStrategy: 'lowest-price' },
    OnDemandOptions: { AllocationStrategy: 'lowest-price' },
    TagSpecification: tags,
  };
}
