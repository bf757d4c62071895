import { continueAsNew } from '@temporalio/workflow';
import { workflowNow } from '../clock.js';
import { setSignalHandler } from '../handlers.js';
import { isContinueAsNewDue } from '../history-limit.js';
import type { ReplaceNodeInput, ReplaceNodeResult } from '../messages.js';
import { nodeChangedSignal, searchAttributes, withdrawSignal } from '../messages.js';
import { ordersAnswered, Oversight, overseen } from '../people/oversight.js';
import { Progress } from '../progress.js';
import { activitiesOf } from '../calls/proxies.js';
import { NodeReplacement } from './replacement.js';
import type { Readiness } from './source.js';
import { Turn } from './turn.js';
import { ViaProvision } from './via-provision.js';

/**
 * Replaces one node once its turn comes (commands/replacements-first). When a pause or a person stops it, it undoes its
 * steps and starts again afterwards. Launched nodes stay as capacity.
 */
export async function replaceNode(input: ReplaceNodeInput): Promise<ReplaceNodeResult> {
  const run = new ReplaceNodeRun(input);
  return overseen({
    run: () => run.run(),
    aborted: (why) => run.end('aborted', why),
    release: () => run.release(),
  });
}

class ReplaceNodeRun {
  private readonly activities;
  private readonly progress: Progress;
  private readonly oversight: Oversight;
  private readonly replacement: NodeReplacement;
  private readonly turn: Turn;
  /** Why the rollout withdrew this replacement; undefined if it did not. */
  private withdrawn: string | undefined;

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
    this.oversight = new Oversight(this.progress);
    const { oversight, progress, replacement } = this;
    this.turn = new Turn({ cluster, oversight, progress, replacement: () => replacement });
    setSignalHandler(nodeChangedSignal, () => this.turn.wake());
    setSignalHandler(withdrawSignal, ({ why }) => void (this.withdrawn = why));
  }

  async run(): Promise<ReplaceNodeResult> {
    const { oversight, replacement } = this;
    const { candidate, reason } = this.input;
    for (;;) {
      await oversight.gate();
      if ((await this.activities.kube.viewClaim({ claim: candidate.claim })).state !== 'live') return this.end('gone');
      if (this.withdrawn !== undefined) return this.end('withdrawn', this.withdrawn);
      const tainted = await this.turn.take(reason, [candidate], { until: () => this.withdrawn !== undefined });
      if (tainted === undefined) {
        await this.continueAsNewIfLong();
        continue;
      }
      const [refused] = tainted.refused;
      if (refused?.for === 'Gone') return this.end('gone');
      if (tainted.nodes.length === 0) return this.end('failed', refused?.why ?? 'its node could not be tainted');
      const readiness = await this.untilReady();
      oversight.throwIfAborted();
      if (readiness.state === 'failed' || readiness.state === 'late') return this.end('failed', readiness.why);
      if (readiness.state === 'interrupted' || oversight.isHeld) {
        await replacement.undo();
        continue;
      }
      const ended = await this.drain();
      if (ended !== undefined) return ended;
    }
  }

  /** Undefined if a pause kept the node in the last moment. */
  private async drain(): Promise<ReplaceNodeResult | undefined> {
    const { oversight, replacement } = this;
    const { candidate, reason } = this.input;
    const { claim, node, nodePool } = candidate;
    oversight.passPointOfNoReturn();
    this.progress.enter('draining', { waitingFor: node });
    const unlessPaused = { reason, node };
    const request = { claim, nodePool, reason: reason.toLowerCase(), unlessPaused, unlessRefused: true } as const;
    const end = await replacement.drain(request);
    if (!('why' in end)) return this.end('replaced');
    await replacement.undoDrain(oversight);
    return end.state === 'refused' ? this.end('failed', end.why) : undefined;
  }

  end(outcome: ReplaceNodeResult['outcome'], why?: string): ReplaceNodeResult {
    this.progress.enter(outcome, why === undefined ? {} : { facts: { [`${outcome} because`]: why } });
    return { outcome, replacements: this.replacement.claims, ...(why === undefined ? {} : { reason: why }) };
  }

  async release(): Promise<void> {
    await this.replacement.undo();
    this.oversight.finish();
    await ordersAnswered();
  }

  /** Launches, and waits until the replacements are initialized or the wait is interrupted. */
  private async untilReady(): Promise<Readiness> {
    const { oversight, replacement } = this;
    const { reason, candidate, withinMs } = this.input;
    const stops = (): boolean => oversight.isHeld || oversight.isAborted;
    if (stops()) return { state: 'interrupted' };
    await replacement.launch(withinMs);
    this.progress.enter('replacing', { waitingFor: 'the replacement to be up', until: workflowNow() + withinMs });
    return this.turn.awaitReady({ reason, nodes: [candidate] }, withinMs, stops);
  }

  /** Called only while it waits for its turn, when there is no state to carry over. */
  private async continueAsNewIfLong(): Promise<void> {
    if (await isContinueAsNewDue(this.oversight)) await continueAsNew<typeof replaceNode>(this.input);
  }
}
