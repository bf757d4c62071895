import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import type { Log } from '../activities/deps.js';
import type { Settings } from './settings.js';

type TemporalSettings = Pick<
  Settings,
  | 'TEMPORAL_ADDRESS'
  | 'TEMPORAL_NAMESPACE'
  | 'TEMPORAL_API_KEY'
  | 'TEMPORAL_TLS'
  | 'TEMPORAL_TLS_CERT'
  | 'TEMPORAL_TLS_KEY'
>;

interface ConnectOptions {
  readonly address: string;
  readonly tls?: true | { clientCertPair: { crt: Buffer; key: Buffer } };
  readonly apiKey?: string;
}

const longestRetryMs = 30_000;

/** A client once the frontend answers. Says once that it does not, and tries until `signal` aborts. */
export async function connectClient(settings: TemporalSettings, log: Log, signal: AbortSignal): Promise<Client> {
  const connection = await insist(
    () => Connection.connect({ ...connectOptions(settings), connectTimeout: '5s' }),
    { what: 'Temporal', where: settings.TEMPORAL_ADDRESS },
    log,
    signal,
  );
  return new Client({ connection, namespace: settings.TEMPORAL_NAMESPACE });
}

/** As `connectClient`, for workers. */
export async function connectWorker(
  settings: TemporalSettings,
  log: Log,
  signal: AbortSignal,
): Promise<NativeConnection> {
  return insist(
    () => NativeConnection.connect(connectOptions(settings)),
    { what: 'Temporal', where: settings.TEMPORAL_ADDRESS },
    log,
    signal,
  );
}

/** How to reach the frontend that the settings name. */
export function connectOptions(settings: TemporalSettings): ConnectOptions {
  const { TEMPORAL_TLS_CERT: cert, TEMPORAL_TLS_KEY: key, TEMPORAL_API_KEY: apiKey } = settings;
  const pair =
    cert === undefined || key === undefined
      ? undefined
      : { clientCertPair: { crt: readFileSync(cert), key: readFileSync(key) } };
  const tls = pair ?? (settings.TEMPORAL_TLS || apiKey !== undefined ? true : undefined);
  return {
    address: settings.TEMPORAL_ADDRESS,
    ...(tls === undefined ? {} : { tls }),
    ...(apiKey === undefined ? {} : { apiKey }),
  };
}

const lookMs = 5000;

/** Watches the connection until `signal` aborts: one line when the server goes away, one when it is back. */
export async function watchTemporal(
  client: Client,
  { log, address, onState }: { log: Log; address: string; onState: (connected: boolean) => void },
  signal: AbortSignal,
): Promise<void> {
  const over = (): boolean => signal.aborted;
  let connected = true;
  while (!over()) {
    const answers = await client.connection
      .withDeadline(Date.now() + lookMs, () => client.workflowService.getSystemInfo({}))
      .then(() => true)
      .catch(() => false);
    if (answers !== connected && !over()) {
      if (answers) log.info({ address }, 'Temporal answers again');
      else log.warn({ address }, 'Temporal is unreachable, retrying');
      onState(answers);
    }
    connected = answers;
    await delay(lookMs, undefined, { signal }).catch(() => undefined);
  }
}

/** Tries until it works: one line when it begins to fail, one when it works again. Rejects when `signal` aborts. */
export async function insist<T>(
  attempt: () => Promise<T>,
  name: { readonly what: string; readonly where: string },
  log: Log,
  signal: AbortSignal,
): Promise<T> {
  for (let failures = 0; ; failures++) {
    try {
      const value = await attempt();
      if (failures > 0) log.info({ address: name.where }, `${name.what} answers again`);
      return value;
    } catch (error) {
      signal.throwIfAborted();
      if (failures === 0)
        log.warn({ address: name.where, error: String(error) }, `${name.what} is unreachable, retrying`);
      await delay(Math.min(longestRetryMs, 500 * 2 ** Math.min(failures, 6)), undefined, { signal });
    }
  }
}
