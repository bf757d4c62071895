import type { Client, WorkflowExecutionInfo } from '@temporalio/client';
import { compareText } from '../../core/text.js';
import { inBatches } from '../../core/at-once.js';
import { quotedForQuery, searchAttributes } from '../../workflows/messages.js';
import { describeWorkflow } from '../describe-workflow.js';
import { tailOf } from './history-tail.js';
import type { ObservedFailure } from './observed.js';

/**
 * How long a failure is reported. Required workflows are restarted within two minutes, so persistent failures are
 * always reported.
 */
const freshMs = 3 * 60_000;
/** A run that has lasted this long counts as recovered. */
const settledMs = 30_000;
const mostFailed = 20;
const mostListed = 200;
const readAtOnce = 8;

/**
 * Workflows whose last run failed recently. Most have no parent that reports the failure, and required ones are
 * restarted and fail again, so no open workflow shows it.
 */
export async function observeFailed(client: Client, cluster: string, now: number): Promise<ObservedFailure[]> {
  const runs = await failedRuns(client, cluster, now);
  const byWorkflow = new Map<string, WorkflowExecutionInfo[]>();
  for (const run of runs) byWorkflow.set(run.workflowId, [...(byWorkflow.get(run.workflowId) ?? []), run]);
  const found: ObservedFailure[] = [];
  await inBatches(
    [...byWorkflow].slice(0, mostFailed),
    async ([workflowId, failed]) => {
      try {
        if (await hasGoneOn(client, workflowId, now)) return;
        const [first, last] = ends(failed);
        const { failure } = await tailOf(client, workflowId, last.runId);
        found.push({ workflowId, since: closedAt(first), runs: failed.length, why: failure ?? 'no reason is given' });
      } catch {
        // Unreadable ones do not hide others; the next poll reads them again.
      }
    },
    { atOnce: readAtOnce },
  );
  return found.sort((a, b) => compareText(a.workflowId, b.workflowId));
}

async function failedRuns(client: Client, cluster: string, now: number): Promise<WorkflowExecutionInfo[]> {
  const after = new Date(now - freshMs).toISOString();
  const query = `${searchAttributes.cluster.name} = ${quotedForQuery(cluster)} AND ExecutionStatus = 'Failed' AND CloseTime > '${after}'`;
  const found: WorkflowExecutionInfo[] = [];
  for await (const each of client.workflow.list({ query, pageSize: mostListed })) {
    if (found.push(each) >= mostListed) break;
  }
  return found;
}

/** Whether a later run succeeded, or is running. */
async function hasGoneOn(client: Client, workflowId: string, now: number): Promise<boolean> {
  const latest = await describeWorkflow(client, workflowId);
  if (latest === undefined) return true;
  const { status, startTime } = latest;
  return status.name === 'RUNNING' ? now - startTime.getTime() >= settledMs : status.name !== 'FAILED';
}

const closedAt = ({ closeTime, startTime }: WorkflowExecutionInfo): number => (closeTime ?? startTime).getTime();

function ends(runs: readonly WorkflowExecutionInfo[]): readonly [WorkflowExecutionInfo, WorkflowExecutionInfo] {
  const sorted = [...runs].sort((a, b) => closedAt(a) - closedAt(b));
  return [sorted[0]!, sorted.at(-1)!];
}
