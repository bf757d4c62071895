import type { Client, WorkflowExecutionInfo } from '@temporalio/client';
import { type Observed, whyUnobserved } from '../operator/stuck/observed.js';
import { leaseHolder } from '../kube/leases.js';
import type { KubeClient } from '../kube/port.js';
import { findStuck } from '../operator/stuck/findings.js';
import { failingLoops } from '../operator/stuck/leader-loops.js';
import { observeEngine } from '../operator/stuck/observe-engine.js';
import { unavailableOfferings } from '../worker/offering-store.js';
import { clusterRows } from './status-objects.js';
import type { OfferingRow, StatusReport, WorkflowRow } from './status-rows.js';
import { type StatusKube, StatusReading } from './status-reading.js';
import { messageOf } from '../core/error-message.js';
import { parseWorkflowId, workflowIds } from '../core/ids.js';
import {
  type BudgetView,
  type DisruptionFindings,
  explainQuery,
  type Explanation,
  findingsQuery,
  openWorkflowsQuery,
  type PoolCapacity,
  searchAttributes,
} from '../workflows/messages.js';
import { fullName } from '../core/names.js';
import { compareText } from '../core/text.js';
import type { NamespacedName } from '../core/refs.js';

interface StatusWorkflows {
  readonly rows: readonly WorkflowRow[];
  /** Number of further active workflows. */
  readonly more: number;
}

interface Store {
  readonly client: Client;
  readonly cluster: string;
}

type Listed = Pick<WorkflowExecutionInfo, 'workflowId' | 'runId' | 'startTime' | 'typedSearchAttributes'>;

/** Maximum number of workflows that do not need a user. */
const mostRunning = 200;
const askedAtOnce = 10;
const answerWithinMs = 2000;

const { awaitingApproval, blockedBy, phase } = searchAttributes;
/** Entity workflows, which always run, are not listed. */
const entities = ['provision', 'disrupt', 'offerings', 'keepReplicas', 'measureSavings'];

const listOf = (values: readonly string[]): string => `(${values.map((value) => `'${value}'`).join(', ')})`;

/**
 * Workflows that need a user come first, and all of them: a cluster has thousands of workflows that only wait for their
 * time.
 */
const needing = [`${awaitingApproval.name} = true`, `${blockedBy.name} IS NOT NULL`];
const underWay = `WorkflowType NOT IN ${listOf(entities)}`;

/**
 * The workflows that need a user, and other active ones. If no worker responds, the phase comes from search attributes.
 */
export async function statusWorkflows(store: Store, isAnswered: boolean): Promise<StatusWorkflows> {
  const found = new Map<string, Listed>();
  for (const terms of needing) for await (const one of listed(store, terms)) found.set(one.workflowId, one);
  let shown = 0;
  let more = 0;
  for await (const one of listed(store, underWay)) {
    if (found.has(one.workflowId)) continue;
    if (shown >= mostRunning) more += 1;
    else found.set(one.workflowId, one);
    shown += 1;
  }
  const rows = await explained(store.client, [...found.values()], isAnswered);
  return { rows: rows.sort((a, b) => compareText(a.workflowId, b.workflowId)), more };
}

const listed = ({ client, cluster }: Store, terms: string): AsyncIterable<Listed> =>
  client.workflow.list({ query: `${openWorkflowsQuery(cluster)} AND ${terms}` });

/**
 * Queries the workflows with limited concurrency. If none of a group responds, no worker is running, and the others are
 * not queried.
 */
async function explained(client: Client, found: readonly Listed[], isAnswered: boolean): Promise<WorkflowRow[]> {
  const rows: WorkflowRow[] = [];
  let answers = isAnswered;
  for (let i = 0; i < found.length; i += askedAtOnce) {
    const some = found.slice(i, i + askedAtOnce);
    const explanations = answers ? await Promise.all(some.map(async (one) => explain(client, one))) : [];
    answers &&= explanations.some((one) => one !== undefined);
    rows.push(...some.map((one, n) => rowOf(one, explanations[n])));
  }
  return rows;
}

async function explain(client: Client, { workflowId, runId }: Listed): Promise<Explanation | undefined> {
  try {
    return await client.connection.withDeadline(Date.now() + answerWithinMs, () =>
      client.workflow.getHandle(workflowId, runId).query(explainQuery),
    );
  } catch {
    return undefined;
  }
}

function rowOf(
  { workflowId, startTime, typedSearchAttributes: attributes }: Listed,
  explanation?: Explanation,
): WorkflowRow {
  const text = (key: typeof searchAttributes.phase): string => attributes.get(key) ?? '';
  return {
    workflowId,
    kind: parseWorkflowId(workflowId)?.kind ?? '',
    nodePool: text(searchAttributes.nodePool),
    nodeClaim: text(searchAttributes.nodeClaim),
    reason: text(searchAttributes.reason),
    phase: explanation?.phase ?? text(phase),
    blockedBy: text(blockedBy),
    waitingFor: explanation?.waitingFor ?? '',
    until: explanation?.until ?? '',
    startedAt: startTime.toISOString(),
    awaitingApproval: attributes.get(awaitingApproval) === true,
    facts: explanation?.facts ?? {},
    ...(explanation?.question === undefined ? {} : { question: explanation.question }),
    ...(explanation?.blockedBy === undefined ? {} : { causes: explanation.blockedBy }),
  };
}

/** Results of queries to `disrupt` for `status`. */
type DisruptAnswers = Pick<
  StatusReport,
  'nextWindow' | 'stays' | 'moreStay' | 'leastPossiblePerHour' | 'leastPossibleWithout'
> & {
  readonly capacity: readonly PoolCapacity[];
};

export const nothingKnown: DisruptAnswers = { capacity: [], stays: [], moreStay: 0 };

/** Timeout of the query to `disrupt`; a busy worker takes a second or two. */
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
  try {
    const { details } = (await askDisrupt(client, cluster)) ?? {};
    if (details === undefined) return nothingKnown;
    const { budgets, capacity = [], stays, staysMore: moreStay = 0 } = details;
    const { leastPossiblePerHour, leastPossibleWithout } = details;
    return {
      ...{ capacity, stays, moreStay, ...nextWindowOf(budgets) },
      ...(leastPossiblePerHour === undefined ? {} : { leastPossiblePerHour }),
      ...(leastPossibleWithout === undefined ? {} : { leastPossibleWithout }),
    };
  } catch (error) {
    const what =
      'prices, nodes that stay, the next window of a budget, the lower bound of prices (the workflow disrupt)';
    reading.addUnread(what, messageOf(error));
    return nothingKnown;
  }
}

/** When the next closed budget or window opens, and for which pools. */
function nextWindowOf(budgets: readonly BudgetView[]): Pick<StatusReport, 'nextWindow'> {
  const closed = budgets.filter(({ allowed, changesAt }) => allowed === 0 && changesAt !== undefined);
  const next = closed.sort((a, b) => compareText(a.changesAt!, b.changesAt!)).at(0);
  if (next === undefined) return {};
  const { nodePool, reason, changesAt, ruledBy } = next;
  return { nextWindow: { at: changesAt!, nodePool, reason, why: `${ruledBy ?? 'a budget'} changes then` } };
}

/** What budgets allow now, by `disrupt`; none if it does not answer in time. */
export async function readBudgets({
  client,
  cluster,
}: Pick<StatusInput, 'client' | 'cluster'>): Promise<readonly BudgetView[]> {
  const found = await askDisrupt(client, cluster).catch(() => undefined);
  return found?.details?.budgets ?? [];
}

async function askDisrupt(
  client: Pick<Client, 'workflow' | 'connection'>,
  cluster: string,
): Promise<DisruptionFindings | undefined> {
  const handle = client.workflow.getHandle(workflowIds.disrupt(cluster));
  return client.connection.withDeadline(Date.now() + answersWithinMs, () => handle.query(findingsQuery));
}

/** Karpenter renews its lease every two seconds. */
const leaseObserveMs = 3000;

export interface StatusInput {
  readonly kube: Pick<KubeClient, 'get' | 'list'>;
  readonly client: Client;
  readonly cluster: string;
  /** Karpenter's leader lease. */
  readonly karpenterLease: NamespacedName;
  /** The leader lease of Stowage's operator. */
  readonly leaderLease: NamespacedName;
  /** Milliseconds of the epoch. */
  readonly now: number;
}

interface StatusDeps extends StatusInput {
  readonly reading: StatusReading;
  /** Returns empty lists for kinds that may not be listed, and records that. */
  readonly lists: StatusKube;
}

/**
 * The state of the cluster and of Stowage. If the API server does not respond its data is empty and reported as unread.
 * Rejects if Temporal is unreachable.
 */
export async function statusReport(given: StatusInput): Promise<StatusReport> {
  const reading = new StatusReading();
  const deps = { ...given, reading, lists: reading.kube(given.kube) };
  const karpenter = await karpenterHolder(deps);
  // While Karpenter runs, workers are stopped and queries would time out.
  const isAnswered = karpenter === undefined;
  const pods = await deps.lists.list('Pod', { fieldSelector: 'spec.nodeName=' });
  const [observed, objects, workflows, unavailable, people] = await Promise.all([
    isAnswered ? observedWork(deps) : undefined,
    clusterRows(deps.lists, pods, deps.now),
    statusWorkflows(deps, isAnswered),
    isAnswered ? offeringRows(deps) : [],
    isAnswered ? disruptState(deps) : nothingKnown,
  ]);
  const { capacity, ...others } = people;
  const pools = objects.pools.map((pool) => ({
    ...pool,
    ...capacity.find(({ nodePool }) => nodePool === pool.nodePool),
  }));
  const placeless = new Set(objects.unplaced.flatMap((row) => row.pods));
  const waiting = pods.filter((pod) => !placeless.has(fullName(pod)));
  const stuck = observed === undefined ? [] : findStuck({ ...observed, pods: waiting });
  const under = { workflows: workflows.rows, moreUnderWay: workflows.more };
  const { unread } = reading;
  return { ...(isAnswered ? {} : { karpenter }), stuck, ...under, unavailable, ...others, ...objects, pools, unread };
}

async function karpenterHolder({ kube, karpenterLease, reading }: StatusDeps): Promise<StatusReport['karpenter']> {
  const { namespace, name } = karpenterLease;
  const query = { client: kube, namespace, name, observeMs: leaseObserveMs };
  const holder = await reading.or(`Karpenter's lease ${namespace}/${name}`, leaseHolder(query), undefined);
  return holder === undefined ? undefined : { holder, lease: `${namespace}/${name}` };
}

async function observedWork({
  kube,
  lists,
  client,
  cluster,
  leaderLease,
  reading,
  now,
}: StatusDeps): Promise<Omit<Observed, 'pods'>> {
  const { namespace, name } = leaderLease;
  const [engine, pools, lease] = await Promise.all([
    observeEngine(client, cluster).then(
      (found) => ({ engine: found }),
      (error: unknown) => ({ engine: undefined, unreachable: whyUnobserved(error) }),
    ),
    lists.list('NodePool'),
    reading.or(`the operator's lease ${namespace}/${name}`, kube.get('Lease', leaderLease), undefined),
  ]);
  return { now, ...engine, loops: failingLoops(lease), pools };
}

async function offeringRows({ client, cluster, now, reading }: StatusDeps): Promise<OfferingRow[]> {
  const asked = unavailableOfferings(client, cluster);
  const refusals = await reading.or('offerings out of capacity (the workflow offerings)', asked, []);
  return refusals
    .filter(({ until }) => until > now)
    .map(({ instanceType, zone, capacityType, reason, until }) => ({
      ...{ instanceType, zone, capacityType, reason },
      until: new Date(until).toISOString(),
    }));
}
