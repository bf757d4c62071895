import { spawn } from 'node:child_process';
import { createWriteStream, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Command } from 'commander';
import { messageOf } from '../../../core/error-message.js';
import { createNarrator } from '../demo/narrator.js';
import { onStage, type Stage, type StageOptions } from '../stage.js';
import { ensureToolchain } from '../toolchain.js';
import { writeObjects } from './objects.js';
import { onPurpose } from './on-purpose.js';
import { outcomesOf, summaryOf, type SuiteReport } from './report.js';

interface SuiteCommand extends StageOptions {
  readonly focus?: string;
  readonly skip: string;
}

/** What the specs need that is off by default. */
const featureGates = 'NodeRepair=true,StaticCapacity=true,CapacityBuffer=true,NodeOverlay=true';

/** Whose specs count on small nodes. */
const smallNodes = 'capacitybuffer_test.go';

async function playSuite(stage: Stage, { focus, skip }: SuiteCommand): Promise<void> {
  const { karpenterSuite } = await ensureToolchain(['karpenter-suite']);
  const folder = join(stage.stack.folder, 'karpenter-suite');
  mkdirSync(folder, { recursive: true });
  const { nodeClass, nodePool, smallNodePool } = writeObjects(folder, stage.stack.cluster);
  stage.narrator.chapter('Karpenter’s own specs, one after the other');
  const rounds = [
    { pool: nodePool, files: 'skip-file' },
    { pool: smallNodePool, files: 'focus-file' },
  ];
  const reports: SuiteReport[] = [];
  for (const { pool, files } of rounds) {
    const report = join(folder, `${files}.json`);
    const args = [
      ...['-test.v', '-test.timeout=8h', '--ginkgo.v', '--ginkgo.no-color', '--ginkgo.timeout=8h'],
      ...[`--ginkgo.json-report=${report}`, `--ginkgo.${files}=${smallNodes}`],
      ...[`--default-nodeclass=${nodeClass}`, `--default-nodepool=${pool}`],
      ...[...given('focus', focus), ...given('skip', skip)],
    ];
    await runSpecs(stage, karpenterSuite!, args, join(folder, `${files}.log`));
    reports.push(...(JSON.parse(readFileSync(report, 'utf8')) as SuiteReport[]));
  }
  const outcomes = outcomesOf(reports, onPurpose);
  stage.narrator.plain(summaryOf(outcomes));
  if (outcomes.length === 0) throw new Error('no spec ran');
  if (outcomes.some(({ outcome }) => outcome === 'failed')) throw new Error(`see ${folder}`);
}

const given = (name: string, expression = ''): readonly string[] =>
  expression === '' ? [] : [`--ginkgo.${name}=${expression}`];

/** Runs the suite's program, whose whole output goes into `log`; resolves when it has ended. */
function runSpecs({ stack, narrator }: Stage, program: string, args: readonly string[], log: string): Promise<void> {
  const env = { ...process.env, KUBECONFIG: stack.adminKubeconfig };
  const child = spawn(program, args, { cwd: stack.folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const output = createWriteStream(log);
  for (const stream of [child.stdout, child.stderr]) stream.pipe(output, { end: false });
  // Ginkgo ends each spec with such a line.
  createInterface(child.stdout).on('line', (line) => {
    if (/^• (\[FAILED\] )?\[[\d.]+ seconds\]/.test(line)) narrator.act(line.slice(2));
  });
  const interrupt = (): boolean => child.kill('SIGKILL');
  process.once('exit', interrupt);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', () => {
      process.off('exit', interrupt);
      output.end(resolve);
    });
  });
}

const options = new Command('karpenter')
  .description(
    'Runs Karpenter’s own end-to-end suite (test/suites/regression of its repository), as it is, against Stowage on a local stack.',
  )
  .option('--focus <expression>', 'only specs whose title matches')
  .option('--skip <expression>', 'no spec whose title matches', 'Performance|Chaos')
  .option('--keep', 'leave everything running afterwards, for exploring', false)
  .option('--name <name>', 'name of the stack', 'karpenter-suite')
  .parse()
  .opts<SuiteCommand>();

process.env.FEATURE_GATES ??= featureGates;
try {
  await onStage(options, createNarrator(), (stage) => playSuite(stage, options));
} catch (error) {
  process.stderr.write(`\nKarpenter’s suite failed: ${messageOf(error)}\n`);
  process.exitCode = 1;
}
