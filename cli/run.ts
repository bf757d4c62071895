import type { Command } from 'commander';
import { Option } from 'commander';
import { runAll } from '../process/run-all.js';
import type { Client } from '@temporalio/client';
import { karpenterLease, leaderLease } from '../process/settings.js';
import type { World } from '../process/world.js';
import { givenFlags, settingsCommand } from './settings-command.js';

export function runCommand(): Command {
  return settingsCommand('run', { showsAll: true }).addOption(
    new Option('--role <role>', 'which part of it to run').choices(['all', 'operator', 'worker']).default('all'),
  );
}

/** `stowage run`: operator and worker, until stopped. Returns the exit status. */
export async function run(args: readonly string[]): Promise<number> {
  const command = runCommand();
  command.parse(args, { from: 'user' });
  const { role, ...flags } = givenFlags(command);
  return runAll({ role: role as 'all' | 'operator' | 'worker', flags, servePage: servedPage });
}

/** Loaded only where the page is served. */
async function servedPage(world: World, client: Client, signal: AbortSignal): Promise<void> {
  const { servePage } = await import('./page/server.js');
  const { builtPage, temporalUiOf } = await import('./page/page-file.js');
  const { settings, log } = world;
  const { PAGE_PORT: port, LISTEN_ADDRESS: address } = settings;
  const temporalUi = temporalUiOf(settings);
  const leases = { karpenterLease: karpenterLease(settings), leaderLease: leaderLease(settings) };
  const { PROMETHEUS_URL: url, PROMETHEUS_SELECTOR: selector } = settings;
  const prometheus = url === undefined ? {} : { prometheus: { url, selector } };
  await servePage(
    { ...world, client, ...leases, temporalUi, ...prometheus },
    { port, address, html: builtPage() },
    signal,
  );
  log.info({ port }, 'the page is served');
}
