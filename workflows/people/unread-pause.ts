import { getExternalWorkflowHandle } from '@temporalio/workflow';
import { backOffMs } from '../../core/back-off.js';
import { workflowIds } from '../../core/ids.js';
import { notify } from '../calls/other-workflows.js';
import { workflowNow } from '../clock.js';
import { pausesChangedSignal } from '../messages.js';
import type { Progress } from '../progress.js';
import { heldPhase } from './hold.js';
import type { Oversight } from './oversight.js';

/** Intervals of the checks for a pause that `disrupt` has not read yet. */
const intervals = { firstMs: 10_000, longestMs: 5 * 60_000 };

/**
 * Waits before the next check whether a DisruptionPause is still there that `disrupt` has not read yet (invariants/pauses-hold); once
 * `disrupt` has, until it ends. The caller has undone its steps.
 */
export async function awaitUnreadPause(
  cluster: string,
  { oversight, progress }: { readonly oversight: Oversight; readonly progress: Progress },
  { why, attempts }: { readonly why: string; readonly attempts: number },
): Promise<void> {
  await notify(() => getExternalWorkflowHandle(workflowIds.disrupt(cluster)).signal(pausesChangedSignal));
  const wait = backOffMs(attempts, intervals);
  progress.enter(heldPhase, { waitingFor: `the pause to end: ${why}`, until: workflowNow() + wait });
  await oversight.wait(wait, { summary: 'the next check of the pause', until: () => oversight.isHeld });
  await oversight.gate();
}
