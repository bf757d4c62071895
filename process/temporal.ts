import { setTimeout as delay } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { backOffMs } from '../core/back-off.js';
import type { Log } from '../core/telemetry.js';
import { connectOptions } from './temporal-options.js';
import type { TemporalSettings } from './temporal-options.js';

const backOff = { firstMs: 500, longestMs: 30_000 };

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

const keyLookMs = 60_000;

/** Gives the connections the API key anew when its file says another. Resolves when `signal` aborts. */
export async function renewApiKey(
  settings: TemporalSettings,
  give: (apiKey: string) => Promise<void>,
  log: Log,
  signal: AbortSignal,
): Promise<void> {
  if (settings.TEMPORAL_API_KEY_FILE === undefined) return;
  let current = connectOptions(settings).apiKey;
  while (!isOver(signal)) {
    await delay(keyLookMs, undefined, { signal }).catch(() => undefined);
    try {
      const { apiKey } = connectOptions(settings);
      if (apiKey === undefined || apiKey === current) continue;
      await give(apiKey);
      current = apiKey;
      log.info({}, 'the API key of Temporal has changed');
    } catch (error) {
      log.warn({ error: String(error) }, 'the API key of Temporal cannot be read: the last one is used');
    }
  }
}

const lookMs = 5000;

interface TemporalWatch {
  readonly log: Log;
  readonly address: string;
  /** Hears of changes. */
  readonly onState: (connected: boolean) => void;
  /** Hears of each look, whatever came of it. */
  readonly onLook: () => void;
}

/** Watches the connection until `signal` aborts: one line when the server goes away, one when it is back. */
export async function watchTemporal(
  client: Client,
  { log, address, onState, onLook }: TemporalWatch,
  signal: AbortSignal,
): Promise<void> {
  const over = (): boolean => signal.aborted;
  let connected = true;
  while (!over()) {
    const answers = await client.connection
      .withDeadline(Date.now() + lookMs, () => client.workflowService.getSystemInfo({}))
      .then(() => true)
      .catch(() => false);
    onLook();
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
      await delay(backOffMs(failures + 1, backOff), undefined, { signal });
    }
  }
}

/** Asked anew after a wait. */
function isOver(signal: AbortSignal): boolean {
  return signal.aborted;
}
