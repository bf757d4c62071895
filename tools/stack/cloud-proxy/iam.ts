import type { Reply } from './aws-error.js';
import type { Cloud } from './cloud.js';
import { param, type Params } from './query.js';
import { child, formatXml, parseXml, textOf } from './xml.js';

const changing = new Set(['CreateInstanceProfile', 'AddRoleToInstanceProfile']);

/** Corrects moto's IAM answers (ListInstanceProfiles keeps to its PathPrefix), and takes note of new profiles. */
export function iamReply(cloud: Cloud, action: string, params: Params, reply: Reply): Reply {
  if (changing.has(action) && reply.status === 200) cloud.profiles.changed(param(params, 'InstanceProfileName') ?? '');
  const prefix = param(params, 'PathPrefix');
  if (action !== 'ListInstanceProfiles' || prefix === undefined || reply.status !== 200) return reply;
  const answer = parseXml(reply.body.toString());
  const list = child(answer, 'ListInstanceProfilesResult', 'InstanceProfiles');
  if (list !== undefined) {
    list.children = list.children.filter((profile) => textOf(profile, 'Path')?.startsWith(prefix) === true);
  }
  return { ...reply, body: formatXml(answer) };
}
