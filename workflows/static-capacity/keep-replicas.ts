import { allHandlersFinished, sleep, workflowInfo } from '@temporalio/workflow';
import type { ReplicasView } from '../../activities/static-capacity/contract.js';
import { backOffMs } from '../../core/back-off.js';
import { settleAll } from '../../core/at-once.js';
import { workflowNow } from '../clock.js';
import {
  type ClaimRef,
  type KeepReplicasCarried,
  type KeepReplicasInput,
  type KeepReplicasResult,
  type ReplicasState,
  launchEndedSignal,
  replicasChangedSignal,
  searchAttributes,
} from '../messages.js';
import { Changes } from '../entity/changes.js';
import { runEntity } from '../entity/run-entity.js';
import { untilHistoryFull } from '../history-limit.js';
import { FailedSteps } from '../entity/failed-steps.js';
import { startTermination } from '../termination/start-termination.js';
import { isAborted, Oversight } from '../people/oversight.js';
import { Progress } from '../progress.js';
import { activitiesOf } from '../calls/proxies.js';
import { setSignalHandler } from '../handlers.js';
import { counted } from '../../core/text.js';

/** Many NodeClaims change at once: wait for the changes to settle, then read once. */
const settleMs = 500;
/** The operator signals changes; this poll finds changes whose signal was lost (static-capacity/keeps-replicas). */
const slowPollMs = 60_000;
const heldPollMs = 30_000;
/** Back-off after launches that failed. */
const backOff = { firstMs: 5_000, longestMs: 5 * 60_000 };

type Live = Extract<ReplicasView, { state: 'live' }>;

/**
 * Keeps as many nodes of a static NodePool as its `replicas` say, independent of pods (static-capacity/keeps-replicas):
 * creates missing NodeClaims within `limits.nodes`, and terminates surplus ones at once, without budgets. Ends when the
 * NodePool is deleted. A person can hold it before each step.
 */
export async function keepReplicas(input: KeepReplicasInput): Promise<KeepReplicasResult> {
  const run = new ReplicasRun(input);
  return runEntity<typeof keepReplicas>({
    round: () => run.round(),
    isIdle: allHandlersFinished,
    hasOrders: () => run.isAborted,
    next: () => [{ ...input, carried: run.carried }],
  });
}

class ReplicasRun {
  private state: ReplicasState;
  private readonly activities;
  private readonly progress: Progress;
  private readonly oversight: Oversight;
  private readonly failed: FailedSteps;
  private readonly changes = new Changes(true);
  private retryAt = 0;
  private pollAt = 0;

  constructor(private readonly input: KeepReplicasInput) {
    const { cluster, nodePool, carried } = input;
    const first = { chain: workflowInfo().firstExecutionRunId, rounds: 0, deleting: [], failures: 0 };
    const { heldBy, ...state }: KeepReplicasCarried = carried ?? first;
    this.state = state;
    this.activities = activitiesOf(cluster);
    setSignalHandler(replicasChangedSignal, () => this.changes.note());
    setSignalHandler(launchEndedSignal, ({ outcome }) => this.settled(outcome));
    this.progress = new Progress(
      `Replicas of NodePool ${nodePool}`,
      [
        { key: searchAttributes.cluster, value: cluster },
        { key: searchAttributes.nodePool, value: nodePool },
      ],
      { NodePool: nodePool },
    );
    this.oversight = new Oversight(this.progress, {
      ...(heldBy === undefined ? {} : { heldBy }),
    });
    this.failed = new FailedSteps(this.progress);
  }

  get isAborted(): boolean {
    return this.oversight.isAborted;
  }

  /** State for the next run, with a person's hold. */
  get carried(): KeepReplicasCarried {
    const { heldBy } = this.oversight;
    return { ...this.state, ...(heldBy === undefined ? {} : { heldBy }) };
  }

  /** One round: waits for a change, reads the NodePool and its NodeClaims, creates or removes NodeClaims. */
  async round(): Promise<KeepReplicasResult | undefined> {
    await this.changes.next({ until: this.pollAt, summary: 'the NodePool to change' });
    await sleep(settleMs, { summary: 'changes to settle' });
    return this.failed.attempt(
      'keeping the replicas',
      () => this.reconcile(),
      () => this.changes.note(),
    );
  }

  private async reconcile(): Promise<KeepReplicasResult | undefined> {
    try {
      await untilHistoryFull(() => this.oversight.gate());
      const view = await this.view();
      if (view.state === 'gone') return this.end(view.why);
      await this.act(view);
      return undefined;
    } catch (error) {
      if (isAborted(error)) return this.end(error.message);
      throw error;
    }
  }

  private async view(): Promise<ReplicasView> {
    const { nodePool, poolUid } = this.input;
    const { deleting } = this.state;
    const summary = 'compare nodes with spec.replicas';
    return untilHistoryFull(() =>
      this.activities.kube.viewReplicas.executeWithOptions({ summary }, [{ nodePool, poolUid, deleting }]),
    );
  }

  private async act(view: Live): Promise<void> {
    const { replicas, running, pending, held } = view;
    this.state = { ...this.state, deleting: view.deleting };
    this.pollAt = workflowNow() + (held === undefined ? slowPollMs : heldPollMs);
    const notCreated = view.create.length === 0 ? { 'not created': undefined } : {};
    this.progress.addFacts({ replicas, nodes: running, 'being replaced': pending, ...notCreated });
    if (view.remove.length > 0) await this.remove(view.remove);
    else if (view.create.length > 0) await this.create(view);
    const until = this.pollAt;
    this.progress.enter('keeping', { waitingFor: held ?? 'replicas or nodes to change', until });
  }

  /** NodeClaim names are derived from the chain and the round, so a repeated attempt creates nothing twice. */
  private async create({ create, typeLists }: Live): Promise<void> {
    const rest = this.retryAt - workflowNow();
    if (rest > 0) {
      this.pollAt = this.retryAt;
      return;
    }
    this.state = { ...this.state, rounds: this.state.rounds + 1 };
    const { chain, rounds } = this.state;
    const { workflowId } = workflowInfo();
    this.progress.enter('creating', { facts: { 'nodes created last': create.length } });
    const { refused, resting } = await this.activities.kube.createClaims.executeWithOptions(
      { summary: `create ${counted(create.length, 'NodeClaim')}`, startToCloseTimeout: '5 minutes' },
      [
        {
          planId: `${workflowId}/${chain}/${rounds}`,
          ...{ claims: create, typeLists, reason: 'provisioned' },
          waiters: create.map(() => [workflowId]),
        },
      ],
    );
    const [first] = refused;
    this.progress.addFacts({ 'not created': first?.reason });
    // Read again: only the NodeClaims show whether there are enough now.
    if (refused.length === 0) this.changes.note();
    if (resting.length === 0) return;
    this.retryAt = Math.max(this.retryAt, ...resting.map(({ until }) => until));
    this.pollAt = Math.min(this.pollAt, this.retryAt);
  }

  private async remove(claims: readonly ClaimRef[]): Promise<void> {
    this.state = { ...this.state, deleting: [...this.state.deleting, ...claims.map(({ uid }) => uid)] };
    this.progress.enter('removing', { facts: { 'removed last': claims.map(({ name }) => name).join(', ') } });
    await settleAll(claims, (claim) => this.terminate(claim));
    this.changes.note();
  }

  private async terminate(claim: ClaimRef): Promise<void> {
    const { cluster, nodePool } = this.input;
    await startTermination({ cluster, claim, nodePool, reason: 'scaled_down' }, `${claim.name}: surplus replica`);
  }

  private settled(outcome: string): void {
    this.changes.note();
    if (outcome === 'initialized') {
      this.state = { ...this.state, failures: 0 };
      this.retryAt = 0;
    } else if (outcome === 'deleted') {
      const failures = this.state.failures + 1;
      this.state = { ...this.state, failures };
      this.retryAt = workflowNow() + backOffMs(failures, backOff);
    }
  }

  private end(reason: string): KeepReplicasResult {
    this.oversight.finish();
    this.progress.enter('gone', { facts: { because: reason } });
    return { outcome: 'gone', reason };
  }
}
