import { CancellationScope, condition, getExternalWorkflowHandle, sleep, workflowInfo } from '@temporalio/workflow';
import type { InstanceView } from '../../activities/interruption/contract.js';
import { workflowIds } from '../../core/ids.js';
import { isHint } from '../../core/interruption-kinds.js';
import { workflowNow } from '../clock.js';
import type { HandleInterruptionInput, HandleInterruptionResult, InterruptionNotice } from '../messages.js';
import { expediteSignal, interruptionSignal, searchAttributes } from '../messages.js';
import { Progress } from '../progress.js';
import { activitiesOf } from '../calls/proxies.js';
import { notify } from '../calls/other-workflows.js';
import { NodeReplacement } from '../replacement/replacement.js';
import { ViaProvision } from '../replacement/via-provision.js';
import { setSignalHandler } from '../handlers.js';
import { timeText } from '../../core/time.js';

/** Time between EC2's interruption notice and the end of the instance. */
const noticeMs = 120_000;
/** First interval of the search for the NodeClaim of an instance. */
const firstPauseMs = 5000;
/** Time reserved for the drain in addition to the pods' grace periods. */
const drainMarginMs = 20_000;
/** How long a replacement after a rebalance recommendation may take. After that the node stays. */
const replaceAheadMs = 15 * 60_000;

/** Events after which the instance is stopping or gone, which leaves no time for a replacement. */
const instanceEnding: ReadonlySet<string> = new Set(['instance_stopped', 'instance_terminated']);
/** Notices that give the time when the cloud takes the instance. */
const withEndTime: ReadonlySet<string> = new Set(['spot_interrupted', 'capacity_reservation_interrupted']);
/** Failed status checks. The drain does not respect the protection of pods, since they may not be running any more. */
const endsProtection: ReadonlySet<string> = new Set(['instance_status', 'system_status']);

/**
 * Priority of the first activity of each workflow: if many instances are interrupted, all nodes are tainted before any
 * is drained.
 */
const inspectPriority = { priorityKey: 1 };

type Known = Extract<InstanceView, { state: 'known' }>;

/**
 * Handles the interruption of one instance (interruption/replaced-first). A notice taints the node and has a
 * replacement launched at once; a pod is evicted when that is initialized, or when its grace period leaves no more
 * time. A rebalance recommendation does the same where the policy of the NodePool says so, and a later notice is
 * handled by the same workflow. Repeated and outdated notices change nothing.
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
  private evicted = 0;

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
      if (view.state === 'refuted') continue;
      if (isHint(notice.kind)) {
        if (view.rebalance !== 'Replace' || !(await this.replaceAhead(view, notice))) continue;
      } else {
        await this.replaceForNotice(view, notice);
      }
      return await this.terminate(view, notice);
    }
    return this.result('noted');
  }

  /** Undoes the steps taken for a rebalance recommendation, if the node stays. */
  async release(): Promise<void> {
    await this.replacement.undo();
  }

  /**
   * Searches for the NodeClaim of the instance until the notice has expired: the instance id may not be written to the
   * NodeClaim yet.
   */
  private async inspectUntilKnown(notice: InterruptionNotice): Promise<InstanceView> {
    const until = notice.at + noticeMs;
    for (let pauseMs = firstPauseMs; ; pauseMs *= 2) {
      const view = await this.inspect(notice);
      const rest = until - workflowNow();
      if (view.state !== 'unknown' || view.mayBeLaunching !== true || rest <= 0) return view;
      this.progress.enter('inspecting', { waitingFor: 'a NodeClaim with this instance', until });
      await sleep(Math.min(pauseMs, rest), { summary: 'search the NodeClaim again' });
    }
  }

  private async inspect(notice: InterruptionNotice): Promise<InstanceView> {
    const { instanceId, notices: fromClaim = [] } = this.input;
    const { kind, at } = notice;
    this.progress.attributes([{ key: searchAttributes.reason, value: kind }]);
    this.progress.enter('inspecting', { facts: { notice: kind, 'given at': timeText(at) } });
    const taintsLater = isHint(kind) || instanceEnding.has(kind) || endsProtection.has(kind);
    return this.activities.cloud.inspectInstance.executeWithOptions({ summary: kind, priority: inspectPriority }, [
      // `cordonFor`: the first activity taints the node, before anything else is decided.
      {
        ...{ instanceId, kind, at },
        ...(taintsLater ? {} : { cordonFor: workflowInfo().workflowId }),
        ...(fromClaim.includes(notice) ? { toConfirm: true } : {}),
      },
    ]);
  }

  /**
   * Launches replacements on a recommendation. Returns whether they are initialized, so that the node can be drained
   * before it is interrupted.
   */
  private async replaceAhead(view: Known, { kind }: InterruptionNotice): Promise<boolean> {
    const { nodeName } = view;
    if (nodeName === undefined || view.deleting) return false;
    this.showClaim(view);
    if (view.podsToMove === 0) return true;
    const until = workflowNow() + replaceAheadMs;
    await this.begin(view, nodeName, kind, replaceAheadMs);
    this.progress.enter('replacing ahead', {
      waitingFor: 'the replacement to be up',
      until,
      facts: { node: nodeName, 'pods to move': view.podsToMove },
    });
    const { state } = await this.replacement.awaitReady(replaceAheadMs, () => this.next < this.notices.length);
    this.progress.addFacts({ replacement: state });
    if (state === 'ready') return true;
    // If a notice arrived meanwhile, its handling uses the replacement.
    if (state !== 'interrupted') await this.replacement.undo();
    return false;
  }

  private async replaceForNotice(view: Known, notice: InterruptionNotice): Promise<void> {
    this.showClaim(view);
    this.replacement.passPointOfNoReturn();
    const { nodeName } = view;
    if (nodeName === undefined || view.deleting || view.podsToMove === 0 || instanceEnding.has(notice.kind)) return;
    if (endsProtection.has(notice.kind)) return;
    if (!this.replacement.isLaunched) await this.begin(view, nodeName, notice.kind, noticeMs);
    this.progress.addFacts({ node: nodeName, 'pods to move': view.podsToMove });
    this.progress.addFacts({ replacement: await this.awaitReplacement(view, nodeName, notice) });
  }

  /**
   * Waits until the replacement is initialized, or until no pod can wait for it any longer. Pods that cannot wait
   * longer are evicted meanwhile.
   */
  private async awaitReplacement({ claim, longestGraceMs }: Known, nodeName: string, { at, kind }: InterruptionNotice) {
    const instanceEndsAt = at + noticeMs;
    const due = { claim, nodeName, known: [], since: workflowNow(), reason: kind, instanceEndsAt };
    let until: number | undefined = instanceEndsAt - longestGraceMs - drainMarginMs;
    do {
      this.progress.enter('replacing', { waitingFor: 'the replacement to be up', until });
      const rest: number = until - workflowNow();
      const state = rest <= 0 ? 'late' : (await this.replacement.awaitReady(rest)).state;
      if (state !== 'late') return state;
      const summary = `evict from ${nodeName} what can wait no longer`;
      const input = { ...due, marginMs: drainMarginMs };
      const { evicted, nextAt } = await this.activities.drain.evictDue.executeWithOptions({ summary }, [input]);
      this.evicted += evicted;
      this.progress.addFacts({ 'evicted before the replacement is up': this.evicted });
      until = nextAt;
    } while (until !== undefined);
    return 'late' as const;
  }

  private showClaim({ nodePool, claim }: Known): void {
    this.progress.attributes([
      { key: searchAttributes.nodePool, value: nodePool },
      { key: searchAttributes.nodeClaim, value: claim.name },
    ]);
  }

  private async begin(
    { claim, cordoned: isTainted }: Known,
    node: string,
    reason: string,
    reserveMs: number,
  ): Promise<void> {
    const { replacement } = this;
    if (isTainted === true) replacement.noteTainted(reason, [{ claim, node }]);
    else await replacement.taint(reason, [{ claim, node }]);
    await replacement.launch(reserveMs);
  }

  private async terminate(view: Known, notice: InterruptionNotice): Promise<HandleInterruptionResult> {
    const { cluster } = this.input;
    const { claim, nodePool } = view;
    const { kind } = notice;
    const workflowId = workflowIds.terminate(cluster, claim.uid);
    const until = instanceEndOf(notice);
    this.progress.enter('draining', {
      waitingFor: view.nodeName ?? claim.name,
      ...(until === undefined ? {} : { until }),
    });
    let over = false;
    let isElsewhere = false;
    const expediting = this.forwardNotices(workflowId, () => over);
    try {
      const end = await this.replacement.drain({ claim, nodePool, reason: kind, ...drainOrderOf(notice) });
      isElsewhere = end.state === 'elsewhere';
      if (isElsewhere) await this.expediteDrain(workflowId, notice);
    } finally {
      over = true;
    }
    await expediting;
    return isElsewhere ? this.handedOver(workflowId) : this.drained();
  }

  /** Passes notices that arrive during the drain on to `terminateNode`, since they may shorten the deadline. */
  private async forwardNotices(workflowId: string, over: () => boolean): Promise<void> {
    for (;;) {
      await condition(() => over() || this.next < this.notices.length);
      if (over()) return;
      const notice = this.notices[this.next++]!;
      this.progress.addFacts({ notice: notice.kind });
      await this.expediteDrain(workflowId, notice);
    }
  }

  private async expediteDrain(workflowId: string, notice: InterruptionNotice): Promise<void> {
    const order = drainOrderOf(notice);
    if (order.deadline === undefined && order.instanceEndsAt === undefined) return;
    await notify(() => getExternalWorkflowHandle(workflowId).signal(expediteSignal, { ...order, reason: notice.kind }));
  }

  /** The other workflow continues the drain, so the time that is left at its end is not known here. */
  private handedOver(workflowId: string): HandleInterruptionResult {
    this.progress.enter('done', { facts: { 'drained by': workflowId } });
    return this.result('handed-over');
  }

  private drained(): HandleInterruptionResult {
    const ends = this.notices.map(instanceEndOf).filter((end) => end !== undefined);
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
function instanceEndOf({ kind, at }: InterruptionNotice): number | undefined {
  return withEndTime.has(kind) ? at + noticeMs : undefined;
}

/** What the drain needs from the notice: when the instance ends, or a deadline of now. */
function drainOrderOf(notice: InterruptionNotice): { readonly deadline?: number; readonly instanceEndsAt?: number } {
  const end = instanceEndOf(notice);
  if (end !== undefined) return { instanceEndsAt: end };
  return endsProtection.has(notice.kind) ? { deadline: workflowNow() } : {};
}
