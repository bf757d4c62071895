import { CancellationScope } from '@temporalio/workflow';
import { counted } from '../../core/text.js';
import { settleAll } from '../../core/at-once.js';
import { workflowNow } from '../clock.js';
import { CommandConsent } from './command-consent.js';
import { commandFacts, summaryOf } from './command-text.js';
import { reportEnd, steerPodsTo } from './disrupt-signals.js';
import { EarlyEnd, type EarlyOutcome } from './early-end.js';
import { setSignalHandler } from '../handlers.js';
import {
  type Candidate,
  type ConsolidateInput,
  type ConsolidateResult,
  type Decision,
  nominatedSignal,
  searchAttributes,
} from '../messages.js';
import { isAborted } from '../people/accepted-orders.js';
import { ordersAnswered, Oversight } from '../people/oversight.js';
import { awaitUnreadPause } from '../people/unread-pause.js';
import { Progress } from '../progress.js';
import { activitiesOf } from '../calls/proxies.js';
import { ExactClaims } from '../replacement/exact-claims.js';
import { NodeReplacement } from '../replacement/replacement.js';
import { CommandValidation } from './command-validation.js';
import { startMeasuring, savingOf } from './savings.js';

const minutes = 60_000;
const validationMs = 15_000;
/** Part of the launch timeout for each node that is being disrupted (commands/replacement-timeout). */
const launchMsPerNode = 80;

/**
 * Carries out one command (commands/validation, commands/replacements-first): validates it after 15 seconds, asks for approval
 * and for a disruption slot where a policy wants approval, taints the nodes, launches the replacements, waits until they are
 * initialized, and terminates the nodes. Pauses and people can hold it before each irreversible step. While it waits or if it
 * ends before the drain, no taint is left.
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

class Consolidation {
  private readonly activities;
  readonly progress: Progress;
  readonly oversight: Oversight;
  private readonly replacement: NodeReplacement<ExactClaims>;
  private readonly validation: CommandValidation;
  private readonly consent: CommandConsent;

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
        { key: searchAttributes.savingsPerHour, value: savingOf(candidates, decision) },
      ],
      commandFacts(input),
      'validating',
    );
    this.oversight = new Oversight(this.progress, { disruption: () => input, paused: input.paused ?? false });
    this.replacement = new NodeReplacement(cluster, new ExactClaims(cluster));
    this.validation = new CommandValidation(input);
    const { oversight, progress } = this;
    this.consent = new CommandConsent(input, {
      ...{ oversight, progress },
      publish: (event, message) => this.publish(event, message),
      validate: () => this.validate(),
      endsEarly: (outcome, why) => this.endsEarly(outcome, why),
    });
    setSignalHandler(nominatedSignal, (nodes) => this.validation.nominate(nodes));
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

  /** In every case, removes taints from nodes that stay, and reports the outcome to `disrupt`. */
  async finish(result: ConsolidateResult | undefined): Promise<void> {
    this.oversight.finish();
    await this.replacement.undo();
    await this.consent.giveBack();
    const { decision, cluster } = this.input;
    await (decision === undefined || result === undefined
      ? reportEnd(cluster)
      : reportEnd(cluster, result, this.targets(decision)));
    await ordersAnswered();
  }

  private async steps(): Promise<ConsolidateResult> {
    const { input, oversight } = this;
    const { decision } = input;
    await this.awaitValidation();
    await oversight.gate();
    let deleting = await this.validate();
    if (decision?.approval !== undefined) {
      await this.consent.ask(decision, decision.approval);
      this.validation.countAsGone(await this.consent.acquireSlot(deleting, decision));
      // Hours may have passed.
      deleting = await this.validate();
    }
    deleting = await this.confirm(await this.taint(deleting));
    const replaces = decision !== undefined && decision.replacements.length > 0;
    if (replaces) await this.launch(decision, deleting);
    await this.replacement.whileHeld(oversight, async () => void (deleting = await this.restore(deleting)));
    // The launch took minutes: a pod may have got do-not-disrupt meanwhile.
    if (replaces) deleting = await this.confirm(deleting);
    oversight.passPointOfNoReturn();
    if (decision?.steers === true) await steerPodsTo(input.cluster, this.targets(decision));
    return this.drain(deleting);
  }

  private async awaitValidation(): Promise<void> {
    const { decision, validationMs: asked } = this.input;
    const wait = asked ?? (decision?.method === 'drift' ? 0 : validationMs);
    const { consent } = this;
    if (wait > 0) {
      const until = workflowNow() + wait;
      this.progress.enter('validating', { waitingFor: 'the validation that follows the decision', until });
      await this.oversight.wait(wait, { summary: 'the delay before validation', until: () => consent.isWithdrawn });
    }
    consent.endIfWithdrawn();
  }

  private async validate(created: readonly string[] = []): Promise<readonly Candidate[]> {
    const valid = await this.validation.validate(created);
    if (typeof valid === 'string') throw this.endsEarly('abandoned', valid);
    return valid;
  }

  /**
   * With replacements all nodes must be tainted; without, the command goes on with those that could be (commands/partly-tainted).
   */
  private async taint(valid: readonly Candidate[]): Promise<readonly Candidate[]> {
    const { reason, decision } = this.input;
    this.progress.enter('tainting');
    const { nodes: deleting, overBudget } = await this.replacement.taint(reason, valid);
    const partly = deleting.length < valid.length && (decision?.replacements.length ?? 0) > 0;
    if (deleting.length === 0 || partly)
      throw overBudget === undefined
        ? this.endsEarly('failed', 'not every candidate could be tainted')
        : this.endsEarly('abandoned', overBudget);
    await this.replacement.narrow(deleting);
    return deleting;
  }

  /** Checks the nodes once more after the taint, since pods may have landed on them just before it. */
  private async confirm(tainted: readonly Candidate[]): Promise<readonly Candidate[]> {
    let deleting = tainted;
    let confirmed = await this.validation.confirm(deleting);
    for (let attempts = 1; confirmed.paused !== undefined; attempts++) {
      deleting = await this.awaitResume(deleting, confirmed.paused, attempts);
      confirmed = await this.validation.confirm(deleting);
    }
    const { blocked } = confirmed;
    const [first] = blocked;
    if (first === undefined) return deleting;
    const isBlocked = ({ node }: Candidate): boolean => blocked.some((one) => one.node === node);
    const going = deleting.filter((candidate) => !isBlocked(candidate));
    if (going.length === 0 || (this.input.decision?.replacements.length ?? 0) > 0)
      throw this.endsEarly('abandoned', `${first.node}: ${first.why}`);
    await this.replacement.narrow(going, deleting.filter(isBlocked));
    return going;
  }

  /** A DisruptionPause exists that `disrupt` has not read yet (invariants/pauses-hold): undo, and wait until it ends. */
  private async awaitResume(
    deleting: readonly Candidate[],
    why: string,
    attempts: number,
  ): Promise<readonly Candidate[]> {
    await this.replacement.undo();
    await awaitUnreadPause(this.input.cluster, this, { why, attempts });
    return this.restore(deleting);
  }

  /** Launches exactly the planned replacements, and waits until all are initialized (commands/replacements-first). */
  private async launch(decision: Decision, deleting: readonly Candidate[]): Promise<void> {
    const { oversight, progress, replacement } = this;
    const queued = deleting.length + decision.alongside.length;
    const timeoutMs = Math.min(60 * minutes, Math.max(10 * minutes, launchMsPerNode * queued));
    oversight.throwIfAborted();
    await replacement.whileHeld(oversight, async () => {
      await this.taint(deleting);
    });
    progress.enter('launching');
    await this.publish('DisruptionLaunching', `Launching ${counted(decision.replacements.length, 'replacement')}`);
    replacement.source.plan = { ...decision, forPods: true };
    const refused = await replacement.launch(timeoutMs + 10 * minutes);
    if (refused !== undefined) throw await this.failed(refused);
    const wasHeld = await this.awaitReplacements(deleting, timeoutMs);
    // Hours may have passed.
    if (wasHeld) await this.validate(this.launched);
  }

  /** Returns whether the command was held meanwhile. While held, the nodes have no taint and the launch timeout stands still. */
  private async awaitReplacements(deleting: readonly Candidate[], timeoutMs: number): Promise<boolean> {
    const { oversight, progress, replacement } = this;
    const replacements = this.launched.join(', ');
    let wasHeld = false;
    for (let rest = timeoutMs; ;) {
      const began = workflowNow();
      progress.enter('launching', {
        waitingFor: `${replacements} to be initialized`,
        until: began + rest,
        facts: { replacements },
      });
      const readiness = await replacement.awaitReady(rest, () => oversight.isAborted || oversight.isHeld);
      oversight.throwIfAborted();
      if (readiness.state === 'failed' || readiness.state === 'late') throw await this.failed(readiness.why);
      if (readiness.state === 'ready' && !oversight.isHeld) return wasHeld;
      rest = Math.max(1, rest - (workflowNow() - began));
      await replacement.whileHeld(oversight, async () => {
        await this.taint(deleting);
        await replacement.source.reserveRoom(nodesOf(deleting), 60 * minutes);
      });
      wasHeld = true;
    }
  }

  /** Validates and taints again after a hold, since the cluster may have changed. */
  private async restore(deleting: readonly Candidate[]): Promise<readonly Candidate[]> {
    const valid = this.input.decision === undefined ? deleting : await this.validate(this.launched);
    const tainted = await this.taint(valid);
    await this.replacement.source.reserveRoom(nodesOf(valid), 10 * minutes);
    return tainted;
  }

  private async drain(deleting: readonly Candidate[]): Promise<ConsolidateResult> {
    const { decision } = this.input;
    this.progress.enter('draining', { waitingFor: nodesOf(deleting).join(', ') });
    const kept = await settleAll(deleting, (candidate) => this.drainOne(candidate));
    const [why] = kept.filter((each) => each !== undefined);
    const gone = deleting.filter((_, index) => kept[index] === undefined);
    if (why !== undefined && gone.length === 0) throw await this.failed(why);
    const savedPerHour = savingOf(gone, decision);
    this.progress.enter('done', { facts: { 'saved per hour': savedPerHour, 'not deleted because': why } });
    if (decision !== undefined && decision.method !== 'drift') {
      await startMeasuring(this.input, { deleting: gone, decision, launched: this.replacement.source.claims });
    }
    return { outcome: 'done', terminated: nodesOf(gone), ...this.replacements(), savedPerHour };
  }

  /**
   * A node that a pause keeps in the last moment stays tainted until that ends: others of the command may be gone already. One whose NodeClaim
   * the API server does not let go is free again (commands/refused-deletions); gives why.
   */
  private async drainOne(candidate: Candidate): Promise<string | undefined> {
    const { claim, node, nodePool } = candidate;
    const { cluster, reason } = this.input;
    const request = {
      claim,
      nodePool,
      reason: reason.toLowerCase(),
      unlessPaused: { reason, node },
      unlessRefused: true,
    } as const;
    let end = await this.replacement.drain(request);
    for (let attempts = 1; end.state === 'paused'; attempts++) {
      await awaitUnreadPause(cluster, this, { why: end.why, attempts });
      this.progress.enter('draining', { waitingFor: node });
      end = await this.replacement.drain(request);
    }
    if (end.state !== 'refused') return undefined;
    await this.replacement.free(candidate);
    return end.why;
  }

  private async publish(reason: string, message: string): Promise<void> {
    const { candidates } = this.input;
    await this.activities.kube.publishDisruption.executeWithOptions({ summary: `event ${reason}` }, [
      { nodes: nodesOf(candidates), reason, message },
    ]);
  }

  private get launched(): readonly string[] {
    return this.replacement.source.names;
  }

  private replacements(): Pick<ConsolidateResult, 'replacements'> {
    return this.launched.length === 0 ? {} : { replacements: this.launched };
  }

  private targets(decision: Decision): Decision['targets'] {
    const launched = this.replacement.source.claims.map(({ name, nodePool }) => ({ node: name, nodePool }));
    return [...decision.targets, ...launched];
  }

  private async failed(reason: string): Promise<EarlyEnd> {
    await this.publish('DisruptionBlocked', reason);
    return this.endsEarly('failed', reason);
  }

  private endsEarly(outcome: EarlyOutcome, reason: string): EarlyEnd {
    return new EarlyEnd(this.end(outcome, reason));
  }

  private end(outcome: EarlyOutcome, reason: string): ConsolidateResult {
    this.progress.enter(outcome, { facts: { [`${outcome} because`]: reason } });
    return { outcome, reason, terminated: [], ...this.replacements(), savedPerHour: 0 };
  }
}

const nodesOf = (candidates: readonly Candidate[]): string[] => candidates.map(({ node }) => node);
