import { Option } from 'commander';
import { Client, Connection } from '@temporalio/client';
import { createKubeClient } from '../kube/client.js';
import { statusReport, type StatusReport } from '../operator/status-report.js';
import { readSettings, SettingsError, type Settings } from '../worker/settings.js';
import { UsageError } from './exit.js';
import { statusText } from './output/status-table.js';
import { givenFlags, settingsCommand } from './settings-command.js';

const connectTimeoutMs = 5000;

/** `stowage status`: pools, claims and what is under way, as text to print. */
export async function status(args: readonly string[]): Promise<string> {
  const command = settingsCommand('stowage status', 'show pools, NodeClaims and what is under way').addOption(
    new Option('-o, --output <form>', 'how to print').choices(['table', 'json']).default('table'),
  );
  command.parse(args, { from: 'user' });
  const { output, ...flags } = givenFlags(command);
  const report = await readReport(settingsOf(flags));
  return output === 'json' ? `${JSON.stringify(report, null, 1)}\n` : statusText(report);
}

function settingsOf(flags: Record<string, string>): Settings {
  try {
    return readSettings(process.env, flags);
  } catch (error) {
    if (error instanceof SettingsError) throw new UsageError(error.message);
    throw error;
  }
}

async function readReport(settings: Settings): Promise<StatusReport> {
  const kube = createKubeClient({
    userAgent: 'stowage-status',
    ...(settings.KUBECONFIG !== undefined && { kubeconfig: settings.KUBECONFIG }),
  });
  const connection = await Connection.connect({
    address: settings.TEMPORAL_ADDRESS,
    connectTimeout: connectTimeoutMs,
  }).catch((error: unknown) => {
    throw new UsageError(`Temporal cannot be reached at ${settings.TEMPORAL_ADDRESS}: ${(error as Error).message}`);
  });
  try {
    const client = new Client({ connection, namespace: settings.TEMPORAL_NAMESPACE });
    return await statusReport({ kube, client, cluster: settings.CLUSTER_NAME, now: Date.now() });
  } finally {
    await connection.close();
    kube.close();
  }
}
