import type { Reply } from './aws-error.js';
import { param, type Params } from './query.js';
import { child, formatXml, parseXml, textOf } from './xml.js';

/** Corrects moto's IAM answers: ListInstanceProfiles keeps to its PathPrefix. */
export function iamReply(action: string, params: Params, reply: Reply): Reply {
  const prefix = param(params, 'PathPrefix');
  if (action !== 'ListInstanceProfiles' || prefix === undefined || reply.status !== 200) return reply;
  const answer = parseXml(reply.body.toString());
  const list = child(answer, 'ListInstanceProfilesResult', 'InstanceProfiles');
  if (list !== undefined) {
    list.children = list.children.filter((profile) => textOf(profile, 'Path')?.startsWith(prefix) === true);
  }
  return { ...reply, body: formatXml(answer) };
}
