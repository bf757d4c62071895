const apiVersions = {
  Node: 'v1',
  Pod: 'v1',
  NodeClaim: 'karpenter.sh/v1',
  NodePool: 'karpenter.sh/v1',
} as const;

/** The metadata of an object, or as much of it as is known. */
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

/** What an event is about. */
export function regarding(kind: keyof typeof apiVersions, { name = '', namespace, uid }: Identity): EventSubject {
  return {
    apiVersion: apiVersions[kind],
    kind,
    name,
    ...(namespace === undefined ? {} : { namespace }),
    ...(uid === undefined ? {} : { uid }),
  };
}

/** Messages of the events that tell what became of a pod that was pending; whoever reads the events knows them by these. */
const failedToSchedule = 'Failed to schedule pod, ';

export const failedToScheduleText = (reason: string): string => `${failedToSchedule}${reason}`;

/** Why the pod found no place, without what every such message begins with. */
export const reasonOfFailure = (message: string): string =>
  message.startsWith(failedToSchedule) ? message.slice(failedToSchedule.length) : message;

/** A node that is still to come goes by its NodeClaim's name. */
export const nominatedText = (kind: 'node' | 'nodeclaim', name: string): string =>
  `Pod should schedule on: ${kind}/${name}`;
