import type { Client } from '@temporalio/client';
import { ScheduleAlreadyRunning, ScheduleNotFoundError } from '@temporalio/client';
import { identityScheduleId } from '../core/ids.js';
import { taskQueues } from '../workflows/messages.js';

/**
 * Records which Kubernetes cluster uses a cluster's name in a Temporal namespace, by the UID of its namespace
 * `kube-system`.
 */
export interface ClusterIdentityStore {
  /** Undefined while none is recorded. */
  read(): Promise<string | undefined>;
  /** Records it if none is recorded: of several concurrent calls one succeeds. */
  record(uid: string): Promise<void>;
  remove(): Promise<void>;
}

/**
 * Stored as a Schedule that never fires: its id is unique, it is not deleted after a retention period as workflows are,
 * and it needs no worker. Its workflow type does not exist: if it is triggered by hand, the workflow fails its tasks
 * until it is terminated.
 */
export class TemporalClusterIdentityStore implements ClusterIdentityStore {
  private readonly scheduleId: string;

  constructor(
    private readonly client: Client,
    private readonly cluster: string,
  ) {
    this.scheduleId = identityScheduleId(cluster);
  }

  async read(): Promise<string | undefined> {
    try {
      const { memo } = await this.client.schedule.getHandle(this.scheduleId).describe();
      const uid = memo?.['kubeSystemUid'];
      return typeof uid === 'string' ? uid : undefined;
    } catch (error) {
      if (error instanceof ScheduleNotFoundError) return undefined;
      throw error;
    }
  }

  async record(uid: string): Promise<void> {
    const { cluster, scheduleId } = this;
    try {
      await this.client.schedule.create({
        scheduleId,
        spec: {},
        state: { paused: true, note: `cluster ${cluster}: its namespace kube-system has UID ${uid}` },
        memo: { kubeSystemUid: uid },
        action: {
          type: 'startWorkflow',
          workflowType: 'identity',
          workflowId: scheduleId,
          taskQueue: taskQueues(cluster).control,
          args: [{ cluster }],
        },
      });
    } catch (error) {
      if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    }
  }

  async remove(): Promise<void> {
    try {
      await this.client.schedule.getHandle(this.scheduleId).delete();
    } catch (error) {
      if (!(error instanceof ScheduleNotFoundError)) throw error;
    }
  }
}
