import { Option } from 'commander';
import { runAll } from '../worker/run-all.js';
import { givenFlags, settingsCommand } from './settings-command.js';

/** `stowage run`: operator and worker, until told to stop. Gives the exit status. */
export async function run(args: readonly string[]): Promise<number> {
  const command = settingsCommand('stowage run', 'run the operator and the worker until SIGTERM or SIGINT').addOption(
    new Option('--role <role>', 'which part of it to run').choices(['all', 'operator', 'worker']).default('all'),
  );
  command.parse(args, { from: 'user' });
  const { role, ...flags } = givenFlags(command);
  return runAll({ role: role as 'all' | 'operator' | 'worker', flags });
}
