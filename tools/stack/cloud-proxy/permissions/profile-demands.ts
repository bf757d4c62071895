import { param, structs, type Params } from '../query.js';
import type { Account, ServiceCall } from './account.js';
import type { Demand } from './policy.js';
import { requestTags, resourceTags } from './tag-context.js';

/** IAM's own calls. They are signed for us-east-1 wherever they come from. */
export async function profileDemands(call: ServiceCall, account: Account): Promise<Demand[]> {
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
