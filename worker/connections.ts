import type { NativeConnection, Worker } from '@temporalio/worker';

/** The connection of all workers of a process, which another takes the place of while they run. */
export class WorkerConnections {
  private readonly workers = new Set<Worker>();

  constructor(private current: NativeConnection) {}

  /** For workers to be made. */
  get connection(): NativeConnection {
    return this.current;
  }

  /** From now on `worker` follows: also where a renewal came while it was made. */
  join(worker: Worker): void {
    this.workers.add(worker);
    worker.connection = this.current;
  }

  leave(worker: Worker): void {
    this.workers.delete(worker);
  }

  /** A poll that is under way ends on the old connection; whatever comes after it goes by the new one. */
  async renew(fresh: NativeConnection): Promise<void> {
    const old = this.current;
    this.current = fresh;
    for (const worker of this.workers) worker.connection = fresh;
    await old.close();
  }

  async close(): Promise<void> {
    await this.current.close();
  }
}
