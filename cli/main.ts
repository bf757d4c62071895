import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { exitStatus, UsageError } from './exit.js';
import { loadOffline } from './offline-code.js';

// Each command loads its own code when it runs: `stowage plan` for files needs neither Temporal nor AWS.

const program = new Command('stowage')
  .description('A Kubernetes node autoscaler: a drop-in for Karpenter, each node action a durable Temporal workflow.')
  .exitOverride()
  .showHelpAfterError('(stowage --help shows what there is)');

offline(program.command('plan'), { live: true })
  .description('show which nodes would be launched for the pending pods; launches nothing')
  .option(
    '--repeat <times>',
    'for files: solve so often, each time from scratch; the median time of the later half is printed',
    wholeNumber,
    1,
  )
  .allowUnknownOption()
  .argument('[flags...]')
  .addHelpText(
    'after',
    '\nWithout --objects and --catalogue it plans for a live cluster: the settings of stowage run are its flags then.' +
      '\nsolveMs is the solve alone, from parsed objects to the plan; with --repeat the catalogue is looked through once.',
  )
  .action(async (flags: string[], options) => {
    const { objects, catalogue, repeat } = options as { objects?: string[]; catalogue?: string; repeat: number };
    if (objects === undefined && catalogue === undefined) {
      const { planLive } = await import('./plan-live.js');
      process.stdout.write(await planLive(process.argv.slice(process.argv.indexOf('plan') + 1)));
      return;
    }
    if (objects === undefined || catalogue === undefined) {
      throw new UsageError('--objects and --catalogue go together; without both, a live cluster is planned for');
    }
    if (flags[0] !== undefined) throw new UsageError(`"${flags[0]}" is no option of a plan for files`);
    const { planOffline } = await loadOffline({ once: repeat === 1 });
    process.stdout.write(planOffline(options as Parameters<typeof planOffline>[0]));
  });

offline(program.command('consolidate'))
  .description('show which nodes would go, and what would replace them, until nothing is left to gain; touches nothing')
  .option('--spot-to-spot', 'let spot nodes be replaced by cheaper spot nodes', false)
  .addHelpText('after', '\ntotalMs is the search alone, from parsed objects to the last command.')
  .action(async (options) => {
    const { consolidateOffline } = await loadOffline({ once: true });
    process.stdout.write(consolidateOffline(options as Parameters<typeof consolidateOffline>[0]));
  });

program
  .command('crds')
  .description('print the CustomResourceDefinitions, for kubectl apply -f -')
  .action(async () => {
    const { crdYaml } = await import('./crds.js');
    process.stdout.write(crdYaml());
  });

program
  .command('convert')
  .description('turn older Karpenter YAML into v1, with a DisruptionPolicy where one is needed')
  .argument('[files...]', 'YAML files of any objects; the standard input when none is given')
  .option('--role <name>', 'IAM role of the nodes, for node classes that name neither role nor instance profile')
  .option('--instance-profile <name>', 'as --role, an instance profile')
  .addOption(new Option('--report <form>', 'how to print what changed').choices(['text', 'json']).default('text'))
  .action(async (files: string[], options) => {
    const { convert } = await import('./convert.js');
    const { yaml, report } = convert(files, options as Parameters<typeof convert>[1]);
    process.stderr.write(report);
    process.stdout.write(yaml);
  });

// Their options are the settings of the process, which only they load.
program
  .command('run')
  .description('run the operator and the worker (stowage run --help lists every setting)')
  .allowUnknownOption()
  .helpOption(false)
  .argument('[flags...]')
  .action(async (flags: string[]) => {
    const { run } = await import('./run.js');
    process.exitCode = await run(flags);
  });

live('status', 'show pools, NodeClaims, what is under way, and what waits for a person', async (flags) => {
  const { status } = await import('./status.js');
  return status(flags);
});

live('pause', 'stop voluntary disruption of a cluster, NodePool, node or reason', async (flags) => {
  const { pause } = await import('./pause.js');
  return pause(flags);
});

live('resume', 'end such a pause', async (flags) => {
  const { resume } = await import('./pause.js');
  return resume(flags);
});

for (const [name, description] of Object.entries({
  approve: 'say yes to a disruption that waits for approval',
  reject: 'say no to it',
  abort: 'end a disruption that can still be taken back',
  expedite: 'let a disruption or a drain wait no longer',
  retry: 'have it try again at once',
  hold: 'have it stay before the next step that cannot be taken back (--off: go on)',
  rollback: 'give a NodePool its last good template again, and end its rollout',
} as const)) {
  live(name, description, async (flags) => {
    const { order } = await import('./order.js');
    return order(name as Parameters<typeof order>[0], flags);
  });
}

live('report', 'show what was done lately and what it saves', async (flags) => {
  const { report } = await import('./report.js');
  return report(flags);
});

/** A command on a live cluster; it knows its own options (`stowage NAME --help`). */
function live(name: string, description: string, print: (flags: string[]) => Promise<string>): void {
  program
    .command(name)
    .description(description)
    .allowUnknownOption()
    .helpOption(false)
    .argument('[flags...]')
    .action(async (flags: string[]) => {
      process.stdout.write(await print(flags));
    });
}

program
  .command('why')
  .description('say why a pod, node or NodeClaim of a live cluster is where it is (stowage why pod/NAME)')
  .allowUnknownOption()
  .helpOption(false)
  .argument('[subject and flags...]')
  .action(async (args: string[]) => {
    const { why } = await import('./why.js');
    process.stdout.write(await why(args));
  });

/** What every command on files takes: where the objects and the catalogue are, how to print, and the policies of packing. */
function offline(command: Command, { live: alsoLive } = { live: false }): Command {
  const objects = 'kubectl get -o json lists, JSON or YAML objects; - is the standard input';
  const catalogue = "instance types and prices, in the JSON format of Karpenter's KWOK provider";
  return command
    .addOption(new Option('--objects <file...>', objects).makeOptionMandatory(!alsoLive))
    .addOption(new Option('--catalogue <file>', catalogue).makeOptionMandatory(!alsoLive))
    .addOption(new Option('-o, --output <form>', 'how to print').choices(['table', 'json']).default('table'))
    .addOption(
      new Option('--preference-policy <policy>', 'whether preferences count')
        .choices(['Respect', 'Ignore'])
        .default('Respect'),
    )
    .addOption(
      new Option('--min-values-policy <policy>', 'what to do when minValues cannot be met')
        .choices(['Strict', 'BestEffort'])
        .default('Strict'),
    );
}

function wholeNumber(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new InvalidArgumentError('expected a whole number of at least 1.');
  return value;
}

// Whoever reads the output may have seen enough (`stowage plan | head`).
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = statusOf(error);
}

function statusOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitStatus.ok : exitStatus.badInput;
  if (error instanceof UsageError) {
    process.stderr.write(`stowage: ${error.message}\n`);
    return exitStatus.badInput;
  }
  process.stderr.write(`stowage: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  return exitStatus.failed;
}
