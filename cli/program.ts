import { Argument, InvalidArgumentError, Option, type Command } from 'commander';
import {
  commandTexts,
  exampleText,
  frontierOption,
  planForms,
  withOption,
  withoutOption,
  type CommandName,
} from './command-texts.js';
import { UsageError } from './exit.js';
import { liveCommands } from './live-commands.js';
import { loadOffline, loadOnline } from './bundles.js';
import { OnceCommand } from './once-command.js';
import { emit, print, warn } from './output/print.js';
import { probableKey } from '../packing/requirements/typo.js';
import { buildInfo } from '../process/gauges/build-info.js';

/**
 * The `stowage` command. Each command loads its code when it runs: `stowage plan` for files needs neither Temporal nor
 * AWS.
 */
export function stowageProgram(): Command {
  const program: Command = new OnceCommand('stowage')
    .description('A Kubernetes node autoscaler: a drop-in for Karpenter, each node action a durable Temporal workflow.')
    .version(buildInfo().version, '-V, --version', 'show the version')
    .exitOverride()
    .showHelpAfterError('(stowage --help lists the commands)')
    .addHelpText('after', '\nstowage NAME --help shows the options of a command and an example.');
  addPlan(program);
  addConsolidate(program);
  addCrds(program);
  addConvert(program);
  for (const name of liveCommands.keys()) addLive(program, name);
  addSettings(program);
  addCompletion(program);
  return program;
}

/** Every command with all its options, as in its help and completions. */
export async function describedCommands(): Promise<ReadonlyMap<string, readonly Command[]>> {
  const described = new Map<string, readonly Command[]>();
  for (const command of stowageProgram().commands) {
    const load = liveCommands.get(command.name() as CommandName);
    described.set(command.name(), load === undefined ? [command] : [(await load()).command()]);
  }
  const { planLiveCommand } = await import('./plan-live.js');
  // The same name for files and for a live cluster.
  described.set('plan', [...(described.get('plan') ?? []), planLiveCommand()]);
  return described;
}

function add(program: Command, name: CommandName): Command {
  return program.command(name).description(commandTexts[name].description);
}

interface FileFlags {
  readonly objects?: string[];
  readonly catalogue?: string;
  readonly repeat: number;
  readonly output: string;
  readonly frontier?: boolean;
  readonly with?: string[];
  readonly without?: string[];
}

const isForecast = (options: Pick<FileFlags, 'with' | 'without'>): boolean =>
  options.with !== undefined || options.without !== undefined;

async function printForecast(options: object): Promise<void> {
  const { forecastOfFiles } = await (await loadOnline()).loadForecast();
  print(await forecastOfFiles(options as Parameters<typeof forecastOfFiles>[0]));
}

function refuseMarkdown({ output }: FileFlags): void {
  if (output === 'markdown') throw new UsageError('-o markdown shows a forecast: it goes with --with or --without');
}

function addPlan(program: Command): void {
  offline(add(program, 'plan'), { live: true })
    .option(
      '--repeat <times>',
      'for files: solve so often, each time from scratch; the median time of the later half is printed',
      wholeNumber,
      1,
    )
    .option(...frontierOption)
    .allowUnknownOption()
    .argument('[flags...]')
    .addHelpText(
      'after',
      '\nWithout --objects and --catalogue it plans for a live cluster, and takes what stowage settings lists as flags' +
        '\n(--kubeconfig names a file, or in-cluster; without it KUBECONFIG, ~/.kube/config and the credentials of a pod follow).' +
        '\nsolveMs is the solve alone, from parsed objects to the plan; with --repeat the catalogue is looked through once.' +
        `\n${exampleText('plan')}`,
    )
    .action(async (flags: string[], options, command: Command) => {
      const { objects, catalogue, repeat, output, frontier } = options as FileFlags;
      refuseMisspelt(command, flags, objects !== undefined || catalogue !== undefined);
      if (objects === undefined && catalogue === undefined) {
        const { loadPlanLive } = await loadOnline();
        const { planLive } = await loadPlanLive();
        print(await planLive(process.argv.slice(process.argv.indexOf('plan') + 1)));
        return;
      }
      if (objects === undefined || catalogue === undefined) {
        throw new UsageError('--objects and --catalogue go together; without both, a live cluster is planned for');
      }
      if (flags[0] !== undefined) throw new UsageError(`"${flags[0]}" is no option of a plan for files`);
      if (isForecast(options as FileFlags)) {
        if (frontier === true || repeat !== 1)
          throw new UsageError('--with and --without do not go with --frontier or --repeat');
        return printForecast(options as FileFlags);
      }
      refuseMarkdown(options as FileFlags);
      if (output === 'html') {
        if (frontier === true || repeat !== 1)
          throw new UsageError('-o html shows one plan: it does not go with --frontier or --repeat');
        const { planPageOfFiles } = await (await loadOnline()).loadPlanned();
        print(planPageOfFiles(options as Parameters<typeof planPageOfFiles>[0]));
        return;
      }
      const { planOffline } = await loadOffline({ once: repeat === 1 });
      print(planOffline(options as Parameters<typeof planOffline>[0]));
    });
}

/** Rejects unknown or misspelt options, if options of a live cluster could follow too. */
function refuseMisspelt(command: Command, flags: readonly string[], isForFiles: boolean): void {
  for (const flag of flags.filter((each) => each.startsWith('-'))) {
    const meant = probableKey(flag.replace(/=.*/s, ''), command.options.map(({ long }) => long ?? '')); // prettier-ignore
    const hint = meant === undefined ? '' : `\n(Did you mean ${meant}?)`;
    if (isForFiles || meant === '--objects' || meant === '--catalogue')
      command.error(`error: unknown option '${flag}'${hint}`);
  }
}

function addConsolidate(program: Command): void {
  offline(add(program, 'consolidate'))
    .option('--spot-to-spot', 'let spot nodes be replaced by cheaper spot nodes', false)
    .addHelpText(
      'after',
      `\ntotalMs is the search alone, from parsed objects to the last command.\n${exampleText('consolidate')}`,
    )
    .action(async (options) => {
      if (isForecast(options as FileFlags)) return printForecast(options as FileFlags);
      refuseMarkdown(options as FileFlags);
      if ((options as FileFlags).output === 'html') {
        const { consolidationPage } = await (await loadOnline()).loadPlanned();
        print(consolidationPage(options as Parameters<typeof consolidationPage>[0]));
        return;
      }
      const { consolidateOffline } = await loadOffline({ once: true });
      print(consolidateOffline(options as Parameters<typeof consolidateOffline>[0]));
    });
}

function addCrds(program: Command): void {
  add(program, 'crds')
    .option(
      '--apply',
      'write them to the cluster instead: missing ones are created, older ones get the schemas of this version',
    )
    .option(
      '--kubeconfig <file>',
      'of that cluster, or in-cluster; when absent env KUBECONFIG, ~/.kube/config, then the credentials of a pod',
    )
    .addHelpText('after', exampleText('crds'))
    .action(async ({ apply, kubeconfig }: { apply?: boolean; kubeconfig?: string }) => {
      if (apply === true) {
        const { applyCrds } = await import('./crds.js');
        print(await applyCrds(kubeconfig));
        return;
      }
      const { crdYaml } = await import('./crds.js');
      emit(crdYaml());
    });
}

function addConvert(program: Command): void {
  add(program, 'convert')
    .argument('[files...]', 'YAML files of any objects; the standard input when none is given')
    .option('--role <name>', 'IAM role of the nodes, for node classes that name neither role nor instance profile')
    .option('--instance-profile <name>', 'as --role, an instance profile')
    .addOption(new Option('--report <form>', 'how to print what changed').choices(['text', 'json']).default('text'))
    .option('--keep-going', 'print what could be converted although other objects could not; the status is still 2')
    .option('--strict', 'end with status 1 where anything is to be checked, or was not carried over')
    .addHelpText('after', exampleText('convert'))
    .action(async (files: string[], options) => {
      const { convert } = await import('./convert.js');
      const { yaml, report, status } = convert(files, options as Parameters<typeof convert>[1]);
      process.exitCode = status;
      warn(report);
      emit(yaml);
    });
}

function addSettings(program: Command): void {
  add(program, 'settings')
    .addHelpText('after', exampleText('settings'))
    .action(async () => {
      const { settingsTable } = await import('./settings-command.js');
      emit(settingsTable());
    });
}

function addCompletion(program: Command): void {
  const shells = ['bash', 'zsh', 'fish'] as const;
  add(program, 'completion')
    .addArgument(new Argument('<shell>', 'which shell it is for').choices(shells))
    .addHelpText(
      'after',
      `\nIt is loaded by\n  bash  source <(stowage completion bash)\n  zsh   source <(stowage completion zsh), after compinit\n  fish  stowage completion fish | source\n${exampleText('completion')}`,
    )
    .action(async (shell: (typeof shells)[number]) => {
      const { completionScript } = await import('./completion.js');
      const { describeCommands } = await import('./completion.js');
      emit(completionScript(shell, describeCommands(await describedCommands())));
    });
}

/** A command that parses its options itself (`stowage NAME --help`). */
function addLive(program: Command, name: CommandName): void {
  add(program, name)
    .allowUnknownOption()
    .helpOption(false)
    .argument('[flags...]')
    .action(async (flags: string[]) => {
      const online = await loadOnline();
      const { run } = await online.liveCommands.get(name)!();
      print(await run(flags));
    });
}

/** Options of all commands on files: objects, catalogue, output format, and policies of packing. */
function offline(command: Command, { live: alsoLive } = { live: false }): Command {
  const objects = 'kubectl get -o json lists, JSON or YAML objects; - is the standard input';
  const catalogue =
    "instance types and prices, as stowage catalogue prints them, or in the format of Karpenter's KWOK provider";
  return command
    .addOption(new Option('--objects <file...>', objects).makeOptionMandatory(!alsoLive))
    .addOption(new Option('--catalogue <file>', catalogue).makeOptionMandatory(!alsoLive))
    .addOption(
      new Option('-o, --output <form>', 'how to print; markdown, for a pull request, with --with alone')
        .choices(planForms)
        .default('table'),
    )
    .option(...withOption)
    .option(...withoutOption)
    .addOption(
      new Option('--preference-policy <policy>', 'whether preferences count')
        .choices(['Respect', 'Ignore'])
        .default('Respect'),
    )
    .addOption(
      new Option('--min-values-policy <policy>', 'what to do when minValues cannot be met')
        .choices(['Strict', 'BestEffort'])
        .default('Strict'),
    )
    .option('--commitments <file>', 'Savings Plans and reserved instances, as COMMITMENTS_FILE has them');
}

function wholeNumber(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new InvalidArgumentError('expected a whole number of at least 1.');
  return value;
}
