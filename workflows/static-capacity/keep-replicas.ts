import { allHandlersFinished, condition, continueAsNew, workflowInfo } from '@temporalio/workflow';
import type { CreatedClaim } from '../../activities/provisioning/contract.js';
import type { ReplicasView } from '../../activities/static-capacity/contract.js';
import { backOffMs } from '../../core/back-off.js';
import { settleAll } from '../../core/settle-all.js';
import { workflowNow } from '../clock.js';
import type {
  ClaimRef,
  KeepReplicasCarried,
  KeepReplicasInput,
  KeepReplicasResult,
  ReplicasState,
} from '../messages.js';
import { replacementSettledSignal, replicasChangedSignal, searchAttributes } from '../messages.js';
import { HistoryFull, orGiveUp, roundsUntilLong } from '../history-limit.js';
import { FailedSteps } from '../failed-steps.js';
import { beginEnd } from '../termination/node-end.js';
import { beginLaunch } from '../launch/node-launch.js';
import { isAborted, Oversight } from '../people/oversight.js';
import { Progress } from '../progress.js';
import { activitiesOf } from '../proxies.js';
import { setSignalHandler } from '../handlers.js';
import { counted } from '../../core/plurals.js';

/** Claims change in flocks: look once for all of them. */
const settleMs = 500;
/** Rule `static-capacity/keeps-replicas`: signals tell of changes; this is for what they did not. */
const lookEveryMs = 60_000;
const heldLookEveryMs = 30_000;
/** Launches that fail are not begun again at once, ever more rarely. */
const backOff = { firstMs: 5_000, longestMs: 5 * 60_000 };

type Live = Extract<ReplicasView, { state: 'live' }>;

/**
 * Keeps as many nodes of a static pool as its `replicas` say, whatever pods there are (static-capacity/keeps-replicas): creates what is missing
 * within `limits.nodes`, and has what is too many terminated at once, without budgets. Ends when the pool is gone. A person
 * can hold it before each step.
 */
export async function keepReplicas(input: KeepReplicasInput): Promise<KeepReplicasResult> {
  const run = new Keeping(input);
  const ended = await roundsUntilLong({
    round: () => run.round(),
    isIdle: allHandlersFinished,
    hasOrders: () => run.isAborted,
  });
  if (ended !== undefined) return ended;
  return continueAsNew<typeof keepReplicas>({ ...input, carried: run.carried });
}

class Keeping {
  private state: ReplicasState;
  private readonly activities;
  private readonly progress: Progress;
  private readonly oversight: Oversight;
  private readonly failed: FailedSteps;
  private changed = true;
  private retryAt = 0;
  private lookAt = 0;

  constructor(private readonly input: KeepReplicasInput) {
    const { cluster, nodePool, carried } = input;
    const first = { chain: workflowInfo().firstExecutionRunId, rounds: 0, deleting: [], failures: 0 };
    const { heldBy, ...state }: KeepReplicasCarried = carried ?? first;
    this.state = state;
    this.activities = activitiesOf(cluster);
    setSignalHandler(replicasChangedSignal, () => void (this.changed = true));
    setSignalHandler(replacementSettledSignal, ({ outcome }) => this.settled(outcome));
    this.progress = new Progress(
      `Replicas of NodePool ${nodePool}`,
      [
        { key: searchAttributes.cluster, value: cluster },
        { key: searchAttributes.nodePool, value: nodePool },
      ],
      { NodePool: nodePool },
    );
    this.oversight = new Oversight(this.progress, heldBy === undefined ? {} : { heldBy });
    this.failed = new FailedSteps(this.progress);
  }

  get isAborted(): boolean {
    return this.oversight.isAborted;
  }

  /** What a person ordered goes on. */
  get carried(): KeepReplicasCarried {
    const { heldBy } = this.oversight;
    return { ...this.state, ...(heldBy === undefined ? {} : { heldBy }) };
  }

  /** Waits for a change, looks, and does what is to be done. */
  async round(): Promise<KeepReplicasResult | undefined> {
    try {
      await this.awaitChange();
      await orGiveUp(() => this.oversight.gate());
      const view = await this.look();
      if (view.state === 'gone') return this.end(view.why);
      await this.act(view);
      this.failed.succeeded();
      return undefined;
    } catch (error) {
      if (isAborted(error)) return this.end(error.message);
      this.changed = true;
      if (error instanceof HistoryFull) throw error;
      await this.failed.rest('a look at the replicas', error);
      return undefined;
    }
  }

  private async awaitChange(): Promise<void> {
    if (!this.changed) {
      const wait = Math.max(settleMs, this.lookAt - workflowNow());
      await condition(() => this.changed, wait, { summary: 'the pool to change' });
    }
    await condition(() => false, settleMs, { summary: 'changes to settle' });
    this.changed = false;
  }

  private async look(): Promise<ReplicasView> {
    const { nodePool, poolUid } = this.input;
    const { deleting } = this.state;
    const summary = 'what is there, what is wanted';
    return orGiveUp(() =>
      this.activities.kube.viewReplicas.executeWithOptions({ summary }, [{ nodePool, poolUid, deleting }]),
    );
  }

  private async act(view: Live): Promise<void> {
    const { replicas, running, pending, held } = view;
    this.state = { ...this.state, deleting: view.deleting };
    this.lookAt = workflowNow() + (held === undefined ? lookEveryMs : heldLookEveryMs);
    this.progress.note({ replicas, nodes: running, 'being replaced': pending });
    if (view.remove.length > 0) await this.remove(view.remove);
    else if (view.create.length > 0) await this.create(view);
    const until = this.lookAt;
    this.progress.enter('keeping', { waitingFor: held ?? 'replicas or nodes to change', until });
  }

  /** Names derive from chain and round, so an attempt that is made twice creates nothing twice. */
  private async create({ create, typeLists }: Live): Promise<void> {
    const rest = this.retryAt - workflowNow();
    if (rest > 0) {
      this.lookAt = this.retryAt;
      return;
    }
    this.state = { ...this.state, rounds: this.state.rounds + 1 };
    const { chain, rounds } = this.state;
    const { workflowId } = workflowInfo();
    this.progress.enter('creating', { facts: { 'nodes created last': create.length } });
    const { created, refused, resting } = await this.activities.kube.createClaims.executeWithOptions(
      { summary: `create ${counted(create.length, 'NodeClaim')}`, startToCloseTimeout: '5 minutes' },
      [{ planId: `${workflowId}/${chain}/${rounds}`, claims: create, typeLists, reason: 'provisioned' }],
    );
    const [first] = refused;
    if (first !== undefined) this.progress.note({ 'not created': first.reason });
    await settleAll(created, (claim) => this.launch(claim));
    // Whether it was enough is seen in the claims alone.
    if (refused.length === 0) this.changed = true;
    if (resting.length === 0) return;
    this.retryAt = Math.max(this.retryAt, ...resting.map(({ until }) => until));
    this.lookAt = Math.min(this.lookAt, this.retryAt);
  }

  private async launch({ name, uid, nodePool }: CreatedClaim): Promise<void> {
    const { cluster } = this.input;
    await beginLaunch(
      { cluster, claim: { name, uid }, nodePool, notify: workflowInfo().workflowId },
      { summary: `${name}: replica of ${nodePool}` },
    );
  }

  private async remove(claims: readonly ClaimRef[]): Promise<void> {
    this.state = { ...this.state, deleting: [...this.state.deleting, ...claims.map(({ uid }) => uid)] };
    this.progress.enter('removing', { facts: { 'removed last': claims.map(({ name }) => name).join(', ') } });
    await settleAll(claims, (claim) => this.terminate(claim));
    this.changed = true;
  }

  private async terminate(claim: ClaimRef): Promise<void> {
    const { cluster, nodePool } = this.input;
    await beginEnd({ cluster, claim, nodePool, reason: 'scaled_down' }, `${claim.name}: more than the replicas wanted`);
  }

  private settled(outcome: string): void {
    this.changed = true;
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
