import { condition, continueAsNew } from '@temporalio/workflow';
import type { ResolvedRepairStep, RepairView } from '../../activities/repair/contract.js';
import { workflowNow } from '../clock.js';
import type { RepairNodeInput, RepairNodeResult } from '../messages.js';
import { nodeChangedSignal, searchAttributes } from '../messages.js';
import { ordersAnswered, Oversight, overseen } from '../people/oversight.js';
import { consentText, type Question } from '../people/consent.js';
import { Progress } from '../progress.js';
import { activitiesOf } from '../calls/proxies.js';
import { isContinueAsNewDue } from '../history-limit.js';
import { NodeReplacement } from '../replacement/replacement.js';
import type { Readiness } from '../replacement/source.js';
import { ViaProvision } from '../replacement/via-provision.js';
import { RepairTermination } from './repair-termination.js';
import { Turn } from '../replacement/turn.js';
import { setSignalHandler } from '../handlers.js';
import { timeText } from '../../core/time.js';

/** How often to check again while too many nodes are unhealthy (repair/at-most-a-fifth). */
const blockedRetryMs = 5 * 60_000;
/** The operator signals changes of conditions; this poll finds changes whose signal was lost. */
const slowPollMs = 5 * 60_000;

type Unhealthy = Extract<RepairView, { state: 'unhealthy' }>;

/**
 * Repairs a node with a condition of a repair policy (repair/policies, repair/forced): waits for the toleration
 * duration of the provider's policy, and while too much of the NodePool is unhealthy; then takes the steps of the
 * NodePool's policy (default: force, as Karpenter does). Ends when the node has recovered. A person can hold it before
 * each step, to examine the machine.
 */
export async function repairNode(input: RepairNodeInput): Promise<RepairNodeResult> {
  const repair = new Repair(input);
  return overseen({
    run: () => repair.run(),
    aborted: (why) => repair.decline(why),
    release: () => repair.release(),
  });
}

class Repair {
  private readonly activities;
  private readonly progress: Progress;
  private readonly oversight: Oversight;
  private readonly replacement: NodeReplacement;
  private readonly steps: string[] = [];
  private changed = false;
  private readonly turn: Turn;
  private readonly termination: RepairTermination;
  private agreed: boolean;
  /** The unhealthy condition, as last seen. */
  private condition: string | undefined;

  constructor(private readonly input: RepairNodeInput) {
    const { cluster, claim, nodePool } = input;
    this.agreed = input.agreed ?? false;
    this.activities = activitiesOf(cluster);
    this.replacement = new NodeReplacement(cluster, new ViaProvision(cluster));
    this.termination = new RepairTermination(input, this.replacement);
    setSignalHandler(nodeChangedSignal, () => {
      this.changed = true;
      this.turn.wake();
      this.termination.noteChange();
    });
    this.progress = new Progress(
      `Repair of ${claim.name}`,
      [
        { key: searchAttributes.cluster, value: cluster },
        { key: searchAttributes.nodePool, value: nodePool },
        { key: searchAttributes.nodeClaim, value: claim.name },
        { key: searchAttributes.reason, value: 'unhealthy' },
      ],
      { NodeClaim: claim.name, NodePool: nodePool },
    );
    this.oversight = new Oversight(this.progress);
    const { progress, oversight, replacement } = this;
    this.turn = new Turn({ cluster, progress, oversight, replacement: () => replacement });
  }

  async run(): Promise<RepairNodeResult> {
    const due = await this.untilDue();
    if (due.state !== 'unhealthy') return this.endOf(due);
    const refusal = await this.consent(due);
    if (refusal !== undefined) return refusal;
    for (const step of due.steps) {
      const gone = await this.stayReady(due);
      if (gone !== undefined) return gone;
      const view = await this.inspect();
      if (view.state !== 'unhealthy' && !this.termination.isStarted) return this.endOf(view);
      this.steps.push(step.action);
      const outcome = await this.takeStep(step, due);
      if (outcome !== undefined) return outcome;
    }
    return this.afterLastStep();
  }

  /**
   * Asks for approval while the node is unhealthy and its policy wants it. Returns a result if the workflow ends by a
   * refusal or because the node recovered.
   */
  private async consent(due: Unhealthy): Promise<RepairNodeResult | undefined> {
    for (let asked = due; !this.agreed && asked.approval !== undefined;) {
      this.changed = false;
      const interrupt = (): boolean => this.changed;
      const consent = await this.oversight.ask(asked.approval, repairQuestion(asked), { interrupt });
      if (consent?.answer === 'rejected') return this.decline(consentText(consent));
      this.agreed = consent !== undefined;
      if (this.agreed) return undefined;
      const view = await this.inspect();
      if (view.state !== 'unhealthy' || view.approval === undefined) this.oversight.withdrawQuestion();
      if (view.state !== 'unhealthy') return this.endOf(view);
      asked = view;
    }
    return undefined;
  }

  /** Waits for the toleration duration, and until few enough nodes of the NodePool are unhealthy. */
  private async untilDue(): Promise<RepairView> {
    for (;;) {
      this.changed = false;
      const view = await this.inspect();
      if (view.state !== 'unhealthy') return view;
      const { dueAt, blocked, condition: what, since } = view;
      const facts = { node: view.nodeName, condition: what, since: timeText(since) };
      const rest = dueAt - workflowNow();
      if (rest <= 0 && blocked === undefined) {
        this.progress.addFacts(facts);
        return view;
      }
      if (rest > 0) {
        this.progress.enter('tolerating', { waitingFor: `${what} to pass`, until: dueAt, facts });
        await this.oversight.wait(rest, { summary: `${what} is tolerated`, until: () => this.changed });
      } else {
        const until = workflowNow() + blockedRetryMs;
        this.progress.enter('blocked', { waitingFor: `repair to be allowed: ${blocked}`, until, facts });
        await this.oversight.wait(blockedRetryMs, {
          summary: 'the next check of the NodePool',
          until: () => this.changed,
        });
      }
      await this.continueAsNewIfLong();
    }
  }

  /**
   * Waits until pauses, windows and rates allow the repair (budgets/every-disruption-asks). Budgets do not apply to
   * unhealthy nodes; pauses do, and windows and rates that name `Unhealthy`. Returns a result if the node recovers or
   * is removed meanwhile.
   */
  private async takeTurn({ candidate }: Unhealthy): Promise<RepairNodeResult | undefined> {
    while ((await this.turn.take('Unhealthy', [candidate])) === undefined) {
      await this.oversight.gate();
      const view = await this.inspect();
      if (view.state !== 'unhealthy') return this.endOf(view);
      if (this.steps.length === 0) await this.continueAsNewIfLong();
    }
    return undefined;
  }

  /** Waits before each step while a pause or a person stops the repair. The node is released meanwhile. */
  private async stayReady(due: Unhealthy): Promise<RepairNodeResult | undefined> {
    const { oversight, replacement } = this;
    if (this.termination.isStarted) return undefined;
    if (oversight.isHeld) await replacement.undo();
    await oversight.gate();
    return this.takeTurn(due);
  }

  /** Called only before the first repair step, so the next run can start from the beginning. */
  private async continueAsNewIfLong(): Promise<void> {
    if (!(await isContinueAsNewDue(this.oversight))) return;
    await continueAsNew<typeof repairNode>({ ...this.input, agreed: this.agreed });
  }

  private async inspect(): Promise<RepairView> {
    const view = await this.activities.kube.inspectRepair({ claim: this.input.claim });
    if (view.state === 'unhealthy') this.condition = view.condition;
    return view;
  }

  private async takeStep(step: ResolvedRepairStep, due: Unhealthy): Promise<RepairNodeResult | undefined> {
    const { providerId, condition: what } = due;
    const { claim } = this.input;
    if (step.action === 'Reboot') return this.reboot(step, providerId);
    if (!this.termination.isStarted) {
      await this.activities.kube.countRepair({ claim, condition: what.split('=')[0] ?? '' });
    }
    return step.action === 'Replace' ? this.replace(step, due) : this.force(step, due);
  }

  private async reboot({ waitMs }: ResolvedRepairStep, providerId: string): Promise<RepairNodeResult | undefined> {
    const { claim } = this.input;
    this.progress.enter('rebooting', { waitingFor: 'the node to be healthy again', until: workflowNow() + waitMs });
    const { state } = await this.activities.cloud.rebootInstance.executeWithOptions({ summary: providerId }, [
      { claim, providerId },
    ]);
    this.progress.addFacts({ reboot: state });
    return state === 'rebooting' ? this.awaitRecovery(waitMs) : undefined;
  }

  /** Waits for the node to recover. Undefined if it is still unhealthy after `ms`. */
  private async awaitRecovery(ms: number): Promise<RepairNodeResult | undefined> {
    const end = workflowNow() + ms;
    while (workflowNow() < end) {
      this.changed = false;
      const rest = Math.min(slowPollMs, end - workflowNow());
      const ended = await this.oversight.wait(rest, { summary: 'the node to recover', until: () => this.changed });
      const view = await this.inspect();
      if (view.state !== 'unhealthy') return this.endOf(view);
      if (ended === 'expedited') return undefined;
    }
    return undefined;
  }

  /** Step Replace: launches replacements, then drains, with PodDisruptionBudgets respected. */
  private async replace({ waitMs }: ResolvedRepairStep, due: Unhealthy): Promise<RepairNodeResult | undefined> {
    const { candidate } = due;
    const { oversight, replacement } = this;
    const end = workflowNow() + waitMs;
    const stops = (): boolean => oversight.isHeld || oversight.isAborted;
    let state: Readiness['state'];
    for (;;) {
      this.progress.enter('replacing', { waitingFor: 'the replacement to be up', until: end });
      await replacement.launch(waitMs);
      ({ state } = await this.turn.awaitReady({ reason: 'Unhealthy', nodes: [candidate] }, waitMs, stops));
      if (!stops() && state !== 'interrupted') break;
      await replacement.undo();
      const gone = await this.stayReady(due);
      if (gone !== undefined) return gone;
    }
    this.progress.addFacts({ replacement: state });
    const view = await this.inspect();
    if (view.state !== 'unhealthy') return this.endOf(view);
    this.terminate(due, undefined);
    return this.awaitGone(Math.max(1, end - workflowNow()));
  }

  /** Step Force: ends the protection of pods (repair/forced), by a deadline of now on a new or running drain. */
  private async force({ waitMs }: ResolvedRepairStep, due: Unhealthy): Promise<RepairNodeResult | undefined> {
    const deadline = workflowNow();
    if (this.termination.isStarted) await this.termination.expedite(deadline);
    else this.terminate(due, deadline);
    return this.awaitGone(waitMs);
  }

  private terminate({ nodeName }: Unhealthy, deadline: number | undefined): void {
    this.oversight.passPointOfNoReturn();
    this.termination.start(nodeName, deadline);
  }

  private async awaitGone(ms: number): Promise<RepairNodeResult | undefined> {
    this.progress.enter('draining', { waitingFor: this.input.claim.name, until: workflowNow() + ms });
    await this.oversight.wait(ms, { summary: 'the node to be gone', until: () => this.termination.isDone });
    return this.termination.isDone ? this.replaced() : undefined;
  }

  /** After the last step: waits for a drain under way. A node that was only rebooted stays. */
  private async afterLastStep(): Promise<RepairNodeResult> {
    if (!this.termination.isStarted) return this.end('unhealthy', 'no repair step is left');
    await condition(() => this.termination.isDone);
    return this.replaced();
  }

  private replaced(): RepairNodeResult {
    this.termination.throwIfFailed();
    return this.end('replaced');
  }

  /** Records a refusal on the NodeClaim, so that the same condition does not ask again (repair/declined). */
  async decline(why: string): Promise<RepairNodeResult> {
    const { claim } = this.input;
    const { condition: what } = this;
    if (what !== undefined) {
      const declined = [{ claim, condition: what, why }] as const;
      await this.activities.kube.declineRepair.executeWithOptions({ summary: why }, [...declined]);
    }
    return this.end('rejected', why);
  }

  private endOf(view: Exclude<RepairView, Unhealthy>): RepairNodeResult {
    return this.end(view.state === 'gone' ? 'gone' : 'recovered');
  }

  end(outcome: RepairNodeResult['outcome'], reason?: string): RepairNodeResult {
    this.oversight.finish();
    this.progress.enter(outcome, reason === undefined ? {} : { facts: { because: reason } });
    return { outcome, steps: this.steps, ...(reason === undefined ? {} : { reason }) };
  }

  async release(): Promise<void> {
    await this.replacement.undo();
    await ordersAnswered();
  }
}

/** The approval question, and which pods would lose their protection by an approval. */
function repairQuestion({ nodeName, condition: what, steps }: Unhealthy): Question {
  const actions = steps.map(({ action }) => action);
  const isForced = actions.includes('Force');
  const breaks = `its step Force deletes the pods of ${nodeName}, whatever protects them`;
  return {
    what: `approval to repair ${nodeName} (${what})`,
    yes: `takes the steps ${actions.join(', ')}`,
    ...(isForced ? { breaks } : {}),
  };
}
