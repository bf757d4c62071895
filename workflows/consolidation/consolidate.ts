import { continueAsNew, isCancellation, log } from '@temporalio/workflow';
import { counted } from '../../core/text.js';
import { settleAll } from '../../core/at-once.js';
import { workflowNow } from '../clock.js';
import { CommandConsent, EarlyEnd, type EarlyOutcome } from './command-consent.js';
import { commandFacts, summaryOf } from './command-text.js';
import { setSignalHandler } from '../handlers.js';
import { isContinueAsNewDue, isHistoryFull, withRelease } from '../history-limit.js';
import type { Candidate, ConsolidateInput, ConsolidateResult, Decision } from '../messages.js';
import { nodeChangedSignal, searchAttributes } from '../messages.js';
import { isAborted, ordersAnswered, Oversight } from '../people/oversight.js';
import { Progress } from '../progress.js';
import { activitiesOf } from '../calls/proxies.js';
import { ExactClaims } from '../replacement/exact-claims.js';
import { NodeReplacement } from '../replacement/replacement.js';
import { Turn } from '../replacement/turn.js';
import { CommandValidation } from './command-validation.js';
import { startMeasuring, savingOf } from './savings.js';

const minutes = 60_000;
const validationMs = 15_000;
const steeredWithin = '5 seconds';
/** Part of the launch timeout for each node that is being disrupted (commands/replacement-timeout). */
const launchMsPerNode = 80;

/**
 * Carries out one command (commands/validation, commands/replacements-first): validates it after 15 seconds, asks for
 * approval where a policy requires it, taints the nodes once pauses and budgets allow it, launches the replacements,
 * waits until they are initialized, and terminates the nodes. Before each irreversible step a pause or a person can
 * stop it: it then undoes its steps, and starts them again afterwards. If it ends before the drain, no taint is left.
 */
export async function consolidate(input: ConsolidateInput): Promise<ConsolidateResult> {
  const run = new Consolidation(input);
  let result: ConsolidateResult | undefined;
  const work = async (): Promise<ConsolidateResult> => (result = await run.run());
  return withRelease(work, () => run.finish(result));
}

class Consolidation {
  private readonly activities;
  readonly progress: Progress;
  readonly oversight: Oversight;
  private readonly replacement: NodeReplacement<ExactClaims>;
  private readonly validation: CommandValidation;
  private readonly consent: CommandConsent;
  private readonly turn: Turn;
  /** The rest of the launch timeout, milliseconds. */
  private launchMs: number | undefined;

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
    this.oversight = new Oversight(this.progress);
    this.replacement = new NodeReplacement(cluster, new ExactClaims(cluster));
    this.validation = new CommandValidation(input);
    const { oversight, progress } = this;
    this.turn = new Turn({ cluster, oversight, progress, replacement: () => this.replacement });
    setSignalHandler(nodeChangedSignal, () => this.turn.wake());
    this.consent = new CommandConsent(input, {
      ...{ oversight, progress },
      publish: (event, message) => this.publish(event, message),
      validate: () => this.validate(),
      endsEarly: (outcome, why) => this.endsEarly(outcome, why),
    });
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

  /** In every case, removes taints from nodes that stay. */
  async finish(result: ConsolidateResult | undefined): Promise<void> {
    this.oversight.finish();
    await this.replacement.undo();
    if (result !== undefined) await this.noteRefused(result);
    await ordersAnswered();
  }

  private async noteRefused({ outcome, reason: why = outcome }: ConsolidateResult): Promise<void> {
    if (outcome !== 'rejected' && outcome !== 'aborted') return;
    const { reason, candidates, decision } = this.input;
    const nodes = candidates.map(({ claim, node, nodePool }) => ({ claim, node, nodePool }));
    const saves = (decision?.priceBefore ?? 0) - (decision?.priceAfter ?? 0);
    await this.activities.kube.noteRefused.executeWithOptions({ summary: why }, [
      { outcome, reason, nodes, saves, why },
    ]);
  }

  private async steps(): Promise<ConsolidateResult> {
    const { oversight } = this;
    let valid = await this.begin();
    for (;;) {
      const ready = await this.prepare(valid);
      const ended = ready === undefined ? undefined : await this.drain(ready);
      if (ended !== undefined) return ended;
      // A pause or a person stopped the command, and its steps are undone.
      await oversight.gate();
      await this.consent.publishIfWithdrawn();
      valid = await this.validate(this.launched);
      await this.continueAsNewIfLong();
    }
  }

  /** Returns the nodes that may be disrupted: validated, and approved where a policy requires it. */
  private async begin(): Promise<readonly Candidate[]> {
    const { reason, candidates, decision, waits } = this.input;
    // From here on `undo` also removes the record on the NodeClaims of what the command waits for.
    if (waits === true) this.replacement.noteTainted(reason, candidates);
    else await this.awaitValidation();
    await this.oversight.gate();
    const valid = await this.validate();
    if (decision?.approval === undefined || waits === true) return valid;
    this.replacement.noteTainted(reason, candidates);
    await this.consent.ask(decision, decision.approval);
    // Waiting for the approval may have taken hours.
    return this.validate();
  }

  /**
   * A command that waits for its turn needs no state from this run, except the replacements that it has launched. With
   * those this run continues until its history is full; then the command ends, and the next search decides anew.
   */
  private async continueAsNewIfLong(): Promise<void> {
    if (!(await isContinueAsNewDue(this.oversight)) || this.consent.isWithdrawn) return;
    if (this.launched.length > 0) {
      if (!isHistoryFull()) return;
      throw this.endsEarly('abandoned', 'it was stopped too often: it is decided anew');
    }
    await continueAsNew<typeof consolidate>({ ...this.input, waits: true });
  }

  /**
   * Taints the nodes, and launches their replacements. Undefined if a pause or a person stops the command: the steps
   * are undone then.
   */
  private async prepare(valid: readonly Candidate[]): Promise<readonly Candidate[] | undefined> {
    const { decision } = this.input;
    const deleting = await this.taint(valid);
    if (deleting === undefined) return undefined;
    if (this.oversight.isHeld) return this.undone();
    if (decision === undefined || decision.replacements.length === 0) return deleting;
    return (await this.launch(decision, deleting)) ? this.confirm(deleting) : this.undone();
  }

  private async undone(): Promise<undefined> {
    await this.replacement.undo();
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
   * With replacements all nodes must be tainted; without, the command continues with the nodes that could be tainted
   * (commands/partly-tainted). Undefined if it had to wait for its turn.
   */
  private async taint(valid: readonly Candidate[]): Promise<readonly Candidate[] | undefined> {
    const { reason, decision } = this.input;
    const { method = 'empty' } = decision ?? {};
    const { consent } = this;
    this.progress.enter('tainting');
    const tainted = await this.turn.take(reason, valid, {
      together: consent.isApproved ? method !== 'empty' : this.hasReplacements,
      method,
      waitsFor: consent.isApproved ? ['Budget', 'Pause'] : ['Pause'],
      until: () => consent.isWithdrawn,
    });
    if (tainted === undefined) return undefined;
    const { nodes: deleting, refused, alongside } = tainted;
    const partly = deleting.length < valid.length && this.hasReplacements;
    if (deleting.length === 0 || partly) {
      const [first] = refused;
      throw first === undefined
        ? this.endsEarly('failed', 'not every candidate could be tainted')
        : this.endsEarly('abandoned', `${first.node}: ${first.why}`);
    }
    await this.replacement.keepOnly(deleting);
    if (!consent.isApproved) return deleting;
    // The decision does not include the disruptions that began before this one, so it is validated again with them.
    this.validation.countAsGone(alongside);
    const still = new Set((await this.validate(this.launched)).map(({ node }) => node));
    const left = deleting.filter(({ node }) => still.has(node));
    if (left.length === 0) throw this.endsEarly('abandoned', 'no candidate is left');
    await this.replacement.keepOnly(
      left,
      deleting.filter(({ node }) => !still.has(node)),
    );
    return left;
  }

  /**
   * Checks the nodes once more, since the launch took minutes: meanwhile a pod may have got the do-not-disrupt
   * annotation. Undefined if a pause stops the command.
   */
  private async confirm(tainted: readonly Candidate[]): Promise<readonly Candidate[] | undefined> {
    const { blocked, paused } = await this.validation.confirm(tainted);
    if (paused !== undefined || this.oversight.isHeld) return this.undone();
    const [first] = blocked;
    if (first !== undefined) throw this.endsEarly('abandoned', `${first.node}: ${first.why}`);
    return tainted;
  }

  /**
   * Launches exactly the planned replacements, and waits until all are initialized (commands/replacements-first).
   * Returns whether they are. The timeout does not count the time in which a pause or a person stops the command.
   */
  private async launch(decision: Decision, deleting: readonly Candidate[]): Promise<boolean> {
    const { oversight, progress, replacement } = this;
    const { reason } = this.input;
    oversight.throwIfAborted();
    if (oversight.isHeld) return false;
    const queued = deleting.length + decision.alongside.length;
    this.launchMs ??= Math.min(60 * minutes, Math.max(10 * minutes, launchMsPerNode * queued));
    if (this.launched.length === 0) {
      progress.enter('launching');
      await this.publish('DisruptionLaunching', `Launching ${counted(decision.replacements.length, 'replacement')}`);
      replacement.source.plan = { ...decision, forPods: true };
      const refused = await replacement.launch(this.launchMs + 10 * minutes);
      if (refused !== undefined) throw await this.failed(refused);
    } else await replacement.source.reserveRoom(nodesOf(deleting), 60 * minutes);
    const replacements = this.launched.join(', ');
    const began = workflowNow();
    progress.enter('launching', {
      waitingFor: `${replacements} to be initialized`,
      until: began + this.launchMs,
      facts: { replacements },
    });
    const stops = (): boolean => oversight.isAborted || oversight.isHeld;
    const readiness = await this.turn.awaitReady({ reason, nodes: deleting }, this.launchMs, stops);
    this.launchMs = Math.max(1, this.launchMs - (workflowNow() - began));
    oversight.throwIfAborted();
    if (readiness.state === 'failed' || readiness.state === 'late') throw await this.failed(readiness.why);
    return readiness.state === 'ready' && !oversight.isHeld;
  }

  /** Undefined if no node was deleted, because of a pause: the steps are undone then. */
  private async drain(deleting: readonly Candidate[]): Promise<ConsolidateResult | undefined> {
    const { decision } = this.input;
    this.oversight.passPointOfNoReturn();
    if (decision?.steers === true) await this.steerPods(deleting, this.targets(decision));
    this.progress.enter('draining', { waitingFor: nodesOf(deleting).join(', ') });
    const ends = await settleAll(deleting, (candidate) => this.drainOne(candidate));
    if (decision?.steers === true) await this.steerPods(deleting, []);
    const kept = ends.flatMap((end) => ('why' in end ? [end] : []));
    const gone = deleting.filter((_, index) => !('why' in ends[index]!));
    const [first] = kept;
    if (first !== undefined && gone.length === 0) {
      await this.replacement.undoDrain(this.oversight);
      if (kept.some(({ state }) => state === 'paused')) return undefined;
      throw await this.failed(first.why);
    }
    const savedPerHour = savingOf(gone, decision);
    this.progress.enter('done', { facts: { 'saved per hour': savedPerHour, 'not deleted because': first?.why } });
    // A deletion saves the price of what it deletes: there is nothing to measure.
    if (decision !== undefined && decision.method !== 'drift' && this.hasReplacements) {
      await startMeasuring(this.input, { deleting: gone, decision, launched: this.replacement.source.claims });
    }
    const targets = decision === undefined ? {} : { targets: this.targets(decision) };
    return { outcome: 'done', terminated: nodesOf(gone), ...this.replacements(), ...targets, savedPerHour };
  }

  /**
   * Steers evicted pods to the planned nodes; without targets ends that. Evictions wait only a moment for it, because
   * pods that land elsewhere do no harm.
   */
  private async steerPods(deleting: readonly Candidate[], targets: Decision['targets']): Promise<void> {
    const options = {
      summary: targets.length === 0 ? 'remove the soft taints' : `steer pods to ${counted(targets.length, 'node')}`,
      scheduleToCloseTimeout: steeredWithin,
    };
    const input = { claims: deleting.map(({ claim }) => claim), targets: targets.map(({ node }) => node) };
    try {
      await this.activities.kube.steerPods.executeWithOptions(options, [input]);
    } catch (error) {
      if (isCancellation(error)) throw error;
      log.warn('pods are not steered', { error });
    }
  }

  /**
   * If a pause prevents the deletion of the NodeClaim, or the API server refuses it, the node is released again
   * (commands/refused-deletions).
   */
  private async drainOne(candidate: Candidate): ReturnType<NodeReplacement['drain']> {
    const { claim, node, nodePool } = candidate;
    const { reason } = this.input;
    const end = await this.replacement.drain({
      ...{ claim, nodePool, reason: reason.toLowerCase() },
      ...{ unlessPaused: { reason, node }, unlessRefused: true },
    });
    if ('why' in end) await this.replacement.untaint([candidate]);
    return end;
  }

  private async publish(reason: string, message: string): Promise<void> {
    const { candidates } = this.input;
    await this.activities.kube.publishDisruption.executeWithOptions({ summary: `event ${reason}` }, [
      { nodes: nodesOf(candidates), reason, message },
    ]);
  }

  private get hasReplacements(): boolean {
    return (this.input.decision?.replacements.length ?? 0) > 0;
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
    const superseded = this.consent.isSuperseded ? ({ isSuperseded: true } as const) : {};
    return { outcome, reason, terminated: [], ...this.replacements(), ...superseded, savedPerHour: 0 };
  }
}

const nodesOf = (candidates: readonly Candidate[]): string[] => candidates.map(({ node }) => node);
