import { condition, getExternalWorkflowHandle, workflowInfo } from '@temporalio/workflow';
import { workflowIds } from '../../core/ids.js';
import { workflowNow } from '../clock.js';
import { notify } from '../calls/other-workflows.js';
import type { Activities } from '../calls/proxies.js';
import { setSignalHandler } from '../handlers.js';
import type { TerminateNodeInput } from '../messages.js';
import { launchSettledSignal, stopLaunchSignal } from '../messages.js';
import type { Progress } from '../progress.js';

/**
 * How long to wait for the launch to stop. It answers at once, unless a CreateFleet attempt is under way, which takes up to two
 * minutes.
 */
const launchSettlesWithinMs = 150_000;

interface StopDeps {
  readonly activities: () => Activities;
  readonly progress: () => Progress;
}

/** Stops the launch of a NodeClaim that is being deleted. Build it before the first await of the workflow, since it sets a handler. */
export class LaunchStop {
  private settled: { readonly providerId?: string } | undefined;

  constructor(
    private readonly input: TerminateNodeInput,
    private readonly deps: StopDeps,
  ) {
    setSignalHandler(launchSettledSignal, (settled) => void (this.settled = settled));
  }

  /** Stops the launch, which may be creating an instance now. Returns the provider id if there is an instance. */
  async run(): Promise<string | undefined> {
    const { cluster, claim } = this.input;
    const launchId = workflowIds.launch(cluster, claim.uid);
    const until = workflowNow() + launchSettlesWithinMs;
    this.deps.progress().enter('stopping the launch', { waitingFor: launchId, until });
    const isDelivered = await notify(() =>
      getExternalWorkflowHandle(launchId).signal(stopLaunchSignal, { replyTo: workflowInfo().workflowId }),
    );
    if (isDelivered) {
      await condition(() => this.settled !== undefined, launchSettlesWithinMs, { summary: 'launch to settle' });
    }
    if (this.settled?.providerId !== undefined) return this.settled.providerId;
    // The launch had ended before: it has written the provider id to the NodeClaim.
    const view = await this.deps.activities().kube.viewClaim({ claim });
    return view.state === 'gone' ? undefined : view.providerId;
  }
}
