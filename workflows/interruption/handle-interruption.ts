import { CancellationScope, condition, getExternalWorkflowHandle, sleep, workflowInfo } from '@temporalio/workflow';
import type { InstanceView } from '../../activities/interruption/contract.js';
import { workflowIds } from '../../core/ids.js';
import { isHint } from '../../core/interruption-kinds.js';
import { workflowNow } from '../clock.js';
import type { HandleInterruptionInput, HandleInterruptionResult, InterruptionNotice } from '../messages.js';
import { expediteSignal, interruptionSignal, searchAttributes } from '../messages.js';
import { Progress } from '../progress.js';
import { activitiesOf } from '../proxies.js';
import { notify } from '../relations.js';
import { NodeReplacement } from '../replacement/replacement.js';
import { ViaProvision } from '../replacement/via-provision.js';
import { setSignalHandler } from '../handlers.js';

/** What EC2 gives an instance between the notice and its end. */
const noticeMs = 120_000;
/** Between the first two looks for a NodeClaim that is not there yet. */
const firstPauseMs = 5000;
/** Draining takes its seconds besides the pods' grace. */
const drainMarginMs = 20_000;
/** A replacement ahead of an interruption that takes longer is given up: the node serves on. */
const replaceAheadMs = 15 * 60_000;

/** Kinds after which there is no time left to prepare a replacement. */
const alreadyGoing: ReadonlySet<string> = new Set(['instance_stopped', 'instance_terminated']);
/** Kinds that say when the cloud takes the instance. */
const ending: ReadonlySet<string> = new Set(['spot_interrupted', 'capacity_reservation_interrupted']);
/** Failed checks: what protects pods ends at once. */
const forceful: ReadonlySet<string> = new Set(['instance_status', 'system_status']);

/** Of many notices each is looked at before any goes on, where the server knows priorities. */
const firstLook = { priorityKey: 1 };

type Known = Extract<InstanceView, { state: 'known' }>;

/**
 * One instance that the cloud is about to take (interruption/replaced-first). The notice cordons the node and has a replacement
 * launched at once; the drain begins when that is up, or when the pods' grace leaves no more time to wait. A rebalance
 * recommendation does the same in good time where the pool's policy says so; a notice that follows joins it here. The same
 * notice twice, or an old one after a newer, changes nothing.
 */
export async function handleInterruption(input: HandleInterruptionInput): Promise<HandleInterruptionResult> {
  const interruption = new Interruption(input);
  try {
    return await interruption.run();
  } finally {
    await CancellationScope.nonCancellable(() => interruption.release());
  }
}

class Interruption {
  private readonly notices: InterruptionNotice[];
  private readonly replacement: NodeReplacement;
  private readonly activities;
  private readonly progress: Progress;
  private next = 0;

  constructor(private readonly input: HandleInterruptionInput) {
    const { cluster, instanceId, notices = [] } = input;
    this.notices = [...notices];
    setSignalHandler(interruptionSignal, (notice) => {
      if (!this.notices.some(({ messageId }) => messageId === notice.messageId)) this.notices.push(notice);
    });
    this.replacement = new NodeReplacement(cluster, new ViaProvision(cluster));
    this.activities = activitiesOf(cluster);
    this.progress = new Progress(
      `Interruption of ${instanceId}`,
      [
        { key: searchAttributes.cluster, value: cluster },
        { key: searchAttributes.instanceId, value: instanceId },
      ],
      { instance: instanceId },
    );
  }

  async run(): Promise<HandleInterruptionResult> {
    await condition(() => this.notices.length > 0);
    while (this.next < this.notices.length) {
      const notice = this.notices[this.next++]!;
      const view = await this.inspectUntilKnown(notice);
      if (view.state === 'unknown') return this.result('unknown-instance');
      if (isHint(notice.kind)) {
        if (view.rebalance !== 'Replace' || !(await this.replaceAhead(view, notice))) continue;
      } else {
        await this.prepare(view, notice);
      }
      await this.terminate(view, notice);
      return this.drained();
    }
    return this.result('noted');
  }

  /** What was begun for a recommendation alone is undone: the node stays after all. */
  async release(): Promise<void> {
    await this.replacement.undo();
  }

  /** A claim may still be to be told of its instance: there are looks, ever further apart, until the notice is over. */
  private async inspectUntilKnown(notice: InterruptionNotice): Promise<InstanceView> {
    const until = notice.at + noticeMs;
    for (let pauseMs = firstPauseMs; ; pauseMs *= 2) {
      const view = await this.inspect(notice);
      const rest = until - workflowNow();
      if (view.state === 'known' || view.mayBeLaunching !== true || rest <= 0) return view;
      this.progress.enter('inspecting', { waitingFor: 'a NodeClaim with this instance', until });
      await sleep(Math.min(pauseMs, rest), { summary: 'another look for the NodeClaim' });
    }
  }

  private async inspect({ kind, at }: InterruptionNotice): Promise<InstanceView> {
    const { instanceId } = this.input;
    this.progress.attributes([{ key: searchAttributes.reason, value: kind }]);
    this.progress.enter('inspecting', { facts: { notice: kind, 'given at': new Date(at).toISOString() } });
    const takesPods = isHint(kind) || alreadyGoing.has(kind) || forceful.has(kind);
    return this.activities.cloud.inspectInstance.executeWithOptions({ summary: kind, priority: firstLook }, [
      // A node that ends takes no more pods, before anything else is thought of.
      { instanceId, kind, at, ...(takesPods ? {} : { cordonFor: workflowInfo().workflowId }) },
    ]);
  }

  /** Whether the pods have their new places, so that the node may go before the cloud takes it. */
  private async replaceAhead(view: Known, { kind }: InterruptionNotice): Promise<boolean> {
    const { nodeName } = view;
    if (nodeName === undefined || view.deleting) return false;
    this.name(view);
    if (view.podsToMove === 0) return true;
    const until = workflowNow() + replaceAheadMs;
    await this.begin(view, nodeName, kind, replaceAheadMs);
    this.progress.enter('replacing ahead', {
      waitingFor: 'the replacement to be up',
      until,
      facts: { node: nodeName, 'pods to move': view.podsToMove },
    });
    const { state } = await this.replacement.awaitReady(replaceAheadMs, () => this.next < this.notices.length);
    this.progress.note({ replacement: state });
    if (state === 'ready') return true;
    // A notice that came meanwhile takes over what was prepared.
    if (state !== 'interrupted') await this.replacement.undo();
    return false;
  }

  private async prepare(view: Known, notice: InterruptionNotice): Promise<void> {
    this.name(view);
    this.replacement.passPointOfNoReturn();
    const { nodeName } = view;
    if (nodeName === undefined || view.deleting || view.podsToMove === 0 || alreadyGoing.has(notice.kind)) return;
    if (forceful.has(notice.kind)) return;
    if (!this.replacement.isLaunched) await this.begin(view, nodeName, notice.kind, noticeMs);
    const drainBy = notice.at + noticeMs - view.longestGraceMs - drainMarginMs;
    this.progress.enter('replacing', {
      waitingFor: 'the replacement to be up',
      until: drainBy,
      facts: { node: nodeName, 'pods to move': view.podsToMove },
    });
    const rest = drainBy - workflowNow();
    const state = rest <= 0 ? 'late' : (await this.replacement.awaitReady(rest)).state;
    this.progress.note({ replacement: state });
  }

  private name({ nodePool, claim }: Known): void {
    this.progress.attributes([
      { key: searchAttributes.nodePool, value: nodePool },
      { key: searchAttributes.nodeClaim, value: claim.name },
    ]);
  }

  private async begin({ claim, cordoned }: Known, node: string, reason: string, holdMs: number): Promise<void> {
    const { replacement } = this;
    if (cordoned === true) replacement.isTaintedAlready(reason, [{ claim, node }]);
    else await replacement.taint(reason, [{ claim, node }]);
    await replacement.launch(holdMs);
  }

  private async terminate(view: Known, notice: InterruptionNotice): Promise<void> {
    const { cluster } = this.input;
    const { claim, nodePool } = view;
    const { kind } = notice;
    const workflowId = workflowIds.terminate(cluster, claim.uid);
    const until = endOf(notice);
    this.progress.enter('draining', {
      waitingFor: view.nodeName ?? claim.name,
      ...(until === undefined ? {} : { until }),
    });
    let over = false;
    const hurrying = this.hurryOnNews(workflowId, () => over);
    try {
      const end = await this.replacement.drain({ claim, nodePool, reason: kind, ...urgency(notice) });
      if (end === 'elsewhere') await this.hurry(workflowId, notice);
    } finally {
      over = true;
    }
    await hurrying;
  }

  /** A notice that comes during the drain may be the more urgent one. */
  private async hurryOnNews(workflowId: string, over: () => boolean): Promise<void> {
    for (;;) {
      await condition(() => over() || this.next < this.notices.length);
      if (over()) return;
      const notice = this.notices[this.next++]!;
      this.progress.note({ notice: notice.kind });
      await this.hurry(workflowId, notice);
    }
  }

  private async hurry(workflowId: string, notice: InterruptionNotice): Promise<void> {
    const order = urgency(notice);
    if (order.deadline === undefined && order.instanceEndsAt === undefined) return;
    await notify(() => getExternalWorkflowHandle(workflowId).signal(expediteSignal, { ...order, reason: notice.kind }));
  }

  private drained(): HandleInterruptionResult {
    const ends = this.notices.map(endOf).filter((end) => end !== undefined);
    if (ends.length === 0) {
      this.progress.enter('done');
      return this.result('drained');
    }
    const secondsToSpare = Math.round((Math.min(...ends) - workflowNow()) / 1000);
    this.progress.attributes([
      { key: searchAttributes.phase, value: 'done' },
      { key: searchAttributes.secondsToSpare, value: secondsToSpare },
    ]);
    this.progress.enter('done', { facts: { 'seconds to spare': secondsToSpare } });
    return { ...this.result('drained'), secondsToSpare };
  }

  private result(outcome: HandleInterruptionResult['outcome']): HandleInterruptionResult {
    const names = this.replacement.claims.map(({ name }) => name);
    return { outcome, kinds: [...new Set(this.notices.map(({ kind }) => kind))], replacements: names };
  }
}

/** When the cloud takes the instance, milliseconds of the epoch. */
function endOf({ kind, at }: InterruptionNotice): number | undefined {
  return ending.has(kind) ? at + noticeMs : undefined;
}

/** What a drain has to know of the notice: when the instance ends, or that nothing is protected any more. */
function urgency(notice: InterruptionNotice): { readonly deadline?: number; readonly instanceEndsAt?: number } {
  const end = endOf(notice);
  if (end !== undefined) return { instanceEndsAt: end };
  return forceful.has(notice.kind) ? { deadline: workflowNow() } : {};
}
