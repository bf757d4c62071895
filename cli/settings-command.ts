import { type Command, Help, Option } from 'commander';
import { describeSettings } from '../process/settings.js';
import { type CommandName, commandTexts, exampleText } from './command-texts.js';
import { OnceCommand } from './once-command.js';
import { renderTable } from './output/table.js';

interface SettingsOptions {
  /** The variables that the command accepts; absent: all. */
  readonly only?: RegExp;
  /** Whether its help describes every setting; otherwise it lists them and refers to `stowage settings`. */
  readonly showsAll?: boolean;
}

const heading = 'Settings:';

/**
 * A command that accepts the process settings as flags, all or those whose variables match `only`; the environment
 * provides the others. Its help lists its own options first.
 */
export function settingsCommand(name: CommandName, { only, showsAll = false }: SettingsOptions = {}): Command {
  const { description } = commandTexts[name];
  const command: Command = new OnceCommand(`stowage ${name}`)
    .description(description)
    .exitOverride()
    .configureHelp({ groupItems });
  const flags: string[] = [];
  for (const { name: variable, flag, default: fallback, description: meaning } of describeSettings()) {
    if (flag === undefined || only?.test(variable) === false) continue;
    const text = `${meaning} (env ${variable}${fallback === undefined || fallback === '' ? '' : `, default ${fallback}`})`;
    const option = new Option(`${flag} <value>`, text).helpGroup(heading);
    command.addOption(showsAll ? option : option.hideHelp());
    flags.push(flag);
  }
  if (!showsAll) command.addHelpText('after', `\n${settingsText(only === undefined ? undefined : flags)}`);
  return command.addHelpText('after', exampleText(name));
}

/** The settings come last, though they were added first. */
const groupItems: Help['groupItems'] = (all, visible, groupOf) => {
  const groups = [...new Help().groupItems(all, visible, groupOf)];
  return new Map(groups.sort(([a], [b]) => Number(a === heading) - Number(b === heading)));
};

const perLine = 4;

/** The settings of a command by flag; a reference if all are accepted, which are too many for its help. */
function settingsText(flags: readonly string[] | undefined): string {
  const found = `--kubeconfig names a file, or in-cluster; without it KUBECONFIG, ~/.kube/config and a pod's own follow`;
  if (flags === undefined) return `${heading}\n  each flag that stowage settings lists\n  ${found}`;
  const lines = flags.flatMap((_, i) => (i % perLine === 0 ? [`  ${flags.slice(i, i + perLine).join(' ')}`] : []));
  const last = flags.includes('--kubeconfig') ? `\n  ${found}` : '';
  return `${heading.slice(0, -1)} (stowage settings says what they mean):\n${lines.join('\n')}${last}`;
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

/** Settings of commands that only send orders. */
export const steeringSettings = /^(CLUSTER_NAME|KUBECONFIG|TEMPORAL_\w+)$/;

/** `stowage settings`: every setting with its flag, variable, default and description. */
export function settingsTable(): string {
  const rows = describeSettings().map(({ name, flag, default: fallback, description }) => [
    flag ?? 'none: a secret',
    name,
    fallback ?? '',
    description,
  ]);
  return `${renderTable(['FLAG', 'VARIABLE', 'DEFAULT', 'MEANING'], rows)}\n`;
}
