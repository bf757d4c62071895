/** Messages of the events that tell what became of a pod that was pending; whoever reads the events knows them by these. */
const failedToSchedule = 'Failed to schedule pod, ';

export const failedToScheduleText = (reason: string): string => `${failedToSchedule}${reason}`;

/** Why the pod found no place, without what every such message begins with. */
export const reasonOfFailure = (message: string): string =>
  message.startsWith(failedToSchedule) ? message.slice(failedToSchedule.length) : message;

/** A node that is still to come goes by its NodeClaim's name. */
export const nominatedText = (kind: 'node' | 'nodeclaim', name: string): string =>
  `Pod should schedule on: ${kind}/${name}`;
