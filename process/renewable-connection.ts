import { AsyncLocalStorage } from 'node:async_hooks';
import type { Connection, ConnectionLike } from '@temporalio/client';

/**
 * A client's connection that another takes the place of while it is used: the SDK can neither give a connection other certificates nor
 * a client another connection.
 */
export class RenewableConnection implements ConnectionLike {
  /** What is under way on it ends by itself: it is closed with the next renewal. */
  private previous: Connection | undefined;
  /** A call stays on the connection whose deadline, headers or signal it was given. */
  private readonly entered = new AsyncLocalStorage<Connection>();

  constructor(private current: Connection) {}

  async renew(fresh: Connection): Promise<void> {
    const old = this.previous;
    this.previous = this.current;
    this.current = fresh;
    await old?.close();
  }

  get workflowService(): Connection['workflowService'] {
    return this.now.workflowService;
  }

  get operatorService(): Connection['operatorService'] {
    return this.now.operatorService;
  }

  get plugins(): Connection['plugins'] {
    return this.now.plugins;
  }

  async ensureConnected(): Promise<void> {
    await this.now.ensureConnected();
  }

  async withDeadline<R>(deadline: number | Date, call: () => Promise<R>): Promise<R> {
    return this.on((connection) => connection.withDeadline(deadline, call));
  }

  async withMetadata<R>(metadata: Parameters<Connection['withMetadata']>[0], call: () => Promise<R>): Promise<R> {
    return this.on((connection) => connection.withMetadata(metadata, call));
  }

  async withAbortSignal<R>(signal: AbortSignal, call: () => Promise<R>): Promise<R> {
    return this.on((connection) => connection.withAbortSignal(signal, call));
  }

  async close(): Promise<void> {
    await this.current.close();
    await this.previous?.close();
  }

  private get now(): Connection {
    return this.entered.getStore() ?? this.current;
  }

  private on<R>(work: (connection: Connection) => Promise<R>): Promise<R> {
    const connection = this.now;
    return this.entered.run(connection, () => work(connection));
  }
}
