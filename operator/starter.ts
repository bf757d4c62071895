import type { Client } from '@temporalio/client';
import {
  ScheduleAlreadyRunning,
  ScheduleOverlapPolicy,
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
} from '@temporalio/client';
import type { SignalDefinition } from '@temporalio/common';
import { workflowIds } from '../core/ids.js';
import type {
  BatchWindow,
  ClaimRef,
  CloudUpkeepInput,
  DisruptInput,
  HandleInterruptionInput,
  InterruptionNotice,
  KeepReplicasInput,
  LaunchNodeInput,
  ProvisionInput,
  RepairNodeInput,
  ReplaceDriftedInput,
  RotateExpiredInput,
  TerminateNodeInput,
} from '../workflows/messages.js';
import {
  clusterChangedSignal,
  configureSignal,
  interruptionSignal,
  nodeChangedSignal,
  podsPendingSignal,
  replicasChangedSignal,
  rolloutChangedSignal,
  taskQueues,
} from '../workflows/messages.js';

const garbageEveryMs = 120_000;
/** Section 5.2. */
const catalogueEveryMs = 12 * 3_600_000;
/** Section 1.4: instance profiles out of use. */
const sweepEveryMs = 30 * 60_000;

/**
 * The operator's only way to act: it starts workflows and signals them. Ids make every call repeatable; a workflow that
 * runs already, or is over, is as good.
 */
export class Starter {
  private readonly taskQueue: string;

  constructor(
    private readonly client: Client,
    private readonly cluster: string,
    private readonly window: BatchWindow,
  ) {
    this.taskQueue = taskQueues(cluster).control;
  }

  async podsPending(uids: readonly string[]): Promise<void> {
    const input: ProvisionInput = { cluster: this.cluster, window: this.window };
    await this.client.workflow.signalWithStart('provision', {
      workflowId: workflowIds.provision(this.cluster),
      taskQueue: this.taskQueue,
      args: [input],
      signal: podsPendingSignal,
      signalArgs: [uids],
      staticSummary: 'pending pods become nodes',
    });
  }

  /** Gives a running `provision` this process' batch window. */
  async configure(): Promise<void> {
    await this.signal(workflowIds.provision(this.cluster), configureSignal, { window: this.window });
  }

  async disrupt(): Promise<void> {
    const input: DisruptInput = { cluster: this.cluster };
    await this.client.workflow.signalWithStart('disrupt', {
      workflowId: workflowIds.disrupt(this.cluster),
      taskQueue: this.taskQueue,
      args: [input],
      signal: clusterChangedSignal,
      staticSummary: 'nodes go away when they are not needed',
    });
  }

  /** `known` when the claim has or had its launch. */
  async launch(claim: ClaimRef, nodePool: string): Promise<'started' | 'known'> {
    const input: LaunchNodeInput = { cluster: this.cluster, claim, nodePool };
    return this.start('launchNode', workflowIds.launch(this.cluster, claim.uid), claim.name, input);
  }

  async nodeChanged(uid: string): Promise<void> {
    await this.signal(workflowIds.launch(this.cluster, uid), nodeChangedSignal);
  }

  /** `deleteClaim` where nobody has deleted the claim yet. */
  async terminate(
    claim: ClaimRef,
    nodePool: string,
    reason: string,
    deleteClaim = false,
  ): Promise<'started' | 'known'> {
    const input: TerminateNodeInput = { cluster: this.cluster, claim, nodePool, reason, deleteClaim };
    return this.start(
      'terminateNode',
      workflowIds.terminate(this.cluster, claim.uid),
      `${claim.name}: ${reason}`,
      input,
    );
  }

  async expire(claim: ClaimRef, nodePool: string, expiresAt: number): Promise<'started' | 'known'> {
    const input: RotateExpiredInput = { cluster: this.cluster, claim, nodePool, expiresAt, byPolicy: true };
    return this.start('rotateExpired', workflowIds.expire(this.cluster, claim.uid), `${claim.name}: expiry`, input);
  }

  /** A static pool, or one of its claims, changed. */
  async keepReplicas(nodePool: string, poolUid: string): Promise<void> {
    const input: KeepReplicasInput = { cluster: this.cluster, nodePool, poolUid };
    await this.client.workflow.signalWithStart('keepReplicas', {
      workflowId: workflowIds.replicas(this.cluster, poolUid),
      taskQueue: this.taskQueue,
      args: [input],
      signal: replicasChangedSignal,
      signalArgs: [],
      staticSummary: `${nodePool}: as many nodes as its replicas say`,
    });
  }

  /** Waves for the drifted nodes of a pool; `known` while they run. */
  async rollOut(target: { readonly nodePool: string; readonly poolUid: string; readonly hash: string }): Promise<void> {
    const { nodePool, poolUid, hash } = target;
    const input: ReplaceDriftedInput = { cluster: this.cluster, nodePool, poolUid, hash };
    await this.client.workflow.start('replaceDrifted', {
      workflowId: workflowIds.drift(this.cluster, poolUid, hash),
      taskQueue: this.taskQueue,
      args: [input],
      staticSummary: `${nodePool}: drifted nodes in waves`,
      workflowIdConflictPolicy: 'USE_EXISTING',
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    });
  }

  /** What a pool's nodes are to become is something else by now: a rollout need not wait to find out. */
  async rolloutChanged(poolUid: string, hash: string): Promise<void> {
    await this.signal(workflowIds.drift(this.cluster, poolUid, hash), rolloutChangedSignal);
  }

  /** The claim of an expiry timer is going: it need not wait on. */
  async claimChanged(uid: string): Promise<void> {
    await this.signal(workflowIds.expire(this.cluster, uid), nodeChangedSignal);
  }

  /** The health of a node changed for the worse, or back while its repair runs. */
  async repair(claim: ClaimRef, nodePool: string): Promise<void> {
    const input: RepairNodeInput = { cluster: this.cluster, claim, nodePool };
    await this.client.workflow.signalWithStart('repairNode', {
      workflowId: workflowIds.repair(this.cluster, claim.uid),
      taskQueue: this.taskQueue,
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
      taskQueue: this.taskQueue,
      args: [input],
      signal: interruptionSignal,
      signalArgs: [notice],
      staticSummary: `${notice.instanceId}: ${notice.kind}`,
    });
  }

  /** What is done over and over runs by Schedules: it goes on whoever leads. */
  async ensureSchedules(): Promise<void> {
    await this.schedule(workflowIds.collectGarbage(this.cluster), 'collectGarbage', garbageEveryMs);
    await this.schedule(workflowIds.refreshCatalogue(this.cluster), 'refreshCatalogue', catalogueEveryMs);
    await this.schedule(workflowIds.sweepCloud(this.cluster), 'sweepCloud', sweepEveryMs);
  }

  private async schedule(scheduleId: string, workflowType: string, every: number): Promise<void> {
    const input: CloudUpkeepInput = { cluster: this.cluster };
    try {
      await this.client.schedule.create({
        scheduleId,
        spec: { intervals: [{ every }] },
        policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1 minute' },
        action: {
          type: 'startWorkflow',
          workflowType,
          workflowId: scheduleId,
          taskQueue: this.taskQueue,
          args: [input],
        },
      });
    } catch (error) {
      if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    }
  }

  private async start(
    type: string,
    workflowId: string,
    staticSummary: string,
    input: object,
  ): Promise<'started' | 'known'> {
    try {
      await this.client.workflow.start(type, {
        workflowId,
        taskQueue: this.taskQueue,
        args: [input],
        staticSummary,
        workflowIdConflictPolicy: 'USE_EXISTING',
        workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY',
      });
      return 'started';
    } catch (error) {
      if (error instanceof WorkflowExecutionAlreadyStartedError) return 'known';
      throw error;
    }
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
