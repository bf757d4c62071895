import { isGrpcServiceError } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import { observeQueue } from '../../operator/stuck/observe-engine.js';
import { deploymentName } from '../../worker/workers.js';
import { taskQueues } from '../../workflows/messages.js';

/** What Temporal knows of the builds of a cluster's workers. */
export interface DeploymentState {
  /** The build that takes all workflow tasks; absent where workers without a version do. */
  readonly current?: string;
  /** Builds that are current or were. */
  readonly activated: readonly string[];
  /** When a worker of the current build asked for a workflow task last; undefined where Temporal knows of none. */
  readonly polledAt?: number;
}

/** Worker versioning of one cluster, as `Rollout` uses it. */
export interface Deployment {
  /** `unsupported`: the server is too old for it, or it is off in the namespace. Undefined before any worker with a version asked for tasks. */
  state(): Promise<DeploymentState | undefined | 'unsupported'>;
  /**
   * Undefined makes workers without a version current. Rejects for a build that Temporal does not know yet and, unless it takes over from one that
   * `hasNoWorkers`, as long as the build does not poll every task queue that the current one does.
   */
  makeCurrent(buildId: string | undefined, hasNoWorkers: boolean): Promise<void>;
}

/** Codes of gRPC. */
const notFound = 5;
const permissionDenied = 7;
const unimplemented = 12;

/** By the API of the Temporal server. */
export class TemporalDeployment implements Deployment {
  constructor(
    private readonly client: Client,
    private readonly cluster: string,
  ) {}

  async state(): Promise<DeploymentState | undefined | 'unsupported'> {
    try {
      const { workerDeploymentInfo } = await this.client.workflowService.describeWorkerDeployment(this.name);
      const current = workerDeploymentInfo?.routingConfig?.currentDeploymentVersion?.buildId ?? '';
      const activated = (workerDeploymentInfo?.versionSummaries ?? [])
        .filter(({ firstActivationTime }) => firstActivationTime)
        .flatMap(({ deploymentVersion }) => deploymentVersion?.buildId ?? []);
      const { polledAt } = await observeQueue(this.client, taskQueues(this.cluster).control, 'workflow');
      return { ...(current === '' ? {} : { current }), activated, ...(polledAt === undefined ? {} : { polledAt }) };
    } catch (error) {
      const code = isGrpcServiceError(error) ? error.code : -1;
      if (code === notFound) return undefined;
      if (code === unimplemented || code === permissionDenied) return 'unsupported';
      throw error;
    }
  }

  async makeCurrent(buildId = '', hasNoWorkers: boolean): Promise<void> {
    const request = { ...this.name, buildId, ignoreMissingTaskQueues: hasNoWorkers };
    await this.client.workflowService.setWorkerDeploymentCurrentVersion(request);
  }

  private get name(): { readonly namespace: string; readonly deploymentName: string } {
    return { namespace: this.client.options.namespace, deploymentName: deploymentName(this.cluster) };
  }
}
