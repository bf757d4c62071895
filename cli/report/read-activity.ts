import type { Client, WorkflowExecutionInfo } from '@temporalio/client';
import { parseWorkflowId } from '../../core/ids.js';
import { inBatches } from '../../core/at-once.js';
import { counted } from '../../core/text.js';
import { quotedForQuery, searchAttributes } from '../../workflows/messages.js';
import { temporalEngine } from '../history/engine.js';
import type { Run, RunRef } from '../history/records.js';
import type { Activity, DoneRow } from './activity.js';
import { happened, isOfNodes } from './sums.js';
import { ordersIn } from './orders.js';

/**
 * Entity workflows continue under the same id after a run closes, and visibility stores differ in whether running ones
 * match.
 */
const over: ReadonlySet<string> = new Set(['COMPLETED', 'FAILED', 'CANCELLED', 'TERMINATED', 'TIMED_OUT']);
/** Maximum number of workflows listed. */
const mostListed = 5000;
/** Maximum number of histories read for orders, newest first. */
const mostRead = 1000;
const readAtOnce = 8;

interface Sources {
  readonly client: Client;
  readonly cluster: string;
  /** Milliseconds since the epoch. */
  readonly since: number;
  readonly now: number;
}

type Listed = Pick<
  WorkflowExecutionInfo,
  'workflowId' | 'runId' | 'status' | 'startTime' | 'closeTime' | 'typedSearchAttributes'
>;

/** The actions since then, from Temporal's visibility store and histories. */
export async function readActivity(sources: Sources): Promise<Activity> {
  const { cluster, since, now } = sources;
  // In SQL stores running workflows have a CloseTime in the far future.
  const closed = await listed(
    sources,
    `ExecutionStatus != 'Running' AND CloseTime > '${new Date(since).toISOString()}'`,
  );
  const open = await Promise.all(
    underWay.map(async (terms) => listed(sources, `ExecutionStatus = 'Running' AND ${terms}`)),
  );
  const rows = closed.found.flatMap(rowOf);
  const refs = onceEach([...open.flatMap(({ found }) => found), ...closed.found]).filter(hasPeoplesOrders);
  const { runs, unread } = await readRuns(sources.client, refs.slice(0, mostRead));
  return {
    ...{ cluster, since: new Date(since).toISOString(), until: new Date(now).toISOString(), rows },
    ...ordersIn(runs, since),
    notes: [
      ...([closed, ...open].some(({ isCut }) => isCut) ? [`Only the newest ${mostListed} workflows are counted.`] : []),
      ...(refs.length > mostRead
        ? [`Orders, force and measured savings are shown for the newest ${mostRead} workflows of ${refs.length}.`]
        : []),
      ...(unread === 0 ? [] : [`${counted(unread, 'history', 'histories')} could not be read.`]),
    ],
  };
}

/** A workflow that closed between two lists is in both. */
function onceEach(all: readonly Listed[]): readonly Listed[] {
  return [...new Map(all.map((one) => [one.runId, one])).values()];
}

/**
 * Each node has a workflow that waits for its expiration, so of open workflows only those that a user may have
 * addressed are listed.
 */
const underWay = [
  "WorkflowType IN ('disrupt', 'measureSavings', 'consolidate', 'replaceDrifted', 'replaceNode', 'repairNode', 'terminateNode')",
  `WorkflowType = 'expireNode' AND ${searchAttributes.phase.name} NOT IN ('not due', 'starting')`,
];

/**
 * Workflows whose histories are read: for orders, force and measured savings. Users do not address workflows without
 * effect.
 */
function hasPeoplesOrders(one: Listed): boolean {
  const kind = parseWorkflowId(one.workflowId)?.kind;
  if (kind === undefined || kind === 'launch') return false;
  return kind === 'disrupt' || kind === 'savings' || (isOfNodes(kind) && rowOf(one).every(happened));
}

async function listed({ client, cluster }: Sources, terms: string): Promise<{ found: Listed[]; isCut: boolean }> {
  const query = `${searchAttributes.cluster.name} = ${quotedForQuery(cluster)} AND ${terms}`;
  const found: Listed[] = [];
  for await (const one of client.workflow.list({ query })) {
    if (found.length >= mostListed) return { found, isCut: true };
    found.push(one);
  }
  return { found, isCut: false };
}

function rowOf({ workflowId, status, startTime, closeTime, typedSearchAttributes: attributes }: Listed): DoneRow[] {
  const kind = parseWorkflowId(workflowId)?.kind;
  if (kind === undefined || !over.has(status.name)) return [];
  const text = (key: 'reason' | 'nodePool' | 'nodeClaim' | 'phase'): string =>
    attributes.get(searchAttributes[key]) ?? '';
  return [
    {
      workflowId,
      kind,
      reason: text('reason'),
      nodePool: text('nodePool'),
      nodeClaim: text('nodeClaim'),
      outcome: status.name === 'COMPLETED' ? text('phase') : status.name.toLowerCase(),
      savedPerHour: attributes.get(searchAttributes.savingsPerHour) ?? 0,
      startedAt: startTime.toISOString(),
      closedAt: (closeTime ?? startTime).toISOString(),
    },
  ];
}

/** With limited concurrency. Unreadable histories are counted; the others are still reported. */
async function readRuns(client: Client, refs: readonly RunRef[]): Promise<{ runs: Run[]; unread: number }> {
  const engine = temporalEngine(client);
  const runs: Run[] = [];
  let unread = 0;
  const read = async ({ workflowId, runId }: RunRef): Promise<void> => {
    const kind = parseWorkflowId(workflowId)?.kind;
    if (kind === undefined) return;
    try {
      runs.push({ workflowId, runId, kind, steps: await engine.steps({ workflowId, runId }) });
    } catch {
      unread += 1;
    }
  };
  await inBatches(refs, read, { atOnce: readAtOnce });
  return { runs, unread };
}
