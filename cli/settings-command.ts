import { Command, Option } from 'commander';
import { describeSettings } from '../worker/settings.js';

/**
 * A command that takes the settings of the process as flags, all of them or those whose variables match `only`; the
 * environment gives those that are left out.
 */
export function settingsCommand(name: string, description: string, only?: RegExp): Command {
  const command = new Command(name).description(description).exitOverride();
  for (const { name: variable, flag, default: fallback, description: meaning } of describeSettings()) {
    if (only?.test(variable) === false) continue;
    const text = `${meaning} (env ${variable}${fallback === undefined || fallback === '' ? '' : `, default ${fallback}`})`;
    command.addOption(new Option(`${flag} <value>`, text));
  }
  return command;
}

/** The flags that were given, by their kebab-case names. */
export function givenFlags(command: Command): Record<string, string> {
  const flags: Record<string, string> = {};
  for (const option of command.options) {
    const value: unknown = command.getOptionValue(option.attributeName());
    const name = option.long?.slice(2);
    if (name !== undefined && typeof value === 'string') flags[name] = value;
  }
  return flags;
}

/** What a command that only steers workflows has to know. */
export const steeringSettings = /^(CLUSTER_NAME|KUBECONFIG|TEMPORAL_\w+)$/;
