import { parameterName } from '../parameter-name.js';
import { param, type Params, strings, structs } from '../query.js';
import type { Account, ServiceCall } from './account.js';
import type { Context } from './conditions.js';
import { fleetDemands, instanceDemands, tagsBySpecification } from './launch-demands.js';
import type { Demand, Demands } from './policy.js';
import { requestTags, resourceTags } from './tag-context.js';

/** The permissions that AWS asks for before it carries out a call, with the resources and condition keys of each. */
export async function demandsOf(call: ServiceCall, account: Account): Promise<Demands> {
  switch (call.service) {
    case 'ec2':
      return ec2Demands(call, account);
    case 'iam':
      return { call: await profileDemands(call, account) };
    default:
      return { call: [otherDemand(call, account)] };
  }
}

function ec2Demands(call: ServiceCall, account: Account): Promise<Demands> | Demands {
  const { action } = call;
  const params = call.params as Params;
  switch (action) {
    case 'CreateFleet':
      return fleetDemands(call, account);
    case 'RunInstances':
      return instanceDemands(call, account).then((demands) => ({ call: demands }));
    case 'CreateLaunchTemplate':
      return { call: templateDemands(call, account) };
    case 'DeleteLaunchTemplate':
      return { call: [onTemplate(call, account)] };
    case 'TerminateInstances':
    case 'RebootInstances':
    case 'StopInstances':
      return { call: strings(params, 'InstanceId').map((id) => onResource(call, account, id)) };
    case 'CreateTags':
    case 'DeleteTags':
      return { call: strings(params, 'ResourceId').map((id) => onResource(call, account, id, tagContext(params))) };
    default:
      return { call: [{ action: `ec2:${action}`, resource: '*', context: regionContext(call) }] };
  }
}

const regionContext = ({ region }: ServiceCall): Context => ({ 'aws:RequestedRegion': region });

/** The tags of CreateTags and DeleteTags as condition keys. */
const tagContext = (params: Params): Context =>
  requestTags(
    Object.fromEntries(structs(params, 'Tag').map((tag) => [param(tag, 'Key') ?? '', param(tag, 'Value') ?? ''])),
  );

const kinds: readonly (readonly [prefix: string, kind: string])[] = [
  ['i-', 'instance'],
  ['lt-', 'launch-template'],
  ['vol-', 'volume'],
  ['eni-', 'network-interface'],
  ['subnet-', 'subnet'],
  ['sg-', 'security-group'],
  ['vpc-', 'vpc'],
  ['ami-', 'image'],
];

function onResource(call: ServiceCall, account: Account, id: string, more: Context = {}): Demand {
  const kind = kinds.find(([prefix]) => id.startsWith(prefix))?.[1] ?? 'unknown';
  return {
    action: `ec2:${call.action}`,
    resource: account.ec2Arn(kind, id),
    context: { ...regionContext(call), ...resourceTags(account.tagsOf(id)), ...more },
  };
}

function onTemplate(call: ServiceCall, account: Account): Demand {
  const params = call.params as Params;
  const found = account.template(param(params, 'LaunchTemplateId') ?? param(params, 'LaunchTemplateName') ?? '');
  return onResource(call, account, found?.id ?? 'lt-unknown');
}

function templateDemands(call: ServiceCall, account: Account): Demand[] {
  const resource = account.ec2Arn('launch-template', '*');
  const tags = tagsBySpecification(call.params as Params).get('launch-template');
  const context = { ...regionContext(call), ...requestTags(tags) };
  return [
    { action: 'ec2:CreateLaunchTemplate', resource, context },
    ...(tags === undefined
      ? []
      : [{ action: 'ec2:CreateTags', resource, context: { ...context, 'ec2:CreateAction': 'CreateLaunchTemplate' } }]),
  ];
}

const single: Readonly<Record<string, string>> = {
  DeleteMessageBatch: 'DeleteMessage',
  SendMessageBatch: 'SendMessage',
  ChangeMessageVisibilityBatch: 'ChangeMessageVisibility',
};

function otherDemand(call: ServiceCall, account: Account): Demand {
  const { service, action } = call;
  const text = (name: string): string => textAt(call.params, name);
  const context = regionContext(call);
  if (service === 'sqs') {
    const name = text('QueueName') || text('QueueUrl').split('/').at(-1)!;
    return { action: `sqs:${single[action] ?? action}`, resource: account.arn('sqs', name), context };
  }
  if (service === 'ssm') {
    const name = parameterName(text('Name') || text('Path'));
    // Public parameters belong to no account.
    const owner = name.startsWith('/aws/') ? '' : account.id;
    return { action: `ssm:${action}`, resource: account.arn('ssm', `parameter${name}`, owner), context };
  }
  const cluster = /^GET \/clusters\/([^/]+)$/.exec(action)?.[1];
  if (service === 'eks' && cluster !== undefined) {
    const name = decodeURIComponent(cluster);
    return { action: 'eks:DescribeCluster', resource: account.arn('eks', `cluster/${name}`), context };
  }
  const managed = /^GET \/managedresources\/(.+)$/.exec(action)?.[1];
  if (service === 'arc-zonal-shift' && managed !== undefined) {
    // Resources of this service are load balancers alone: a cluster is named by a condition.
    return {
      action: 'arc-zonal-shift:GetManagedResource',
      resource: '*',
      context: { ...context, 'arc-zonal-shift:ResourceIdentifier': decodeURIComponent(managed) },
    };
  }
  return { action: `${service}:${action}`, resource: '*', context };
}

function textAt(params: ServiceCall['params'], name: string): string {
  const value: unknown = Object.hasOwn(params, name) ? (params as Readonly<Record<string, unknown>>)[name] : undefined;
  return typeof value === 'string' ? value : '';
}

/** IAM's own calls. They are signed for us-east-1 wherever they come from. */
async function profileDemands(call: ServiceCall, account: Account): Promise<Demand[]> {
  const action = `iam:${call.action}`;
  const params = call.params as Params;
  const name = param(params, 'InstanceProfileName');
  if (name === undefined) return [{ action, resource: listed(call.action, account), context: {} }];
  if (call.action === 'CreateInstanceProfile') return createDemands(name, params, account);
  const profile = await account.profile(name);
  const resource = profile?.arn ?? account.arn('iam', `instance-profile/${name}`);
  const context = { ...resourceTags(profile?.tags), ...requestTags(tagsOf(params)) };
  return [
    { action, resource, context },
    ...(call.action === 'AddRoleToInstanceProfile' ? [passing(params, account)] : []),
  ];
}

function listed(action: string, account: Account): string {
  return action === 'ListInstanceProfiles' ? account.arn('iam', 'instance-profile/*') : '*';
}

function createDemands(name: string, params: Params, account: Account): Demand[] {
  const resource = account.arn('iam', `instance-profile${param(params, 'Path') ?? '/'}${name}`);
  const tags = tagsOf(params);
  const context = requestTags(tags);
  return [
    { action: 'iam:CreateInstanceProfile', resource, context },
    ...(tags === undefined ? [] : [{ action: 'iam:TagInstanceProfile', resource, context }]),
  ];
}

function passing(params: Params, account: Account): Demand {
  return {
    action: 'iam:PassRole',
    resource: account.arn('iam', `role/${param(params, 'RoleName') ?? ''}`),
    context: { 'iam:PassedToService': 'ec2.amazonaws.com' },
  };
}

function tagsOf(params: Params): Readonly<Record<string, string>> | undefined {
  const tags = structs(params, 'Tags', 'member');
  if (tags.length === 0) return undefined;
  return Object.fromEntries(tags.map((tag) => [param(tag, 'Key') ?? '', param(tag, 'Value') ?? '']));
}
