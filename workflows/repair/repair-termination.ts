import { condition, getExternalWorkflowHandle } from '@temporalio/workflow';
import { workflowIds } from '../../core/ids.js';
import { notify } from '../calls/other-workflows.js';
import { activitiesOf } from '../calls/proxies.js';
import type { RepairNodeInput } from '../messages.js';
import { expediteSignal } from '../messages.js';
import type { NodeReplacement } from '../replacement/replacement.js';

/** The operator signals changes of the NodeClaim; this poll finds changes whose signal was lost. */
const slowPollMs = 5 * 60_000;

const pausePollMs = 60_000;

/**
 * The termination of an unhealthy node. It runs concurrently with the repair steps, since a later step may shorten its
 * deadline.
 */
export class RepairTermination {
  private state: { isDone: boolean; failure?: unknown } | undefined;
  private changed = false;
  private node = '';

  constructor(
    private readonly input: RepairNodeInput,
    private readonly replacement: NodeReplacement,
  ) {}

  get isStarted(): boolean {
    return this.state !== undefined;
  }

  get isDone(): boolean {
    return this.state?.isDone === true;
  }

  /** The NodeClaim or its Node changed. */
  noteChange(): void {
    this.changed = true;
  }

  /** Starts the drain; pods lose their protection at the deadline, if there is one. */
  start(node: string, deadline: number | undefined): void {
    this.node = node;
    const state: NonNullable<RepairTermination['state']> = { isDone: false };
    this.state = state;
    void this.run(deadline).then(
      () => (state.isDone = true),
      (failure: unknown) => {
        state.failure = failure;
        state.isDone = true;
      },
    );
  }

  /** Passes an earlier deadline to the drain under way. */
  async expedite(deadline: number): Promise<void> {
    const { cluster, claim } = this.input;
    const order = { deadline, reason: 'unhealthy' };
    await notify(() =>
      getExternalWorkflowHandle(workflowIds.terminate(cluster, claim.uid)).signal(expediteSignal, order),
    );
  }

  throwIfFailed(): void {
    const failure = this.state?.failure;
    if (failure !== undefined) throw failure as Error;
  }

  private async run(deadline: number | undefined): Promise<void> {
    const { claim, nodePool } = this.input;
    const request = {
      ...{ claim, nodePool, reason: 'unhealthy' },
      ...(deadline === undefined ? {} : { deadline }),
      unlessPaused: { reason: 'Unhealthy', node: this.node },
    };
    let end = await this.replacement.drain(request);
    // A pause began just before the deletion of the NodeClaim: try again until the pause has ended.
    while (end.state === 'paused') {
      this.changed = false;
      await condition(() => this.changed, pausePollMs, { summary: 'the pause to end' });
      end = await this.replacement.drain(request);
    }
    if (end.state !== 'elsewhere') return;
    // Another workflow drains the node already: pass on the deadline of this one.
    if (deadline !== undefined) await this.expedite(deadline);
    await this.untilGone();
  }

  private async untilGone(): Promise<void> {
    const { cluster, claim } = this.input;
    const { kube } = activitiesOf(cluster);
    while ((await kube.viewClaim({ claim })).state !== 'gone') {
      this.changed = false;
      await condition(() => this.changed, slowPollMs, { summary: 'the NodeClaim to be gone' });
    }
  }
}
