import { CancellationScope, workflowInfo } from '@temporalio/workflow';
import { workflowNow } from '../clock.js';
import type { ReplaceNodeInput, ReplaceNodeResult } from '../messages.js';
import { searchAttributes } from '../messages.js';
import { isAborted, Oversight } from '../people/oversight.js';
import { endNode } from '../termination/node-end.js';
import { Progress } from '../progress.js';
import { activitiesOf } from '../proxies.js';
import { Replacements } from './replacements.js';
import { counted } from '../../core/plurals.js';

/**
 * Replaces one node that has leave to go (commands/replacements-first): taint, new places for its pods, and only when these are up the
 * drain. Whatever ends it before that leaves no taint; what was launched stays as capacity. Held, it takes the taint off and
 * gives the places back at once, and begins anew when it is let go on.
 */
export async function replaceNode(input: ReplaceNodeInput): Promise<ReplaceNodeResult> {
  const run = new Replacing(input);
  try {
    return await run.run();
  } catch (error) {
    if (!isAborted(error)) throw error;
    return run.end('aborted', error.message);
  } finally {
    await CancellationScope.nonCancellable(() => run.release());
  }
}

class Replacing {
  private readonly activities;
  private readonly progress: Progress;
  private readonly oversight: Oversight;
  private readonly replacements: Replacements;
  private tainted = false;

  constructor(private readonly input: ReplaceNodeInput) {
    const { cluster, reason, candidate } = input;
    const { claim, node, nodePool } = candidate;
    this.activities = activitiesOf(cluster);
    this.replacements = new Replacements(cluster);
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
    this.oversight = new Oversight(this.progress, { paused: input.paused ?? false });
  }

  async run(): Promise<ReplaceNodeResult> {
    const { oversight, progress } = this;
    const { cluster, reason, candidate } = this.input;
    const { claim, node, nodePool } = candidate;
    let verdict: Verdict;
    do {
      await oversight.gate();
      if ((await this.activities.kube.viewClaim({ claim })).state !== 'live') return this.end('gone');
      verdict = await this.replace();
      oversight.throwIfAborted();
      if (oversight.isHeld) await this.stepBack();
    } while (oversight.isHeld || verdict === 'interrupted');
    if (verdict !== 'ready') return this.failed(verdict);
    oversight.passPointOfNoReturn();
    this.tainted = false;
    progress.enter('draining', { waitingFor: node });
    await endNode({ cluster, claim, nodePool, reason: reason.toLowerCase() });
    return this.end('replaced');
  }

  end(outcome: ReplaceNodeResult['outcome'], why?: string): ReplaceNodeResult {
    this.progress.enter(outcome, why === undefined ? {} : { facts: { [`${outcome} because`]: why } });
    return { outcome, replacements: this.replacements.claims, ...(why === undefined ? {} : { reason: why }) };
  }

  async release(): Promise<void> {
    await this.untaint();
    this.oversight.finish();
  }

  /** One attempt, from the taint until the new places are up or something comes between. */
  private async replace(): Promise<Verdict> {
    const { oversight, replacements } = this;
    const { reason, candidate, withinMs } = this.input;
    this.tainted = true;
    await this.activities.kube.taintCandidates({ reason, candidates: [candidate], owner: workflowInfo().workflowId });
    if (oversight.isHeld || oversight.isAborted) return 'interrupted';
    await replacements.request([candidate.node], reason.toLowerCase(), withinMs);
    this.progress.enter('replacing', { waitingFor: 'the replacement to be up', until: workflowNow() + withinMs });
    return replacements.settledUnless(() => oversight.isHeld || oversight.isAborted, withinMs);
  }

  private async stepBack(): Promise<void> {
    await this.untaint();
    await this.replacements.giveBack([this.input.candidate.node]);
  }

  private failed(verdict: Verdict): ReplaceNodeResult {
    const { withinMs } = this.input;
    if (verdict === 'late') return this.end('failed', `no replacement within ${counted(withinMs / 60_000, 'minute')}`);
    return this.end('failed', this.replacements.planned?.firstReason ?? 'the replacement did not come up');
  }

  private async untaint(): Promise<void> {
    if (!this.tainted) return;
    this.tainted = false;
    await this.activities.kube.untaintCandidates({
      candidates: [this.input.candidate],
      owner: workflowInfo().workflowId,
    });
  }
}

type Verdict = 'ready' | 'failed' | 'late' | 'interrupted';
