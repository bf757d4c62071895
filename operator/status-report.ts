import type { Client, WorkflowExecutionInfo } from '@temporalio/client';
import { compareText } from '../core/compare-text.js';
import { conditionOf, isTrue } from '../core/conditions.js';
import { parseWorkflowId, workflowIds } from '../core/ids.js';
import { labelsOf } from '../activities/labels-of.js';
import type { KubeClient } from '../kube/port.js';
import { unavailableOfferings } from '../worker/offering-ledger.js';
import type { Explanation, NextWindow, Pause } from '../workflows/messages.js';
import { explainQuery, nextWindowQuery, pausesQuery, searchAttributes } from '../workflows/messages.js';

/** One NodeClaim with its node, as `stowage status` shows it. */
export interface ClaimRow {
  readonly nodeClaim: string;
  readonly nodePool: string;
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: string;
  readonly node: string;
  /** `launching`, `registering`, `initializing`, `ready` or `terminating`. */
  readonly state: string;
  /** Milliseconds. */
  readonly ageMs: number;
  readonly message: string;
}

/** One workflow that is under way. */
export interface WorkflowRow {
  readonly workflowId: string;
  readonly kind: string;
  readonly nodeClaim: string;
  readonly reason: string;
  readonly phase: string;
  readonly blockedBy: string;
  readonly waitingFor: string;
  readonly until: string;
  readonly startedAt: string;
  readonly awaitingApproval: boolean;
  /** What it says of itself: what it decided, what holds it up. */
  readonly facts: Explanation['facts'];
}

export interface PoolRow {
  readonly nodePool: string;
  readonly ready: string;
  readonly message: string;
  readonly nodes: number;
}

/** An offering that is left alone for want of capacity. */
export interface OfferingRow {
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: string;
  readonly reason: string;
  /** ISO 8601. */
  readonly until: string;
}

export interface StatusReport {
  readonly unavailable: readonly OfferingRow[];
  readonly pools: readonly PoolRow[];
  readonly claims: readonly ClaimRow[];
  readonly workflows: readonly WorkflowRow[];
  readonly pauses: readonly Pause[];
  /** What opens next for whom; absent when nothing waits for anything. */
  readonly nextWindow?: NextWindow;
}

const workflowsShown = 200;

/** What the cluster has and what Stowage is doing about it. Rejects when the API server or Temporal is unreachable. */
export async function statusReport(deps: {
  readonly kube: Pick<KubeClient, 'list'>;
  readonly client: Client;
  readonly cluster: string;
  /** Milliseconds of the epoch. */
  readonly now: number;
}): Promise<StatusReport> {
  const [pools, claims, workflows, unavailable, people] = await Promise.all([
    poolRows(deps),
    claimRows(deps),
    workflowRows(deps),
    offeringRows(deps),
    disruptState(deps),
  ]);
  return { pools, claims, workflows, unavailable, ...people };
}

/** What `disrupt` knows; without a worker nobody answers, and nothing is known. */
async function disruptState({
  client,
  cluster,
}: {
  client: Client;
  cluster: string;
}): Promise<Pick<StatusReport, 'pauses' | 'nextWindow'>> {
  const handle = client.workflow.getHandle(workflowIds.disrupt(cluster));
  try {
    const [pauses, nextWindow] = await client.connection.withDeadline(Date.now() + 2000, () =>
      Promise.all([handle.query(pausesQuery), handle.query(nextWindowQuery)]),
    );
    return { pauses, nextWindow };
  } catch {
    return { pauses: [] };
  }
}

/** Without a worker nobody answers: then none is shown. */
async function offeringRows({
  client,
  cluster,
  now,
}: {
  client: Client;
  cluster: string;
  now: number;
}): Promise<OfferingRow[]> {
  const refusals = await unavailableOfferings(client, cluster).catch(() => []);
  return refusals
    .filter(({ until }) => until > now)
    .map(({ instanceType, zone, capacityType, reason, until }) => ({
      ...{ instanceType, zone, capacityType, reason },
      until: new Date(until).toISOString(),
    }));
}

async function poolRows({ kube }: { kube: Pick<KubeClient, 'list'> }): Promise<PoolRow[]> {
  const pools = await kube.list('NodePool');
  return pools.map(({ metadata, status }) => {
    const ready = conditionOf(status?.conditions, 'Ready');
    const broken = status?.conditions?.find(({ type, status: value }) => type !== 'Ready' && value === 'False');
    return {
      nodePool: metadata.name ?? '',
      ready: ready?.status ?? 'Unknown',
      message: broken?.message ?? ready?.message ?? '',
      nodes: status?.nodes ?? 0,
    };
  });
}

async function claimRows({ kube, now }: { kube: Pick<KubeClient, 'list'>; now: number }): Promise<ClaimRow[]> {
  const claims = await kube.list('NodeClaim');
  return claims
    .map((claim): ClaimRow => {
      const { conditions, nodeName } = claim.status ?? {};
      const waiting = conditions?.find(({ type, status }) => type !== 'Ready' && status !== 'True');
      return {
        nodeClaim: claim.metadata.name ?? '',
        ...labelsOf(claim),
        node: nodeName ?? '',
        state: claim.metadata.deletionTimestamp === undefined ? stateOf(conditions) : 'terminating',
        ageMs: now - Date.parse(claim.metadata.creationTimestamp ?? ''),
        message: waiting?.message ?? '',
      };
    })
    .sort((a, b) => compareText(a.nodeClaim, b.nodeClaim));
}

function stateOf(conditions: Parameters<typeof isTrue>[0]): string {
  if (!isTrue(conditions, 'Launched')) return 'launching';
  if (!isTrue(conditions, 'Registered')) return 'registering';
  return isTrue(conditions, 'Initialized') ? 'ready' : 'initializing';
}

async function workflowRows({ client, cluster }: { client: Client; cluster: string }): Promise<WorkflowRow[]> {
  const query = `StowageCluster = '${cluster.replaceAll("'", "''")}' AND ExecutionStatus = 'Running'`;
  const rows: WorkflowRow[] = [];
  for await (const found of client.workflow.list({ query })) {
    if (rows.length >= workflowsShown) break;
    rows.push(rowOf(found, await explain(client, found.workflowId, found.runId)));
  }
  return rows.sort((a, b) => compareText(a.workflowId, b.workflowId));
}

function rowOf(
  {
    workflowId,
    startTime,
    typedSearchAttributes: attributes,
  }: Pick<WorkflowExecutionInfo, 'workflowId' | 'startTime' | 'typedSearchAttributes'>,
  explanation: Explanation | undefined,
): WorkflowRow {
  const text = (key: typeof searchAttributes.phase): string => attributes.get(key) ?? '';
  return {
    workflowId,
    kind: parseWorkflowId(workflowId)?.kind ?? '',
    nodeClaim: text(searchAttributes.nodeClaim),
    reason: text(searchAttributes.reason),
    phase: explanation?.phase ?? text(searchAttributes.phase),
    blockedBy: text(searchAttributes.blockedBy),
    waitingFor: explanation?.waitingFor ?? '',
    until: explanation?.until ?? '',
    startedAt: startTime.toISOString(),
    awaitingApproval: attributes.get(searchAttributes.awaitingApproval) === true,
    facts: explanation?.facts ?? {},
  };
}

/** Without a worker nobody answers queries; the search attributes tell the phase all the same. */
async function explain(client: Client, workflowId: string, runId: string): Promise<Explanation | undefined> {
  try {
    return await client.connection.withDeadline(Date.now() + 2000, () =>
      client.workflow.getHandle(workflowId, runId).query(explainQuery),
    );
  } catch {
    return undefined;
  }
}
