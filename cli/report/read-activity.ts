import type { Client, WorkflowExecutionInfo } from '@temporalio/client';
import { parseWorkflowId } from '../../core/ids.js';
import { inBatches } from '../../core/at-once.js';
import { counted } from '../../core/text.js';
import {
  type MeasureSavingsInput,
  type Order,
  type PauseScope,
  quotedForQuery,
  type ReconsiderOrder,
  type SavingsMeasured,
  searchAttributes,
  usualOutcomeOf,
} from '../../workflows/messages.js';
import { temporalEngine } from '../history/engine.js';
import { attributeOf, callOf, fieldsOf, type Run, type RunRef, type Step, textOr } from '../history/records.js';
import type { Activity, DoneRow, Forced, Measured, OrderGiven } from './activity.js';
import { happened, isOfNodes } from './sums.js';
import { pauseScopeText } from '../../core/pause-scope.js';

/** Orders of users and measured savings, from histories. */
interface ReportedOrders {
  readonly orders: readonly OrderGiven[];
  readonly forced: readonly Forced[];
  readonly measured: readonly Measured[];
}

const orders: ReadonlySet<string> = new Set([
  ...['approve', 'reject', 'abort', 'expedite', 'retry', 'hold', 'rollback'],
  ...['pause', 'resume', 'reconsider'],
]);

/** The content of these runs since `since`, milliseconds since the epoch; oldest first. */
export function ordersIn(runs: readonly Run[], since: number): ReportedOrders {
  const byTime = <T extends { readonly at: string }>(all: readonly T[]): T[] =>
    all.filter(({ at }) => Date.parse(at) >= since).sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
  return {
    orders: byTime(runs.flatMap((run) => run.steps.flatMap((step) => orderOf(step, run)))),
    forced: byTime(runs.flatMap((run) => run.steps.flatMap((step) => forcedOf(step, run)))),
    measured: runs.flatMap((run) => measuredOf(run, since)),
  };
}

/** Orders from workflows to each other have no actor. */
function orderOf(step: Step, run: Run): OrderGiven[] {
  if (step.is !== 'message' || !orders.has(step.name)) return [];
  const { actor, reason, force } = fieldsOf<Order>(step.input);
  if (typeof actor !== 'string') return [];
  return [
    {
      at: timeOf(step),
      order: orderName(step.name, step.input),
      by: actor,
      because: textOr(reason, ''),
      isForced: force === true,
      about: scopeOf(step.input) ?? subjectOf(run),
      workflowId: run.workflowId,
    },
  ];
}

const orderName = (name: string, input: unknown): string =>
  name === 'hold' && fieldsOf<{ on: boolean }>(input).on === false ? 'release' : name;

/** The subject of an order to `disrupt`. */
function scopeOf(input: unknown): string | undefined {
  const { scope, node, nodePool, all } = fieldsOf<ReconsiderOrder & { scope: PauseScope }>(input);
  if (scope !== undefined && typeof fieldsOf<PauseScope>(scope).kind === 'string') return pauseScopeText(scope);
  if (typeof node === 'string') return `node ${node}`;
  if (typeof nodePool === 'string') return `NodePool ${nodePool}`;
  return all === true ? 'all that was refused' : undefined;
}

/** The subject of the workflow: its NodeClaim, its nodes or its NodePool. */
function subjectOf({ steps, workflowId }: Run): string {
  const claim = lastOf(steps, 'nodeClaim');
  if (claim !== '') return `NodeClaim ${claim}`;
  const [started] = steps;
  const nodes = started?.is === 'started' ? nodesIn(started.input) : [];
  if (nodes.length > 0) return nodes.join(', ');
  const nodePool = lastOf(steps, 'nodePool');
  return nodePool === '' ? workflowId : `NodePool ${nodePool}`;
}

function nodesIn(input: unknown): string[] {
  const { candidates } = fieldsOf<{ candidates: unknown }>(input);
  if (!Array.isArray(candidates)) return [];
  return candidates.flatMap((one) => {
    const { node } = fieldsOf<{ node: string }>(one);
    return typeof node === 'string' ? [node] : [];
  });
}

const forcedText = /^Drain forced by (.*): (deleted .*)$/s;

function forcedOf(step: Step, { steps, workflowId }: Run): Forced[] {
  const event = callOf<{ reason: string; message: string }, object>(step, 'publishDisruption')?.input;
  if (event?.reason !== 'DrainForced') return [];
  const message = textOr(event.message, '');
  const [, by = '', what = message] = forcedText.exec(message) ?? [];
  const of = { nodePool: lastOf(steps, 'nodePool'), nodeClaim: lastOf(steps, 'nodeClaim') };
  return [{ at: timeOf(step), ...of, by, what, workflowId }];
}

/** The last measurement counts. */
function measuredOf({ workflowId, steps }: Run, since: number): Measured[] {
  if (parseWorkflowId(workflowId)?.kind !== 'savings') return [];
  const looks = steps.flatMap((step) => {
    const call = callOf<MeasureSavingsInput, SavingsMeasured>(step, 'measureCommand');
    return call === undefined ? [] : [{ at: step.at, ...call }];
  });
  const last = looks.at(-1);
  if (last === undefined || last.at < since) return [];
  const { nodes, reason, id } = last.input.command ?? {};
  return [
    {
      workflowId: textOr(id, workflowId),
      reason: textOr(reason, '').toLowerCase(),
      nodes: nodes ?? [],
      afterMs: last.result.afterMs ?? 0,
      predictedPerHour: last.result.predicted ?? 0,
      realisedPerHour: last.result.realised ?? 0,
    },
  ];
}

const timeOf = ({ at }: Step): string => new Date(at).toISOString();

function lastOf(steps: readonly Step[], key: 'nodeClaim' | 'nodePool'): string {
  return steps.map((step) => attributeOf(step, key)).findLast((value) => typeof value === 'string') ?? '';
}

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
}

type Listed = Pick<
  WorkflowExecutionInfo,
  'workflowId' | 'runId' | 'type' | 'status' | 'startTime' | 'closeTime' | 'typedSearchAttributes'
>;

/** The actions since then, from Temporal's visibility store and histories. */
export async function readActivity(sources: Sources & { readonly now: number }): Promise<Activity> {
  const { cluster, since, now } = sources;
  // In SQL stores running workflows have a CloseTime in the far future.
  const closed = await listed(sources, closedSince(since));
  const open = await listed(sources, `ExecutionStatus = 'Running' AND ${underWay}`);
  const rows = closed.found.flatMap(rowOf);
  const refs = onceEach([...open.found, ...closed.found]).filter(hasPeoplesOrders);
  const { runs, unread } = await readRuns(sources.client, refs.slice(0, mostRead));
  return {
    ...{ cluster, since: new Date(since).toISOString(), until: new Date(now).toISOString(), rows },
    ...ordersIn(runs, since),
    notes: [
      ...([closed, open].some(({ isCut }) => isCut) ? [`Only the newest ${mostListed} workflows are counted.`] : []),
      ...(refs.length > mostRead
        ? [`Orders, force and measured savings are shown for the newest ${mostRead} workflows of ${refs.length}.`]
        : []),
      ...(unread === 0 ? [] : [`${counted(unread, 'history', 'histories')} could not be read.`]),
    ],
  };
}

const closedSince = (since: number): string =>
  `ExecutionStatus != 'Running' AND CloseTime > '${new Date(since).toISOString()}'`;

/** Maximum number of measurements that are read for the page, newest first. */
const mostMeasured = 200;

/** The consolidation commands since then and what was measured after them: the part of the activity that the page shows. */
export async function readSavings(sources: Sources): Promise<Pick<Activity, 'rows' | 'measured'>> {
  const closed = await listed(
    sources,
    `${closedSince(sources.since)} AND WorkflowType IN ('consolidate', 'measureSavings')`,
  );
  const open = await listed(sources, "ExecutionStatus = 'Running' AND WorkflowType = 'measureSavings'");
  const measuring = onceEach([...open.found, ...closed.found]).filter(
    ({ workflowId }) => parseWorkflowId(workflowId)?.kind === 'savings',
  );
  const { runs } = await readRuns(sources.client, measuring.slice(0, mostMeasured));
  return { rows: closed.found.flatMap(rowOf), measured: ordersIn(runs, sources.since).measured };
}

/** A workflow that closed between two lists is in both. */
function onceEach(all: readonly Listed[]): readonly Listed[] {
  return [...new Map(all.map((one) => [one.runId, one])).values()];
}

/** Of open workflows only those that a user may have addressed are listed. */
const underWay =
  "WorkflowType IN ('disrupt', 'measureSavings', 'consolidate', 'replaceDrifted', 'replaceNode', 'repairNode', 'terminateNode', 'expireNode')";

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

function rowOf({
  workflowId,
  type,
  status,
  startTime,
  closeTime,
  typedSearchAttributes: attributes,
}: Listed): DoneRow[] {
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
      outcome: status.name === 'COMPLETED' ? text('phase') || usualOutcomeOf(type) : status.name.toLowerCase(),
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
