import type { Command } from 'commander';
import { Option } from 'commander';
import { runAll } from '../process/run-all.js';
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
  return runAll({ role: role as 'all' | 'operator' | 'worker', flags });
}
