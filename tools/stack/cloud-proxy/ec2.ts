import { AwsError } from './aws-error.js';
import type { Cloud } from './cloud.js';
import { createAllocation, updateAllocation } from './interruptible-reservations.js';
import {
  cancelCapacityReservation,
  copyImage,
  createCapacityReservation,
  createPlacementGroup,
  deletePlacementGroup,
  enableImageDeprecation,
  stopInstances,
} from './made-resources.js';
import { describeCapacityReservations, describePlacementGroups } from './scripted-resources.js';
import { describeNetworkInterfaces, describeSpotInstanceRequests, describeVolumes } from './describe-parts.js';
import { createFleet, dryRunSucceeds } from './fleet.js';
import { otherNetwork, unusableProfile } from './fleet-options.js';
import { describeInstanceStatus } from './instance-status.js';
import { type Instance, stateElement } from './instances.js';
import { answer, paged, withoutPaging } from './ec2-answers.js';
import type { OverrideRefusal } from './permissions/authority.js';
import { filtersOf, param, type Params, strings, struct, structs, without } from './query.js';
import { profileName } from './permissions/launch-demands.js';
import { placementOf } from './placement.js';
import { factsOf, securityGroupIds } from './templates.js';
import { child, element, itemsOf, setChild, textOf, type XmlElement } from './xml.js';
import type { MachineType } from './catalogue.js';
import { passes } from './filters.js';
import type { SpotPrice } from './spot-market.js';

const product = 'Linux/UNIX';

/**
 * DescribeSpotPriceHistory, newest first: the price changes within the time asked for, and the price that held at
 * its start.
 */
async function spotPriceHistory(cloud: Cloud, params: Params): Promise<XmlElement> {
  const wanted = poolFilter(params);
  const start = timeAt(params, 'StartTime', 0);
  const end = timeAt(params, 'EndTime', Number.POSITIVE_INFINITY);
  const found: { since: number; item: XmlElement }[] = [];
  for (const { machine, zone } of (await cloud.catalogue.pools()).filter(wanted)) {
    const history = cloud.market.history(machine, zone);
    const holding = history.find(({ since }) => since <= start);
    for (const entry of history) {
      if (entry.since > end || (entry.since <= start && entry !== holding)) continue;
      found.push({ since: entry.since, item: row(machine.name, zone, entry) });
    }
  }
  found.sort((left, right) => right.since - left.since);
  const items = found.map(({ item }) => item);
  const bounds = { minimum: 1, maximum: 1000, standard: 1000 };
  return paged('DescribeSpotPriceHistory', 'spotPriceHistorySet', items, params, bounds);
}

function timeAt(params: Params, name: string, fallback: number): number {
  const time = Date.parse(param(params, name) ?? '');
  return Number.isNaN(time) ? fallback : time;
}

/** Which pools the request asks for: by types, products, zone and filters. */
function poolFilter(params: Params): (pool: { machine: MachineType; zone: string }) => boolean {
  const types = new Set(strings(params, 'InstanceType'));
  const products = strings(params, 'ProductDescription');
  const linux =
    products.length === 0 || products.some((each) => each === product || each === `${product} (Amazon VPC)`);
  const asked = param(params, 'AvailabilityZone');
  const filters = filtersOf(params);
  return ({ machine, zone }) => {
    if (!linux || (types.size > 0 && !types.has(machine.name)) || (asked !== undefined && asked !== zone)) return false;
    const values: Record<string, string> = {
      'availability-zone': zone,
      'instance-type': machine.name,
      'product-description': product,
    };
    return passes(filters, (name) => (values[name] === undefined ? undefined : [values[name]]));
  };
}

/** Each page of a list is cut from all of its rows: they are made once. */
const rows = new WeakMap<SpotPrice, XmlElement>();

function row(type: string, zone: string, entry: SpotPrice): XmlElement {
  const known = rows.get(entry);
  if (known !== undefined) return known;
  const item = element('item', [
    element('instanceType', type),
    element('productDescription', product),
    element('spotPrice', entry.price.toFixed(6)),
    element('timestamp', new Date(entry.since).toISOString()),
    element('availabilityZone', zone),
  ]);
  rows.set(entry, item);
  return item;
}

/** Answers an EC2 action itself; the router sends the others to moto. */
type Ec2Handler = (cloud: Cloud, params: Params, refused?: OverrideRefusal) => Promise<XmlElement>;

const unlimited = Number.MAX_SAFE_INTEGER;

/** A list that moto gives in one piece: asked whole, answered in pages. */
const pagedByMoto =
  (action: string, set: string, bounds: { minimum: number; maximum: number; standard: number }): Ec2Handler =>
  async (cloud, params) => {
    const all = itemsOf(await cloud.moto.ec2(action, withoutPaging(params)), set);
    return paged(action, set, all, params, bounds);
  };

const describeInstanceTypes: Ec2Handler = async (cloud, params) => {
  const names = strings(params, 'InstanceType');
  const items =
    names.length > 0 && filtersOf(params).size === 0
      ? await cloud.catalogue.describe(names)
      : itemsOf(await cloud.catalogue.answer('DescribeInstanceTypes', withoutPaging(params)), 'instanceTypeSet');
  return paged('DescribeInstanceTypes', 'instanceTypeSet', items, params, { minimum: 5, maximum: 100, standard: 100 });
};

const describeOfferings: Ec2Handler = async (cloud, params) => {
  const set = 'instanceTypeOfferingSet';
  const whole = await cloud.catalogue.answer('DescribeInstanceTypeOfferings', withoutPaging(params));
  const bounds = { minimum: 5, maximum: 1000, standard: 1000 };
  return paged('DescribeInstanceTypeOfferings', set, itemsOf(whole, set), params, bounds);
};

const describeInstances: Ec2Handler = (cloud, params) => {
  const ids = strings(params, 'InstanceId');
  if (ids.length > 0 && param(params, 'MaxResults') !== undefined) {
    throw new AwsError(
      'InvalidParameterCombination',
      'The parameter instancesSet cannot be used with the parameter maxResults',
    );
  }
  const found = cloud.instances.find(ids, filtersOf(params));
  const items = found.map((instance) =>
    element('item', [
      element('reservationId', instance.reservationId),
      element('ownerId', '123456789012'),
      element('groupSet', []),
      element('instancesSet', [cloud.instances.describe(instance)]),
    ]),
  );
  const bounds = { minimum: 5, maximum: 1000, standard: unlimited };
  return Promise.resolve(paged('DescribeInstances', 'reservationSet', items, params, bounds));
};

const zoneOf = ({ item }: Instance): string => textOf(item, 'placement', 'availabilityZone') ?? '';

/** A protected instance fails the call, and keeps those of its zone that were named with it; those of other zones end all the same. */
function protectionOf(cloud: Cloud, instances: readonly Instance[]): { zones: ReadonlySet<string>; error?: AwsError } {
  const kept = instances.filter(({ id }) => cloud.settings.protectedInstances[id] !== undefined);
  const [first] = kept;
  if (first === undefined) return { zones: new Set() };
  const attribute = cloud.settings.protectedInstances[first.id] === 'stop' ? 'disableApiStop' : 'disableApiTermination';
  const message = `The instance '${first.id}' may not be terminated. Modify its '${attribute}' instance attribute and try again.`;
  return { zones: new Set(kept.map(zoneOf)), error: new AwsError('OperationNotPermitted', message) };
}

const terminateInstances: Ec2Handler = async (cloud, params) => {
  const ids = strings(params, 'InstanceId');
  const instances = cloud.instances.require(ids);
  if (param(params, 'DryRun') === 'true') throw dryRunSucceeds();
  const refused = protectionOf(cloud, instances);
  const endable = instances.filter((instance) => !refused.zones.has(zoneOf(instance)));
  const alive = endable.filter(({ state }) => state !== 'terminated' && state !== 'shutting-down');
  const list = Object.fromEntries(alive.map(({ id }, index) => [String(index + 1), id]));
  if (alive.length > 0) await cloud.moto.ec2('TerminateInstances', { InstanceId: list });
  const previous = cloud.instances.terminate(endable);
  if (refused.error !== undefined) throw refused.error;
  const items = instances.map((instance) =>
    element('item', [
      element('instanceId', instance.id),
      stateElement('currentState', instance.state),
      stateElement('previousState', previous.get(instance) ?? instance.state),
    ]),
  );
  return answer('TerminateInstances', [element('instancesSet', items)]);
};

const runInstances: Ec2Handler = async (cloud, params) => {
  const specification = struct(params, 'LaunchTemplate');
  const data = Object.keys(specification).length > 0 ? cloud.templates.resolve(specification).data : params;
  const subnetId = param(params, 'NetworkInterface', '1', 'SubnetId') ?? param(params, 'SubnetId') ?? '';
  const own = securityGroupIds(params);
  const groups = own.length > 0 ? own : securityGroupIds(data);
  const apart = await otherNetwork(cloud, groups, subnetId, (await cloud.subnets()).get(subnetId));
  const refused = apart ?? (await unusableProfile(cloud, profileName(params) ?? profileName(data)));
  if (refused !== undefined) throw refused;
  if (param(params, 'DryRun') === 'true') throw dryRunSucceeds();
  const rest = without(params, 'ClientToken');
  return cloud.tokens.once('RunInstances', param(params, 'ClientToken'), rest, async () => {
    const reply = await cloud.moto.ec2('RunInstances', rest);
    const ids = itemsOf(reply, 'instancesSet').map((item) => textOf(item, 'instanceId') ?? '');
    const spot = param(params, 'InstanceMarketOptions', 'MarketType') === 'spot';
    await cloud.instances.adopt(ids, {
      ...factsOf(data, cloud.region),
      placement: placementOf(cloud, data),
      lifecycle: spot ? 'spot' : undefined,
      securityGroups: groups.length > 0 ? await cloud.securityGroups(groups) : undefined,
      clientToken: param(params, 'ClientToken'),
    });
    return reply;
  });
};

/** Tags change in moto, which is then read again. */
const tagging =
  (action: 'CreateTags' | 'DeleteTags'): Ec2Handler =>
  async (cloud, params) => {
    const all = strings(params, 'ResourceId');
    const ids = all.filter((id) => id.startsWith('i-'));
    cloud.instances.require(ids);
    const reply = await cloud.moto.ec2(action, params);
    cloud.templates.tagged(all, params, action === 'DeleteTags');
    await cloud.instances.refresh(ids);
    return reply;
  };

const createLaunchTemplate: Ec2Handler = async (cloud, params) => {
  if (param(params, 'DryRun') === 'true') throw dryRunSucceeds();
  const rest = without(params, 'ClientToken');
  return cloud.tokens.once('CreateLaunchTemplate', param(params, 'ClientToken'), rest, async () => {
    const reply = await cloud.moto.ec2('CreateLaunchTemplate', rest);
    const id = textOf(reply, 'launchTemplate', 'launchTemplateId') ?? '';
    const name = param(params, 'LaunchTemplateName') ?? '';
    const tags = structs(params, 'TagSpecification');
    cloud.templates.created(id, name, struct(params, 'LaunchTemplateData'), tags);
    return reply;
  });
};

const createLaunchTemplateVersion: Ec2Handler = async (cloud, params) => {
  const reply = await cloud.moto.ec2('CreateLaunchTemplateVersion', params);
  const idOrName = param(params, 'LaunchTemplateId') ?? param(params, 'LaunchTemplateName') ?? '';
  cloud.templates.versionAdded(idOrName, struct(params, 'LaunchTemplateData'));
  return reply;
};

const deleteLaunchTemplate: Ec2Handler = async (cloud, params) => {
  const reply = await cloud.moto.ec2('DeleteLaunchTemplate', params);
  cloud.templates.deleted(param(params, 'LaunchTemplateId') ?? param(params, 'LaunchTemplateName') ?? '');
  return reply;
};

const createFleetOnce: Ec2Handler = (cloud, params, refused) => {
  const rest = without(params, 'ClientToken');
  if (param(params, 'DryRun') === 'true') return createFleet(cloud, params, refused);
  const run = (): Promise<XmlElement> => createFleet(cloud, params, refused);
  return cloud.tokens.once('CreateFleet', param(params, 'ClientToken'), rest, run);
};

const describeInstanceAttribute: Ec2Handler = async (cloud, params) => {
  const [instance] = cloud.instances.require([param(params, 'InstanceId') ?? '']);
  if (param(params, 'Attribute') !== 'userData') return cloud.moto.ec2('DescribeInstanceAttribute', params);
  const { userData } = (instance as Instance).facts;
  return answer('DescribeInstanceAttribute', [
    element('instanceId', (instance as Instance).id),
    element('userData', userData === undefined ? [] : [element('value', userData)]),
  ]);
};

const subnetFilters = new Set([
  'availability-zone', 'availabilityZone', 'availability-zone-id', 'available-ip-address-count', 'cidr-block', 'default-for-az',
  'state', 'subnet-id', 'tag-key', 'vpc-id',
]); // prettier-ignore

const describeSubnets: Ec2Handler = async (cloud, params) => {
  for (const name of filtersOf(params).keys()) {
    if (!subnetFilters.has(name) && !name.startsWith('tag:')) {
      throw new AwsError('InvalidParameterValue', `The filter '${name}' is invalid`);
    }
  }
  const whole = await cloud.moto.ec2('DescribeSubnets', withoutPaging(params));
  const items = itemsOf(whole, 'subnetSet');
  for (const item of items) {
    const free = cloud.settings.freeAddresses[textOf(item, 'subnetId') ?? ''];
    if (free !== undefined) setChild(item, element('availableIpAddressCount', free));
    const options = child(item, 'privateDnsNameOptionsOnLaunch');
    if (options !== undefined && cloud.namesByResource.has(textOf(item, 'subnetId') ?? ''))
      setChild(options, element('hostnameType', 'resource-name'));
  }
  return paged('DescribeSubnets', 'subnetSet', items, params, { minimum: 5, maximum: 1000, standard: unlimited });
};

/** moto does not take how machines of a subnet are named. */
const modifySubnetAttribute: Ec2Handler = (cloud, params) => {
  const type = param(params, 'PrivateDnsHostnameTypeOnLaunch');
  const id = param(params, 'SubnetId') ?? '';
  if (type === 'resource-name') cloud.namesByResource.add(id);
  if (type === 'ip-name') cloud.namesByResource.delete(id);
  return cloud.moto.ec2('ModifySubnetAttribute', params);
};

const describeImages: Ec2Handler = async (cloud, params) => {
  const whole = await cloud.moto.ec2('DescribeImages', withoutPaging(params));
  const items = itemsOf(whole, 'imagesSet');
  for (const item of items) {
    const deprecated = cloud.deprecations.get(textOf(item, 'imageId') ?? '');
    if (deprecated !== undefined) setChild(item, element('deprecationTime', deprecated));
    const created = Date.parse(textOf(item, 'creationDate') ?? '');
    // EC2 deprecates public images two years after their creation.
    if (child(item, 'deprecationTime') === undefined && !Number.isNaN(created)) {
      const deprecation = new Date(created);
      deprecation.setUTCFullYear(deprecation.getUTCFullYear() + 2);
      setChild(item, element('deprecationTime', deprecation.toISOString()));
    }
  }
  return paged('DescribeImages', 'imagesSet', items, params, { minimum: 1, maximum: 1000, standard: unlimited });
};

/** moto has no pages of them, and lists fifteen unless it is asked for more; EC2 lists a new one some seconds late. */
const describeLaunchTemplates: Ec2Handler = async (cloud, params) => {
  const set = 'launchTemplates';
  const whole = { ...withoutPaging(params), MaxResults: '100000' };
  const all = itemsOf(await cloud.moto.ec2('DescribeLaunchTemplates', whole), set);
  const { templatesListedAfterMs: lag } = cloud.settings;
  const listed = all.filter((item) => !cloud.templates.isUnlisted(textOf(item, 'launchTemplateId') ?? '', lag));
  return paged('DescribeLaunchTemplates', set, listed, params, { minimum: 1, maximum: 200, standard: 200 });
};

const many = { minimum: 5, maximum: 1000, standard: unlimited };

/** The actions that moto lacks or gets wrong. */
export const ec2Handlers: Readonly<Record<string, Ec2Handler>> = {
  CreateFleet: createFleetOnce,
  RunInstances: runInstances,
  StopInstances: stopInstances,
  TerminateInstances: terminateInstances,
  DescribeInstances: describeInstances,
  DescribeInstanceStatus: describeInstanceStatus,
  DescribeInstanceAttribute: describeInstanceAttribute,
  CreateTags: tagging('CreateTags'),
  DeleteTags: tagging('DeleteTags'),
  CreateLaunchTemplate: createLaunchTemplate,
  CreateLaunchTemplateVersion: createLaunchTemplateVersion,
  DeleteLaunchTemplate: deleteLaunchTemplate,
  DescribeInstanceTypes: describeInstanceTypes,
  DescribeInstanceTypeOfferings: describeOfferings,
  DescribeSpotPriceHistory: spotPriceHistory,
  DescribeSubnets: describeSubnets,
  DescribeImages: describeImages,
  DescribeSecurityGroups: pagedByMoto('DescribeSecurityGroups', 'securityGroupInfo', many),
  DescribeLaunchTemplates: describeLaunchTemplates,
  DescribeVolumes: describeVolumes,
  DescribeNetworkInterfaces: describeNetworkInterfaces,
  DescribeSpotInstanceRequests: describeSpotInstanceRequests,
  ModifySubnetAttribute: modifySubnetAttribute,
  DescribeCapacityReservations: describeCapacityReservations,
  CreateCapacityReservation: createCapacityReservation,
  CancelCapacityReservation: cancelCapacityReservation,
  CreateInterruptibleCapacityReservationAllocation: createAllocation,
  UpdateInterruptibleCapacityReservationAllocation: updateAllocation,
  DescribePlacementGroups: describePlacementGroups,
  CreatePlacementGroup: createPlacementGroup,
  DeletePlacementGroup: deletePlacementGroup,
  CopyImage: copyImage,
  EnableImageDeprecation: enableImageDeprecation,
};
