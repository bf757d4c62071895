import { allHandlersFinished, condition, continueAsNew } from '@temporalio/workflow';
import type { RolloutRules, RolloutView } from '../../activities/drift/contract.js';
import { waveBackOffMs, isStopped, pollAfterMs, waveSize } from '../../disruption/drift/rollout.js';
import { workflowNow } from '../clock.js';
import { isContinueAsNewDue } from '../history-limit.js';
import type {
  ClaimRef,
  Explanation,
  Order,
  ReplaceDriftedInput,
  ReplaceDriftedResult,
  RolloutState,
} from '../messages.js';
import { refusals, rollbackSignal, rollbackUpdate, rolloutChangedSignal, searchAttributes } from '../messages.js';
import { checkActor, handleWrittenOrder, refuse } from '../people/orders.js';
import { Oversight, overseen } from '../people/oversight.js';
import { consentText, withReason, type Question } from '../people/consent.js';
import { Progress } from '../progress.js';
import { activitiesOf } from '../calls/proxies.js';
import { Outbox } from '../calls/other-workflows.js';
import { WaveReplacements } from './wave-replacements.js';
import { counted } from '../../core/text.js';
import { setSignalHandler } from '../handlers.js';

const hour = 3_600_000;
/** How long a stopped rollout waits for a person. */
const stoppedMs = 30 * 24 * hour;

type Live = Extract<RolloutView, { state: 'live' }>;

/**
 * Replaces the drifted nodes of one NodePool in waves, as `driftRollout` of its policy says: a canary, then ever larger
 * waves, each with a soak after its last node is up. If too many replacements fail, the rollout stops and asks a
 * person, or rolls back to the last good template; a person can order a rollback at any time. The rollout ends as
 * superseded when the template changes again.
 */
export async function replaceDrifted(input: ReplaceDriftedInput): Promise<ReplaceDriftedResult> {
  const rollout = new Rollout(input);
  return overseen({
    run: () => rollout.run(),
    aborted: (why) => rollout.stoppedBy(why),
    release: () => rollout.release(),
  });
}

class Rollout {
  private readonly activities;
  private readonly progress: Progress;
  private readonly oversight: Oversight;
  private readonly replacements: WaveReplacements;
  private state: RolloutState;
  private changed = false;
  /** Number of consecutive checks that found no drifted node that may be disrupted. */
  private blockedChecks = 0;
  /** Who ordered the rollback, and why. */
  private rolledBack: string | undefined;
  private readonly outbox = new Outbox();

  constructor(private readonly input: ReplaceDriftedInput) {
    const { cluster, nodePool, hash, carried } = input;
    this.activities = activitiesOf(cluster);
    this.state = carried ?? { waves: 0, replaced: 0, failed: 0, failuresInARow: 0, agreed: false, pardoned: 0 };
    setSignalHandler(rolloutChangedSignal, () => void (this.changed = true));
    this.progress = new Progress(
      `Drift of NodePool ${nodePool}`,
      [
        { key: searchAttributes.cluster, value: cluster },
        { key: searchAttributes.nodePool, value: nodePool },
        { key: searchAttributes.reason, value: 'drifted' },
      ],
      { NodePool: nodePool, target: hash },
    );
    this.oversight = new Oversight(this.progress, {
      askedUntil: this.state.askedUntil,
      onHold: (order) => this.replacements.hold(order),
    });
    const { oversight, progress, outbox } = this;
    this.replacements = new WaveReplacements({
      ...{ cluster, oversight, progress, outbox },
      isChanged: () => this.changed,
      onReplaced: () => void (this.state = { ...this.state, replaced: this.state.replaced + 1 }),
      onFailed: (why) => this.fail(why),
    });
    handleWrittenOrder(progress, {
      ...{ signal: rollbackSignal, update: rollbackUpdate, check: checkActor },
      act: (order) => this.rollBack(order),
    });
  }

  async run(): Promise<ReplaceDriftedResult> {
    for (;;) {
      const view = await this.readView([]);
      if (view.state === 'superseded') return this.superseded(view.by);
      const ended = await this.checkBeforeWave(view);
      if (ended === 'wait') continue;
      if (ended !== undefined) return ended;
      const { rules } = view;
      if (rules === undefined) return this.handBack();
      const after = (await this.stopWhenTooManyFailed(rules)) ?? (await this.wave(view, rules));
      if (after !== undefined) return after;
      await this.continueAsNewIfLong();
    }
  }

  async release(): Promise<void> {
    // The update that ordered a rollback has to be answered before the workflow ends.
    const isDone = (): boolean => allHandlersFinished() && this.outbox.isEmpty;
    if (!isDone()) await condition(isDone);
    this.oversight.finish();
  }

  end(outcome: ReplaceDriftedResult['outcome'], reason?: string): ReplaceDriftedResult {
    const { waves, replaced, failed } = this.state;
    this.progress.enter(outcome, reason === undefined ? {} : { facts: { [`${outcome} because`]: reason } });
    return { outcome, waves, replaced, failed, ...(reason === undefined ? {} : { reason }) };
  }

  /** A rollback also changes the template, so it ends here as well. */
  private async superseded(by: string): Promise<ReplaceDriftedResult> {
    if (!allHandlersFinished()) await condition(allHandlersFinished);
    return this.rolledBack === undefined ? this.end('superseded', by) : this.end('rolledBack', this.rolledBack);
  }

  async stoppedBy(message: string): Promise<ReplaceDriftedResult> {
    return this.rolledBack === undefined ? this.stop('aborted', message) : this.end('rolledBack', this.rolledBack);
  }

  /**
   * Ends the rollout after a refusal or a question without an answer. Recorded on the NodePool, so that no rollout
   * starts again for this template.
   */
  async stop(outcome: 'rejected' | 'stopped' | 'aborted', reason: string): Promise<ReplaceDriftedResult> {
    const { nodePool, poolUid, hash } = this.input;
    await this.activities.kube.noteStopped({ nodePool, poolUid, hash });
    return this.end(outcome, reason);
  }

  private async readView(launched: readonly ClaimRef[]): Promise<RolloutView> {
    const { nodePool, poolUid, hash } = this.input;
    this.changed = false;
    const target = { nodePool, poolUid, hash };
    return this.activities.kube.viewRollout.executeWithOptions({ summary: 'read the drifted nodes' }, [
      { target, launched },
    ]);
  }

  /** Checks before each wave what ends the rollout or makes it wait. */
  private async checkBeforeWave(view: Live): Promise<ReplaceDriftedResult | 'wait' | undefined> {
    const { drifted, blocked, blockedBy, leftAlone, approval, rules } = view;
    const isAsked = approval !== undefined && !this.state.agreed && leftAlone === undefined && drifted.length > 0;
    if (!isAsked && !this.isStopped(rules)) this.oversight.withdrawQuestion();
    if (rules === undefined) return undefined;
    if (drifted.length === 0 && blocked === 0) return this.finish();
    if (leftAlone !== undefined) return this.pause(`a change of policy: ${leftAlone}`, hour);
    if (drifted.length === 0) {
      this.blockedChecks += 1;
      return this.pause(`nodes that cannot be disrupted: ${blockedBy ?? ''}`, pollAfterMs(this.blockedChecks));
    }
    this.blockedChecks = 0;
    if (!isAsked) return undefined;
    const nodes = counted(drifted.length + blocked, 'drifted node');
    const question = questionBeforeWaves(this.input.nodePool, nodes);
    const consent = await this.oversight.ask(approval, question, { interrupt: () => this.changed });
    if (consent === undefined) {
      await this.continueAsNewIfLong();
      return 'wait';
    }
    if (consent.answer === 'rejected') return this.stop('rejected', consentText(consent));
    this.state = { ...this.state, agreed: true };
    return 'wait';
  }

  private async finish(): Promise<ReplaceDriftedResult> {
    const { nodePool, poolUid, hash } = this.input;
    await this.activities.kube.markGood({ nodePool, poolUid, hash });
    return this.end('done');
  }

  private async pause(waitingFor: string, ms: number): Promise<'wait'> {
    this.progress.enter('waiting', { waitingFor, until: workflowNow() + ms });
    await this.oversight.wait(ms, { summary: waitingFor, until: () => this.changed, retryable: true });
    await this.continueAsNewIfLong();
    return 'wait';
  }

  /** Runs one wave and its soak. Returns a result if the rollout ends with it. */
  private async wave(view: Live, rules: RolloutRules): Promise<ReplaceDriftedResult | undefined> {
    const { waves, last } = this.state;
    const size = waveSize(rules, { last, total: view.total });
    const chosen = view.drifted.slice(0, size);
    this.progress.addFacts({ wave: waves + 1, 'nodes in the wave': chosen.length, 'nodes left': view.drifted.length });
    const launched = await this.replacements.run(chosen, waves);
    if (this.changed) return undefined;
    const replaced = launched.length;
    this.state = {
      ...this.state,
      waves: waves + 1,
      last: size,
      failuresInARow: replaced > 0 ? 0 : this.state.failuresInARow + 1,
    };
    const soaked = replaced === 0 ? undefined : await this.soak(rules, launched.flat());
    if (soaked !== undefined) return soaked;
    const stopped = await this.stopWhenTooManyFailed(rules);
    if (stopped !== undefined) return stopped;
    const wait = waveBackOffMs(this.state.failuresInARow);
    if (wait > 0) await this.pause('the back-off after a wave that failed', wait);
    return undefined;
  }

  private fail(why: string): void {
    this.state = { ...this.state, failed: this.state.failed + 1 };
    this.progress.addFacts({ 'last failure': why, failed: this.state.failed });
  }

  /** Waits for the soak. A new node that is not Ready at its end counts as failed instead of replaced. */
  private async soak(rules: RolloutRules, launched: readonly ClaimRef[]): Promise<ReplaceDriftedResult | undefined> {
    const until = workflowNow() + rules.soakMs;
    this.progress.enter('soaking', { waitingFor: 'the new nodes of the wave to stay healthy', until });
    if (rules.soakMs > 0) {
      await this.oversight.wait(rules.soakMs, { summary: 'soak', until: () => this.changed });
    }
    const view = await this.readView(launched);
    if (view.state === 'superseded') return this.superseded(view.by);
    const bad = Math.min(view.unwell.length, this.state.replaced);
    if (bad === 0) return undefined;
    this.state = { ...this.state, replaced: this.state.replaced - bad, failed: this.state.failed + bad };
    this.progress.addFacts({ 'unhealthy after the soak': view.unwell.join(', '), failed: this.state.failed });
    return undefined;
  }

  private isStopped(rules: RolloutRules | undefined): boolean {
    const { replaced, failed, pardoned } = this.state;
    return rules !== undefined && isStopped(rules, { replaced, failed: failed - pardoned });
  }

  /**
   * If too many replacements failed: rolls back, or asks a person whether to continue. Returns a result if the rollout
   * ends with that.
   */
  private async stopWhenTooManyFailed(rules: RolloutRules): Promise<ReplaceDriftedResult | undefined> {
    if (!this.isStopped(rules)) return undefined;
    const { nodePool, poolUid, hash } = this.input;
    const { replaced, failed } = this.state;
    const why = `${failed} of ${replaced + failed} nodes failed, more than ${rules.maximumFailurePercent}%`;
    if (rules.onFailure === 'Rollback') {
      await this.oversight.gate();
      const back = await this.activities.kube.rollBack({ nodePool, poolUid, hash, why });
      if (back.outcome === 'rolledBack') return this.end('rolledBack', why);
      this.progress.addFacts({ 'no rollback': back.why });
    }
    const asked = { timeoutMs: stoppedMs, onTimeout: 'Reject' } as const;
    const question = questionAfterFailures(nodePool, why);
    let consent;
    while ((consent = await this.oversight.ask(asked, question, { interrupt: () => this.changed })) === undefined) {
      const view = await this.readView([]);
      if (view.state === 'superseded') return this.superseded(view.by);
      if (view.rules === undefined) return this.handBack();
      await this.continueAsNewIfLong();
    }
    if (consent.answer === 'rejected') return this.stop('stopped', `${why}; ${consentText(consent)}`);
    this.state = { ...this.state, pardoned: failed, failuresInARow: 0 };
    return undefined;
  }

  /** The policy has no `driftRollout` any more: `disrupt` disrupts drifted nodes one by one again. */
  private handBack(): ReplaceDriftedResult {
    this.oversight.withdrawQuestion();
    return this.end('handedBack', 'no policy asks for waves any more');
  }

  /**
   * Carries out a rollback: cancels replacements that can still be undone, and writes the last good template back to
   * the NodePool.
   */
  private async rollBack(order: Order): Promise<Explanation> {
    const { nodePool, poolUid, hash } = this.input;
    const why = `asked for by ${withReason(order.actor, order.reason)}`;
    const back = await this.activities.kube.rollBack({ nodePool, poolUid, hash, why });
    if (back.outcome === 'nothing') {
      this.progress.addFacts({ 'no rollback': back.why });
      throw refuse(refusals.nothingToRollBack, back.why);
    }
    this.rolledBack = why;
    this.replacements.abort(order);
    this.oversight.abortBy(order);
    return this.progress.explanation;
  }

  private async continueAsNewIfLong(): Promise<void> {
    if (!(await isContinueAsNewDue(this.oversight, () => this.outbox.isEmpty))) return;
    const { askedUntil } = this.oversight;
    await continueAsNew<typeof replaceDrifted>({ ...this.input, carried: { ...this.state, askedUntil } });
  }
}

const protectionHolds = 'PodDisruptionBudgets and do-not-disrupt hold';

/** The approval question before the first wave; `nodes`: how many, in words. */
function questionBeforeWaves(nodePool: string, nodes: string): Question {
  return {
    what: `approval to replace ${nodes} of NodePool ${nodePool} in waves`,
    yes: `launches the replacements first and then drains node by node; ${protectionHolds}`,
  };
}

/** The approval question of a rollout that stopped because too many replacements failed. */
function questionAfterFailures(nodePool: string, why: string): Question {
  return {
    what: `approval to let the rollout of NodePool ${nodePool} go on (${why})`,
    yes: `replaces further nodes, replacements first, and ${protectionHolds}`,
    no: 'ends it, and the nodes that are left stay',
  };
}
