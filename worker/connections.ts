import type { NativeConnection, Worker } from '@temporalio/worker';

/** The connection of all workers of a process, which can be replaced while they run. */
export class WorkerConnections {
  private readonly workers = new Set<Worker>();

  constructor(private current: NativeConnection) {}

  /** The connection for new workers. */
  get connection(): NativeConnection {
    return this.current;
  }

  /** Adds a worker that follows renewals, including one during its creation. */
  join(worker: Worker): void {
    this.workers.add(worker);
    worker.connection = this.current;
  }

  leave(worker: Worker): void {
    this.workers.delete(worker);
  }

  /** A poll in progress ends on the old connection; later ones use the new connection. */
  async renew(fresh: NativeConnection): Promise<void> {
    const old = this.current;
    this.current = fresh;
    for (const worker of this.workers) worker.connection = fresh;
    await old.close();
  }

  /** Ends the workers, with the workflows that they have in memory; others follow them (keepRunning). */
  endWorkers(): void {
    for (const worker of this.workers) if (worker.getState() === 'RUNNING') worker.shutdown();
  }

  async close(): Promise<void> {
    await this.current.close();
  }
}
