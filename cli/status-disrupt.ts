import type { Client } from '@temporalio/client';
import type { QueryDefinition } from '@temporalio/common';
import { messageOf } from '../core/error-message.js';
import { workflowIds } from '../core/ids.js';
import type { PoolCapacity } from '../workflows/messages.js';
import {
  capacityQuery,
  leastPossibleQuery,
  nextWindowQuery,
  pausesQuery,
  refusedQuery,
  staysQuery,
} from '../workflows/messages.js';
import type { StatusReading } from './status-reading.js';
import type { StatusReport } from './status-rows.js';

/** Results of queries to `disrupt` for `status`. */
export type DisruptAnswers = Pick<
  StatusReport,
  'pauses' | 'nextWindow' | 'refused' | 'stays' | 'moreStay' | 'leastPossiblePerHour' | 'leastPossibleWithout'
> & {
  readonly capacity: readonly PoolCapacity[];
};

export const nothingKnown: DisruptAnswers = { pauses: [], refused: [], capacity: [], stays: [], moreStay: 0 };

/** Timeout of all queries to `disrupt`; a busy worker takes a second or two. */
const answersWithinMs = 5000;

/** Queries `disrupt`, for which a worker has to respond. What does not arrive in time is listed as unread. */
export async function disruptState({
  client,
  cluster,
  reading,
}: {
  readonly client: Pick<Client, 'workflow' | 'connection'>;
  readonly cluster: string;
  readonly reading: StatusReading;
}): Promise<DisruptAnswers> {
  const handle = client.workflow.getHandle(workflowIds.disrupt(cluster));
  const deadline = Date.now() + answersWithinMs;
  const unread: string[] = [];
  let why = '';
  const ask = async <T>(what: string, query: QueryDefinition<T>, otherwise: T): Promise<T> => {
    try {
      return await client.connection.withDeadline(deadline, () => handle.query(query));
    } catch (error) {
      unread.push(what);
      why = messageOf(error);
      return otherwise;
    }
  };
  // Sequentially: a call that still retries when the connection is closed would end the process.
  const pauses = await ask('pauses', pausesQuery, []);
  const refused = await ask('refusals', refusedQuery, []);
  const capacity = await ask('prices', capacityQuery, []);
  const { stays, more: moreStay } = await ask('nodes that stay', staysQuery, { stays: [], more: 0 });
  const nextWindow = await ask('the next window of a budget', nextWindowQuery, undefined);
  const least = await ask('the lower bound of prices', leastPossibleQuery, {});
  if (unread.length > 0) reading.addUnread(`${unread.join(', ')} (the workflow disrupt)`, why);
  return { pauses, refused, capacity, stays, moreStay, nextWindow, ...least };
}
