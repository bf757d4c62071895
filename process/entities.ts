import type { Client } from '@temporalio/client';
import type { Entity } from '../activities/entities-contract.js';
import type { EntityStarter } from '../activities/deps.js';
import { DomainError } from '../core/failures.js';
import { entityStart } from '../operator/desired-workflows.js';
import { Starter } from '../operator/starter.js';
import type { LaunchStart } from '../workflows/messages.js';

/** Starts workflows with a client of this process; before `connect` it throws a retryable error. */
export class TemporalEntities implements EntityStarter {
  private starter: Starter | undefined;

  constructor(private readonly cluster: string) {}

  connect(client: Client): void {
    this.starter = new Starter(client, this.cluster);
  }

  async ensure(entity: Entity): Promise<void> {
    await this.connected().start(entityStart(this.cluster, entity));
  }

  async startLaunch(launch: LaunchStart): Promise<void> {
    await this.connected().startLaunch(launch);
  }

  async isOpen(workflowId: string, firstRunId?: string): Promise<boolean> {
    return this.connected().isOpen(workflowId, firstRunId);
  }

  private connected(): Starter {
    if (this.starter === undefined) throw new DomainError('Unavailable', 'Temporal is not connected yet');
    return this.starter;
  }
}
