import { isGrpcServiceError } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import { observeQueue } from '../../operator/stuck/observe-engine.js';
import { deploymentName } from '../../worker/workers.js';
import { taskQueues } from '../../workflows/messages.js';

/** Which build takes all workflow tasks now. */
export interface CurrentBuild {
  /** Absent where workers without a version do. */
  readonly current?: string;
  /** When a worker of it asked for a task last; undefined where Temporal knows of none. */
  readonly polledAt?: number;
}

/** Worker versioning of one cluster, as `Rollout` uses it. */
export interface Deployment {
  /** Asks a task queue: it answers at once, however much there is to do. */
  current(): Promise<CurrentBuild>;
  /** Builds that are current or were. `unsupported`: the server is too old for versions, or they are off in the namespace. */
  activated(): Promise<readonly string[] | 'unsupported'>;
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

  async current(): Promise<CurrentBuild> {
    const { build = '', polledAt } = await observeQueue(this.client, taskQueues(this.cluster).control, 'workflow');
    return { ...(build === '' ? {} : { current: build }), ...(polledAt === undefined ? {} : { polledAt }) };
  }

  async activated(): Promise<readonly string[] | 'unsupported'> {
    try {
      const { workerDeploymentInfo } = await this.client.workflowService.describeWorkerDeployment(this.name);
      return (workerDeploymentInfo?.versionSummaries ?? [])
        .filter(({ firstActivationTime }) => firstActivationTime)
        .flatMap(({ deploymentVersion }) => deploymentVersion?.buildId ?? []);
    } catch (error) {
      const code: number = isGrpcServiceError(error) ? error.code : -1;
      if (code === notFound) return [];
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
