import { condition, getExternalWorkflowHandle, workflowInfo } from '@temporalio/workflow';
import type { TerminationStart } from '../../activities/termination/contract.js';
import { workflowIds } from '../../core/ids.js';
import { workflowNow } from '../clock.js';
import { notify } from '../calls/other-workflows.js';
import type { Activities } from '../calls/proxies.js';
import { setSignalHandler } from '../handlers.js';
import type { TerminateNodeInput } from '../messages.js';
import { launchStoppedSignal, stopLaunchSignal } from '../messages.js';
import type { Progress } from '../progress.js';

/**
 * How long to wait for the launch to stop. It answers at once, unless a CreateFleet attempt is under way, which takes
 * up to two minutes.
 */
const launchStopsWithinMs = 150_000;

type Instance = Pick<Extract<TerminationStart, { state: 'terminating' }>, 'providerId' | 'mayBeLaunching'>;

interface StopDeps {
  readonly activities: () => Activities;
  readonly progress: () => Progress;
}

/**
 * Stops the launch of a NodeClaim that is being deleted. Build it before the first await of the workflow, since it sets
 * a handler.
 */
export class LaunchStop {
  private settled: { readonly providerId?: string } | undefined;

  constructor(
    private readonly input: TerminateNodeInput,
    private readonly deps: StopDeps,
  ) {
    setSignalHandler(launchStoppedSignal, (settled) => void (this.settled = settled));
  }

  /** Stops the launch, if it may be under way. Returns the provider id if there is an instance. */
  async run({ providerId, mayBeLaunching }: Instance): Promise<string | undefined> {
    if (providerId === undefined) return this.settledInstance();
    // The launch then signals the workflows that wait for its node. Its answer is not needed here, since the instance
    // is known.
    if (mayBeLaunching === true) await this.signalLaunch({});
    return providerId;
  }

  /** Waits for the launch to stop, which may be creating an instance now. */
  private async settledInstance(): Promise<string | undefined> {
    const { claim } = this.input;
    const until = workflowNow() + launchStopsWithinMs;
    this.deps.progress().enter('stopping the launch', { waitingFor: this.launchId, until });
    const isDelivered = await this.signalLaunch({ replyTo: workflowInfo().workflowId });
    if (isDelivered) {
      await condition(() => this.settled !== undefined, launchStopsWithinMs, { summary: 'launch to settle' });
    }
    if (this.settled?.providerId !== undefined) return this.settled.providerId;
    // The launch had ended before: it has written the provider id to the NodeClaim.
    const view = await this.deps.activities().kube.viewClaim({ claim });
    return view.state === 'gone' ? undefined : view.providerId;
  }

  /** Returns whether the launch was still running to get the signal. */
  private signalLaunch(stop: { readonly replyTo?: string }): Promise<boolean> {
    return notify(() => getExternalWorkflowHandle(this.launchId).signal(stopLaunchSignal, stop));
  }

  private get launchId(): string {
    return workflowIds.launch(this.input.cluster, this.input.claim.uid);
  }
}
