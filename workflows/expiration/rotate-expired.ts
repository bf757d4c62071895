import { CancellationScope, continueAsNew, workflowInfo } from '@temporalio/workflow';
import type { ExpiryView } from '../../activities/expiration/rotation-contract.js';
import { workflowNow } from '../clock.js';
import type { Candidate, RotateExpiredInput, RotateExpiredResult } from '../messages.js';
import { nodeChangedSignal, searchAttributes } from '../messages.js';
import { consentText, isAborted, ordersAnswered, Oversight } from '../people/oversight.js';
import { endNode } from '../termination/node-end.js';
import type { Consent } from '../people/oversight.js';
import { Progress } from '../progress.js';
import { activitiesOf } from '../proxies.js';
import { ReplacementLaunches } from '../disruption/replacement-launches.js';
import { Replacements } from '../disruption/replacements.js';
import { Slots } from '../disruption/slots.js';
import type { Slot } from '../disruption/slots.js';
import { setSignalHandler } from '../handlers.js';

const hour = 3_600_000;
/** Policies change in the weeks that a node lives: they are read again this often. */
const lookEveryMs = 24 * hour;
/** Between attempts to replace a node. */
const retryMs = 10 * 60_000;
/** How long one attempt may take: launch and registration have their own, shorter, limits. */
const attemptMs = hour;
/** Nobody may be there to say whether a pause holds a node whose time is up. */
const answerWithinMs = 60_000;
const eventsPerRun = 4000;

type Live = Extract<ExpiryView, { state: 'live' }>;

/**
 * The end of a node's life (expiration/replaced-first) as its pool's policy says. `ReplaceFirst` waits for a disruption slot (budgets,
 * windows, rates, pauses), has the pods' new places launched, and drains only when they are up; past the policy's hard
 * deadline the node goes without, unless a pause or a hold holds it. `Forceful` deletes at expireAfter and asks nobody, as Karpenter does.
 */
export async function rotateExpired(input: RotateExpiredInput): Promise<RotateExpiredResult> {
  const rotation = new Rotation(input);
  try {
    return await rotation.run();
  } catch (error) {
    if (!isAborted(error)) throw error;
    return await rotation.decline('aborted', error.message);
  } finally {
    await CancellationScope.nonCancellable(() => rotation.release());
  }
}

class Rotation {
  private readonly activities;
  private readonly progress: Progress;
  private readonly oversight: Oversight;
  private readonly replacements: Replacements;
  private readonly slots: Slots;
  private changed = false;
  private slot: Slot | undefined;
  private launches: ReplacementLaunches | undefined;
  private marked: Candidate | undefined;
  private hurried = false;
  private agreed: boolean;
  private askedUntil: number | undefined;

  constructor(private readonly input: RotateExpiredInput) {
    const { cluster, claim, nodePool } = input;
    this.activities = activitiesOf(cluster);
    this.agreed = input.agreed ?? false;
    this.askedUntil = input.askedUntil;
    this.replacements = new Replacements(cluster);
    this.slots = new Slots(cluster);
    setSignalHandler(nodeChangedSignal, () => void (this.changed = true));
    this.progress = new Progress(
      `Expiry of ${claim.name}`,
      [
        { key: searchAttributes.cluster, value: cluster },
        { key: searchAttributes.nodePool, value: nodePool },
        { key: searchAttributes.nodeClaim, value: claim.name },
        { key: searchAttributes.reason, value: 'expired' },
      ],
      { NodeClaim: claim.name, NodePool: nodePool, expires: new Date(input.expiresAt).toISOString() },
    );
    this.oversight = new Oversight(this.progress);
  }

  async run(): Promise<RotateExpiredResult> {
    const view = await this.untilDue();
    if (view === undefined) return this.end('gone');
    return view.mode === 'Forceful' ? this.terminate('forced') : this.replaceFirst();
  }

  /** Gives back what this holds: harmless when nothing is. */
  async release(): Promise<void> {
    this.oversight.finish();
    await this.unmark();
    await this.slot?.giveBack();
    this.slot = undefined;
    await ordersAnswered();
  }

  /** The node stays for good: its claim says so, for this workflow ends and its history is not kept for ever. */
  async decline(outcome: 'rejected' | 'aborted', why: string): Promise<RotateExpiredResult> {
    await this.activities.kube.declineExpiry.executeWithOptions({ summary: why }, [{ claim: this.input.claim, why }]);
    return this.end(outcome, why);
  }

  end(outcome: RotateExpiredResult['outcome'], reason?: string): RotateExpiredResult {
    const replacements = this.launches?.names ?? this.replacements.claims.map(({ name }) => name);
    this.progress.enter(outcome, reason === undefined ? {} : { facts: { [`${outcome} because`]: reason } });
    return { outcome, replacements, ...(reason === undefined ? {} : { reason }) };
  }

  /** Waits for the time to begin, as the policy has it whenever it is read; undefined when the node goes otherwise. */
  private async untilDue(): Promise<Live | undefined> {
    for (;;) {
      const view = await this.look();
      if (view === undefined) return undefined;
      const rest = view.beginAt - workflowNow();
      if (this.hurried || rest <= 0) return view;
      this.progress.enter('not due', { waitingFor: 'the end of its life', until: view.beginAt });
      const how = await this.oversight.wait(Math.min(rest, lookEveryMs), {
        summary: `${this.input.claim.name} to expire`,
        until: () => this.changed,
      });
      if (how === 'expedited') this.hurried = true;
      await this.carryOn();
    }
  }

  private async look(): Promise<Live | undefined> {
    const { claim, expiresAt } = this.input;
    this.changed = false;
    const view = await this.activities.kube.viewExpiry.executeWithOptions({ summary: 'how it is to go' }, [
      { claim, expiresAt },
    ]);
    return view.state === 'live' ? view : undefined;
  }

  private async replaceFirst(): Promise<RotateExpiredResult> {
    for (;;) {
      const view = await this.look();
      if (view === undefined) return this.end('gone');
      const { candidate } = view;
      if (isOver(view)) return this.force(candidate);
      if (candidate === undefined) return this.terminate('forced');
      if (view.leftAlone !== undefined) {
        await this.pause(view, `a change of policy: ${view.leftAlone}`, hour);
        continue;
      }
      const refusal = await this.consent(view);
      if (refusal !== undefined) return refusal;
      if (!this.agreed && view.approval !== undefined) {
        await this.carryOn();
        continue;
      }
      if (!(await this.acquireSlot(view, candidate))) {
        await this.carryOn();
        continue;
      }
      if (view.noRoom !== undefined) return this.terminate('forced');
      const ready = await this.replace(view, candidate);
      if (ready === 'ready') return this.terminate('rotated');
      if (ready === 'failed') await this.pause(view, 'another attempt to replace it', retryMs);
      await this.carryOn();
    }
  }

  /** A person who says no has the node stay; a hard deadline still holds. */
  private async consent(view: Live): Promise<RotateExpiredResult | undefined> {
    if (this.agreed || view.approval === undefined) return undefined;
    const consent = await this.ask(view, view.approval);
    // The node, or its policy, is another one by now: it is looked at anew.
    if (consent === undefined) return undefined;
    this.agreed = consent.answer === 'approved';
    if (this.agreed) return undefined;
    const why = consentText(consent);
    if (view.mustGoAt === undefined) return this.decline('rejected', why);
    await this.pause(view, `the hard deadline: ${why}`, restOf(view));
    const after = await this.look();
    return after === undefined ? this.end('gone') : this.force(after.candidate);
  }

  private ask(view: Live, approval: NonNullable<Live['approval']>): Promise<Consent | undefined> {
    this.askedUntil ??= workflowNow() + approval.timeoutMs;
    const rest = Math.max(1, this.askedUntil - workflowNow());
    const { name } = this.input.claim;
    const what = `approval to replace ${view.candidate?.node ?? name}, whose life ends (expireAfter): yes launches a replacement first; PodDisruptionBudgets and do-not-disrupt hold`;
    return this.oversight.consentUnless(
      () => this.changed,
      { ...approval, timeoutMs: Math.min(rest, restOf(view)) },
      { what },
    );
  }

  /** Past the hard deadline no budget, window or approval is waited for any more; the end of a pause is. */
  private async force(candidate: Candidate | undefined): Promise<RotateExpiredResult> {
    if (candidate === undefined) return this.terminate('forced');
    const slot = (this.slot ??= await this.slots.request('Expired', [candidate]));
    await slot.settled({ ms: answerWithinMs, or: () => slot.refused.length > 0 || this.oversight.isAborted });
    while (slot.refused.some(({ paused }) => paused === true)) {
      this.progress.enter('waiting for a disruption slot', { waitingFor: slot.waitingFor });
      const told = JSON.stringify(slot.refused);
      const news = (): boolean => this.changed || this.oversight.isAborted || JSON.stringify(slot.refused) !== told;
      await slot.settled({ ms: lookEveryMs, or: news });
      this.oversight.throwIfAborted();
      if ((await this.look()) === undefined) return this.end('gone');
      await this.carryOn();
    }
    return this.terminate('forced');
  }

  /** Whether `disrupt` lets the node go; false when there is something else to look at first. */
  private async acquireSlot(view: Live, candidate: Candidate): Promise<boolean> {
    await this.oversight.gate();
    this.slot ??= await this.slots.request('Expired', [candidate]);
    const { slot } = this;
    while (slot.granted.length === 0) {
      const rest = Math.min(restOf(view), lookEveryMs);
      this.progress.enter('waiting for a disruption slot', { waitingFor: slot.waitingFor, until: view.mustGoAt });
      const told = JSON.stringify(slot.refused);
      const news = (): boolean => this.changed || JSON.stringify(slot.refused) !== told;
      const settled = await slot.settled({ ms: rest, or: news });
      this.oversight.throwIfAborted();
      if (!settled && (this.changed || JSON.stringify(slot.refused) === told)) return false;
    }
    return true;
  }

  private async replace(view: Live, candidate: Candidate): Promise<'ready' | 'failed' | 'held'> {
    const { activities, oversight, replacements } = this;
    await oversight.gate();
    this.marked = candidate;
    await activities.kube.taintCandidates({
      reason: 'Expired',
      candidates: [candidate],
      owner: workflowInfo().workflowId,
    });
    const interrupted = (): boolean => oversight.isHeld || oversight.isAborted;
    const wait = Math.min(attemptMs, restOf(view));
    if (view.successor === undefined) await replacements.request([candidate.node], 'expired', wait);
    this.progress.enter('replacing', {
      waitingFor: 'the replacement to be up',
      until: workflowNow() + wait,
      facts: { node: candidate.node },
    });
    const verdict =
      view.successor === undefined
        ? await replacements.settledUnless(interrupted, wait)
        : await this.succeed(view.successor, wait, interrupted);
    oversight.throwIfAborted();
    if (oversight.isHeld || verdict === 'interrupted') {
      // Hours may pass: what was found ready may not be there any more.
      await this.unmark();
      if (view.successor === undefined) await replacements.giveBack([candidate.node]);
      await oversight.gate();
      return 'held';
    }
    if (verdict === 'ready') return 'ready';
    this.progress.note({ 'last attempt': verdict === 'late' ? 'the replacement came too late' : 'it found no place' });
    await this.unmark();
    await this.slot?.giveBack();
    this.slot = undefined;
    return 'failed';
  }

  /** A node of a static pool has one successor of the pool's own, whatever runs on it (expiration/static-successor). */
  private async succeed(
    successor: NonNullable<Live['successor']>,
    ms: number,
    interrupted: () => boolean,
  ): Promise<'ready' | 'failed'> {
    const launches = (this.launches ??= new ReplacementLaunches(this.input.cluster, 'expired'));
    const refused = await launches.create(successor);
    if (refused !== undefined) return 'failed';
    const lost = await launches.initialized(ms, interrupted);
    return lost === undefined ? 'ready' : 'failed';
  }

  private async unmark(): Promise<void> {
    const { marked } = this;
    if (marked === undefined) return;
    this.marked = undefined;
    await this.activities.kube.untaintCandidates({ candidates: [marked], owner: workflowInfo().workflowId });
  }

  private async pause(view: Live, waitingFor: string, ms: number): Promise<void> {
    const wait = Math.min(ms, restOf(view));
    this.progress.enter('waiting', { waitingFor, until: workflowNow() + wait });
    await this.oversight.wait(wait, { summary: waitingFor, until: () => this.changed, retryable: true });
  }

  private async terminate(outcome: 'rotated' | 'forced'): Promise<RotateExpiredResult> {
    const { cluster, claim, nodePool } = this.input;
    await this.oversight.gate();
    this.oversight.passPointOfNoReturn();
    this.marked = undefined;
    this.progress.enter('draining', { waitingFor: claim.name });
    await endNode({ cluster, claim, nodePool, reason: 'expired' });
    return this.end(outcome);
  }

  /** The wait may take months, with an answer now and then. */
  private async carryOn(): Promise<void> {
    if (workflowInfo().historyLength < eventsPerRun) return;
    await this.unmark();
    await continueAsNew<typeof rotateExpired>({
      ...this.input,
      agreed: this.agreed,
      ...(this.askedUntil === undefined ? {} : { askedUntil: this.askedUntil }),
    });
  }
}

function restOf({ mustGoAt }: Live): number {
  return mustGoAt === undefined ? Number.MAX_SAFE_INTEGER : Math.max(1, mustGoAt - workflowNow());
}

function isOver({ mustGoAt }: Live): boolean {
  return mustGoAt !== undefined && mustGoAt <= workflowNow();
}
