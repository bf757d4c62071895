import { mkdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import Table from 'cli-table3';
import { Command } from 'commander';
import { createAwsProvider } from '../../cloud/aws/provider.js';
import { messageOf } from '../../core/error-message.js';
import { clusterOf, type Cluster } from './cluster.js';
import { Recorder } from './recorder.js';
import { steps } from './steps.js';
import { cleanUp, runSuite, type StepResult, type SuiteOptions } from './suite.js';
import type { Target } from './target.js';

interface Given {
  region?: string;
  cluster: string;
  role?: string;
  instanceProfile?: string;
  discovery?: string;
  reservation?: string;
  terminations: string;
  maxDollars: string;
  maxMinutes: string;
  only?: string;
  kubeconfig: string;
  out: string;
  endpoint?: string;
  poll: string;
  cleanUpOnly?: boolean;
}

/** EC2 says seconds; more costs nothing. */
const unseenMs = 30_000;

const print = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

function numberOf(name: string, text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new Error(`--${name} is "${text}"; it is a number above 0.`);
  return value;
}

function targetOf(given: Given): Target {
  const { region = process.env['AWS_REGION'], cluster, role, instanceProfile, reservation } = given;
  if (region === undefined) throw new Error('--region or AWS_REGION is needed.');
  if ((role === undefined) === (instanceProfile === undefined))
    throw new Error('One of --role and --instance-profile is needed.');
  const only = given.only?.split(',');
  const unknown = only?.filter((name) => !steps.some((step) => step.name === name)) ?? [];
  if (unknown.length > 0)
    throw new Error(
      `--only: there is no step ${unknown.join(', ')}; they are ${steps.map(({ name }) => name).join(', ')}.`,
    );
  return {
    region,
    cluster,
    identity: role === undefined ? { instanceProfile: instanceProfile! } : { role },
    discovery: given.discovery ?? cluster,
    ...(reservation !== undefined && { reservation }),
    ...(only !== undefined && { only }),
    terminations: numberOf('terminations', given.terminations),
    maxDollars: numberOf('max-dollars', given.maxDollars),
    maxMinutes: numberOf('max-minutes', given.maxMinutes),
    run: Date.now().toString(36),
    pollMs: numberOf('poll', given.poll) * 1000,
    unseenMs,
  };
}

function optionsFor(target: Target, given: Given, recorder: Recorder, cluster: Cluster): SuiteOptions {
  const endpoint = given.endpoint ?? process.env['AWS_ENDPOINT_URL'];
  return {
    target,
    cluster,
    provider: createAwsProvider({
      region: target.region,
      clusterName: target.cluster,
      kubernetesVersion: () => cluster.version(),
      onProblem: (message) => print(`  note: ${message}`),
      onExchange: recorder.hear,
      ...(endpoint !== undefined && { endpoint }),
    }),
    ...(endpoint !== undefined && { endpoint }),
    onStep: (step) => (recorder.step = step),
    onResult: ({ step, outcome, note }) => print(`  ${outcome.padEnd(8)}${step.padEnd(14)}${note}`),
  };
}

function write(given: Given, target: Target, recorder: Recorder, results: readonly StepResult[]): void {
  mkdirSync(given.out, { recursive: true });
  const at = new Date();
  const { identity } = target;
  const names = {
    cluster: target.cluster,
    identity: 'role' in identity ? identity.role : identity.instanceProfile,
    run: target.run,
  };
  const save = (name: string, content: object): void =>
    writeFileSync(join(given.out, name), `${JSON.stringify(content, null, 2)}\n`);
  save('results.json', { at: at.toISOString(), region: target.region, results });
  save('recording.json', recorder.recording(target.region, at, names));
  print(`\nWritten: results.json and recording.json in ${given.out}`);
}

function show(results: readonly StepResult[]): void {
  const table = new Table({ head: ['step', 'outcome', 'seconds', 'dollars', 'note'], style: { head: [] } });
  for (const { step, outcome, seconds, cost, note } of results)
    table.push([step, outcome, seconds.toFixed(1), cost.toFixed(4), note]);
  print(`\n${table.toString()}`);
}

async function main(given: Given): Promise<void> {
  const target = targetOf(given);
  const recorder = new Recorder();
  const cluster = clusterOf(given.kubeconfig, target.pollMs);
  const stop = new AbortController();
  process.once('SIGINT', () => {
    print('  stopping: what was launched is ended first');
    stop.abort();
  });
  try {
    const other = await cluster.otherAutoscaler(Date.now());
    if (other !== undefined)
      throw new Error(
        `The lease ${other} is held: an autoscaler of this cluster would remove the suite's machines. Scale it to 0 first.`,
      );
    const options = { ...optionsFor(target, given, recorder, cluster), signal: stop.signal };
    if (given.cleanUpOnly === true) {
      print(await cleanUp(options));
      return;
    }
    const results = await runSuite(options);
    show(results);
    write(given, target, recorder, results);
    if (results.some(({ outcome }) => outcome === 'failed')) process.exitCode = 1;
  } finally {
    cluster.close();
  }
}

const program = new Command('suite -- aws')
  .description(
    'Launches, joins and ends a few machines in a real AWS account, within bounds of money and time, and records the answers',
  )
  .requiredOption('--cluster <name>', 'the EKS cluster; no autoscaler may run for it meanwhile')
  .option('--region <region>', 'default: AWS_REGION')
  .option('--role <name>', 'role of nodes; the cluster lets its nodes in')
  .option('--instance-profile <name>', 'in place of --role')
  .option(
    '--discovery <value>',
    'value of the tag karpenter.sh/discovery of subnets and security groups (default: the cluster)',
  )
  .option('--reservation <id>', 'a capacity reservation that may be used')
  .option('--terminations <n>', 'machines that end together', '100')
  .option('--max-dollars <n>', 'what all of it may cost at most, by list prices', '5')
  .option('--max-minutes <n>', 'how long all of it may take', '120')
  .option('--only <steps>', `some alone: ${steps.map(({ name }) => name).join(', ')}`)
  .option('--kubeconfig <file>', 'of the cluster', process.env['KUBECONFIG'] ?? join(homedir(), '.kube/config'))
  .option('--out <folder>', 'for results.json and recording.json', 'aws-conformance-out')
  .option('--endpoint <url>', 'in place of AWS, such as the local cloud (default: AWS_ENDPOINT_URL)')
  .option('--poll <seconds>', 'between two looks', '5')
  .option('--clean-up-only', 'end and remove what an earlier run left')
  .action(main);

try {
  await program.parseAsync();
} catch (error) {
  process.stderr.write(`aws: ${messageOf(error)}\n`);
  process.exitCode = 2;
}
