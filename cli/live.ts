import { Client, Connection } from '@temporalio/client';
import { messageOf } from '../core/error-message.js';
import { DomainError } from '../core/failures.js';
import { createKubeClient } from '../kube/client.js';
import type { KubeClient } from '../kube/port.js';
import { clientConverter } from '../process/encryption/converter.js';
import { vouchForOrders } from '../process/order-headers.js';
import { SettingsError, type Settings } from '../process/settings.js';
import { connectOptions, readSettingsWithProfile } from '../process/temporal-options.js';
import { UsageError } from './exit.js';
import { warn } from './output/print.js';

const connectTimeoutMs = 5000;
/** Request timeout of read-only commands, milliseconds. Writes may have to wait for webhooks. */
export const readTimeoutMs = 15_000;

/** A live cluster: its API server and its Temporal. */
export interface Live {
  readonly kube: KubeClient;
  readonly client: Client;
  readonly cluster: string;
}

const writeProblem = (problem: string): void => warn(`stowage: ${problem}\n`);

/** Settings of a command on a live cluster. Throws `UsageError` if they are invalid. */
export function liveSettings(flags: Record<string, string>): Settings {
  try {
    const settings = readSettingsWithProfile(process.env, flags);
    connectOptions(settings);
    clientConverter(settings, writeProblem);
    return settings;
  } catch (error) {
    if (error instanceof SettingsError) throw new UsageError(error.message);
    throw error;
  }
}

/** Connects to Temporal, and disconnects when `work` is done. Throws `Unavailable` if it is unreachable. */
export async function withClient<T>(settings: Settings, work: (client: Client) => Promise<T>): Promise<T> {
  const { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace } = settings;
  const connection = await Connection.connect({
    ...connectOptions(settings),
    connectTimeout: connectTimeoutMs,
  }).catch((error: unknown) => {
    throw new DomainError('Unavailable', `Temporal cannot be reached at ${address}: ${messageOf(error)}`);
  });
  try {
    const dataConverter = clientConverter(settings, writeProblem);
    return await work(
      new Client({ connection, namespace, dataConverter, interceptors: { workflow: [vouchForOrders] } }),
    );
  } finally {
    await connection.close();
  }
}

/** Runs `action` with a connection to the cluster, and closes it. Throws `Unavailable` if Temporal is unreachable. */
export async function withLive<T>(
  settings: Settings,
  command: string,
  action: (live: Live) => Promise<T>,
  requestTimeoutMs?: number,
): Promise<T> {
  const kube = createKubeClient({
    userAgent: `stowage-${command}`,
    ...(requestTimeoutMs !== undefined && { requestTimeoutMs }),
    ...(settings.KUBECONFIG !== undefined && { kubeconfig: settings.KUBECONFIG }),
  });
  try {
    return await withClient(settings, (client) => action({ kube, client, cluster: settings.CLUSTER_NAME }));
  } finally {
    kube.close();
  }
}
