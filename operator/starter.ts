import { type Client, WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError } from '@temporalio/client';
import type { SignalDefinition } from '@temporalio/common';
import { describeWorkflow } from './describe-workflow.js';
import { foreignIn, foreignReason, foreignRemedy } from './foreign-workflow.js';
import { parseWorkflowId, workflowIds } from '../core/ids.js';
import {
  type ClaimRef,
  type HandleInterruptionInput,
  type InterruptionNotice,
  type KeepReplicasInput,
  type LaunchStart,
  type RepairNodeInput,
  type TerminateNodeInput,
  clusterChangedSignal,
  interruptionSignal,
  nodeChangedSignal,
  startOptions,
  podsPendingSignal,
  replicasChangedSignal,
  rolloutChangedSignal,
  openWorkflowsQuery,
} from '../workflows/messages.js';
import { entityStart } from './desired-workflows.js';
import type { WorkflowStart } from './observed-cluster.js';
import type { WorkflowEngine } from './workflow-reconciler.js';

/** Workflows of one NodeClaim that check nothing while a person holds them. */
const mayBeHeld: ReadonlySet<string> = new Set(['expire', 'repair', 'replace']);

/**
 * The operator acts only through this: it starts and signals workflows. Workflow ids make every call idempotent; a
 * workflow that already runs counts as started.
 */
export class Starter implements WorkflowEngine {
  constructor(
    private readonly client: Client,
    private readonly cluster: string,
  ) {}

  async podsPending(): Promise<void> {
    const { type, workflowId, input, summary } = entityStart(this.cluster, 'provision');
    await this.client.workflow.signalWithStart(type, {
      workflowId,
      ...startOptions(type, { cluster: this.cluster }, this.client.options),
      args: [input],
      signal: podsPendingSignal,
      staticSummary: summary,
    });
  }

  /** Signals a change that affects which nodes may be disrupted. */
  async disrupt(): Promise<void> {
    const { type, workflowId, input, summary } = entityStart(this.cluster, 'disrupt');
    await this.client.workflow.signalWithStart(type, {
      workflowId,
      ...startOptions(type, { cluster: this.cluster }, this.client.options),
      args: [input],
      signal: clusterChangedSignal,
      staticSummary: summary,
    });
  }

  async nodeChanged(uid: string): Promise<void> {
    await this.signal(workflowIds.launch(this.cluster, uid), nodeChangedSignal);
  }

  /** Deletes the claim and starts the termination of its node. */
  async terminate(claim: ClaimRef, nodePool: string, reason: string): Promise<void> {
    const input: TerminateNodeInput = { cluster: this.cluster, claim, nodePool, reason, deleteClaim: true };
    await this.start({
      workflowId: workflowIds.terminate(this.cluster, claim.uid),
      type: 'terminateNode',
      input,
      summary: `${claim.name}: ${reason}`,
      afterCompletion: 'startAgain',
    });
  }

  /** Signals a change of a static pool, or of one of its claims. */
  async keepReplicas(nodePool: string, poolUid: string): Promise<void> {
    const input: KeepReplicasInput = { cluster: this.cluster, nodePool, poolUid };
    await this.client.workflow.signalWithStart('keepReplicas', {
      workflowId: workflowIds.replicas(this.cluster, poolUid),
      ...startOptions('keepReplicas', input, this.client.options),
      args: [input],
      signal: replicasChangedSignal,
      signalArgs: [],
      staticSummary: `${nodePool}: as many nodes as its replicas say`,
    });
  }

  /** Signals a rollout that the pool's template has changed, so that it need not wait to find out. */
  async rolloutChanged(poolUid: string, hash: string): Promise<void> {
    await this.signal(workflowIds.drift(this.cluster, poolUid, hash), rolloutChangedSignal);
  }

  /** Signals an expiration that its claim is being deleted. */
  async claimChanged(uid: string): Promise<void> {
    await this.signal(workflowIds.expire(this.cluster, uid), nodeChangedSignal);
  }

  /** Starts or signals the repair of a node whose health changed. */
  async repair(claim: ClaimRef, nodePool: string): Promise<void> {
    const input: RepairNodeInput = { cluster: this.cluster, claim, nodePool };
    await this.client.workflow.signalWithStart('repairNode', {
      workflowId: workflowIds.repair(this.cluster, claim.uid),
      ...startOptions('repairNode', input, this.client.options),
      args: [input],
      signal: nodeChangedSignal,
      signalArgs: [],
      staticSummary: `${claim.name}: unhealthy`,
    });
  }

  async recovered(uid: string): Promise<void> {
    await this.signal(workflowIds.repair(this.cluster, uid), nodeChangedSignal);
  }

  async interruption(notice: InterruptionNotice): Promise<void> {
    const input: HandleInterruptionInput = { cluster: this.cluster, instanceId: notice.instanceId };
    await this.client.workflow.signalWithStart('handleInterruption', {
      workflowId: workflowIds.interrupt(this.cluster, notice.instanceId),
      ...startOptions('handleInterruption', input, this.client.options),
      args: [input],
      signal: interruptionSignal,
      signalArgs: [notice],
      staticSummary: `${notice.instanceId}: ${notice.kind}`,
    });
  }

  /** Starts the launch of a claim that was just created; it may run already, because this is a second attempt. */
  async startLaunch({ input, summary, details }: LaunchStart): Promise<void> {
    const workflowId = workflowIds.launch(this.cluster, input.claim.uid);
    await this.start({ workflowId, type: 'launchNode', input, summary, details, afterCompletion: 'startAgain' });
  }

  /**
   * Starts a missing workflow; an open run stays unchanged. Rejects if a workflow of another application has the id.
   */
  async start({
    workflowId,
    type,
    input,
    summary,
    details,
    afterCompletion,
  }: WorkflowStart): Promise<'started' | 'known'> {
    try {
      await this.client.workflow.start(type, {
        workflowId,
        ...startOptions(type, { cluster: this.cluster, ...input }, { ...this.client.options, details }),
        args: [input],
        staticSummary: summary,
        workflowIdConflictPolicy: 'FAIL',
        workflowIdReusePolicy: afterCompletion === 'startAgain' ? 'ALLOW_DUPLICATE' : 'ALLOW_DUPLICATE_FAILED_ONLY',
      });
      return 'started';
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
      const foreign = foreignIn(await describeWorkflow(this.client, workflowId), this.cluster);
      if (foreign === undefined) return 'known';
      throw new Error(`${workflowId} cannot be started: ${foreignReason(foreign)}; ${foreignRemedy}`, { cause: error });
    }
  }

  /** Open workflows of the cluster, from Temporal's visibility store, which lags slightly. */
  async running(): Promise<ReadonlySet<string>> {
    const query = openWorkflowsQuery(this.cluster);
    const ids = new Set<string>();
    for await (const { workflowId } of this.client.workflow.list({ query, pageSize: 1000 })) ids.add(workflowId);
    return ids;
  }

  /**
   * With `firstRunId`: whether that execution runs, and not another one with its id. Old servers do not distinguish
   * them.
   */
  async isOpen(workflowId: string, firstRunId?: string): Promise<boolean> {
    const description = await describeWorkflow(this.client, workflowId);
    if (description?.status.name !== 'RUNNING') return false;
    const known = description.raw.workflowExecutionInfo?.firstRunId ?? '';
    return firstRunId === undefined || known === '' || known === firstRunId;
  }

  /** One that a person may hold is cancelled (people/questions-end-with-their-cause), others find it out. */
  async endObjectless(workflowId: string): Promise<void> {
    if (!mayBeHeld.has(parseWorkflowId(workflowId)?.kind ?? '')) return this.wake(workflowId);
    try {
      await this.client.workflow.getHandle(workflowId).cancel();
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    }
  }

  async terminateWorkflow(workflowId: string, why: string): Promise<void> {
    try {
      await this.client.workflow.getHandle(workflowId).terminate(why);
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    }
  }

  async wake(workflowId: string): Promise<void> {
    const kind = parseWorkflowId(workflowId)?.kind;
    const signal =
      kind === 'replicas' ? replicasChangedSignal : kind === 'drift' ? rolloutChangedSignal : nodeChangedSignal;
    await this.signal(workflowId, signal);
  }

  private async signal<Args extends unknown[]>(
    workflowId: string,
    definition: SignalDefinition<Args>,
    ...args: Args
  ): Promise<void> {
    try {
      await this.client.workflow.getHandle(workflowId).signal(definition, ...args);
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    }
  }
}
