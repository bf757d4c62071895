import { CancellationScope } from '@temporalio/workflow';
import { workflowNow } from '../clock.js';
import type { ReplaceNodeInput, ReplaceNodeResult } from '../messages.js';
import { searchAttributes } from '../messages.js';
import { isAborted } from '../people/accepted-orders.js';
import { Oversight } from '../people/oversight.js';
import { awaitUnreadPause } from '../people/unread-pause.js';
import { Progress } from '../progress.js';
import { activitiesOf } from '../calls/proxies.js';
import { NodeReplacement } from './replacement.js';
import type { TerminationEnd } from '../termination/start-termination.js';
import type { Readiness } from './source.js';
import { ViaProvision } from './via-provision.js';

/**
 * Replaces one node whose disruption slot is granted (commands/replacements-first). When a pause or a person holds it, it undoes
 * its steps and starts again afterwards. Launched nodes stay as capacity.
 */
export async function replaceNode(input: ReplaceNodeInput): Promise<ReplaceNodeResult> {
  const run = new ReplaceNodeRun(input);
  try {
    return await run.run();
  } catch (error) {
    if (!isAborted(error)) throw error;
    return run.end('aborted', error.message);
  } finally {
    await CancellationScope.nonCancellable(() => run.release());
  }
}

type Attempted = Readiness | { readonly state: 'overBudget'; readonly why: string };

class ReplaceNodeRun {
  private readonly activities;
  readonly progress: Progress;
  readonly oversight: Oversight;
  private readonly replacement: NodeReplacement;

  constructor(private readonly input: ReplaceNodeInput) {
    const { cluster, reason, candidate } = input;
    const { claim, node, nodePool } = candidate;
    this.activities = activitiesOf(cluster);
    this.replacement = new NodeReplacement(cluster, new ViaProvision(cluster));
    this.progress = new Progress(
      `${reason}: ${node} is replaced`,
      [
        { key: searchAttributes.cluster, value: cluster },
        { key: searchAttributes.nodePool, value: nodePool },
        { key: searchAttributes.nodeClaim, value: claim.name },
        { key: searchAttributes.reason, value: reason.toLowerCase() },
      ],
      { node, NodeClaim: claim.name, NodePool: nodePool },
    );
    this.oversight = new Oversight(this.progress, {
      disruption: () => ({ reason, candidates: [candidate] }),
      paused: input.paused ?? false,
    });
  }

  async run(): Promise<ReplaceNodeResult> {
    for (let attempts = 1; ; attempts++) {
      const readiness = await this.untilReady();
      if (readiness === 'gone') return this.end('gone');
      if (readiness.state === 'overBudget') return this.end('overBudget', readiness.why);
      if (readiness.state === 'failed') return this.end('failed', readiness.why);
      const end = await this.drain();
      if (!('why' in end)) return this.end('replaced');
      await this.replacement.undoDrain(this.oversight);
      if (end.state === 'refused') return this.end('failed', end.why);
      await awaitUnreadPause(this.input.cluster, this, { why: end.why, attempts });
    }
  }

  /** Makes attempts, and undoes those that a pause or a person holds. */
  private async untilReady(): Promise<Exclude<Attempted, { state: 'interrupted' }> | 'gone'> {
    const { oversight, replacement } = this;
    const { claim } = this.input.candidate;
    for (;;) {
      await oversight.gate();
      if ((await this.activities.kube.viewClaim({ claim })).state !== 'live') return 'gone';
      const readiness = await this.attempt();
      oversight.throwIfAborted();
      if (!oversight.isHeld && readiness.state !== 'interrupted') return readiness;
      await replacement.undo();
    }
  }

  private async drain(): Promise<TerminationEnd> {
    const { oversight, progress, replacement } = this;
    const { reason, candidate } = this.input;
    const { claim, node, nodePool } = candidate;
    oversight.passPointOfNoReturn();
    progress.enter('draining', { waitingFor: node });
    const unlessPaused = { reason, node };
    return replacement.drain({ claim, nodePool, reason: reason.toLowerCase(), unlessPaused, unlessRefused: true });
  }

  end(outcome: ReplaceNodeResult['outcome'], why?: string): ReplaceNodeResult {
    this.progress.enter(outcome, why === undefined ? {} : { facts: { [`${outcome} because`]: why } });
    return { outcome, replacements: this.replacement.claims, ...(why === undefined ? {} : { reason: why }) };
  }

  async release(): Promise<void> {
    await this.replacement.undo();
    this.oversight.finish();
  }

  /** Taints, launches and waits until the replacements are initialized or the wait is interrupted. */
  private async attempt(): Promise<Attempted> {
    const { oversight, replacement } = this;
    const { reason, candidate, withinMs } = this.input;
    const stops = (): boolean => oversight.isHeld || oversight.isAborted;
    const { overBudget } = await replacement.taint(reason, [candidate]);
    if (overBudget !== undefined) return { state: 'overBudget', why: overBudget };
    if (stops()) return { state: 'interrupted' };
    await replacement.launch(withinMs);
    this.progress.enter('replacing', { waitingFor: 'the replacement to be up', until: workflowNow() + withinMs });
    return replacement.awaitReady(withinMs, stops);
  }
}
