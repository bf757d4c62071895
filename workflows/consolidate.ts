import {
  CancellationScope,
  condition,
  getExternalWorkflowHandle,
  log,
  ParentClosePolicy,
  patched,
  setHandler,
  startChild,
  workflowInfo,
} from '@temporalio/workflow';
import { workflowIds } from '../core/ids.js';
import { workflowNow } from './clock.js';
import type { measureSavings } from './measure-savings.js';
import type { Candidate, ConsolidateInput, ConsolidateResult, Decision } from './messages.js';
import { disruptionFinishedSignal, nominatedSignal, searchAttributes, steeredSignal, steerSignal } from './messages.js';
import { dollars, factsOf, summaryOf } from './move-text.js';
import { isAborted, Oversight, withReason } from './oversight.js';
import { endNode } from './node-end.js';
import { Progress } from './progress.js';
import { activitiesOf } from './proxies.js';
import { isStartedAlready, tell } from './relations.js';
import { ReplacementLaunches } from './replacement-launches.js';

const validationMs = 15_000;
const minutes = 60_000;
/** Evictions wait no longer for other nodes to be tainted: without that pods are placed as well, if less well. */
const steeredWithinMs = 2_000;
/** Section 4.12: how long replacements may take, by how many nodes are on their way out. */
const launchMsPerNode = 80;

/**
 * Carries out one decision (sections 4.11, 4.12): looks again after 15 seconds, asks for consent where a policy wants it,
 * taints, launches the replacements, waits until they are initialized, then has each node terminated. People and pauses
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
class Given extends Error {
  constructor(readonly result: ConsolidateResult) {
    super(result.reason);
  }
}

class Consolidation {
  private readonly activities;
  private readonly progress: Progress;
  private readonly oversight: Oversight;
  private readonly launches: ReplacementLaunches;
  private readonly nominated = new Set<string>();
  private marked: readonly Candidate[] = [];

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
    setHandler(nominatedSignal, (nodes) => nodes.forEach(({ node }) => this.nominated.add(node)));
  }

  async run(): Promise<ConsolidateResult> {
    try {
      return await this.steps();
    } catch (error) {
      if (error instanceof Given) return error.result;
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
    await tell(() =>
      getExternalWorkflowHandle(workflowIds.disrupt(cluster)).signal(disruptionFinishedSignal, {
        workflowId,
        ...report,
      }),
    );
  }

  private async steps(): Promise<ConsolidateResult> {
    const { input, oversight } = this;
    const { decision } = input;
    const wait = input.validationMs ?? (decision?.method === 'drift' ? 0 : validationMs);
    if (wait > 0) {
      this.progress.enter('validating', { waitingFor: 'the decision to prove stable', until: workflowNow() + wait });
      await oversight.wait(wait, { summary: 'validation: is it still so?' });
    }
    await oversight.gate();
    let leaving = await this.validate();
    if (decision?.approval !== undefined) {
      await this.askConsent(decision);
      // Hours may have passed.
      leaving = await this.validate();
    }
    leaving = await this.confirm(await this.mark(leaving));
    const replaces = decision !== undefined && decision.replacements.length > 0;
    if (replaces) await this.launch(decision, leaving);
    await oversight.gate({ release: () => this.release(), restore: () => this.restore(leaving) });
    // Minutes have passed: a pod may have been marked meanwhile.
    if (replaces) await this.confirm(leaving);
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
    const coming = decision === undefined ? undefined : candidates.find(({ node }) => this.nominated.has(node));
    if (coming !== undefined) throw new Given(this.abandon(`pods are on their way to ${coming.node}`));
    const verdict = await this.activities.kube.validateCandidates.executeWithOptions(
      { summary: 'validate: simulate once more', startToCloseTimeout: '10 minutes' },
      [{ reason, candidates, ...judged, ...(created.length === 0 ? {} : { created }) }],
    );
    if (verdict.valid.length > 0) return verdict.valid;
    throw new Given(this.abandon(verdict.dropped[0]?.why ?? 'no candidate is left'));
  }

  private async askConsent(decision: Decision): Promise<void> {
    const { answer, by, reason } = await this.oversight.consent(
      decision.approval,
      `approval, as DisruptionPolicy ${decision.policy ?? ''} asks`,
    );
    await this.publish(
      answer === 'approved' ? 'ConsolidationApproved' : 'ConsolidationRejected',
      `${answer} by ${withReason(by, reason)}`,
    );
    if (answer === 'rejected') throw new Given(this.end('rejected', `rejected by ${withReason(by, reason)}`));
    await this.oversight.gate();
  }

  /** Section 4.12, step 2: with replacements to launch all or none, else those that could be marked. */
  private async mark(valid: readonly Candidate[]): Promise<readonly Candidate[]> {
    const { reason, decision } = this.input;
    // Noted before the effect: an attempt that failed may have tainted half of them.
    this.marked = valid;
    this.progress.enter('tainting');
    const { tainted } = await this.activities.kube.taintCandidates.executeWithOptions(
      { summary: `taint ${valid.length} nodes` },
      [{ reason, candidates: valid }],
    );
    const leaving = valid.filter(({ claim }) => tainted.includes(claim.uid));
    const partly = leaving.length < valid.length && (decision?.replacements.length ?? 0) > 0;
    if (leaving.length === 0 || partly) throw new Given(this.abandon('not every candidate could be tainted'));
    this.marked = leaving;
    return leaving;
  }

  /** Behind the taint nothing lands any more: what did before may keep a node after all. */
  private async confirm(leaving: readonly Candidate[]): Promise<readonly Candidate[]> {
    if (!patched('what-landed-before-the-taint-counts')) return leaving;
    const { decision } = this.input;
    const { blocked } = await this.activities.kube.confirmCandidates.executeWithOptions(
      { summary: 'what landed before the taint?' },
      [{ method: decision?.method ?? 'empty', candidates: leaving.map(({ claim, node }) => ({ claim, node })) }],
    );
    const [first] = blocked;
    if (first === undefined) return leaving;
    const isBlocked = ({ node }: Candidate): boolean => blocked.some((one) => one.node === node);
    const going = leaving.filter((candidate) => !isBlocked(candidate));
    if (going.length === 0 || (decision?.replacements.length ?? 0) > 0) {
      throw new Given(this.abandon(`${first.node}: ${first.why}`));
    }
    await this.untaint(leaving.filter(isBlocked));
    this.marked = going;
    return going;
  }

  /** Steps 3 to 5: exactly the planned replacements, and nothing goes before they are initialized. */
  private async launch(decision: Decision, leaving: readonly Candidate[]): Promise<void> {
    const { oversight, progress, launches } = this;
    const queued = leaving.length + decision.alongside.length;
    const timeoutMs = Math.min(60 * minutes, Math.max(10 * minutes, launchMsPerNode * queued));
    oversight.throwIfAborted();
    if (this.input.stepsBack === true) await this.stepBack(leaving);
    progress.enter('launching');
    await this.publish('DisruptionLaunching', `Launching ${decision.replacements.length} replacements`);
    const refused = await launches.create(decision);
    if (refused !== undefined) throw new Given(await this.fail(refused));
    await launches.mark(nodesOf(leaving), workflowNow() + timeoutMs + 10 * minutes);
    const wasHeld = await this.awaitReplacements(leaving, timeoutMs);
    // Hours may have passed.
    if (wasHeld) await this.validate(launches.names);
  }

  /** Tells whether it was held meanwhile: the nodes have no taint for as long, and the replacements all of their time. */
  private async awaitReplacements(leaving: readonly Candidate[], timeoutMs: number): Promise<boolean> {
    const { oversight, progress, launches } = this;
    const isHeld = (): boolean => this.input.stepsBack === true && oversight.isHeld;
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
      if (lost !== undefined) throw new Given(await this.fail(lost));
      if (!isHeld()) return wasHeld;
      rest = Math.max(1, rest - (workflowNow() - began));
      await this.stepBack(leaving);
      wasHeld = true;
    }
  }

  /** While a pause or a person holds it, nothing tells from outside that these nodes are to go. */
  private async stepBack(leaving: readonly Candidate[]): Promise<void> {
    const restore = async (): Promise<void> => {
      await this.mark(leaving);
      if (this.launches.names.length > 0) {
        await this.launches.mark(nodesOf(leaving), workflowNow() + 60 * minutes);
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
    await this.activities.kube.untaintCandidates.executeWithOptions({ summary: `untaint ${candidates.length} nodes` }, [
      { candidates },
    ]);
  }

  /** After a hold: the cluster may have become another one. */
  private async restore(leaving: readonly Candidate[]): Promise<void> {
    const { names } = this.launches;
    const valid = this.input.decision === undefined ? leaving : await this.validate(names);
    await this.mark(valid);
    if (names.length > 0) await this.launches.mark(nodesOf(valid), workflowNow() + 10 * minutes);
  }

  /** Pods that are evicted come anew wherever kube-scheduler likes best: that is to be where they are meant to go. */
  private async steer(decision: Decision): Promise<void> {
    const { workflowId } = workflowInfo();
    const targets = this.targets(decision).map(({ node }) => node);
    let isSteered = false;
    setHandler(steeredSignal, () => void (isSteered = true));
    const disrupt = getExternalWorkflowHandle(workflowIds.disrupt(this.input.cluster));
    const isTold = await tell(() => disrupt.signal(steerSignal, { workflowId, targets }));
    if (isTold) await condition(() => isSteered, steeredWithinMs, { summary: 'pods to be steered' });
  }

  private async drain(leaving: readonly Candidate[]): Promise<ConsolidateResult> {
    const { decision } = this.input;
    this.marked = [];
    this.progress.enter('draining', { waitingFor: nodesOf(leaving).join(', ') });
    await Promise.all(leaving.map((candidate) => this.terminate(candidate)));
    const saved = saving(leaving, decision);
    this.progress.enter('done', { facts: { 'saved per hour': saved } });
    if (decision !== undefined && decision.method !== 'drift') await this.measure(leaving, decision);
    const replacements = this.launches.names;
    return {
      outcome: 'done',
      terminated: nodesOf(leaving),
      ...(replacements.length === 0 ? {} : { replacements }),
      savedPerHour: saved,
    };
  }

  private async terminate({ claim, nodePool }: Candidate): Promise<void> {
    const { cluster, reason } = this.input;
    await endNode({ cluster, claim, nodePool, reason: reason.toLowerCase() });
  }

  private async measure(leaving: readonly Candidate[], { priceAfter, podCount }: Decision): Promise<void> {
    const { cluster, reason } = this.input;
    const { workflowId, firstExecutionRunId } = workflowInfo();
    const move = {
      id: workflowId,
      reason,
      nodePools: [...new Set(leaving.map(({ nodePool }) => nodePool))],
      nodes: nodesOf(leaving),
      replacements: this.launches.created.map(({ name, uid }) => ({ name, uid })),
      priceBefore: leaving.reduce((sum, { pricePerHour }) => sum + pricePerHour, 0),
      priceAfter,
      podsMoved: podCount,
      finishedAt: workflowNow(),
    };
    try {
      await startChild<typeof measureSavings>('measureSavings', {
        workflowId: workflowIds.savings(cluster, firstExecutionRunId),
        parentClosePolicy: ParentClosePolicy.ABANDON,
        workflowIdReusePolicy: 'ALLOW_DUPLICATE',
        staticSummary: `did it save ${dollars(move.priceBefore - priceAfter)}/h? ${move.nodes.slice(0, 3).join(', ')}`,
        args: [{ cluster, move }],
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
