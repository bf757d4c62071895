import type { TypedSearchAttributes } from '@temporalio/common';
import { createKubeClient } from '../kube/client.js';
import { messageOf } from '../core/error-message.js';
import { parseWorkflowId, workflowIds, type WorkflowKind } from '../core/ids.js';
import {
  openWorkflowsQuery,
  quotedForQuery,
  type RunningDisruption,
  runningQuery,
  searchAttributes,
} from '../workflows/messages.js';
import { UsageError } from './exit.js';
import type { TemporalTarget } from './temporal.js';
import { nameOf } from '../core/names.js';

/** A workflow for a node. */
export interface Found {
  readonly workflowId: string;
  readonly kind: WorkflowKind | undefined;
  readonly asks: boolean;
  readonly phase: string;
}

/** Orders for a node, by name. */
export type NodeOrder = 'approve' | 'reject' | 'abort' | 'expedite' | 'retry' | 'hold';

/** These can be aborted before the point of no return; an order without workflow id means the first active one. */
const revocable: readonly (WorkflowKind | undefined)[] = ['consolidate', 'replace', 'drift', 'repair', 'expire'];
const draining: ReadonlySet<string> = new Set(['draining', 'detaching volumes', 'terminating the instance']);
const preferred: Readonly<Record<NodeOrder, readonly (WorkflowKind | undefined)[]>> = {
  approve: [...revocable, 'terminate'],
  reject: [...revocable, 'terminate'],
  abort: revocable,
  hold: revocable,
  expedite: ['terminate', ...revocable],
  retry: ['terminate', ...revocable],
};

/** Whether the workflow accepts the order in its current phase. */
function canObey(order: NodeOrder, { asks, phase }: Found): boolean {
  if (order === 'approve' || order === 'reject') return asks;
  if (order === 'abort' || order === 'hold') return !draining.has(phase);
  return true;
}

/**
 * Of the workflows for a node, the one that accepts the order. Throws `UsageError` with the active workflows if there
 * is none, or several.
 */
export function chooseWorkflow(subject: string, order: NodeOrder, all: readonly Found[]): string {
  const fit = all.filter((found) => preferred[order].includes(found.kind) && canObey(order, found));
  const [first] = preferred[order].filter((kind) => fit.some((found) => found.kind === kind));
  const [only, ...others] = fit.filter(({ kind }) => kind === first);
  if (only === undefined) throw new UsageError(whyNone(subject, order, all));
  if (others.length === 0) return only.workflowId;
  const lines = [only, ...others].map(({ workflowId, phase }) => `  ${workflowId} (${phase})`).join('\n');
  throw new UsageError(`several workflows are about "${subject}"; name one of them:\n${lines}`);
}

const cannot: Readonly<Record<NodeOrder, string>> = {
  approve: 'nothing waits for approval',
  reject: 'nothing waits for approval',
  abort: 'nothing can be aborted any more',
  hold: 'nothing can be held any more',
  expedite: 'nothing is under way that could be expedited',
  retry: 'nothing is under way that could be tried again',
};

function whyNone(subject: string, order: NodeOrder, all: readonly Found[]): string {
  if (all.length === 0)
    return `"${subject}" is no workflow id, and nothing is under way for a node or NodePool of that name`;
  const lines = all.map(({ workflowId, phase }) => `  ${workflowId} (${phase === '' ? 'starting' : phase})`).join('\n');
  return `${cannot[order]} for "${subject}":\n${lines}`;
}

/** Timeout for queries to `disrupt`, and for each request to the API server; a busy one takes a second or two. */
const answersWithinMs = 5000;

/** The running rollout of a NodePool. Throws `UsageError` if there is none. */
async function rolloutOf(target: TemporalTarget, nodePool: string): Promise<string> {
  const found = await rolloutsOf(target, nodePool);
  const [only, ...others] = found;
  if (only === undefined) {
    throw new UsageError(
      `"${nodePool}" is no workflow id, and no rollout of a NodePool of that name is under way (a pool has one where its DisruptionPolicy says driftRollout; other drift is stopped by: stowage pause --nodepool ${nodePool} --reason Drifted)`,
    );
  }
  // A superseded rollout may still wait for nodes that it began to replace.
  if (others.length > 0)
    throw severalFor(
      nodePool,
      found.map(({ workflowId }) => workflowId),
    );
  return only.workflowId;
}

async function rolloutsOf(
  { client, cluster }: Pick<TemporalTarget, 'client' | 'cluster'>,
  nodePool: string,
): Promise<readonly Found[]> {
  const query = `${openWorkflowsQuery(cluster)} AND ${searchAttributes.nodePool.name} = ${quotedForQuery(nodePool)} AND WorkflowType = 'replaceDrifted'`;
  const found: Found[] = [];
  for await (const { workflowId, typedSearchAttributes } of client.workflow.list({ query }))
    found.push(foundOf(workflowId, typedSearchAttributes));
  return found;
}

function severalFor(subject: string, ids: readonly string[]): UsageError {
  const lines = ids.map((id) => `  ${id}`).join('\n');
  return new UsageError(`several workflows are about "${subject}"; name one of them:\n${lines}`);
}

/**
 * The running workflow for a workflow id, node, NodeClaim or NodePool (its rollout); of several, the one that accepts
 * the order. Throws `UsageError` if there is none, or several.
 */
export async function findWorkflow(
  target: TemporalTarget,
  subject: string,
  order: NodeOrder | 'rollback',
): Promise<string> {
  const { cluster } = target;
  for (const id of [subject, `${cluster}/${subject}`]) {
    const known = parseWorkflowId(id);
    if (known?.cluster === cluster) return orderable(id, known.kind, order);
  }
  if (order === 'rollback') return rolloutOf(target, subject);
  const found = await runningFor(target, [subject]);
  const behind = found.length > 0 ? { claims: [] } : await claimsOf(target, subject);
  const all = found.length > 0 ? found : await runningFor(target, behind.claims);
  // No node has that name; a NodePool may have a rollout.
  const known = all.length > 0 ? all : await rolloutsOf(target, subject);
  if (known.length === 0) await refuseOtherNodesOf(target, subject, order);
  if (known.length === 0 && behind.unread !== undefined)
    throw new UsageError(
      `"${subject}" is no workflow id, and nothing is under way for a NodeClaim or NodePool of that name. Whether it is a node cannot be read: ${behind.unread}. ` +
        'Give its NodeClaim or the workflow id (stowage status has both).',
    );
  return chooseWorkflow(subject, order, known);
}

/** Returns the id if workflows of its kind accept the order: other workflows ignore the signal. */
function orderable(id: string, kind: WorkflowKind, order: NodeOrder | 'rollback'): string {
  if (order === 'rollback' ? kind === 'drift' : kind === 'replicas' || steerable.has(kind)) return id;
  const whose = order === 'rollback' ? 'the rollout of a NodePool' : 'a disruption or a drain';
  throw new UsageError(`${id} takes no such order: ${order} is for ${whose}`);
}

/** A NodePool means its rollout. If it has none, refuses and lists the active workflows of its nodes. */
async function refuseOtherNodesOf(target: TemporalTarget, nodePool: string, order: NodeOrder): Promise<void> {
  const query = `${openWorkflowsQuery(target.cluster)} AND ${searchAttributes.nodePool.name} = ${quotedForQuery(nodePool)}`;
  const lines: string[] = [];
  for await (const { workflowId, typedSearchAttributes } of target.client.workflow.list({ query })) {
    const found = foundOf(workflowId, typedSearchAttributes);
    if (steerable.has(found.kind)) lines.push(`  ${workflowId} (${found.phase})`);
  }
  if (lines.length === 0) return;
  const head = `NodePool "${nodePool}" has no rollout to ${order}; for its nodes there are, and have to be named:`;
  throw new UsageError([head, ...lines.slice(0, mostNamed)].join('\n'));
}

/** Maximum number of workflows listed in one refusal. */
const mostNamed = 10;

const steerable: ReadonlySet<WorkflowKind | undefined> = new Set([
  'consolidate',
  'replace',
  'terminate',
  'repair',
  'expire',
  'drift',
]);

async function runningFor({ client, cluster }: TemporalTarget, names: readonly string[]): Promise<readonly Found[]> {
  const found = new Map<string, Found>();
  for (const name of names) {
    const query = `${openWorkflowsQuery(cluster)} AND StowageNodeClaim = ${quotedForQuery(name)}`;
    for await (const { workflowId, typedSearchAttributes } of client.workflow.list({ query })) {
      found.set(workflowId, foundOf(workflowId, typedSearchAttributes));
    }
  }
  for (const { workflowId, candidates } of await commandsKnown(client, cluster)) {
    if (found.has(workflowId)) continue;
    if (!candidates.some(({ node, claim }) => names.includes(node) || names.includes(claim.name))) continue;
    const { typedSearchAttributes } = await client.workflow.getHandle(workflowId).describe();
    found.set(workflowId, foundOf(workflowId, typedSearchAttributes));
  }
  return [...found.values()].filter(({ kind }) => steerable.has(kind));
}

/**
 * The commands of `disrupt`: a search attribute has only the first node of each, and may not be indexed yet. Fails
 * without a worker.
 */
async function commandsKnown(client: TemporalTarget['client'], cluster: string): Promise<readonly RunningDisruption[]> {
  const disrupt = client.workflow.getHandle(workflowIds.disrupt(cluster));
  const deadline = Date.now() + answersWithinMs;
  return client.connection.withDeadline(deadline, () => disrupt.query(runningQuery)).catch(() => []);
}

function foundOf(workflowId: string, attributes: TypedSearchAttributes): Found {
  return {
    workflowId,
    kind: parseWorkflowId(workflowId)?.kind,
    asks: attributes.get(searchAttributes.awaitingApproval) === true,
    phase: attributes.get(searchAttributes.phase) ?? '',
  };
}

/** Names of the NodeClaims of a node, or why the API server cannot be read. */
async function claimsOf(
  { settings }: TemporalTarget,
  node: string,
): Promise<{ readonly claims: readonly string[]; readonly unread?: string }> {
  const kube = createKubeClient({
    userAgent: 'stowage-cli',
    requestTimeoutMs: answersWithinMs,
    ...(settings.KUBECONFIG !== undefined && { kubeconfig: settings.KUBECONFIG }),
  });
  try {
    const claims = await kube.list('NodeClaim');
    return {
      claims: claims.filter(({ status }) => status?.nodeName === node).map(nameOf),
    };
  } catch (error) {
    return { claims: [], unread: messageOf(error) };
  } finally {
    kube.close();
  }
}
