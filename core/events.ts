const apiVersions = {
  Node: 'v1',
  Pod: 'v1',
  NodeClaim: 'karpenter.sh/v1',
  NodePool: 'karpenter.sh/v1',
} as const;

/** The metadata of an object, or the known part of it. */
interface Identity {
  readonly name?: string | undefined;
  readonly namespace?: string | undefined;
  readonly uid?: string | undefined;
}

/** An object as an event refers to it. */
export interface EventSubject {
  apiVersion: string;
  kind: string;
  name: string;
  namespace?: string;
  uid?: string;
}

/** The reference of an event to its object. */
export function regarding(kind: keyof typeof apiVersions, { name = '', namespace, uid }: Identity): EventSubject {
  return {
    apiVersion: apiVersions[kind],
    kind,
    name,
    ...(namespace === undefined ? {} : { namespace }),
    ...(uid === undefined ? {} : { uid }),
  };
}

/** Prefixes of the messages of events on pending pods. Readers of events match them. */
const failedToSchedule = 'Failed to schedule pod, ';

export const failedToScheduleText = (reason: string): string => `${failedToSchedule}${reason}`;

/** Why the pod was not scheduled, without the common prefix of such messages. */
export const reasonOfFailure = (message: string): string =>
  message.startsWith(failedToSchedule) ? message.slice(failedToSchedule.length) : message;

/** For a node that does not exist yet, the name of its NodeClaim. */
export const nominatedText = (kind: 'node' | 'nodeclaim', name: string): string =>
  `Pod should schedule on: ${kind}/${name}`;
