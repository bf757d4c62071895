import { continueAsNew } from '@temporalio/workflow';
import type { ExpirationView } from '../../activities/expiration/contract.js';
import { backOffMs } from '../../core/back-off.js';
import { timeText } from '../../core/time.js';
import { workflowNow } from '../clock.js';
import type { Candidate, ExpireNodeInput, ExpireNodeResult } from '../messages.js';
import { nodeChangedSignal, searchAttributes } from '../messages.js';
import { isContinueAsNewDue } from '../history-limit.js';
import { setSignalHandler } from '../handlers.js';
import { ordersAnswered, Oversight, overseen } from '../people/oversight.js';
import { consentText } from '../people/consent.js';
import { Progress } from '../progress.js';
import { activitiesOf } from '../calls/proxies.js';
import { ExactClaims } from '../replacement/exact-claims.js';
import { NodeReplacement } from '../replacement/replacement.js';
import type { DrainRequest } from '../replacement/replacement.js';
import type { Readiness } from '../replacement/source.js';
import { Turn } from '../replacement/turn.js';
import { ViaProvision } from '../replacement/via-provision.js';

const hour = 3_600_000;
/** Pause between attempts to replace a node. */
const retryMs = 10 * 60_000;
/** Between attempts to delete a NodeClaim whose deletion the API server refuses. */
const refusedBackOff = { firstMs: 60_000, longestMs: hour };
/** Timeout of one attempt. Launch and registration have their own, shorter timeouts. */
const attemptMs = hour;
/** Between checks whether a pause has ended that keeps a node beyond its hard deadline. */
const pausedBackOff = { firstMs: 10_000, longestMs: 5 * 60_000 };

type Live = Extract<ExpirationView, { state: 'live' }>;

/**
 * Removes a node at `expireAfter`, as the policy of its NodePool says (expiration/replaced-first). `ReplaceFirst` waits
 * for its turn (budgets, windows, rates, pauses), has replacements launched, and drains when they are initialized. Past
 * the policy's hard deadline the node is drained without a replacement, unless a pause or a person holds it. `Forceful`
 * deletes at expireAfter without turn or approval, as Karpenter does.
 */
export async function expireNode(input: ExpireNodeInput): Promise<ExpireNodeResult> {
  const run = new Expiration(input);
  return overseen({
    run: () => run.run(),
    aborted: (why) => run.decline('aborted', why),
    release: () => run.release(),
  });
}

class Expiration {
  private readonly activities;
  readonly progress: Progress;
  readonly oversight: Oversight;
  private readonly turn: Turn;
  private readonly viaProvision: NodeReplacement;
  private replacement: NodeReplacement;
  private changed = false;
  /** Consecutive times that a pause or the API server prevented the deletion of the node. */
  private refusals = 0;
  private agreed: boolean;

  constructor(private readonly input: ExpireNodeInput) {
    const { cluster, agreed = false } = input;
    this.activities = activitiesOf(cluster);
    this.agreed = agreed;
    this.viaProvision = new NodeReplacement(cluster, new ViaProvision(cluster));
    this.replacement = this.viaProvision;
    this.progress = new Progress(
      `Expiration of ${input.claim.name}`,
      [
        { key: searchAttributes.cluster, value: cluster },
        { key: searchAttributes.nodePool, value: input.nodePool },
        { key: searchAttributes.nodeClaim, value: input.claim.name },
        { key: searchAttributes.reason, value: 'expired' },
      ],
      { NodeClaim: input.claim.name, NodePool: input.nodePool, expires: timeText(input.expiresAt) },
    );
    this.oversight = new Oversight(this.progress, { askedUntil: input.askedUntil });
    const { progress, oversight } = this;
    this.turn = new Turn({ cluster, progress, oversight, replacement: () => this.replacement });
    setSignalHandler(nodeChangedSignal, () => {
      this.changed = true;
      this.turn.wake();
    });
  }

  async run(): Promise<ExpireNodeResult> {
    const view = await this.readView();
    if (view === undefined) return this.end('gone');
    // The operator starts it once it is due; the policy may have changed since.
    if (view.beginAt > workflowNow()) return this.end('not due');
    for (;;) {
      // As under Karpenter, neither budgets nor pauses apply to `Forceful`.
      const ended = await (view.mode === 'Forceful' ? this.terminate('forced') : this.replaceFirst());
      if (ended !== undefined) return ended;
      await this.continueAsNewIfLong();
    }
  }

  /** Undoes the steps, and answers pending orders. */
  async release(): Promise<void> {
    this.oversight.finish();
    await this.replacement.undo();
    await ordersAnswered();
  }

  /**
   * The node is not to expire. Recorded on the NodeClaim, because the history of this workflow is deleted some time
   * after its end.
   */
  async decline(outcome: 'rejected' | 'aborted', why: string): Promise<ExpireNodeResult> {
    await this.activities.kube.declineExpiration.executeWithOptions({ summary: why }, [
      { claim: this.input.claim, why },
    ]);
    return this.end(outcome, why);
  }

  end(outcome: ExpireNodeResult['outcome'], reason?: string): ExpireNodeResult {
    const replacements = this.replacement.claims.map(({ name }) => name);
    this.progress.enter(outcome, reason === undefined ? {} : { facts: { [`${outcome} because`]: reason } });
    return { outcome, replacements, ...(reason === undefined ? {} : { reason }) };
  }

  private async readView(): Promise<Live | undefined> {
    const { claim, expiresAt } = this.input;
    this.changed = false;
    const view = await this.activities.kube.viewExpiration.executeWithOptions(
      { summary: 'read the expiration policy' },
      [{ claim, expiresAt }],
    );
    return view.state === 'live' ? view : undefined;
  }

  /** One attempt by the current policy. Undefined if the policy and the node have to be read again. */
  private async replaceFirst(): Promise<ExpireNodeResult | undefined> {
    const view = await this.readView();
    if (view === undefined) return this.end('gone');
    const { candidate } = view;
    const isAsked = view.approval !== undefined && view.leftAlone === undefined && !isPastHardDeadline(view);
    if (!isAsked) this.oversight.withdrawQuestion();
    // Past the hard deadline budgets, windows and approvals are ignored. A pause still holds the node.
    if (isPastHardDeadline(view) || candidate === undefined) return this.terminate('forced', unlessPaused(candidate));
    if (view.leftAlone !== undefined) {
      await this.turn.leave('Expired', [candidate]);
      await this.pause(view, `a change of policy: ${view.leftAlone}`, hour);
      return undefined;
    }
    const refusal = await this.consent(view);
    if (refusal !== undefined) return refusal;
    if (!this.agreed && view.approval !== undefined) return undefined;
    return this.replaceOrTerminate(view, candidate);
  }

  /** Takes its turn, and replaces or terminates the node. Undefined if the policy and the node have to be read again. */
  private async replaceOrTerminate(view: Live, candidate: Candidate): Promise<ExpireNodeResult | undefined> {
    const replacement = this.begin(view);
    await this.oversight.gate();
    const tainted = await this.turn.take('Expired', [candidate], { atMostMs: untilHardDeadlineMs(view) });
    if (tainted === undefined || tainted.refused.length > 0) return undefined;
    if (view.noRoom !== undefined) return this.terminate('forced', unlessPaused(candidate));
    const outcome = await this.replace(view, candidate, replacement);
    if (outcome === 'ready') return this.terminate('replaced', unlessPaused(candidate));
    if (outcome === 'failed') await this.pause(view, 'another attempt to replace it', retryMs);
    return undefined;
  }

  /**
   * Asks for approval where the policy requires it. After a rejection the node stays until the hard deadline, if there
   * is one.
   */
  private async consent(view: Live): Promise<ExpireNodeResult | undefined> {
    if (this.agreed || view.approval === undefined) return undefined;
    const question = {
      what: `approval to replace ${view.candidate?.node ?? this.input.claim.name}, whose life ends (expireAfter)`,
      yes: 'launches a replacement first; PodDisruptionBudgets and do-not-disrupt hold',
    };
    const interrupt = (): boolean => this.changed;
    if (view.candidate !== undefined) await this.turn.leave('Expired', [view.candidate]);
    const consent = await this.oversight.ask(view.approval, question, {
      interrupt,
      atMostMs: untilHardDeadlineMs(view),
    });
    if (consent === undefined) return undefined;
    this.agreed = consent.answer === 'approved';
    if (this.agreed) return undefined;
    const why = consentText(consent);
    if (view.mustGoAt === undefined) return this.decline('rejected', why);
    await this.pause(view, `the hard deadline: ${why}`, untilHardDeadlineMs(view));
    const after = await this.readView();
    return after === undefined ? this.end('gone') : this.terminate('forced', unlessPaused(after.candidate));
  }

  /**
   * Launches the replacement and waits until it is initialized. Undoes the steps if the attempt is stopped or fails.
   */
  private async replace(
    view: Live,
    candidate: Candidate,
    replacement: NodeReplacement,
  ): Promise<'ready' | 'failed' | 'stopped'> {
    const { oversight } = this;
    const wait = Math.min(attemptMs, untilHardDeadlineMs(view));
    const refused = await replacement.launch(wait);
    this.progress.enter('replacing', {
      waitingFor: 'the replacement to be up',
      until: workflowNow() + wait,
      facts: { node: candidate.node },
    });
    const stops = (): boolean => oversight.isHeld || oversight.isAborted;
    const readiness: Readiness =
      refused === undefined
        ? await this.turn.awaitReady({ reason: 'Expired', nodes: [candidate] }, wait, stops)
        : { state: 'failed', why: refused };
    oversight.throwIfAborted();
    if (readiness.state === 'ready' && !oversight.isHeld) return 'ready';
    await replacement.undo();
    // A hold or a pause may last for hours, so the attempt starts again afterwards.
    if (oversight.isHeld || readiness.state === 'interrupted' || readiness.state === 'ready') return 'stopped';
    this.progress.addFacts({ 'last attempt': readiness.why });
    return 'failed';
  }

  private begin({ successor }: Live): NodeReplacement {
    const { replacement, viaProvision, input } = this;
    return (this.replacement =
      successor === undefined ? viaProvision : bySuccessor(input.cluster, replacement, successor));
  }

  private async pause(view: Live, waitingFor: string, ms: number): Promise<void> {
    const wait = Math.min(ms, untilHardDeadlineMs(view));
    this.progress.enter('waiting', { waitingFor, until: workflowNow() + wait });
    await this.oversight.wait(wait, { summary: waitingFor, until: () => this.changed, retryable: true });
  }

  /**
   * Undefined if a pause or the API server prevented the deletion, as `more` allows: the policy and the node have to be
   * read again.
   */
  private async terminate(
    outcome: 'replaced' | 'forced',
    more: Pick<DrainRequest, 'unlessPaused' | 'unlessRefused'> = {},
  ): Promise<ExpireNodeResult | undefined> {
    const { claim, nodePool } = this.input;
    await this.oversight.gate();
    this.oversight.passPointOfNoReturn();
    this.progress.enter('draining', { waitingFor: claim.name });
    const end = await this.replacement.drain({ claim, nodePool, reason: 'expired', ...more });
    if (!('why' in end)) return this.end(outcome);
    await this.replacement.undoDrain(this.oversight);
    // The node is released meanwhile, and counts against no budget.
    const wait = backOffMs(++this.refusals, end.state === 'paused' ? pausedBackOff : refusedBackOff);
    this.progress.enter('waiting', { waitingFor: end.why, until: workflowNow() + wait });
    await this.oversight.wait(wait, { summary: 'try the deletion again', until: () => this.changed, retryable: true });
    return undefined;
  }

  /** Continues as new if the history is long, but not before pending orders are carried out. */
  private async continueAsNewIfLong(): Promise<void> {
    if (!(await isContinueAsNewDue(this.oversight))) return;
    const { agreed } = this;
    const { askedUntil } = this.oversight;
    await continueAsNew<typeof expireNode>({ ...this.input, agreed, askedUntil });
  }
}

/** Without a node, pauses of single nodes do not apply. */
const unlessPaused = (candidate: Candidate | undefined): Pick<DrainRequest, 'unlessPaused' | 'unlessRefused'> => ({
  unlessPaused: { reason: 'Expired', node: candidate?.node ?? '' },
  unlessRefused: true,
});

/** Time until the hard deadline, milliseconds, at least 1; unlimited if there is none. */
function untilHardDeadlineMs({ mustGoAt }: Pick<Live, 'mustGoAt'>): number {
  return mustGoAt === undefined ? Number.MAX_SAFE_INTEGER : Math.max(1, mustGoAt - workflowNow());
}

function isPastHardDeadline({ mustGoAt }: Pick<Live, 'mustGoAt'>): boolean {
  return mustGoAt !== undefined && mustGoAt <= workflowNow();
}

/**
 * A node of a static NodePool is replaced by exactly one node of that NodePool, whatever pods it has
 * (expiration/static-successor). `current`: the replacement of the attempt before, whose NodeClaims are kept.
 */
function bySuccessor(
  cluster: string,
  current: NodeReplacement,
  successor: NonNullable<Live['successor']>,
): NodeReplacement {
  const { source } = current;
  const claims = source instanceof ExactClaims ? source : new ExactClaims(cluster);
  claims.plan = { ...successor, forPods: false };
  return claims === source ? current : new NodeReplacement(cluster, claims);
}
