import { createKubeClient } from '../kube/client.js';
import { parseWorkflowId, workflowIds, type WorkflowKind } from '../core/ids.js';
import { runningQuery, searchAttributes } from '../workflows/messages.js';
import { UsageError } from './exit.js';
import type { Target } from './temporal.js';

/** The rollout of a NodePool that runs. Throws `UsageError` when none does. */
async function rolloutOf({ client, cluster }: Target, nodePool: string): Promise<string> {
  const query = `${running(cluster)} AND StowageNodePool = ${quoted(nodePool)} AND WorkflowType = 'replaceDrifted'`;
  const found: string[] = [];
  for await (const { workflowId } of client.workflow.list({ query })) found.push(workflowId);
  const [only, ...others] = found;
  if (only === undefined) {
    throw new UsageError(`"${nodePool}" is no workflow id, and no rollout of a NodePool of that name is under way`);
  }
  // One that was superseded may still wait for the nodes that it began to replace.
  if (others.length > 0) throw severalFor(nodePool, found);
  return only;
}

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;
const running = (cluster: string): string => `StowageCluster = ${quoted(cluster)} AND ExecutionStatus = 'Running'`;

function severalFor(subject: string, ids: readonly string[]): UsageError {
  const lines = ids.map((id) => `  ${id}`).join('\n');
  return new UsageError(`several workflows are about "${subject}"; name one of them:\n${lines}`);
}

interface Found {
  readonly workflowId: string;
  readonly kind: WorkflowKind | undefined;
  readonly asks: boolean;
}

/** The running workflow that a workflow id, node or NodeClaim stands for, of several the one that the order is for. Throws `UsageError` when none or several do. */
export async function findWorkflow(target: Target, subject: string, order: string): Promise<string> {
  const { cluster } = target;
  for (const id of [subject, `${cluster}/${subject}`]) if (parseWorkflowId(id)?.cluster === cluster) return id;
  if (order === 'rollback') return rolloutOf(target, subject);
  const found = await runningFor(target, [subject]);
  const all = found.length > 0 ? found : await runningFor(target, await claimsOf(target, subject));
  const [only, ...others] = preferred(all, order);
  if (only === undefined) {
    throw new UsageError(
      `"${subject}" is no workflow id, and nothing is under way for a node or NodeClaim of that name`,
    );
  }
  if (others.length > 0) {
    throw severalFor(
      subject,
      [only, ...others].map(({ workflowId }) => workflowId),
    );
  }
  return only.workflowId;
}

/** A node's removal may be two workflows: the decision, and the drain below it. */
function preferred(all: readonly Found[], order: string): readonly Found[] {
  const wanted =
    order === 'approve' || order === 'reject'
      ? all.filter(({ asks }) => asks)
      : all.filter(({ kind }) => (kind === 'terminate') === (order === 'expedite' || order === 'retry'));
  return wanted.length > 0 ? wanted : all;
}

const steerable: ReadonlySet<WorkflowKind | undefined> = new Set([
  'consolidate',
  'terminate',
  'repair',
  'expire',
  'drift',
]);

async function runningFor({ client, cluster }: Target, names: readonly string[]): Promise<readonly Found[]> {
  const found = new Map<string, Found>();
  for (const name of names) {
    const query = `${running(cluster)} AND StowageNodeClaim = ${quoted(name)}`;
    for await (const { workflowId, typedSearchAttributes } of client.workflow.list({ query })) {
      const asks = typedSearchAttributes.get(searchAttributes.awaitingApproval) === true;
      found.set(workflowId, { workflowId, kind: parseWorkflowId(workflowId)?.kind, asks });
    }
  }
  const moves = await client.workflow
    .getHandle(workflowIds.disrupt(cluster))
    .query(runningQuery)
    .catch(() => []);
  for (const { workflowId, candidates } of moves) {
    if (found.has(workflowId)) continue;
    if (!candidates.some(({ node, claim }) => names.includes(node) || names.includes(claim.name))) continue;
    const { typedSearchAttributes } = await client.workflow.getHandle(workflowId).describe();
    const asks = typedSearchAttributes.get(searchAttributes.awaitingApproval) === true;
    found.set(workflowId, { workflowId, kind: parseWorkflowId(workflowId)?.kind, asks });
  }
  return [...found.values()].filter(({ kind }) => steerable.has(kind));
}

/** Names of the NodeClaims behind a node, where the API server can be asked. */
async function claimsOf({ settings }: Target, node: string): Promise<readonly string[]> {
  const kube = createKubeClient({
    userAgent: 'stowage-cli',
    ...(settings.KUBECONFIG !== undefined && { kubeconfig: settings.KUBECONFIG }),
  });
  try {
    const claims = await kube.list('NodeClaim');
    return claims.filter(({ status }) => status?.nodeName === node).map(({ metadata }) => metadata.name ?? '');
  } catch {
    return [];
  } finally {
    kube.close();
  }
}
