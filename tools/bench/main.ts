import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { checkPlan } from '../../test/checker/check.js';
import type { CatalogueEntry, ObjectList, PlanJson } from '../../test/checker/types.js';
import { type CaseFiles, caseName, makeCase, writeCase } from './case-files.js';
import { type Kind, generate, generateCorner, kinds } from '../../test/cases/index.js';
import { Random } from '../../test/cases/random.js';
import {
  type ConsolidationResult,
  consolidationSummary,
  consolidationTable,
  measureConsolidations,
} from './consolidations.js';
import { startStack } from '../stack/stack.js';
import { mixes } from '../../test/cases/interruption-mixes.js';
import type { Mix } from '../../test/cases/interruption-mixes.js';
import { hostileTable, measureHostile, measureStates, measureTenant, stateText, tenantText } from './hostile.js';
import { interruptAll } from './interrupted.js';
import { flood } from './interruptions.js';
import { fleetBudgets, launchAtOnce } from './launches.js';
import { kwokPods } from '../../test/cases/kwok.js';
import { boundOf, measureScaleDown, replicas } from './kwok.js';
import { Peer, reportWhatIsMissing } from './peer.js';
import { type PlanResult, measurePlans, orderNote } from './plans.js';
import { simulationTable } from './scale-down-report.js';
import { simulateScaleDown } from '../../test/simulation/scale-down/scale-down.js';
import { pieceNames, type Piece } from './without.js';
import { planTable, summaries, summaryMarkdown, summaryTable } from './report.js';

/** Sizes that show growth without taking the afternoon. */
const usualSizes: Readonly<Record<Kind, readonly number[]>> = {
  generic: [1000],
  'benchmark-mix': [1000, 5000, 10_000],
  realistic: [1000, 10_000],
  'realistic-nodes': [1000],
  preferences: [500],
  corner: [60],
  revised: [60],
  entangled: [60],
  extended: [60],
  'label-values': [3000],
  'spread-values': [3000],
  'many-pools': [500],
  'closed-pools': [500],
  cluster: [40, 100, 200],
  'kwok-cluster': [40, 100, 200],
  'varied-cluster': [40, 100],
};

/** For consolidation: their sizes count nodes. */
const clusterKinds: readonly Kind[] = ['cluster', 'kwok-cluster', 'varied-cluster'];
const oversizedKinds: readonly Kind[] = ['label-values', 'spread-values', 'many-pools', 'closed-pools'];
/** Not run unless asked for. */
const specialKinds: readonly Kind[] = [...clusterKinds, ...oversizedKinds, 'extended'];

/** A worker is warm: it has compiled its code at start. */
const usualWarm = (pods: number): number => (pods <= 1000 ? 60 : pods <= 20_000 ? 30 : 6);

const whole = (text: string): number => {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0) throw new InvalidArgumentError('expected a whole number.');
  return value;
};
const wholes = (text: string): number[] => text.split(',').map(whole);
/** `40,100` for each size in turn; `40-200` for a size of that range for each seed. */
const sizeList = (text: string): Sizes => {
  const ends = /^(\d+)-(\d+)$/.exec(text)?.slice(1).map(whole);
  if (ends === undefined) return { each: wholes(text) };
  const [from = 0, to = 0] = ends;
  if (from > to) throw new InvalidArgumentError('expected the smaller size first.');
  return { from, to };
};
const pieceList = (text: string): Piece[] =>
  text.split(',').map((name) => {
    const piece = pieceNames.find((known) => known === name);
    if (piece === undefined) throw new InvalidArgumentError(`expected some of ${pieceNames.join(', ')}.`);
    return piece;
  });
const kindList = (text: string): Kind[] => text.split(',').map(oneKind);
function oneKind(text: string): Kind {
  const kind = kinds.find((known) => known === text);
  if (kind === undefined) throw new InvalidArgumentError(`expected one of ${kinds.join(', ')}.`);
  return kind;
}

/** Each of a list, or one of a range. */
interface Sizes {
  readonly each?: readonly number[];
  readonly from?: number;
  readonly to?: number;
}

interface BenchOptions {
  kinds?: readonly Kind[];
  sizes?: Sizes;
  cases: number;
  firstSeed: number;
  repeats: number;
  cold: number;
  without: readonly Piece[];
  warm?: number;
  peer: boolean;
  peerMaxPods: number;
  timeout: number;
  peerTimeout: number;
  json?: string;
  markdown?: string;
  keep?: string;
  consolidate?: boolean;
  kwok?: boolean;
  kwokSimulated?: boolean;
  consolidateAfter: string;
  budget: string;
  interruptions?: string | true;
  interrupted?: string | true;
  ending: number;
  mix: Mix;
  launches?: string | true;
  hostile?: string | true;
  atOnce?: boolean;
}

const say = (line: string): void => void process.stderr.write(`${line}\n`);

const program = new Command('bench')
  .description(
    'Plans the same seeded cases with Stowage and with Karpenter, and judges both by an independent checker.',
  )
  .option('--kinds <list>', `of ${kinds.join(', ')}`, kindList)
  .option('--sizes <list>', 'pods a case, or a range to draw from such as 40-200; otherwise what is usual', sizeList)
  .option('--cases <n>', 'cases of each kind and size', whole, 1)
  .option('--first-seed <n>', 'the seed of the first case; the others follow', whole, 1)
  .option('--repeats <n>', "Karpenter's plans differ from run to run: take the best of so many", whole, 3)
  .option('--cold <n>', "fresh processes for Stowage's cold time, the median of their first solves", whole, 1)
  .option(
    '--warm <n>',
    "solves in one process for Stowage's warm time, 1 for none; otherwise as many as compile the code and take seconds",
    whole,
  )
  .option(
    '--without <list>',
    `pieces of the search that do nothing, to see what they are worth: ${pieceNames.join(', ')}`,
    pieceList,
    [],
  )
  .option('--no-peer', 'Stowage alone')
  .option('--peer-max-pods <n>', 'no Karpenter for larger cases', whole, 20_000)
  .option('--timeout <seconds>', 'for one plan of Stowage', whole, 300)
  .option('--peer-timeout <seconds>', "for Karpenter's plans of one case together", whole, 900)
  .option('--json <file>', 'write every result there')
  .option('--markdown <file>', 'write the summary there')
  .option('--consolidate', 'instead of plans: consolidate under-used clusters until nothing is left to gain')
  .option('--interruptions [messages]', 'instead of plans: handle so many interruption notices on a new stack')
  .option('--interrupted [nodes]', 'instead of plans: so many nodes are interrupted at once; until each is tainted')
  .option('--ending <nodes>', 'nodes whose instances take their time to end meanwhile, for --interrupted', whole, 150)
  .addOption(
    new Option('--mix <name>', "of the notices: an account's instances over their lives, or each another instance")
      .choices(mixes)
      .default('account'),
  )
  .option('--launches [claims]', 'instead of plans: launch so many at once on a cloud that throttles as EC2 does')
  .option(
    '--hostile [objects]',
    'instead of plans: ordinary pods without and with so many hostile objects beside them, others in each of --cases',
  )
  .option('--at-once', 'for --hostile: all of them in one plan, in others for each of --repeats')
  .option('--kwok', "instead of plans: the KWOK provider's 1,000 pods scaled down to 700, then consolidated")
  .option('--kwok-simulated', 'the same in simulated time by the decisions of Stowage alone: --cases of them')
  .option('--consolidate-after <duration>', 'of the NodePool, for --kwok-simulated', '30s')
  .option('--budget <nodes>', "of the NodePool's disruption, for --kwok-simulated", '10%')
  .option('--keep <folder>', 'write the case files there and keep them')
  .action(async (options: BenchOptions) => {
    process.exitCode = await bench(options);
  });

/** Fills the interruption queue of a new stack, and says how long it took until Temporal had every notice. */
async function floodStack(count: number, mix: Mix): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'stowage-flood-'));
  const stack = await startStack({ folder, name: 'flood', parts: ['cloud', 'temporal'] });
  try {
    Object.assign(process.env, { AWS_ACCESS_KEY_ID: 'local', AWS_SECRET_ACCESS_KEY: 'local' });
    const { awsEndpoint = '', region, temporalAddress = '' } = stack;
    const result = await flood({ awsEndpoint, region, temporalAddress, cluster: 'flood' }, count, mix);
    const { messages, instances, workflows, ignored, seconds, cpuSeconds } = result;
    process.stdout.write(
      `${messages} messages (${mix}) taken in within ${seconds.toFixed(1)} s (${cpuSeconds.toFixed(1)} s of CPU): ` +
        `${workflows} workflows for ${instances} instances, ${ignored} messages ignored\n`,
    );
    return workflows === instances ? 0 : 1;
  } finally {
    await stack.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Interrupts so many nodes at once, on a new Temporal server, and says how long each waited until it was tainted. */
async function interruptOnStack(count: number, ending: number): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'stowage-interrupted-'));
  const stack = await startStack({ folder, name: 'interrupted', parts: ['temporal'] });
  try {
    const { tainted, cpuSeconds } = await interruptAll(stack.temporalAddress ?? '', count, ending);
    const at = (share: number): string =>
      `${((tainted[Math.floor(share * (tainted.length - 1))] ?? 0) / 1000).toFixed(1)} s`;
    process.stdout.write(
      `${tainted.length} of ${count} nodes tainted while ${ending} instances end: first after ${at(0)}, half after ${at(0.5)}, ` +
        `the last after ${at(1)} (${cpuSeconds.toFixed(1)} s of CPU)\n`,
    );
    return tainted.length === count ? 0 : 1;
  } finally {
    await stack.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Launches so many claims at once, first under the request budget that Stowage counts on, then under half of it. */
async function launchOnStack(count: number): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'stowage-launches-'));
  Object.assign(process.env, { AWS_ACCESS_KEY_ID: 'local', AWS_SECRET_ACCESS_KEY: 'local' });
  let wrong = 0;
  for (const budget of fleetBudgets) {
    const stack = await startStack({ folder, name: 'launches', parts: ['cloud'] });
    try {
      const result = await launchAtOnce(stack, count, budget);
      wrong += result.wrong;
      process.stdout.write(
        `${result.claims} launches at once, CreateFleet ${budget.burst} + ${budget.perSecond}/s: ${result.instances} instances ` +
          `in ${result.seconds.toFixed(1)} s by ${result.fleets} requests, of which ${result.throttled} were throttled\n`,
      );
    } finally {
      await stack.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  }
  return wrong === 0 ? 0 : 1;
}

/** Many of something at once, where that is asked for. */
function loadOf(options: BenchOptions): (() => Promise<number>) | undefined {
  const { launches, interruptions, interrupted, mix, ending } = options;
  const many = (count: string | true, usual: number): number => (count === true ? usual : whole(count));
  if (launches !== undefined) return () => launchOnStack(many(launches, 500));
  if (interruptions !== undefined) return () => floodStack(many(interruptions, 15_000), mix);
  if (interrupted !== undefined) return () => interruptOnStack(many(interrupted, 1000), ending);
  return undefined;
}

async function bench(options: BenchOptions): Promise<number> {
  const underLoad = loadOf(options);
  if (underLoad !== undefined) return underLoad();
  if (options.hostile !== undefined) return besideHostile(options);
  if (options.kwokSimulated === true) return scaleDownSimulated(options);
  const peer = options.peer ? await Peer.ready(say) : undefined;
  const timeouts = { timeoutMs: options.timeout * 1000, peerTimeoutMs: options.peerTimeout * 1000 };
  if (options.kwok === true) return scaleDown(peer, options, timeouts);
  if (options.consolidate === true) {
    const results: ConsolidationResult[] = [];
    await forEachCase({ ...options, kinds: options.kinds ?? clusterKinds }, async (files) => {
      const result = await measureConsolidations(peer, files, timeouts);
      results.push(result);
      say(`${caseName(files)}: ${['done', ...result.problems].join('\n    ')}`);
      // An interrupted run keeps its results so far.
      keep(results, options);
    });
    return report(results, options);
  }
  const results: PlanResult[] = [];
  await forEachCase(options, async (files) => {
    const { repeats, cold: coldRepeats, warm: warmRepeats = usualWarm(files.size), peerMaxPods, without } = options;
    const result = await measurePlans(peer, files, {
      repeats,
      coldRepeats,
      warmRepeats,
      peerMaxPods,
      without,
      ...timeouts,
    });
    results.push(result);
    say(progress(result));
  });
  const all = summaries(results);
  process.stdout.write(`${planTable(results)}\n${summaryTable(all)}\n`);
  if (options.json !== undefined)
    writeFileSync(options.json, `${JSON.stringify({ summaries: all, results }, null, 1)}\n`);
  if (options.markdown !== undefined) writeFileSync(options.markdown, `${summaryMarkdown(all)}\n`);
  return results.some((result) => result.problems.length > 0) ? 1 : 0;
}

function besideHostile({
  hostile,
  kinds: chosen = ['benchmark-mix'],
  sizes,
  firstSeed,
  repeats,
  cases,
  atOnce,
}: BenchOptions): number {
  const objects = hostile === true ? 100 : whole(hostile ?? '');
  const pods = sizes?.each?.[0] ?? 1000;
  if (atOnce === true) {
    const result = measureStates(chosen[0]!, { pods, objects, firstSeed, repeats });
    process.stdout.write(stateText(result));
    return result.lost > 0 ? 1 : 0;
  }
  if (cases > 1) {
    const result = measureTenant(chosen[0]!, { pods, objects, firstSeed, cases }, (soFar) => say(tenantText(soFar)));
    process.stdout.write(tenantText(result));
    return result.lost > 0 ? 1 : 0;
  }
  const results = measureHostile(chosen[0]!, { pods, objects, seed: firstSeed, repeats }, ({ beside }) =>
    say(`${beside}: done`),
  );
  process.stdout.write(`${hostileTable(results)}\n`);
  return results.some(({ lost }) => lost > 0) ? 1 : 0;
}

async function scaleDownSimulated(options: BenchOptions): Promise<number> {
  const { cases, firstSeed, consolidateAfter, budget: nodes } = options;
  const results = [];
  for (let seed = firstSeed; seed < firstSeed + cases; seed++) {
    results.push(await simulateScaleDown(seed, { replicas, pool: { consolidateAfter, nodes } }, say));
  }
  process.stdout.write(`${simulationTable(results, boundOf(kwokPods(2 * replicas.before)))}\n`);
  return 0;
}

async function scaleDown(
  peer: Peer | undefined,
  options: BenchOptions,
  timeouts: { timeoutMs: number; peerTimeoutMs: number },
): Promise<number> {
  const folder = options.keep ?? mkdtempSync(join(tmpdir(), 'stowage-bench-'));
  try {
    const all: ConsolidationResult[] = [];
    for (const { size, seed } of sized(options, [1000])) {
      const { results, bound } = await measureScaleDown(peer, folder, { size, seed }, timeouts);
      all.push(...results);
      for (const { kind, stowage, karpenter, problems } of results) {
        const over = (price = NaN): string => `${((price / bound - 1) * 100).toFixed(1)}%`;
        const both = `Stowage ${over(stowage?.priceAfter)}, Karpenter ${over(karpenter?.priceAfter)}`;
        say([`${kind} #${seed}: over the bound of ${bound.toFixed(2)}: ${both}`, ...problems].join('\n    '));
      }
    }
    return report(all, options);
  } finally {
    if (options.keep === undefined) rmSync(folder, { recursive: true, force: true });
  }
}

function keep(results: readonly ConsolidationResult[], { json }: Pick<BenchOptions, 'json'>): void {
  if (json !== undefined) writeFileSync(json, `${JSON.stringify({ results }, null, 1)}\n`);
}

function report(results: readonly ConsolidationResult[], { json }: BenchOptions): number {
  const summary = consolidationSummary(results);
  process.stdout.write(`${consolidationTable(results)}\n${summary === undefined ? '' : `${summary}\n`}`);
  keep(results, { json });
  return results.some((result) => result.problems.length > 0) ? 1 : 0;
}

async function forEachCase(options: BenchOptions, measure: (files: CaseFiles) => Promise<void>): Promise<void> {
  const folder = options.keep ?? mkdtempSync(join(tmpdir(), 'stowage-bench-'));
  try {
    for (const { kind, size, seed } of chosenCases(options)) {
      const files = makeCase(folder, kind, size, seed);
      await measure(files);
      if (options.keep === undefined) rmSync(join(folder, caseName(files)), { recursive: true, force: true });
    }
  } finally {
    if (options.keep === undefined) rmSync(folder, { recursive: true, force: true });
  }
}

function chosenCases(options: BenchOptions): { kind: Kind; size: number; seed: number }[] {
  const chosen = options.kinds ?? kinds.filter((kind) => !specialKinds.includes(kind));
  return chosen.flatMap((kind) => sized(options, usualSizes[kind]).map((each) => ({ kind, ...each })));
}

/** Every size with every seed; of a range, a size for each seed. */
function sized(
  { sizes, cases, firstSeed }: BenchOptions,
  usual: readonly number[],
): readonly { size: number; seed: number }[] {
  const seeds = Array.from({ length: cases }, (_, i) => firstSeed + i);
  const { from, to, each = usual } = sizes ?? {};
  if (from === undefined || to === undefined) return each.flatMap((size) => seeds.map((seed) => ({ size, seed })));
  return seeds.map((seed) => ({ size: new Random(seed).int(from, to), seed }));
}

function progress(result: PlanResult): string {
  const { stowage, comparable } = result;
  const price = stowage === undefined ? 'no plan' : `${stowage.price.toFixed(3)}/h in ${stowage.coldMs.toFixed(1)} ms`;
  const against = comparable === undefined ? '' : `, Karpenter ${comparable.price.toFixed(3)}/h`;
  const note = orderNote(result);
  const lines = [...result.problems, ...(note === undefined ? [] : [note])].map((line) => `\n    ${line}`);
  return `${caseName(result)}: ${price}${against}${lines.join('')}`;
}

program
  .command('generate')
  .description('write the files of one case')
  .requiredOption('--kind <kind>', `one of ${kinds.join(', ')}`, oneKind)
  .requiredOption('--size <n>', 'pods (nodes for cluster)', whole)
  .option('--seed <n>', '', whole, 1)
  .option('--traits <list>', 'for corner: these traits alone', (text: string) => text.split(','))
  .requiredOption('--out <folder>', 'gets objects.json and catalogue.json')
  .action((options: { kind: Kind; size: number; seed: number; traits?: string[]; out: string }) => {
    const { kind, size, seed, traits, out } = options;
    const made = traits === undefined ? generate(kind, size, seed) : generateCorner(traits, size, seed);
    const { objects, catalogue } = writeCase(out, made);
    process.stdout.write(`--objects ${objects} --catalogue ${catalogue}\n`);
  });

program
  .command('check')
  .description('judge a plan that `stowage plan -o json` or the peer printed')
  .requiredOption('--objects <file>')
  .requiredOption('--catalogue <file>')
  .requiredOption('--plan <file>')
  .action((options: { objects: string; catalogue: string; plan: string }) => {
    const read = (file: string): unknown => JSON.parse(readFileSync(file, 'utf8'));
    const given = read(options.plan) as PlanJson | PlanJson[];
    for (const plan of Array.isArray(given) ? given : [given]) {
      const verdict = checkPlan(read(options.objects) as ObjectList, read(options.catalogue) as CatalogueEntry[], plan);
      process.stdout.write(
        `${JSON.stringify({ engine: plan.engine, price: plan.pricePerHour, ...verdict }, null, 1)}\n`,
      );
      if (verdict.violations.length > 0) process.exitCode = 1;
    }
  });

await program.parseAsync().catch(reportWhatIsMissing);
