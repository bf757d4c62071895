import { isGrpcServiceError } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import { observeQueue } from '../../operator/stuck/observe-engine.js';
import { deploymentName } from '../../worker/workers.js';
import { taskQueues } from '../../workflows/messages.js';

/** The build that currently gets all workflow tasks. */
export interface CurrentBuild {
  /** Absent if workers without a version do. */
  readonly current?: string;
  /** When one of its workers last polled; undefined if Temporal knows of none. */
  readonly polledAt?: number;
}

/** Worker versioning of one cluster, for `Rollout`. */
export interface Deployment {
  /** Reads it from a task queue, which responds immediately at any load. */
  current(): Promise<CurrentBuild>;
  /**
   * Builds that are or were current. `unsupported`: the server does not support versioning, or it is disabled in the
   * namespace.
   */
  activated(): Promise<readonly string[] | 'unsupported'>;
  /**
   * Undefined makes workers without a version current. Rejects for a build that Temporal does not know yet. Also
   * rejects while the build does not poll every task queue of the current one, unless that has no workers
   * (`hasNoWorkers`).
   */
  makeCurrent(buildId: string | undefined, hasNoWorkers: boolean): Promise<void>;
}

/** gRPC code. */
const notFound = 5;
const permissionDenied = 7;
const unimplemented = 12;

/** Implemented with the API of the Temporal server. */
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
