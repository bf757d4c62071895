import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import Table from 'cli-table3';
import { Command, Option } from 'commander';
import { karpenterOnKwok, reportWhatIsMissing } from '../peer.js';
import { median } from '../median.js';
import { bare } from '../report.js';
import { repositoryRoot } from '../../stack/paths.js';
import { stopLaunchedWithThisProcess } from '../../stack/processes.js';
import { type Engine, karpenterEngine, race, stowageEngine, type StepResult } from './race.js';
import { scenarios } from './scenarios.js';

interface RaceOptions {
  readonly scenario: readonly string[];
  readonly engine: readonly string[];
  readonly runs: string;
  readonly firstSteps?: string;
  readonly node?: readonly string[];
  readonly image?: string;
  readonly json?: string;
  readonly keep?: string;
}

const say = (line: string): void => void process.stderr.write(`${line}\n`);
const engineNames = ['karpenter', 'stowage'];

await new Command('bench:race')
  .description('Both engines as processes, one after the other on fresh stacks of KWOK nodes.')
  .addOption(new Option('--scenario <names...>').choices(Object.keys(scenarios)).default(['nodes-300']))
  .addOption(new Option('--engine <names...>').choices(engineNames).default(engineNames))
  .option('--runs <n>', 'of each; the table has medians', '1')
  .option('--first-steps <n>', 'leave out the steps of a scenario after these')
  .option('--node <flags...>', 'flags of Node for Stowage, such as --cpu-prof')
  .option('--image <folder>', 'what tools/build/image.mjs wrote, of another build than this')
  .option('--json <file>', 'write every result there')
  .option('--keep <folder>', 'logs and databases of each stack stay in a folder there')
  .action(run)
  .parseAsync()
  .catch(reportWhatIsMissing);

async function run({ scenario, engine, runs, firstSteps, node, image, json, keep }: RaceOptions): Promise<void> {
  stopLaunchedWithThisProcess();
  const results: (StepResult & { scenario: string })[] = [];
  const engines: Engine[] = [];
  for (const each of engine)
    engines.push(
      each === 'stowage'
        ? stowageEngine(image ?? (await ownImage()), node)
        : karpenterEngine(await karpenterOnKwok(say)),
    );
  for (const name of scenario) {
    const made = scenarios[name]!();
    const steps = made.steps.slice(0, firstSteps === undefined ? undefined : Number(firstSteps));
    for (let i = 0; i < Number(runs); i++) {
      for (const each of engines) {
        const folder = keep === undefined ? undefined : join(keep, `${name}-${each.name}-${i}`);
        for (const result of await race(each, { ...made, steps }, { say, keep: folder }))
          results.push({ scenario: name, ...result });
        if (json !== undefined) writeFileSync(json, `${JSON.stringify(results, null, 1)}\n`);
      }
    }
  }
  process.stdout.write(`${tableOf(results)}\n`);
}

/** Writes what the image holds, for as long as this process lives. */
async function ownImage(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'stowage-image-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  await promisify(execFile)(process.execPath, [join(repositoryRoot(), 'tools/build/image.mjs'), folder]);
  return folder;
}

/** A row for what is measured, a column for each step of each engine. */
function tableOf(results: readonly (StepResult & { scenario: string })[]): string {
  const columns = new Map<string, StepResult[]>();
  for (const each of results) {
    const name = `${each.scenario} ${each.step}\n${each.engine}`;
    columns.set(name, [...(columns.get(name) ?? []), each]);
  }
  const all = [...columns.values()];
  const row = (name: string, of: (each: StepResult) => number | undefined, digits = 0): string[] => [
    name,
    ...all.map((runs) => {
      const values = runs.flatMap((each) => of(each) ?? []);
      return values.length === 0 ? '' : median(values).toFixed(digits);
    }),
  ];
  const sum = (counts: Readonly<Record<string, number>>): number =>
    Object.values(counts).reduce((total, count) => total + count, 0);
  const processes = [...new Set(results.flatMap((each) => Object.keys(each.processes)))];
  const verbs = ['GET', 'LIST', 'WATCH', 'POST', 'PUT', 'PATCH', 'DELETE'];
  const ofVerb = (counts: Readonly<Record<string, number>>, verb: string): number =>
    sum(Object.fromEntries(Object.entries(counts).filter(([name]) => name.startsWith(`${verb} `))));
  const head = ['', ...columns.keys()];
  const table = new Table({ ...bare, head, colAligns: ['left', ...all.map((): 'right' => 'right')] });
  table.push(
    row('first claim, s', ({ firstClaim }) => firstClaim),
    row('last claim, s', ({ lastClaim }) => lastClaim),
    row('half of the pods run, s', ({ halfRunning }) => halfRunning),
    row('all pods run, s', ({ allRunning }) => allRunning),
    row('last change of price, s', ({ settled }) => settled),
    row('pending to bound, p50, s', ({ boundP50 }) => boundP50),
    row('pending to bound, p99, s', ({ boundP99 }) => boundP99),
    row('nodes', ({ nodes }) => nodes),
    row('claims created', ({ claimsCreated }) => claimsCreated),
    row('claims removed', ({ claimsRemoved }) => claimsRemoved),
    row('dollars an hour', ({ price }) => price, 2),
    row('dollars paid', ({ paid }) => paid, 3),
    row('evictions', ({ evictions }) => evictions),
    ...processes.map((name) => row(`${name}, CPU s`, (each) => each.processes[name]?.cpu, 1)),
    ...processes.map((name) => row(`${name}, peak MB`, (each) => each.processes[name]?.peakMb)),
    row('requests to the API server', ({ requests }) => sum(requests)),
    ...verbs.map((verb) => row(`  ${verb}`, ({ requests }) => ofVerb(requests, verb))),
    row('Temporal actions', ({ actions, engine }) => (engine === 'stowage' ? sum(actions) : undefined)),
  );
  return table.toString();
}
