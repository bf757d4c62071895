import { Client, Connection } from '@temporalio/client';
import { type Command, Option } from 'commander';
import { pino } from 'pino';
import type { CloudAccount } from '../cloud/port.js';
import { createKubeClient } from '../kube/client.js';
import { limiterClock } from '../kube/limiter.js';
import type { KubeClient } from '../kube/port.js';
import { createCloud } from '../process/cloud.js';
import { withRegion } from '../process/region.js';
import { clientConverter } from '../process/encryption/converter.js';
import type { Settings } from '../process/settings.js';
import { connectOptions } from '../process/temporal-options.js';
import type { AccountOf } from './doctor/account.js';
import { createEngineReader } from './doctor/engine.js';
import { installationChecks } from './doctor/installation.js';
import { type CheckResult, type CheckState, runChecks } from './doctor/check.js';
import { exitStatus } from './exit.js';
import { liveSettings } from './live.js';
import { givenFlags, settingsCommand } from './settings-command.js';
import { counted, onOneLine } from '../core/text.js';

const needed =
  /^(CLUSTER_(NAME|ENDPOINT|CA_BUNDLE|SERVICE_CIDR)|CLOUD_PROVIDER|INSTANCE_TYPES_FILE_PATH|KUBECONFIG|AWS_\w+|HTTPS_PROXY|NO_PROXY|ISOLATED_VPC|PRICE_FILE|DISABLE_(DRY_RUN|LEADER_ELECTION)|INTERRUPTION_QUEUE|(KARPENTER_)?LEADER_ELECTION_\w+|TEMPORAL_\w+)$/;

const connectMs = 5000;
/** Shorter than the deadline of a check. */
const requestMs = 10_000;

interface Answer {
  readonly text: string;
  readonly status: number;
}

export function doctorCommand(): Command {
  return settingsCommand('doctor', { only: needed })
    .addOption(new Option('-o, --output <form>', 'how to print').choices(['text', 'json']).default('text'))
    .addHelpText('after', '\nThe exit status is 0 when nothing failed; warnings and what was skipped do not count.');
}

/** `stowage doctor`: checks an installation, and reports problems with their fix. Changes nothing. */
export async function doctor(args: readonly string[]): Promise<Answer> {
  const command = doctorCommand();
  command.parse(args, { from: 'user' });
  const { output, ...flags } = givenFlags(command);
  const settings = await withRegion(liveSettings(flags));
  const kube = kubeOf(settings);
  const connection = Connection.lazy({ ...connectOptions(settings), connectTimeout: connectMs });
  const client = new Client({
    connection,
    namespace: settings.TEMPORAL_NAMESPACE,
    dataConverter: clientConverter(settings, () => undefined),
  });
  try {
    const checks = installationChecks({
      settings,
      kube,
      engine: createEngineReader(client, settings.CLUSTER_NAME, () => connection.ensureConnected()),
      accountOf: accountOf(settings, kube),
      clock: limiterClock,
    });
    const results = await runChecks(checks, limiterClock);
    return {
      text: output === 'json' ? `${JSON.stringify({ checks: results }, null, 1)}\n` : doctorText(results),
      status: results.some(({ state }) => state === 'failed') ? exitStatus.failed : exitStatus.ok,
    };
  } finally {
    await connection.close();
    kube.close();
  }
}

type Kube = KubeClient & { close(): void };

/** Without a usable kubeconfig every request fails with the reason. */
function kubeOf({ KUBECONFIG: kubeconfig }: Settings): Kube {
  try {
    return createKubeClient({
      userAgent: 'stowage-doctor',
      requestTimeoutMs: requestMs,
      ...(kubeconfig === undefined ? {} : { kubeconfig }),
    });
  } catch (error) {
    const refuse = (): Promise<never> => Promise.reject(error instanceof Error ? error : new Error(String(error)));
    return {
      ...{ get: refuse, list: refuse, listForWatch: refuse, watch: refuse, serverVersion: refuse, serverTime: refuse },
      ...{ create: refuse, patch: refuse, delete: refuse, evict: refuse },
      close: () => undefined,
    };
  }
}

/** Created on first use, since invalid cloud settings are a finding. */
function accountOf(settings: Settings, kube: KubeClient): AccountOf {
  let made: { readonly account: CloudAccount | undefined } | undefined;
  return () => {
    made ??= { account: createCloud(settings, kube, pino({ level: 'silent' })).account };
    return made.account;
  };
}

const states: readonly CheckState[] = ['failed', 'warning', 'skipped', 'ok'];
const width = Math.max(...states.map((state) => state.length)) + 2;

/** The checks one after the other, each with finding and fix; then the counts by result. */
export function doctorText(given: readonly CheckResult[]): string {
  const results = onOneLine(given);
  const lines = results.flatMap(({ name, state, found, mend }) => [
    `${state.padEnd(width)}${name}: ${found}`,
    ...(mend === '' ? [] : [`${' '.repeat(width)}fix: ${mend}`]),
  ]);
  const counts = states.map((state) => [state, results.filter((each) => each.state === state).length] as const);
  const summary = counts.filter(([, count]) => count > 0).map(([state, count]) => `${count} ${state}`);
  return `${lines.join('\n')}\n\n${counted(results.length, 'check')}: ${summary.join(', ')}.\n`;
}
