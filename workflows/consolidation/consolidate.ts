import {
  CancellationScope,
  condition,
  getExternalWorkflowHandle,
  log,
  ParentClosePolicy,
  startChild,
  workflowInfo,
} from '@temporalio/workflow';
import { workflowIds } from '../../core/ids.js';
import { workflowNow } from '../clock.js';
import type { measureSavings } from './measure-savings.js';
import type { ApprovalAsked, Candidate, ConsolidateInput, ConsolidateResult, Decision } from '../messages.js';
import {
  disruptionFinishedSignal,
  nominatedSignal,
  searchAttributes,
  steeredSignal,
  steerSignal,
  withdrawSignal,
} from '../messages.js';
import { dollars, factsOf, questionOf, summaryOf } from '../disruption/command-text.js';
import { consentText, isAborted, ordersAnswered, Oversight } from '../people/oversight.js';
import type { Consent } from '../people/oversight.js';
import { counted } from '../../core/plurals.js';
import { endNode } from '../termination/node-end.js';
import { Progress } from '../progress.js';
import { activitiesOf } from '../proxies.js';
import { isStartedAlready, notify } from '../relations.js';
import { ReplacementLaunches } from '../disruption/replacement-launches.js';
import { Slots } from '../disruption/slots.js';
import type { Slot } from '../disruption/slots.js';
import { setSignalHandler } from '../handlers.js';

const validationMs = 15_000;
const minutes = 60_000;
/** A question is looked at again this often: prices and pods may have changed. */
const askAgainMs = 60 * minutes;
/** Evictions wait no longer for other nodes to be tainted: without that pods are placed as well, if less well. */
const steeredWithinMs = 2_000;
/** Rule `commands/replacement-timeout`: how long replacements may take, by how many nodes are on their way out. */
const launchMsPerNode = 80;

/**
 * Carries out one decision (commands/validation, commands/replacements-first): looks again after 15 seconds, asks for consent where a policy wants it
 * and then for a disruption slot, taints, launches the replacements, waits until they are initialized, then has each node terminated. People and pauses
 * hold it before each step that cannot be taken back; a run that waits or ends before the point of no return leaves no taint.
 */
export async function consolidate(input: ConsolidateInput): Promise<ConsolidateResult> {
  const run = new Consolidation(input);
  let result: ConsolidateResult | undefined;
  try {
    result = await run.run();
    return result;
  } finally {
    await CancellationScope.nonCancellable(() => run.finish(result));
  }
}

/** Ends a run with a reason that is a value. */
class EarlyEnd extends Error {
  constructor(readonly result: ConsolidateResult) {
    super(result.reason);
  }
}

class Consolidation {
  private readonly activities;
  private readonly progress: Progress;
  private readonly oversight: Oversight;
  private readonly launches: ReplacementLaunches;
  /** Nodes with pods on their way, and until when that holds. */
  private readonly nominated = new Map<string, number>();
  private marked: readonly Candidate[] = [];
  private readonly slots: Slots;
  private slot: Slot | undefined;
  /** Why the question makes no sense any more. */
  private withdrawn: string | undefined;

  constructor(private readonly input: ConsolidateInput) {
    const { cluster, reason, candidates, decision } = input;
    this.activities = activitiesOf(cluster);
    this.progress = new Progress(
      summaryOf(reason, candidates, decision),
      [
        { key: searchAttributes.cluster, value: cluster },
        { key: searchAttributes.nodePool, value: candidates[0]?.nodePool ?? '' },
        { key: searchAttributes.nodeClaim, value: candidates[0]?.claim.name ?? '' },
        { key: searchAttributes.reason, value: reason.toLowerCase() },
        { key: searchAttributes.savingsPerHour, value: saving(candidates, decision) },
      ],
      factsOf(input),
      'validating',
    );
    this.oversight = new Oversight(this.progress, { paused: input.paused ?? false });
    this.launches = new ReplacementLaunches(cluster, reason.toLowerCase());
    this.slots = new Slots(cluster);
    setSignalHandler(withdrawSignal, ({ why }) => void (this.withdrawn = why));
    setSignalHandler(nominatedSignal, (nodes) => nodes.forEach(({ node, until }) => this.nominated.set(node, until)));
  }

  async run(): Promise<ConsolidateResult> {
    try {
      return await this.steps();
    } catch (error) {
      if (error instanceof EarlyEnd) return error.result;
      if (!isAborted(error)) throw error;
      return this.end('aborted', error.message);
    }
  }

  /** Whatever happened, no taint stays on a node that stays, and `disrupt` learns how it ended. */
  async finish(result: ConsolidateResult | undefined): Promise<void> {
    this.oversight.finish();
    try {
      await this.release();
    } catch (error) {
      log.warn('could not take the taints off', { error });
    }
    await this.slot?.giveBack();
    const { workflowId } = workflowInfo();
    const { decision, cluster } = this.input;
    const report =
      decision === undefined || result === undefined
        ? {}
        : {
            outcome: result.outcome,
            ...(result.reason === undefined ? {} : { reason: result.reason }),
            ...(result.outcome === 'done' ? { targets: this.targets(decision) } : {}),
          };
    await notify(() =>
      getExternalWorkflowHandle(workflowIds.disrupt(cluster)).signal(disruptionFinishedSignal, {
        workflowId,
        ...report,
      }),
    );
    await ordersAnswered();
  }

  private async steps(): Promise<ConsolidateResult> {
    const { input, oversight } = this;
    const { decision } = input;
    const wait = input.validationMs ?? (decision?.method === 'drift' ? 0 : validationMs);
    if (wait > 0) {
      this.progress.enter('validating', {
        waitingFor: 'the validation that follows the decision',
        until: workflowNow() + wait,
      });
      await oversight.wait(wait, { summary: 'validation: is it still so?', until: () => this.withdrawn !== undefined });
    }
    this.throwIfWithdrawn();
    await oversight.gate();
    let deleting = await this.validate();
    if (decision?.approval !== undefined) {
      await this.askConsent(decision, decision.approval);
      await this.acquireSlot(deleting, decision);
      // Hours may have passed.
      deleting = await this.validate();
    }
    deleting = await this.confirm(await this.mark(deleting));
    const replaces = decision !== undefined && decision.replacements.length > 0;
    if (replaces) await this.launch(decision, deleting);
    await oversight.gate({ release: () => this.release(), restore: () => this.restore(deleting) });
    // Minutes have passed: a pod may have been marked meanwhile.
    if (replaces) await this.confirm(deleting);
    oversight.passPointOfNoReturn();
    if (decision?.steers === true) await this.steer(decision);
    return this.drain(this.marked);
  }

  private async validate(created: readonly string[] = []): Promise<readonly Candidate[]> {
    const { reason, candidates, decision } = this.input;
    const judged =
      decision === undefined
        ? {}
        : {
            decision: {
              method: decision.method,
              replacements: decision.replacements,
              typeLists: decision.typeLists,
              alongside: decision.alongside,
            },
          };
    const coming =
      decision === undefined
        ? undefined
        : candidates.find(({ node }) => (this.nominated.get(node) ?? 0) > workflowNow());
    if (coming !== undefined) throw new EarlyEnd(this.abandon(`pods are on their way to ${coming.node}`));
    const verdict = await this.activities.kube.validateCandidates.executeWithOptions(
      { summary: 'validate: simulate once more', startToCloseTimeout: '10 minutes' },
      [{ reason, candidates, ...judged, ...(created.length === 0 ? {} : { created }) }],
    );
    if (verdict.valid.length > 0) return verdict.valid;
    throw new EarlyEnd(this.abandon(verdict.dropped[0]?.why ?? 'no candidate is left'));
  }

  /** Holds up nothing meanwhile: no slot is taken before the answer, and the question ends with its cause. */
  private async askConsent(decision: Decision, approval: ApprovalAsked): Promise<void> {
    const question = questionOf(this.input, decision);
    await this.publish('ConsolidationAwaitsApproval', question);
    const { answer, by, reason } = await this.consent(question, approval);
    const text = consentText({ answer, by, ...(reason === undefined ? {} : { reason }) });
    await this.publish(answer === 'approved' ? 'ConsolidationApproved' : 'ConsolidationRejected', text);
    if (answer === 'rejected') throw new EarlyEnd(this.end('rejected', text));
    await this.oversight.gate();
  }

  private async consent(question: string, approval: ApprovalAsked): Promise<Consent> {
    const until = workflowNow() + approval.timeoutMs;
    for (;;) {
      const rest = until - workflowNow();
      const isLast = rest <= askAgainMs;
      const overtaken = (): boolean => this.withdrawn !== undefined;
      const lookAgainMs = isLast ? undefined : askAgainMs;
      const consent = await this.oversight.consentUnless(
        overtaken,
        { ...approval, timeoutMs: rest },
        { what: question, ...(lookAgainMs === undefined ? {} : { lookAgainMs }) },
      );
      if (consent !== undefined) return consent;
      await this.endIfWithdrawn();
      await this.validate();
    }
  }

  /** A slot of `disrupt`, which may have let others go meanwhile. */
  private async acquireSlot(deleting: readonly Candidate[], { method }: Decision): Promise<void> {
    const { reason } = this.input;
    const slot = await this.slots.request(reason, deleting, { together: method !== 'empty' });
    this.slot = slot;
    const stops = (): boolean => this.withdrawn !== undefined || this.oversight.isAborted;
    while (slot.granted.length === 0) {
      this.progress.enter('waiting for a disruption slot', { waitingFor: slot.waitingFor });
      const told = JSON.stringify(slot.refused);
      const news = (): boolean => stops() || JSON.stringify(slot.refused) !== told;
      const isGranted = await slot.settled({ or: news });
      this.oversight.throwIfAborted();
      if (!isGranted) await this.endIfWithdrawn();
    }
  }

  private async endIfWithdrawn(): Promise<void> {
    const why = this.withdrawn;
    if (why === undefined) return;
    await this.publish('ConsolidationWithdrawn', `no longer asked for: ${why}`);
    throw new EarlyEnd(this.end('withdrawn', why));
  }

  private throwIfWithdrawn(): void {
    if (this.withdrawn !== undefined) throw new EarlyEnd(this.end('withdrawn', this.withdrawn));
  }

  /** Rule `commands/partly-tainted`: with replacements to launch all or none, else those that could be marked. */
  private async mark(valid: readonly Candidate[]): Promise<readonly Candidate[]> {
    const { reason, decision } = this.input;
    // Noted before the effect: an attempt that failed may have tainted half of them.
    this.marked = valid;
    this.progress.enter('tainting');
    const { tainted } = await this.activities.kube.taintCandidates.executeWithOptions(
      { summary: `taint ${counted(valid.length, 'node')}` },
      [{ reason, candidates: valid, owner: workflowInfo().workflowId }],
    );
    const deleting = valid.filter(({ claim }) => tainted.includes(claim.uid));
    const partly = deleting.length < valid.length && (decision?.replacements.length ?? 0) > 0;
    if (deleting.length === 0 || partly) throw new EarlyEnd(this.abandon('not every candidate could be tainted'));
    this.marked = deleting;
    return deleting;
  }

  /** Behind the taint nothing lands any more: what did before may keep a node after all. */
  private async confirm(deleting: readonly Candidate[]): Promise<readonly Candidate[]> {
    const { decision } = this.input;
    const { blocked } = await this.activities.kube.confirmCandidates.executeWithOptions(
      { summary: 'what landed before the taint?' },
      [{ method: decision?.method ?? 'empty', candidates: deleting.map(({ claim, node }) => ({ claim, node })) }],
    );
    const [first] = blocked;
    if (first === undefined) return deleting;
    const isBlocked = ({ node }: Candidate): boolean => blocked.some((one) => one.node === node);
    const going = deleting.filter((candidate) => !isBlocked(candidate));
    if (going.length === 0 || (decision?.replacements.length ?? 0) > 0) {
      throw new EarlyEnd(this.abandon(`${first.node}: ${first.why}`));
    }
    await this.untaint(deleting.filter(isBlocked));
    this.marked = going;
    return going;
  }

  /** Steps 3 to 5: exactly the planned replacements, and nothing goes before they are initialized. */
  private async launch(decision: Decision, deleting: readonly Candidate[]): Promise<void> {
    const { oversight, progress, launches } = this;
    const queued = deleting.length + decision.alongside.length;
    const timeoutMs = Math.min(60 * minutes, Math.max(10 * minutes, launchMsPerNode * queued));
    oversight.throwIfAborted();
    await this.stepBack(deleting);
    progress.enter('launching');
    await this.publish('DisruptionLaunching', `Launching ${counted(decision.replacements.length, 'replacement')}`);
    const refused = await launches.create(decision);
    if (refused !== undefined) throw new EarlyEnd(await this.fail(refused));
    await launches.mark(nodesOf(deleting), workflowNow() + timeoutMs + 10 * minutes);
    const wasHeld = await this.awaitReplacements(deleting, timeoutMs);
    // Hours may have passed.
    if (wasHeld) await this.validate(launches.names);
  }

  /** Tells whether it was held meanwhile: the nodes have no taint for as long, and the replacements all of their time. */
  private async awaitReplacements(deleting: readonly Candidate[], timeoutMs: number): Promise<boolean> {
    const { oversight, progress, launches } = this;
    const isHeld = (): boolean => oversight.isHeld;
    let wasHeld = false;
    for (let rest = timeoutMs; ;) {
      const began = workflowNow();
      progress.enter('launching', {
        waitingFor: `${launches.names.join(', ')} to be initialized`,
        until: began + rest,
        facts: { replacements: launches.names.join(', ') },
      });
      const lost = await launches.initialized(rest, () => oversight.isAborted || isHeld());
      oversight.throwIfAborted();
      if (lost !== undefined) throw new EarlyEnd(await this.fail(lost));
      if (!isHeld()) return wasHeld;
      rest = Math.max(1, rest - (workflowNow() - began));
      await this.stepBack(deleting);
      wasHeld = true;
    }
  }

  /** While a pause or a person holds it, nothing tells from outside that these nodes are to go. */
  private async stepBack(deleting: readonly Candidate[]): Promise<void> {
    const restore = async (): Promise<void> => {
      await this.mark(deleting);
      if (this.launches.names.length > 0) {
        await this.launches.mark(nodesOf(deleting), workflowNow() + 60 * minutes);
      }
    };
    await this.oversight.gate({ release: () => this.release(), restore });
  }

  /** Nothing tells from outside any more that these nodes were to go; what was launched stays as capacity. */
  private async release(): Promise<void> {
    const { marked } = this;
    if (marked.length === 0) return;
    this.marked = [];
    await this.untaint(marked);
    if (this.launches.names.length > 0) await this.launches.mark(nodesOf(marked), 0);
  }

  private async untaint(candidates: readonly Candidate[]): Promise<void> {
    await this.activities.kube.untaintCandidates.executeWithOptions(
      { summary: `untaint ${counted(candidates.length, 'node')}` },
      [{ candidates, owner: workflowInfo().workflowId }],
    );
  }

  /** After a hold: the cluster may have become another one. */
  private async restore(deleting: readonly Candidate[]): Promise<void> {
    const { names } = this.launches;
    const valid = this.input.decision === undefined ? deleting : await this.validate(names);
    await this.mark(valid);
    if (names.length > 0) await this.launches.mark(nodesOf(valid), workflowNow() + 10 * minutes);
  }

  /** Pods that are evicted come anew wherever kube-scheduler likes best: that is to be where they are meant to go. */
  private async steer(decision: Decision): Promise<void> {
    const { workflowId } = workflowInfo();
    const targets = this.targets(decision).map(({ node }) => node);
    let isSteered = false;
    setSignalHandler(steeredSignal, () => void (isSteered = true));
    const disrupt = getExternalWorkflowHandle(workflowIds.disrupt(this.input.cluster));
    const isTold = await notify(() => disrupt.signal(steerSignal, { workflowId, targets }));
    if (isTold) await condition(() => isSteered, steeredWithinMs, { summary: 'pods to be steered' });
  }

  private async drain(deleting: readonly Candidate[]): Promise<ConsolidateResult> {
    const { decision } = this.input;
    this.marked = [];
    this.progress.enter('draining', { waitingFor: nodesOf(deleting).join(', ') });
    await Promise.all(deleting.map((candidate) => this.terminate(candidate)));
    const saved = saving(deleting, decision);
    this.progress.enter('done', { facts: { 'saved per hour': saved } });
    if (decision !== undefined && decision.method !== 'drift') await this.measure(deleting, decision);
    const replacements = this.launches.names;
    return {
      outcome: 'done',
      terminated: nodesOf(deleting),
      ...(replacements.length === 0 ? {} : { replacements }),
      savedPerHour: saved,
    };
  }

  private async terminate({ claim, nodePool }: Candidate): Promise<void> {
    const { cluster, reason } = this.input;
    await endNode({ cluster, claim, nodePool, reason: reason.toLowerCase() });
  }

  private async measure(deleting: readonly Candidate[], { priceAfter, podCount }: Decision): Promise<void> {
    const { cluster, reason } = this.input;
    const { workflowId, firstExecutionRunId } = workflowInfo();
    const command = {
      id: workflowId,
      reason,
      nodePools: [...new Set(deleting.map(({ nodePool }) => nodePool))],
      nodes: nodesOf(deleting),
      replacements: this.launches.created.map(({ name, uid }) => ({ name, uid })),
      priceBefore: deleting.reduce((sum, { pricePerHour }) => sum + pricePerHour, 0),
      priceAfter,
      podsMoved: podCount,
      finishedAt: workflowNow(),
    };
    try {
      await startChild<typeof measureSavings>('measureSavings', {
        workflowId: workflowIds.savings(cluster, firstExecutionRunId),
        parentClosePolicy: ParentClosePolicy.ABANDON,
        workflowIdReusePolicy: 'ALLOW_DUPLICATE',
        staticSummary: `did it save ${dollars(command.priceBefore - priceAfter)}/h? ${command.nodes.slice(0, 3).join(', ')}`,
        args: [{ cluster, command }],
      });
    } catch (error) {
      if (!isStartedAlready(error)) throw error;
    }
  }

  private async publish(reason: string, message: string): Promise<void> {
    const { candidates } = this.input;
    await this.activities.kube.publishDisruption.executeWithOptions({ summary: `event ${reason}` }, [
      { nodes: nodesOf(candidates), reason, message },
    ]);
  }

  private targets(decision: Decision): Decision['targets'] {
    const launched = this.launches.created.map(({ name, nodePool }) => ({ node: name, nodePool }));
    return [...decision.targets, ...launched];
  }

  private abandon(reason: string): ConsolidateResult {
    return this.end('abandoned', reason);
  }

  private async fail(reason: string): Promise<ConsolidateResult> {
    await this.publish('DisruptionBlocked', reason);
    return this.end('failed', reason);
  }

  private end(outcome: Exclude<ConsolidateResult['outcome'], 'done'>, reason: string): ConsolidateResult {
    this.progress.enter(outcome, { facts: { [`${outcome} because`]: reason } });
    const replacements = this.launches.names;
    return {
      outcome,
      reason,
      terminated: [],
      ...(replacements.length === 0 ? {} : { replacements }),
      savedPerHour: 0,
    };
  }
}

const nodesOf = (candidates: readonly Candidate[]): string[] => candidates.map(({ node }) => node);

function saving(candidates: readonly Candidate[], decision: Decision | undefined): number {
  const gone = candidates.reduce((sum, { pricePerHour }) => sum + pricePerHour, 0);
  return Math.round((gone - (decision?.priceAfter ?? 0)) * 1e6) / 1e6;
}
