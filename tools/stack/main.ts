import Table from 'cli-table3';
import { Command } from 'commander';
import { resolve } from 'node:path';
import { stackParts, type StackPart } from './components.js';
import { stackFolder } from './paths.js';
import { isRunning, tailOf } from './processes.js';
import { shellLines } from './shell-environment.js';
import { startStack } from './stack.js';
import { stopStack } from './stop-stack.js';
import { readState, type StackState } from './stack-state.js';
import { messageOf } from '../../core/error-message.js';

interface Located {
  name: string;
  dir?: string;
}

const folderOf = ({ name, dir }: Located): string => resolve(dir ?? stackFolder(name));
const print = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

async function up(
  options: Located & { only?: string; cluster: string; region: string; proxy?: boolean },
): Promise<void> {
  const parts = options.only?.split(',').map((part): StackPart => {
    if ((stackParts as readonly string[]).includes(part)) return part as StackPart;
    throw new Error(`There is no part "${part}"; the parts are ${stackParts.join(', ')}.`);
  });
  const started = Date.now();
  const stack = await startStack({
    name: options.name,
    folder: folderOf(options),
    cluster: options.cluster,
    region: options.region,
    parts: parts ?? stackParts,
    proxy: options.proxy === true,
    progress: (line) => print(`  ${line}`),
  });
  print(`The stack "${stack.name}" is up (${((Date.now() - started) / 1000).toFixed(1)}s).\n`);
  describe(readState(stack.folder)!);
}

function describe(state: StackState): void {
  const { endpoints } = state;
  const lines: [string, string | undefined][] = [
    ['Stowage’s page', endpoints.pageUrl],
    ['Temporal UI', endpoints.temporalUiUrl],
    ['Temporal', endpoints.temporalAddress],
    ['Kubernetes', endpoints.apiserver],
    ['kubectl', endpoints.kubectl && `${endpoints.kubectl} --kubeconfig ${endpoints.adminKubeconfig ?? ''}`],
    ['Stowage’s kubeconfig', endpoints.stowageKubeconfig],
    ['AWS endpoint', endpoints.awsEndpoint],
    ['interruption queue', endpoints.queueUrl],
    ['logs', `${state.folder}/logs`],
  ];
  for (const [what, value] of lines) if (value !== undefined) print(`  ${what.padEnd(22)}${value}`);
  print(`\nTo point a shell at it: eval "$(npm run -s stack -- env${flags(state)})"`);
}

const flags = (state: StackState): string => (state.name === 'default' ? '' : ` --name ${state.name}`);

function status(options: Located): void {
  const state = readState(folderOf(options));
  if (state === undefined || state.components.length === 0) {
    print(`The stack "${options.name}" is not up.`);
    process.exitCode = 3;
    return;
  }
  const table = new Table({ head: ['component', 'state', 'pid', 'address'], style: { head: [], border: [] } });
  for (const component of state.components) {
    table.push([component.name, isRunning(component) ? 'running' : 'DEAD', component.pid, component.address]);
  }
  print(table.toString());
  describe(state);
  for (const component of state.components.filter((each) => !isRunning(each))) {
    process.exitCode = 1;
    print(
      `\n${component.name} (pid ${component.pid}) has died; the end of ${component.log}:\n${tailOf(component.log)}`,
    );
  }
}

async function down(options: Located): Promise<void> {
  const folder = folderOf(options);
  const name = readState(folder)?.name ?? options.name;
  const count = await stopStack(folder, (line) => print(`  ${line}`));
  print(count === 0 ? `The stack "${name}" was not up.` : `The stack "${name}" is down.`);
}

function environment(options: Located): void {
  const state = readState(folderOf(options));
  if (state === undefined || !state.components.some(isRunning))
    throw new Error(`The stack "${options.name}" is not up.`);
  for (const line of shellLines(state)) print(line);
}

const program = new Command('stack').description(
  'The local real stack: Kubernetes, Temporal and an EC2 API on loopback',
);
const located = (command: Command): Command =>
  command
    .option('--name <name>', 'which stack; several can run at once', 'default')
    .option('--dir <folder>', 'where it keeps logs and data (default: ~/.local/state/stowage/<name>)');

located(program.command('up').description('start what does not run, and wait until it serves'))
  .option('--only <parts>', `some parts alone: ${stackParts.join(', ')}`)
  .option('--cluster <name>', 'the cluster’s name', 'stowage-local')
  .option('--region <region>', 'the AWS region it plays; GovCloud’s and China’s too', 'us-west-2')
  .option('--proxy', 'AWS’ own endpoints, and an HTTP proxy as the only way to them')
  .action(up);
located(program.command('down').description('stop everything')).action(down);
located(program.command('status').description('show each process, and why one died')).action(status);
located(program.command('env').description('print the environment for a shell')).action(environment);

try {
  await program.parseAsync();
} catch (error) {
  process.stderr.write(`${messageOf(error)}\n`);
  process.exitCode = 1;
}
