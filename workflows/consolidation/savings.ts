import { ParentClosePolicy, startChild, workflowInfo } from '@temporalio/workflow';
import type { CreatedClaim } from '../../activities/provisioning/contract.js';
import { workflowIds } from '../../core/ids.js';
import { workflowNow } from '../clock.js';
import { dollars } from '../../core/text.js';
import type { Candidate, ConsolidateInput, Decision } from '../messages.js';
import { startOptions } from '../messages.js';
import { isStartedAlready } from '../calls/other-workflows.js';
import type { measureSavings } from './measure-savings.js';

/** The predicted saving of a command, dollars per hour. */
export function savingOf(candidates: readonly Candidate[], decision: Decision | undefined): number {
  const gone = candidates.reduce((sum, { pricePerHour }) => sum + pricePerHour, 0);
  return Math.round((gone - (decision?.priceAfter ?? 0)) * 1e6) / 1e6;
}

interface CompletedCommand {
  readonly deleting: readonly Candidate[];
  readonly decision: Decision;
  readonly launched: readonly CreatedClaim[];
}

/** Starts `measureSavings` as an abandoned child, which continues after the command has ended. */
export async function startMeasuring(
  { cluster, reason }: ConsolidateInput,
  { deleting, decision, launched }: CompletedCommand,
): Promise<void> {
  const { priceAfter, podCount } = decision;
  const { workflowId, firstExecutionRunId } = workflowInfo();
  const command = {
    id: workflowId,
    reason,
    nodePools: [...new Set(deleting.map(({ nodePool }) => nodePool))],
    nodes: deleting.map(({ node }) => node),
    replacements: launched.map(({ name, uid }) => ({ name, uid })),
    priceBefore: deleting.reduce((sum, { pricePerHour }) => sum + pricePerHour, 0),
    priceAfter,
    podsMoved: podCount,
    finishedAt: workflowNow(),
  };
  const [nodePool = ''] = command.nodePools;
  const measured = { cluster, nodePool, reason: reason.toLowerCase(), saves: savingOf(deleting, decision) };
  try {
    await startChild<typeof measureSavings>('measureSavings', {
      workflowId: workflowIds.savings(cluster, firstExecutionRunId),
      parentClosePolicy: ParentClosePolicy.ABANDON,
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      staticSummary: `measure savings of ${dollars(command.priceBefore - priceAfter)}/h: ${command.nodes.slice(0, 3).join(', ')}`,
      ...startOptions('measureSavings', measured, workflowInfo()),
      args: [{ cluster, command }],
    });
  } catch (error) {
    if (!isStartedAlready(error)) throw error;
  }
}
