import { param, struct, structs, type Params } from '../query.js';
import { securityGroupIds } from '../templates.js';
import type { Account, ServiceCall } from './account.js';
import type { Context } from './conditions.js';
import type { Demand, Demands } from './policy.js';
import { requestTags, resourceTags } from './tag-context.js';

type Tags = Readonly<Record<string, string>>;

/** What instances are launched from, and what comes into being with them. */
interface Launch {
  readonly templates: readonly string[];
  readonly images: ReadonlySet<string>;
  readonly subnets: ReadonlySet<string>;
  readonly groups: ReadonlySet<string>;
  readonly snapshots: ReadonlySet<string>;
  readonly reservations: ReadonlySet<string>;
  readonly placementGroups: ReadonlySet<string>;
  readonly profiles: ReadonlySet<string>;
  readonly spot: boolean;
  /** By type of resource, such as `instance`. */
  readonly tags: ReadonlyMap<string, Tags>;
}

/** `TagSpecification` of a request or of a template's data. */
export function tagsBySpecification(params: Params): Map<string, Tags> {
  return new Map(
    structs(params, 'TagSpecification').map((each) => [
      param(each, 'ResourceType') ?? '',
      Object.fromEntries(structs(each, 'Tag').map((tag) => [param(tag, 'Key') ?? '', param(tag, 'Value') ?? ''])),
    ]),
  );
}

/** CreateFleet itself, and the RunInstances that it makes for its caller. */
export async function fleetDemands(call: ServiceCall, account: Account): Promise<Demands> {
  const params = call.params as Params;
  const configs = structs(params, 'LaunchTemplateConfigs');
  const spot = param(params, 'TargetCapacitySpecification', 'DefaultTargetCapacityType') === 'spot';
  const sources = configs.flatMap((config) => {
    const template = templateOf(struct(config, 'LaunchTemplateSpecification'), account);
    const data = template?.data ?? {};
    const overrides = structs(config, 'Overrides');
    return (overrides.length > 0 ? overrides : [{}]).map((override) => ({ template: template?.id, data, override }));
  });
  const requested = tagsBySpecification(params);
  const launch = gather(sources, requested, spot);
  const context = { 'aws:RequestedRegion': call.region };
  const fleetTags = requested.get('fleet');
  const fleet = account.ec2Arn('fleet', '*');
  return {
    call: [
      { action: 'ec2:CreateFleet', resource: fleet, context: { ...context, ...requestTags(fleetTags) } },
      ...onSources('ec2:CreateFleet', launch, account, context),
      ...tagging(fleet, fleetTags, 'CreateFleet', context),
    ],
    overrides: await runDemands(launch, account, context),
  };
}

export function instanceDemands(call: ServiceCall, account: Account): Promise<Demand[]> {
  const params = call.params as Params;
  const template = templateOf(struct(params, 'LaunchTemplate'), account);
  const spot = param(params, 'InstanceMarketOptions', 'MarketType') === 'spot';
  const source = { template: template?.id, data: template?.data ?? {}, override: params };
  return runDemands(gather([source], tagsBySpecification(params), spot), account, {
    'aws:RequestedRegion': call.region,
  });
}

async function runDemands(launch: Launch, account: Account, context: Context): Promise<Demand[]> {
  const made = ['instance', 'volume', 'network-interface', ...(launch.spot ? ['spot-instances-request'] : [])];
  const passed = await Promise.all([...launch.profiles].map((name) => passRole(name, account)));
  return [
    ...onSources('ec2:RunInstances', launch, account, context),
    ...made.flatMap((kind) => {
      const resource = account.ec2Arn(kind, '*');
      const tags = launch.tags.get(kind);
      return [
        { action: 'ec2:RunInstances', resource, context: { ...context, ...requestTags(tags) } },
        ...tagging(resource, tags, 'RunInstances', context),
      ];
    }),
    ...passed.flat(),
  ];
}

/** What is there already and is launched from. */
function onSources(action: string, launch: Launch, account: Account, context: Context): Demand[] {
  const plain: [kind: string, ids: ReadonlySet<string>][] = [
    ['image', launch.images],
    ['snapshot', launch.snapshots],
    ['subnet', launch.subnets],
    ['security-group', launch.groups],
    ['capacity-reservation', launch.reservations],
    ['placement-group', launch.placementGroups],
  ];
  return [
    ...plain.flatMap(([kind, ids]) => [...ids].map((id) => ({ action, resource: account.ec2Arn(kind, id), context }))),
    ...launch.templates.map((id) => ({
      action,
      resource: account.ec2Arn('launch-template', id),
      // AWS gives request tags for what is created alone; whether a policy leans on that is better not found out there.
      context: { ...context, ...requestTags(launch.tags.get('instance')), ...resourceTags(account.tagsOf(id)) },
    })),
  ];
}

function tagging(resource: string, tags: Tags | undefined, by: string, context: Context): Demand[] {
  if (tags === undefined) return [];
  return [
    { action: 'ec2:CreateTags', resource, context: { ...context, ...requestTags(tags), 'ec2:CreateAction': by } },
  ];
}

/** A profile that EC2 does not know is refused by EC2 itself. */
async function passRole(name: string, account: Account): Promise<Demand[]> {
  const profile = await account.profile(name);
  return (profile?.roles ?? []).map((resource) => ({
    action: 'iam:PassRole',
    resource,
    context: { 'iam:PassedToService': 'ec2.amazonaws.com' },
  }));
}

function templateOf(specification: Params, account: Account): ReturnType<Account['template']> {
  const name = param(specification, 'LaunchTemplateId') ?? param(specification, 'LaunchTemplateName');
  return name === undefined ? undefined : account.template(name, param(specification, 'Version'));
}

interface Source {
  readonly template: string | undefined;
  readonly data: Params;
  readonly override: Params;
}

function gather(sources: readonly Source[], requested: ReadonlyMap<string, Tags>, spot: boolean): Launch {
  const all = (pick: (source: Source) => readonly (string | undefined)[]): Set<string> =>
    new Set(sources.flatMap(pick).filter((id) => id !== undefined));
  const either = (...path: string[]): Set<string> =>
    all(({ data, override }) => [param(override, ...path) ?? param(data, ...path)]);
  const ofTemplates = new Map(sources.flatMap(({ data }) => [...tagsBySpecification(data)]));
  return {
    templates: [...all(({ template }) => [template])],
    images: either('ImageId'),
    subnets: all(({ data, override }) => [
      param(override, 'SubnetId') ??
        param(override, 'NetworkInterface', '1', 'SubnetId') ??
        param(data, 'NetworkInterface', '1', 'SubnetId'),
    ]),
    groups: all(({ data, override }) => {
      const own = securityGroupIds(override);
      return own.length > 0 ? own : securityGroupIds(data);
    }),
    snapshots: all(({ data }) => structs(data, 'BlockDeviceMapping').map((each) => param(each, 'Ebs', 'SnapshotId'))),
    reservations: either('CapacityReservationSpecification', 'CapacityReservationTarget', 'CapacityReservationId'),
    placementGroups: either('Placement', 'GroupId'),
    profiles: all(({ data, override }) => [profileName(override) ?? profileName(data)]),
    spot,
    tags: new Map([...ofTemplates, ...requested]),
  };
}

/** The name of the profile that instances of a template's data get. */
export function profileName(data: Params): string | undefined {
  return param(data, 'IamInstanceProfile', 'Name') ?? param(data, 'IamInstanceProfile', 'Arn')?.split('/').at(-1);
}
