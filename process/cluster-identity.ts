import type { Client } from '@temporalio/client';
import { ScheduleAlreadyRunning, ScheduleNotFoundError } from '@temporalio/client';
import { identityScheduleId } from '../core/ids.js';
import { taskQueues } from '../workflows/messages.js';

/** Says which Kubernetes cluster a cluster's name stands for in a Temporal namespace: by the UID of its namespace `kube-system`. */
export interface ClusterIdentityStore {
  /** Undefined while nobody has recorded one. */
  read(): Promise<string | undefined>;
  /** Records it unless there is one: of several at once, one succeeds. */
  record(uid: string): Promise<void>;
  remove(): Promise<void>;
}

/**
 * Kept as a Schedule that never fires: its id is taken once, it is not closed or forgotten after a retention as workflows are, and no
 * worker needs to run for it. There is no workflow of its type: triggered by hand, it fails its tasks until somebody terminates it.
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
        state: { paused: true, note: `the cluster ${cluster} is the one whose namespace kube-system has UID ${uid}` },
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
