import { ParentClosePolicy, startChild } from '@temporalio/workflow';
import type { DisruptionCommand } from '../../disruption/command.js';
import type { consolidate } from '../consolidation/consolidate.js';
import { summaryOf } from '../consolidation/command-text.js';
import { startAttributes } from '../messages.js';
import { memoOf } from './disrupt-answers.js';

/** Starts the `consolidate` of a command as an abandoned child, which goes on if `disrupt` ends. */
export async function startCommand(
  command: DisruptionCommand,
  { cluster, workflowId, paused }: { readonly cluster: string; readonly workflowId: string; readonly paused: boolean },
): Promise<void> {
  const { reason, candidates, decision } = command;
  await startChild<typeof consolidate>('consolidate', {
    workflowId,
    parentClosePolicy: ParentClosePolicy.ABANDON,
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    staticSummary: summaryOf(reason, candidates, decision),
    ...(decision === undefined ? {} : { memo: memoOf(candidates, decision) }),
    ...startAttributes('consolidate', { ...command, cluster }),
    args: [{ ...command, cluster, paused }],
  });
}
