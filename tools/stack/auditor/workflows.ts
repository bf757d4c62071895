import { Client, type Connection } from '@temporalio/client';
import { openWorkflowsQuery, quotedForQuery, searchAttributes } from '../../../workflows/messages.js';
import { workflowIds } from '../../../core/ids.js';

/** What workflows of a cluster should not have come to: an outcome is a result, never a failure. */
export async function workflowProblems(connection: Connection, cluster: string): Promise<string[]> {
  const { workflow } = new Client({ connection });
  const problems: string[] = [];
  const own = `${searchAttributes.cluster.name} = ${quotedForQuery(cluster)}`;
  const query = `${own} AND ExecutionStatus IN ('Failed', 'TimedOut', 'Terminated')`;
  for await (const { workflowId, status } of workflow.list({ query }))
    problems.push(`workflow ${workflowId} ended as ${status.name}`);
  for await (const { workflowId, runId } of workflow.list({ query: openWorkflowsQuery(cluster) })) {
    const { raw } = await workflow.getHandle(workflowId, runId).describe();
    const attempt = raw.pendingWorkflowTask?.attempt ?? 0;
    if (attempt > 1) problems.push(`workflow ${workflowId} tries its task for the ${attempt}th time`);
  }
  return problems;
}

/** Claims that went though no workflow can say why (invariants/reasons-are-recorded). */
export async function unexplained(
  connection: Connection,
  cluster: string,
  goneClaimUids: readonly string[],
): Promise<string[]> {
  const { workflow } = new Client({ connection });
  const exists = (id: string): Promise<boolean> =>
    workflow
      .getHandle(id)
      .describe()
      .then(
        () => true,
        () => false,
      );
  const problems: string[] = [];
  for (const uid of goneClaimUids) {
    // One that was never launched ends with its launch.
    if ((await exists(workflowIds.terminate(cluster, uid))) || (await exists(workflowIds.launch(cluster, uid))))
      continue;
    problems.push(`no workflow says why NodeClaim ${uid} went (invariants/reasons-are-recorded)`);
  }
  return problems;
}
