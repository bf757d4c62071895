import { isGrpcServiceError } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import { optionalTsToMs } from '@temporalio/common/lib/time.js';
import proto from '@temporalio/proto';
import { deploymentName } from '../../worker/workers.js';
import { taskQueues } from '../../workflows/messages.js';

/** What Temporal knows of the builds of a cluster's workers. */
export interface DeploymentState {
  /** The build that workflows are begun on; absent where workers without a version are. */
  readonly current?: string;
  /** The builds that were current before and still have workflows pinned to them. */
  readonly draining: readonly string[];
}

/** Worker versioning of one cluster, as `Rollout` uses it. */
export interface Deployment {
  /** `unsupported`: the server is too old for it, or it is off in the namespace. Undefined before any worker with a version asked for tasks. */
  state(): Promise<DeploymentState | undefined | 'unsupported'>;
  /** Undefined makes workers without a version current. Rejects as long as the build does not poll every task queue that the current one does. */
  makeCurrent(buildId: string | undefined): Promise<void>;
  /** Open workflows that are pinned to the build. */
  pinned(buildId: string): Promise<number>;
  /** Has them go on in the current build. Gives how many. */
  unpin(buildId: string): Promise<number>;
  /** When a worker of the build asked for tasks last, milliseconds of the epoch; undefined where nobody knows of one. */
  polledAt(buildId: string): Promise<number | undefined>;
}

/** Codes of gRPC. */
const notFound = 5;
const permissionDenied = 7;
const unimplemented = 12;

const { VersionDrainageStatus, TaskQueueType, TaskQueueKind } = proto.temporal.api.enums.v1;

/** By the API of the Temporal server. */
export class TemporalDeployment implements Deployment {
  private readonly deploymentName: string;

  constructor(
    private readonly client: Client,
    private readonly cluster: string,
  ) {
    this.deploymentName = deploymentName(cluster);
  }

  async state(): Promise<DeploymentState | undefined | 'unsupported'> {
    const { namespace, deploymentName } = this;
    try {
      const { workerDeploymentInfo } = await this.service.describeWorkerDeployment({ namespace, deploymentName });
      const current = workerDeploymentInfo?.routingConfig?.currentDeploymentVersion?.buildId ?? '';
      const draining = (workerDeploymentInfo?.versionSummaries ?? [])
        .filter(({ drainageStatus }) => drainageStatus === VersionDrainageStatus.VERSION_DRAINAGE_STATUS_DRAINING)
        .flatMap(({ deploymentVersion }) => deploymentVersion?.buildId ?? []);
      return { ...(current === '' ? {} : { current }), draining };
    } catch (error) {
      if (codeOf(error) === notFound) return undefined;
      if (codeOf(error) === unimplemented || codeOf(error) === permissionDenied) return 'unsupported';
      throw error;
    }
  }

  async makeCurrent(buildId = ''): Promise<void> {
    const { namespace, deploymentName } = this;
    await this.service.setWorkerDeploymentCurrentVersion({ namespace, deploymentName, buildId });
  }

  async pinned(buildId: string): Promise<number> {
    return (await this.client.workflow.count(this.pinnedQuery(buildId))).count;
  }

  async unpin(buildId: string): Promise<number> {
    const { namespace } = this;
    let moved = 0;
    for await (const { workflowId, runId } of this.client.workflow.list({ query: this.pinnedQuery(buildId) })) {
      try {
        await this.service.updateWorkflowExecutionOptions({
          namespace,
          workflowExecution: { workflowId, runId },
          workflowExecutionOptions: { versioningOverride: { autoUpgrade: true } },
          updateMask: { paths: ['versioning_override'] },
        });
        moved++;
      } catch (error) {
        // It has ended meanwhile.
        if (codeOf(error) !== notFound) throw error;
      }
    }
    return moved;
  }

  async polledAt(buildId: string): Promise<number | undefined> {
    const { namespace, deploymentName } = this;
    const { pollers } = await this.service.describeTaskQueue({
      namespace,
      taskQueue: { name: taskQueues(this.cluster).control, kind: TaskQueueKind.TASK_QUEUE_KIND_NORMAL },
      taskQueueType: TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
    });
    const times = pollers
      .filter(({ deploymentOptions: of }) => of?.deploymentName === deploymentName && of.buildId === buildId)
      .flatMap(({ lastAccessTime }) => optionalTsToMs(lastAccessTime) ?? []);
    return times.length === 0 ? undefined : Math.max(...times);
  }

  private pinnedQuery(buildId: string): string {
    const version = `${this.deploymentName}:${buildId}`.replaceAll('\\', '\\\\').replaceAll('"', '\\"');
    return (
      `TemporalWorkerDeploymentVersion = "${version}" AND TemporalWorkflowVersioningBehavior = "Pinned" ` +
      'AND ExecutionStatus = "Running"'
    );
  }

  private get namespace(): string {
    return this.client.options.namespace;
  }

  private get service(): Client['workflowService'] {
    return this.client.workflowService;
  }
}

const codeOf = (error: unknown): number => (isGrpcServiceError(error) ? error.code : -1);
