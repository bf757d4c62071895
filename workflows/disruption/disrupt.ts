import { allHandlersFinished, getExternalWorkflowHandle } from '@temporalio/workflow';
import type { LeftOversRemoved } from '../../activities/disruption/contract.js';
import { workflowIds } from '../../core/ids.js';
import { parseDuration } from '../../core/durations.js';
import { timeText } from '../../core/time.js';
import { workflowNow } from '../clock.js';
import type {
  DisruptInput,
  DisruptState,
  Pause,
  PauseOrder,
  PauseScope,
  Refused,
  ReconsiderOrder,
} from '../messages.js';
import { clusterChangedSignal, deletingNodesSignal, searchAttributes } from '../messages.js';
import { setSignalHandler } from '../handlers.js';
import { Changes } from '../entity/changes.js';
import { runEntity } from '../entity/run-entity.js';
import { untilHistoryFull } from '../history-limit.js';
import { FailedSteps } from '../entity/failed-steps.js';
import { Progress } from '../progress.js';
import { activitiesOf } from '../calls/proxies.js';
import { notify } from '../calls/other-workflows.js';
import { settleInTurn } from '../../core/at-once.js';
import { Commands } from './commands.js';
import { handleOrders, handleQueries } from './disrupt-handlers.js';
import { KnownState } from './known-state.js';

/** The operator signals changes; this poll finds changes whose signal was lost. */
const slowPollMs = 5 * 60_000;
/** The least time between removals of what ended disruptions left, which are part of a search. */
const taintCheckMs = 10_000;
/** How long a search may be put off while commands run: their workflows may end without a signal. */
const commandCheckMs = 2 * 60_000;
/**
 * Timeout of the activity that searches for commands. It waits for a packing thread, and searches for up to three
 * minutes.
 */
const passTimeout = '10 minutes';
const undecidedFact = 'no command found since';

/**
 * Decides which nodes to disrupt, and starts one `consolidate` per command. It neither counts budgets nor keeps pauses:
 * both are checked when a node is tainted (budgets/counted-at-the-taint). If its state is lost, only the next search is
 * affected. People send their pauses to this workflow.
 */
export async function disrupt(input: DisruptInput): Promise<never> {
  const run = new DisruptRun(input);
  return runEntity<typeof disrupt>({
    round: () => run.round(),
    isIdle: allHandlersFinished,
    next: () => [{ ...input, carried: run.state() }],
  });
}

class DisruptRun {
  private readonly activities;
  private readonly progress: Progress;
  private readonly known: KnownState;
  private readonly commands: Commands;
  private readonly failed: FailedSteps;
  private readonly changes = new Changes(true);
  private wakeAt = 0;
  private taintCheckAt = 0;
  private lastOrder: Promise<unknown> = Promise.resolve();

  constructor(private readonly input: DisruptInput) {
    const { cluster, carried } = input;
    const activities = activitiesOf(cluster);
    const known = new KnownState(carried);
    this.activities = activities;
    this.known = known;
    this.progress = new Progress(
      'Disruption: removes nodes that are not needed',
      [{ key: searchAttributes.cluster, value: cluster }],
      {},
      'watching',
    );
    const { progress } = this;
    this.commands = new Commands({
      ...{ cluster, progress, known },
      onEnd: (outcome) => {
        // The end of the nodes is signalled by the operator.
        if (outcome !== 'done') this.changes.note();
      },
    });
    this.failed = new FailedSteps(progress);
    setSignalHandler(clusterChangedSignal, () => this.changes.note());
    handleQueries(known, activities);
    handleOrders(progress, {
      pause: (order) => this.inTurn(() => this.pause(order)),
      resume: (scope) => this.inTurn(() => this.resume(scope)),
      reconsider: (order) => this.inTurn(() => this.reconsider(order)),
    });
  }

  state(): DisruptState {
    return this.known.carried;
  }

  private async noteRemoved({ released = [], ended = [] }: LeftOversRemoved): Promise<void> {
    if (released.length > 0) {
      // The ended workflow had their pods planned on other nodes and cannot revoke that itself (commands/given-back).
      const stay = { nodes: released, until: 0, marks: [], every: true };
      const provision = getExternalWorkflowHandle(workflowIds.provision(this.input.cluster));
      await notify(() => provision.signal(deletingNodesSignal, stay));
    }
    for (const workflowId of ended) this.known.end(workflowId);
    if (ended.length + released.length > 0) this.changes.note();
  }

  /** One round: waits for a change, then searches for commands and starts them. */
  async round(): Promise<undefined> {
    await this.changes.next({
      until: this.wakeAt,
      summary: 'the next budget window or search',
      onWait: () => this.progress.enter('watching', { waitingFor: 'the cluster to change', until: this.wakeAt }),
    });
    await this.failed.attempt(
      'a round of decisions',
      () => this.decide(),
      () => this.changes.note(),
    );
  }

  private async decide(): Promise<void> {
    const { known, progress } = this;
    const isTaintCheckDue = workflowNow() >= this.taintCheckAt;
    const waitingFor = `a search that began at ${timeText(workflowNow())}`;
    if (!this.failed.hasFailed) progress.enter('searching', { waitingFor });
    const options = { summary: 'search for nodes to disrupt', startToCloseTimeout: passTimeout } as const;
    const found = await untilHistoryFull(() =>
      this.activities.kube.findDisruptions.executeWithOptions(options, [
        { ...known.view(), ...(isTaintCheckDue ? { leftOvers: true } : {}) },
      ]),
    );
    if (isTaintCheckDue) this.taintCheckAt = workflowNow() + taintCheckMs;
    await this.noteRemoved(found);
    progress.addFacts({ [undecidedFact]: known.lastFindings.note(found) });
    for (const question of found.moot ?? []) {
      // If the question's workflow has ended, its marks on the NodeClaims have to be removed: search for them in the
      // next round.
      if (!(await this.commands.withdraw(question))) this.taintCheckAt = 0;
    }
    // One command that cannot be started does not stop the others; the next round tries it again.
    await settleInTurn(found.commands, (command) => this.commands.start(command));
    // A method that found commands ends the search: the methods after it have yet to search
    // (candidates/methods-in-order).
    if (found.again === true) this.changes.note();
    this.wakeAt = Math.min(found.nextCheckAt ?? Number.POSITIVE_INFINITY, workflowNow() + this.longestRestMs);
    progress.addFacts({
      commands: known.commands.length,
      held: found.held.map(({ nodePool, why }) => `${nodePool}: ${why}`).join('; ') || 'nothing',
    });
  }

  /** Commands may end without a signal, for example when their workflow is terminated. */
  private get longestRestMs(): number {
    return this.known.commands.length > 0 ? commandCheckMs : slowPollMs;
  }

  private async pause({ scope, reason, actor, until, ttl }: PauseOrder): Promise<readonly Pause[]> {
    const end = until ?? (ttl === undefined ? undefined : workflowNow() + parseDuration(ttl, 'ttl'));
    const pause: Pause = { scope, reason, actor, ...(end === undefined ? {} : { until: end }) };
    const pauses = await this.activities.kube.writePause(pause);
    this.changes.note();
    return pauses;
  }

  private async resume(scope: PauseScope): Promise<readonly Pause[]> {
    const pauses = await this.activities.kube.endPause({ scope });
    const { kind, name } = scope;
    if (kind === 'nodePool' && name !== undefined) this.known.forgetMoveChains(name);
    this.changes.note();
    return pauses;
  }

  private async reconsider(order: ReconsiderOrder): Promise<readonly Refused[]> {
    const left = await this.activities.kube.reconsider(order);
    this.changes.note();
    return left;
  }

  /** Orders are carried out in the order in which they arrive, so that the last one applies. */
  private inTurn<T>(order: () => Promise<T>): Promise<T> {
    const done = this.lastOrder.then(order);
    this.lastOrder = done.catch(() => undefined);
    return done;
  }
}
