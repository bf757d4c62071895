import {
  condition,
  continueAsNew,
  getExternalWorkflowHandle,
  ParentClosePolicy,
  setHandler,
  startChild,
  workflowInfo,
} from '@temporalio/workflow';
import type { DisruptionCommand } from '../activities/contract.js';
import { workflowIds } from '../core/ids.js';
import { workflowNow } from './clock.js';
import type { consolidate } from './consolidate.js';
import type { DisruptInput, DisruptState, LeavingNode, Pause, PauseScope, RunningDisruption } from './messages.js';
import {
  clusterChangedSignal,
  disruptionFinishedSignal,
  holdSignal,
  nominatedSignal,
  pausesQuery,
  pauseSignal,
  resumeSignal,
  runningQuery,
  searchAttributes,
} from './messages.js';
import { Progress } from './progress.js';
import { activitiesOf } from './proxies.js';
import { isStartedAlready, tell } from './relations.js';

const eventsPerRun = 4000;
/** Changes come in flocks: look once for all of them. */
const settleMs = 1000;
/** Signals tell of changes and windows; this poll is for what neither told. */
const slowPollMs = 5 * 60_000;
/** A disruption that never reported back no longer counts against budgets. */
const forgottenAfterMs = 24 * 3_600_000;

/**
 * The single writer of disruption budgets (sections 4.1, 4.2): decides which nodes may go now and starts one
 * `consolidate` for them; what runs counts until it has reported its end. Pauses live here and reach running ones.
 */
export async function disrupt(input: DisruptInput): Promise<never> {
  const run = new DisruptRun(input);
  await run.releaseStrays();
  while (!run.due()) {
    await run.pass();
  }
  return continueAsNew<typeof disrupt>({ ...input, carried: run.state() });
}

class DisruptRun {
  private readonly activities;
  private readonly progress: Progress;
  private nominations: LeavingNode[];
  private pauses: Pause[];
  private running: RunningDisruption[];
  private changed = true;
  private wakeAt = 0;

  constructor(private readonly input: DisruptInput) {
    const { cluster, carried } = input;
    this.activities = activitiesOf(cluster);
    this.nominations = [...(carried?.nominations ?? [])];
    this.pauses = [...(carried?.pauses ?? [])];
    this.running = [...(carried?.running ?? [])];
    setHandler(clusterChangedSignal, () => void (this.changed = true));
    setHandler(nominatedSignal, (nodes) => this.nominate(nodes));
    setHandler(disruptionFinishedSignal, ({ workflowId }) => {
      this.running = this.running.filter((one) => one.workflowId !== workflowId);
      this.changed = true;
    });
    setHandler(pauseSignal, (pause) => this.pause(pause));
    setHandler(resumeSignal, ({ scope }) => this.resume(scope));
    setHandler(pausesQuery, () => this.pauses);
    setHandler(runningQuery, () => this.running);
    this.progress = new Progress(
      'Disruption: nodes go away when they are not needed',
      [
        { key: searchAttributes.cluster, value: cluster },
        { key: searchAttributes.paused, value: this.pauses.length > 0 },
      ],
      {},
      'watching',
    );
  }

  due(): boolean {
    const { historyLength, continueAsNewSuggested } = workflowInfo();
    return continueAsNewSuggested || historyLength > eventsPerRun;
  }

  state(): DisruptState {
    return { nominations: this.nominations, pauses: this.pauses, running: this.running };
  }

  async releaseStrays(): Promise<void> {
    await this.activities.kube.releaseStrays({ running: this.running });
  }

  /** Waits for a change, looks for what may go, and starts it. */
  async pass(): Promise<void> {
    await this.awaitChange();
    const view = this.view();
    const found = await this.activities.kube.findDisruptions(view);
    for (const command of found.commands) await this.start(command);
    this.wakeAt = Math.min(
      found.nextCheckAt ?? Number.POSITIVE_INFINITY,
      workflowNow() + slowPollMs,
      this.nextPauseEnd(),
    );
    this.progress.note({
      running: this.running.length,
      held: found.held.map(({ nodePool, why }) => `${nodePool}: ${why}`).join('; ') || 'nothing',
    });
  }

  private async awaitChange(): Promise<void> {
    if (!this.changed) {
      this.progress.enter('watching', { waitingFor: 'the cluster to change', until: this.wakeAt });
      const wait = Math.max(settleMs, this.wakeAt - workflowNow());
      await condition(() => this.changed, wait, { summary: 'next budget window or look' });
    }
    this.changed = false;
    // A short pause, so that a hundred signals of one deployment give one look.
    await condition(() => false, settleMs, { summary: 'changes to settle' });
    this.changed = false;
  }

  private view(): DisruptState {
    const now = workflowNow();
    this.nominations = this.nominations.filter(({ until }) => until > now);
    this.running = this.running.filter(({ since }) => now - since < forgottenAfterMs);
    const ended = this.pauses.filter(({ until }) => until !== undefined && until <= now);
    for (const { scope } of ended) this.resume(scope);
    return this.state();
  }

  private async start({ reason, candidates }: DisruptionCommand): Promise<void> {
    const { cluster } = this.input;
    const workflowId = workflowIds.consolidate(
      cluster,
      candidates.map(({ claim }) => claim.uid),
    );
    this.running.push({ workflowId, reason, candidates, since: workflowNow() });
    this.progress.enter('starting', {
      facts: {
        'last decision': describe(
          candidates.map(({ node }) => node),
          reason,
        ),
      },
    });
    try {
      await startChild<typeof consolidate>('consolidate', {
        workflowId,
        parentClosePolicy: ParentClosePolicy.ABANDON,
        workflowIdReusePolicy: 'ALLOW_DUPLICATE',
        staticSummary: describe(
          candidates.map(({ node }) => node),
          reason,
        ),
        args: [{ cluster, reason, candidates, paused: this.isPaused(reason, candidates) }],
      });
    } catch (error) {
      if (!isStartedAlready(error)) throw error;
    }
  }

  private nominate(nodes: readonly LeavingNode[]): void {
    const fresh = new Set(nodes.map(({ node }) => node));
    this.nominations = [...this.nominations.filter(({ node }) => !fresh.has(node)), ...nodes];
  }

  private pause(pause: Pause): void {
    this.pauses = [...this.pauses.filter(({ scope }) => !sameScope(scope, pause.scope)), pause];
    this.afterPauseChange();
  }

  private resume(scope: PauseScope): void {
    this.pauses = this.pauses.filter((pause) => !sameScope(pause.scope, scope));
    this.afterPauseChange();
  }

  private afterPauseChange(): void {
    this.changed = true;
    this.progress.attributes([{ key: searchAttributes.paused, value: this.pauses.length > 0 }]);
    for (const { workflowId, reason, candidates } of this.running) {
      const hold = this.isPaused(reason, candidates);
      void tell(() => getExternalWorkflowHandle(workflowId).signal(holdSignal, hold));
    }
  }

  private isPaused(reason: string, candidates: RunningDisruption['candidates']): boolean {
    return this.pauses.some(({ scope: { kind, name } }) => {
      switch (kind) {
        case 'cluster':
          return true;
        case 'reason':
          return name === reason;
        case 'nodePool':
          return candidates.some(({ nodePool }) => nodePool === name);
        case 'node':
          return candidates.some(({ node }) => node === name);
      }
    });
  }

  private nextPauseEnd(): number {
    return Math.min(...this.pauses.map(({ until }) => until ?? Number.POSITIVE_INFINITY));
  }
}

function sameScope(a: PauseScope, b: PauseScope): boolean {
  return a.kind === b.kind && a.name === b.name;
}

function describe(nodes: readonly string[], reason: string): string {
  return `${reason}: ${nodes.slice(0, 3).join(', ')}${nodes.length > 3 ? ` and ${nodes.length - 3} more` : ''}`;
}
