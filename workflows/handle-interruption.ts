import { condition, executeChild, ParentClosePolicy, setHandler } from '@temporalio/workflow';
import type { InstanceView } from '../activities/contract.js';
import { workflowIds } from '../core/ids.js';
import { workflowNow } from './clock.js';
import type { HandleInterruptionInput, HandleInterruptionResult, InterruptionNotice } from './messages.js';
import { interruptionSignal, searchAttributes } from './messages.js';
import { Progress } from './progress.js';
import { activitiesOf } from './proxies.js';
import { isStartedAlready } from './relations.js';
import { Replacements } from './replacements.js';
import type { terminateNode } from './terminate-node.js';

/** What EC2 gives a spot instance between the notice and its end. */
const spotNoticeMs = 120_000;
/** Draining takes its seconds besides the pods' grace. */
const drainMarginMs = 20_000;

/** Kinds that only announce; every other kind ends the instance (section 4.15). */
const hints: ReadonlySet<string> = new Set(['rebalance_recommendation']);
/** Kinds after which there is no time left to prepare a replacement. */
const alreadyGoing: ReadonlySet<string> = new Set(['instance_stopped', 'instance_terminated']);

type Known = Extract<InstanceView, { state: 'known' }>;

/**
 * One instance that the cloud is about to take (section 4.15). The notice cordons the node and has a replacement
 * launched at once; the drain begins when that is up, or when the pods' grace leaves no more time to wait.
 */
export async function handleInterruption(input: HandleInterruptionInput): Promise<HandleInterruptionResult> {
  const { cluster, instanceId } = input;
  const notices: InterruptionNotice[] = [];
  setHandler(interruptionSignal, (notice) => {
    if (!notices.some(({ messageId }) => messageId === notice.messageId)) notices.push(notice);
  });
  const replacements = new Replacements(cluster);
  const activities = activitiesOf(cluster);
  const progress = new Progress(
    `Interruption of ${instanceId}`,
    [
      { key: searchAttributes.cluster, value: cluster },
      { key: searchAttributes.instanceId, value: instanceId },
    ],
    { instance: instanceId },
  );
  await condition(() => notices.length > 0);

  for (let next = 0; next < notices.length; next++) {
    const notice = notices[next]!;
    progress.attributes([{ key: searchAttributes.reason, value: notice.kind }]);
    progress.enter('inspecting', { facts: { notice: notice.kind, 'given at': new Date(notice.at).toISOString() } });
    const { kind, at } = notice;
    const view = await activities.cloud.inspectInstance.executeWithOptions({ summary: kind }, [
      { instanceId, kind, at },
    ]);
    if (view.state === 'unknown') return { outcome: 'unknown-instance', kinds: kindsOf(notices), replacements: [] };
    if (hints.has(kind)) continue;
    const deadline = notice.at + spotNoticeMs;
    await prepare(view, notice, deadline);
    await terminate(view, notice);
    const secondsToSpare = Math.round((deadline - workflowNow()) / 1000);
    progress.enter('done', { facts: { 'seconds to spare': secondsToSpare } });
    const names = replacements.claims.map(({ name }) => name);
    return { outcome: 'drained', kinds: kindsOf(notices), replacements: names, secondsToSpare };
  }
  return { outcome: 'noted', kinds: kindsOf(notices), replacements: [] };

  async function prepare(view: Known, notice: InterruptionNotice, deadline: number): Promise<void> {
    progress.attributes([
      { key: searchAttributes.nodePool, value: view.nodePool },
      { key: searchAttributes.nodeClaim, value: view.claim.name },
    ]);
    const { nodeName, claim } = view;
    if (nodeName === undefined || view.deleting || view.podsToMove === 0 || alreadyGoing.has(notice.kind)) return;
    await activities.kube.taintCandidates({ reason: notice.kind, candidates: [{ claim, node: nodeName }] });
    await replacements.request([nodeName], notice.kind, spotNoticeMs);
    const drainBy = deadline - view.longestGraceMs - drainMarginMs;
    progress.enter('replacing', {
      waitingFor: 'the replacement to be up',
      until: drainBy,
      facts: { node: nodeName, 'pods to move': view.podsToMove },
    });
    const verdict = drainBy <= workflowNow() ? 'late' : await replacements.settled(drainBy - workflowNow());
    progress.note({ replacement: verdict });
  }

  async function terminate(view: Known, notice: InterruptionNotice): Promise<void> {
    const { claim, nodePool } = view;
    progress.enter('draining', { waitingFor: view.nodeName ?? claim.name, until: notice.at + spotNoticeMs });
    const workflowId = workflowIds.terminate(cluster, claim.uid);
    try {
      await executeChild<typeof terminateNode>('terminateNode', {
        workflowId,
        parentClosePolicy: ParentClosePolicy.ABANDON,
        workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY',
        staticSummary: `${claim.name}: ${notice.kind}`,
        args: [{ cluster, claim, nodePool, reason: notice.kind, deleteClaim: true }],
      });
    } catch (error) {
      if (!isStartedAlready(error)) throw error;
    }
  }
}

function kindsOf(notices: readonly InterruptionNotice[]): readonly string[] {
  return [...new Set(notices.map(({ kind }) => kind))];
}
