import { createKubeClient } from '../kube/client.js';
import { messageOf } from '../core/error-message.js';
import { parseWorkflowId, workflowIds, type WorkflowKind } from '../core/ids.js';
import type { QueryDefinition, TypedSearchAttributes } from '@temporalio/common';
import {
  openWorkflowsQuery,
  questionsQuery,
  quotedForQuery,
  runningQuery,
  searchAttributes,
  type RunningDisruption,
} from '../workflows/messages.js';
import type { Found, NodeOrder } from './choose-workflow.js';
import { chooseWorkflow, isDormant } from './choose-workflow.js';
import { UsageError } from './exit.js';
import type { TemporalTarget } from './temporal.js';

/** For all that is asked of `disrupt`, and for each request to the API server: one that is busy takes a second or two. */
const answersWithinMs = 5000;

/** The rollout of a NodePool that runs. Throws `UsageError` when none does. */
async function rolloutOf(target: TemporalTarget, nodePool: string): Promise<string> {
  const found = await rolloutsOf(target, nodePool);
  const [only, ...others] = found;
  if (only === undefined) {
    throw new UsageError(
      `"${nodePool}" is no workflow id, and no rollout of a NodePool of that name is under way (a pool has one where its DisruptionPolicy says driftRollout; other drift is stopped by: stowage pause --nodepool ${nodePool} --reason Drifted)`,
    );
  }
  // One that was superseded may still wait for the nodes that it began to replace.
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

/** The running workflow that a workflow id, node, NodeClaim or NodePool (its rollout) stands for: of several the one that can obey the order. Throws `UsageError` when there is none, or several could. */
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
  // No node has that name: a rollout is about a NodePool.
  const known = all.length > 0 ? all : await rolloutsOf(target, subject);
  if (known.length === 0) await refuseOtherNodesOf(target, subject, order);
  if (known.length === 0 && behind.unread !== undefined)
    throw new UsageError(
      `"${subject}" is no workflow id, and nothing is under way for a NodeClaim or NodePool of that name. Whether it is a node cannot be read: ${behind.unread}. ` +
        'Give its NodeClaim or the workflow id (stowage status has both).',
    );
  return chooseWorkflow(subject, order, known);
}

/** The id, where workflows of its kind take the order: a signal to any other would be taken by nobody. */
function orderable(id: string, kind: WorkflowKind, order: NodeOrder | 'rollback'): string {
  if (order === 'rollback' ? kind === 'drift' : kind === 'replicas' || steerable.has(kind)) return id;
  const whose = order === 'rollback' ? 'the rollout of a NodePool' : 'a disruption or a drain';
  throw new UsageError(`${id} takes no such order: ${order} is for ${whose}`);
}

/** A NodePool stands for its rollout. Where it has none, what is under way for its nodes has to be named. */
async function refuseOtherNodesOf(target: TemporalTarget, nodePool: string, order: NodeOrder): Promise<void> {
  const query = `${openWorkflowsQuery(target.cluster)} AND ${searchAttributes.nodePool.name} = ${quotedForQuery(nodePool)}`;
  const lines: string[] = [];
  for await (const { workflowId, typedSearchAttributes } of target.client.workflow.list({ query })) {
    const found = foundOf(workflowId, typedSearchAttributes);
    if (steerable.has(found.kind) && !isDormant(found)) lines.push(`  ${workflowId} (${found.phase})`);
  }
  if (lines.length === 0) return;
  const head = `NodePool "${nodePool}" has no rollout to ${order}; for its nodes there are, and have to be named:`;
  throw new UsageError([head, ...lines.slice(0, mostNamed)].join('\n'));
}

/** Workflows of a NodePool that one refusal names. */
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
  for (const { workflowId, candidates } of await disruptionsKnown(client, cluster)) {
    if (found.has(workflowId)) continue;
    if (!candidates.some(({ node, claim }) => names.includes(node) || names.includes(claim.name))) continue;
    const { typedSearchAttributes } = await client.workflow.getHandle(workflowId).describe();
    found.set(workflowId, foundOf(workflowId, typedSearchAttributes));
  }
  return [...found.values()].filter(({ kind }) => steerable.has(kind));
}

/** What `disrupt` knows to run or to wait for approval: of a command that has just begun the search attributes may not be known yet. Without a worker it does not answer. */
async function disruptionsKnown(
  client: TemporalTarget['client'],
  cluster: string,
): Promise<readonly RunningDisruption[]> {
  const disrupt = client.workflow.getHandle(workflowIds.disrupt(cluster));
  const deadline = Date.now() + answersWithinMs;
  const ask = (query: QueryDefinition<readonly RunningDisruption[]>): Promise<readonly RunningDisruption[]> =>
    client.connection.withDeadline(deadline, () => disrupt.query(query)).catch(() => []);
  return [...(await ask(runningQuery)), ...(await ask(questionsQuery))];
}

function foundOf(workflowId: string, attributes: TypedSearchAttributes): Found {
  return {
    workflowId,
    kind: parseWorkflowId(workflowId)?.kind,
    asks: attributes.get(searchAttributes.awaitingApproval) === true,
    phase: attributes.get(searchAttributes.phase) ?? '',
  };
}

/** Names of the NodeClaims behind a node, or why the API server does not say. */
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
      claims: claims.filter(({ status }) => status?.nodeName === node).map(({ metadata }) => metadata.name ?? ''),
    };
  } catch (error) {
    return { claims: [], unread: messageOf(error) };
  } finally {
    kube.close();
  }
}
