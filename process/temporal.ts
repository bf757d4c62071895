import { messageOf } from '../core/error-message.js';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import type { ClientInterceptors, ConnectionLike, WorkflowExecutionDescription } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { backOffMs } from '../core/back-off.js';
import type { Log } from '../core/telemetry.js';
import { describeWorkflow } from '../operator/describe-workflow.js';
import { WorkerConnections } from '../worker/connections.js';
import { clientConverter } from './encryption/converter.js';
import { namespaceProblem } from './engine-version.js';
import { connectOptions, type ConnectOptions, type TemporalSettings } from './temporal-options.js';
import { AsyncLocalStorage } from 'node:async_hooks';

const backOff = { firstMs: 500, longestMs: 30_000 };

/** The connections of a process to Temporal. */
export interface TemporalConnections {
  readonly client: Client;
  /** Replaces the connection of the client and of the workers, if there are any. */
  renew(options: ConnectOptions): Promise<void>;
  /** The connections of workers, once the frontend responds. */
  forWorkers(): Promise<WorkerConnections>;
  /** Starts the workers anew, if there are any. */
  restartWorkers(): void;
  close(): Promise<void>;
}

/** Connects a client once the frontend responds. Logs once if it does not, and retries until `signal` aborts. */
export async function connectTemporal(
  settings: TemporalSettings,
  log: Log,
  signal: AbortSignal,
  interceptors: ClientInterceptors = {},
): Promise<TemporalConnections> {
  const temporal = { address: settings.TEMPORAL_ADDRESS };
  const connection = new RenewableConnection(
    await retryUntilWorks(() => connect(connectOptions(settings)), temporal, log, signal),
  );
  let workers: WorkerConnections | undefined;
  return {
    client: new Client({
      connection,
      namespace: settings.TEMPORAL_NAMESPACE,
      interceptors,
      dataConverter: clientConverter(settings, (problem) =>
        log.warn({ problem }, 'the previous payload keys stay in use'),
      ),
    }),
    renew: async (options) => {
      await connection.renew(await connect(options));
      await workers?.renew(await NativeConnection.connect(options));
    },
    forWorkers: async () =>
      (workers = new WorkerConnections(
        await retryUntilWorks(() => NativeConnection.connect(connectOptions(settings)), temporal, log, signal),
      )),
    restartWorkers: () => workers?.endWorkers(),
    close: async () => {
      await connection.close();
      await workers?.close();
    },
  };
}

async function connect(options: ConnectOptions): Promise<Connection> {
  const connection = Connection.lazy({ ...options, connectTimeout: '5s' });
  try {
    await connection.ensureConnected();
    return connection;
  } catch (error) {
    // It would keep retrying.
    await connection.close();
    throw error;
  }
}

const filesPollMs = 60_000;

/**
 * Reconnects when the files of settings and profile have another certificate, authority or API key. If they cannot be
 * read or the connection is refused, nothing changes and the next poll tries again. Resolves when `signal` aborts.
 */
export async function renewConnections(
  settings: TemporalSettings,
  connections: Pick<TemporalConnections, 'renew'>,
  log: Log,
  signal: AbortSignal,
  everyMs = filesPollMs,
): Promise<void> {
  let current = connectOptions(settings);
  while (!isOver(signal)) {
    await delay(everyMs, undefined, { signal }).catch(() => undefined);
    if (isOver(signal)) return;
    try {
      const found = connectOptions(settings);
      if (isDeepStrictEqual(found, current)) continue;
      await connections.renew(found);
      current = found;
      log.info({}, 'the files of the connection to Temporal have changed: connected anew');
    } catch (error) {
      log.warn(
        { error: messageOf(error) },
        'cannot connect to Temporal by its changed files: the connection stays as it is',
      );
    }
  }
}

const pollMs = 5000;

interface TemporalWatch {
  readonly log: Log;
  readonly address: string;
  readonly namespace: string;
  /** Id of a workflow that always runs. */
  readonly always: string;
  /** Called on changes. */
  readonly onState: (connected: boolean) => void;
  /** Called with the problem of a responding server, undefined for none. */
  readonly onProblem: (problem: string | undefined) => void;
  /** Called when the server's database was restored from a backup. */
  readonly onRestored: () => void;
  /** Called after each poll, also a failed one. */
  readonly onPoll: () => void;
}

type Sight = Pick<WorkflowExecutionDescription, 'runId' | 'startTime' | 'historyLength'>;

/** A history only grows, and a later run starts later, unless the server has lost what it said before. */
const isBefore = (now: Sight, then: Sight): boolean =>
  now.startTime < then.startTime || (now.runId === then.runId && now.historyLength < then.historyLength);

/**
 * Watches the connection until `signal` aborts: logs once when the server or the namespace becomes unavailable, and
 * once when it is back. A database that was restored is found by a history that is shorter than it was.
 */
export async function watchTemporal(
  client: Client,
  { log, address, namespace, always, onState, onProblem, onRestored, onPoll }: TemporalWatch,
  signal: AbortSignal,
): Promise<void> {
  const over = (): boolean => signal.aborted;
  let connected = true;
  let lacking: string | undefined;
  let seen: Sight | undefined;
  while (!over()) {
    const answers = await client.connection
      .withDeadline(Date.now() + pollMs, () => client.workflowService.getSystemInfo({}))
      .then(() => true)
      .catch(() => false);
    onPoll();
    if (answers !== connected && !over()) {
      if (answers) log.info({ address }, 'Temporal answers again');
      else log.warn({ address }, 'Temporal is unreachable, retrying');
      onState(answers);
    }
    connected = answers;
    const problem = answers ? await namespaceProblem(client, namespace) : lacking;
    if (problem !== lacking && !over()) {
      if (problem === undefined) log.info({ namespace }, 'the namespace is there again');
      else log.warn({ problem }, 'Temporal cannot be used');
      onProblem(problem);
    }
    lacking = problem;
    const found = answers ? await describeWorkflow(client, always).catch(() => undefined) : undefined;
    if (found !== undefined && seen !== undefined && isBefore(found, seen) && !over()) {
      log.warn({ workflowId: always }, 'Temporal was restored from a backup: workers start anew with its histories');
      onRestored();
    }
    seen = found ?? seen;
    await delay(pollMs, undefined, { signal }).catch(() => undefined);
  }
}

/** Log messages of an attempt; default: whether the server is reachable. */
interface AttemptTexts {
  readonly address: string;
  readonly fails?: string;
  readonly works?: string;
}

/**
 * Retries until it succeeds: logs once when it begins to fail, and once when it succeeds again. Rejects when `signal`
 * aborts.
 */
export async function retryUntilWorks<T>(
  attempt: () => Promise<T>,
  { address, fails = 'Temporal is unreachable', works = 'Temporal answers again' }: AttemptTexts,
  log: Log,
  signal: AbortSignal,
): Promise<T> {
  for (let failures = 0; ; failures++) {
    try {
      const value = await attempt();
      if (failures > 0) log.info({ address }, works);
      return value;
    } catch (error) {
      signal.throwIfAborted();
      if (failures === 0) log.warn({ address, error: messageOf(error) }, `${fails}, retrying`);
      await delay(backOffMs(failures + 1, backOff), undefined, { signal });
    }
  }
}

/** A function call, so that the value is read again after a wait. */
function isOver(signal: AbortSignal): boolean {
  return signal.aborted;
}

/**
 * A client connection that can be replaced while in use: the SDK can neither change the certificates of a connection
 * nor the connection of a client.
 */
class RenewableConnection implements ConnectionLike {
  /** Calls in progress on it finish; it is closed at the next renewal. */
  private previous: Connection | undefined;
  /** A call stays on the connection for which deadline, headers or signal were set. */
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
