import { WorkflowNotFoundError, WorkflowUpdateFailedError } from '@temporalio/client';
import { fromPayload, toError, toPayloads } from './payloads.js';
import type { Run } from './run.js';
import type { Command, Job } from './sandbox.js';

/** An update that a run has not answered yet. */
interface Pending {
  readonly run: Run;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** Updates that were sent, until the run answers them or closes. */
export class PendingUpdates {
  private readonly pending = new Map<string, Pending>();
  private sent = 0;

  /** Has `deliver` hand the update to the run. Resolves with what its handler returns; rejects with its failure, and where the run closes first. */
  send(run: Run, name: string, args: readonly unknown[], deliver: (job: Job) => void): Promise<unknown> {
    const id = `update-${String(++this.sent)}`;
    return new Promise((resolve, reject) => {
      this.pending.set(id, { run, resolve, reject });
      const input = toPayloads(args);
      deliver({ doUpdate: { id, protocolInstanceId: id, name, input, runValidator: true, meta: { updateId: id } } });
    });
  }

  /** A run's answer: that it is accepted, rejected or completed. */
  answered({ protocolInstanceId, rejected, completed }: NonNullable<Command['updateResponse']>): void {
    const pending = this.pending.get(protocolInstanceId ?? '');
    if (rejected) pending?.reject(new WorkflowUpdateFailedError('Workflow Update failed', toError(rejected)));
    else if (completed) pending?.resolve(fromPayload(completed));
    else return;
    this.pending.delete(protocolInstanceId ?? '');
  }

  /** Rejects the pending updates of a closed run. */
  refuse(run: Run): void {
    for (const [id, pending] of this.pending) {
      if (pending.run !== run) continue;
      this.pending.delete(id);
      pending.reject(new WorkflowNotFoundError('workflow execution already completed', run.id, run.start.runId));
    }
  }
}
