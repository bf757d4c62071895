import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KubernetesObject, Pod } from '../../api/kubernetes.js';
import { packingInputOfFiles } from '../../cli/plan.js';
import { plan } from '../../packing/plan.js';
import type { PackingInput, Plan, Resume } from '../../packing/types.js';
import { writeCase } from './case-files.js';
import { hostileObjects, hostilePods, hostilePools, podTraits } from '../../test/cases/hostile/index.js';
import { generate, type Case, type Kind } from '../../test/cases/index.js';
import { Random } from '../../test/cases/random.js';
import { median } from './median.js';

/** The objects beside the ordinary pods: a mix of everything, pods of one trait, or NodePools alone. */
type Beside = (random: Random, count: number) => KubernetesObject[];

const besides: Readonly<Record<string, Beside>> = {
  mix: hostileObjects,
  pods: hostilePods,
  ...Object.fromEntries(
    podTraits.map((trait) => [trait, (random: Random, count: number) => hostilePods(random, count, [trait])]),
  ),
  pools: hostilePools,
};

export interface HostileResult {
  readonly beside: string;
  readonly objects: number;
  /** Milliseconds of processor time of a pass over the ordinary pods alone, and beside the others. */
  readonly alone: number;
  readonly with: number;
  /** Ordinary pods that are placed alone and not beside the others. */
  readonly lost: number;
  /** Passes until every pod has had its turn, and milliseconds of the longest: an ordinary pod that comes waits no longer for its own. */
  readonly passes: number;
  readonly longest: number;
  readonly leftOut: number;
}

const mostPasses = 2000;
/** Passes until the code is compiled, so that the first kind is not the slowest. */
const warmUps = 20;

/** Plans the ordinary pods of a case without and with hostile objects beside them. */
export function measureHostile(
  kind: Kind,
  { pods, objects, seed, repeats }: { pods: number; objects: number; seed: number; repeats: number },
  say: (result: HostileResult) => void,
  only = Object.keys(besides),
): HostileResult[] {
  const { made, alone, before } = ordinaryPods(kind, pods, seed);
  const ordinary = namesOf(made.objects);
  const results: HostileResult[] = [];
  for (const beside of only) {
    const count = beside === 'pools' ? Math.min(300, objects) : objects;
    const input = inputOf({ ...made, objects: [...made.objects, ...besides[beside]!(new Random(seed), count)] });
    const times = timed(repeats, [() => plan(alone), () => plan(input)]);
    const result = plan(input);
    const there = placed(result);
    const found = {
      beside,
      objects: count,
      alone: times[0]!,
      with: times[1]!,
      lost: ordinary.filter((pod) => before.has(pod) && !there.has(pod)).length,
      ...passesOf(input),
      leftOut: result.setAside?.length ?? 0,
    };
    say(found);
    results.push(found);
  }
  return results;
}

/** A case, the input of planning it with nothing beside it, and the pods that are placed then; all code is compiled by then. */
function ordinaryPods(kind: Kind, pods: number, seed: number) {
  const made = generate(kind, pods, seed);
  const alone = inputOf(made);
  for (let i = 0; i < warmUps; i++) plan(alone);
  return { made, alone, before: placed(plan(alone)) };
}

export interface TenantResult {
  readonly objects: number;
  readonly ordinary: number;
  /** Ordinary pods that are placed alone and not beside the others, of all plans. */
  readonly lost: number;
  /** Milliseconds of processor time of a pass over the ordinary pods alone, the median. */
  readonly alone: number;
  /** The same of the first pass that sees the others, and of the next. */
  readonly first: readonly number[];
  readonly next: readonly number[];
}

/** One plan after the other beside other mixed objects each, as many as `cases`: a tenant whose objects count by the thousand. */
export function measureTenant(
  kind: Kind,
  { pods, objects, firstSeed, cases }: { pods: number; objects: number; firstSeed: number; cases: number },
  say: (result: TenantResult) => void,
): TenantResult {
  const { made, alone, before } = ordinaryPods(kind, pods, firstSeed);
  const times = { alone: [] as number[], first: [] as number[], next: [] as number[] };
  let lost = 0;
  const result = (): TenantResult => ({
    ...times,
    objects: objects * times.first.length,
    ordinary: before.size,
    lost,
    alone: median(times.alone),
  });
  for (let seed = firstSeed; seed < firstSeed + cases; seed++) {
    const input = inputOf({ ...made, objects: [...made.objects, ...hostileObjects(new Random(seed), objects)] });
    let found: Plan | undefined;
    times.first.push(cpuOf(() => (found = plan(input))));
    times.next.push(cpuOf(() => plan(input)));
    times.alone.push(cpuOf(() => plan(alone)));
    const there = placed(found!);
    lost += [...before].filter((pod) => !there.has(pod)).length;
    if (times.first.length % 50 === 0) say(result());
  }
  return result();
}

export interface StateResult {
  readonly objects: number;
  readonly ordinary: number;
  readonly lost: number;
  /** Of each state: a pass over the ordinary pods alone, the first pass that sees the others, and the next. */
  readonly alone: readonly Times[];
  readonly first: readonly Times[];
  readonly next: readonly Times[];
  /** The most memory that the process had, MB: the objects, what is made of them, and what made them. */
  readonly peakMb: number;
}

/** Milliseconds of processor time, and by the clock. */
interface Times {
  readonly cpu: number;
  readonly wall: number;
}

/** No cluster has more, and users may not write any. */
const mostPools = 300;
/** Objects of one file: a text has a longest length. */
const objectsPerFile = 2000;

/** All hostile objects beside the ordinary pods at once, in a new state for each of `repeats`. */
export function measureStates(
  kind: Kind,
  { pods, objects, firstSeed, repeats }: { pods: number; objects: number; firstSeed: number; repeats: number },
): StateResult {
  const { made, alone, before } = ordinaryPods(kind, pods, firstSeed);
  const times = { alone: [] as Times[], first: [] as Times[], next: [] as Times[] };
  let lost = 0;
  let count = 0;
  for (let seed = firstSeed; seed < firstSeed + repeats; seed++) {
    const hostile = hostileState(seed, objects);
    count = hostile.length;
    const input = withMore(alone, made, hostile);
    let found: Plan | undefined;
    times.alone.push(timesOf(() => plan(alone)));
    times.first.push(timesOf(() => (found = plan(input))));
    times.next.push(timesOf(() => plan(input)));
    const there = placed(found!);
    lost += [...before].filter((pod) => !there.has(pod)).length;
  }
  return { ...times, objects: count, ordinary: before.size, lost, peakMb: process.resourceUsage().maxRSS / 1024 };
}

function hostileState(seed: number, count: number): KubernetesObject[] {
  let pools = 0;
  const made = hostileObjects(new Random(seed), count);
  return made.filter(({ kind }) => kind !== 'NodePool' || ++pools <= mostPools);
}

/** The input with more objects, as they come from files; of annotations without those that the cache of a worker does not keep either. */
function withMore(input: PackingInput, made: Case, more: readonly KubernetesObject[]): PackingInput {
  const [types] = input.catalogues.values();
  const catalogues = new Map(input.catalogues);
  const objects: Record<string, readonly unknown[]> = { ...input.objects };
  for (let from = 0; from < more.length; from += objectsPerFile) {
    const some = more.slice(from, from + objectsPerFile);
    const bare = some.map((each) => ({ ...each, metadata: { ...each.metadata, annotations: {} } }));
    for (const [list, found] of Object.entries(inputOf({ ...made, objects: bare }).objects) as [string, unknown[]][])
      objects[list] = [...(objects[list] ?? []), ...found];
  }
  const all = objects as unknown as PackingInput['objects'];
  for (const { metadata } of all.nodePools) catalogues.set(metadata.name ?? '', types!);
  return { ...input, objects: all, catalogues };
}

function timesOf(run: () => unknown): Times {
  const started = performance.now();
  const cpu = cpuOf(run);
  return { cpu, wall: performance.now() - started };
}

/** Until a plan begins after the last pod, at least (provisioning/batch-window). */
const windowMs = 1000;

export function stateText({ objects, ordinary, lost, alone, first, next, peakMb }: StateResult): string {
  const of = (times: readonly Times[]): string => {
    const cpu = median(times.map((each) => each.cpu));
    const wall = median(times.map((each) => each.wall));
    const base = { cpu: median(alone.map((each) => each.cpu)), wall: median(alone.map((each) => each.wall)) };
    const waits = (windowMs + wall) / (windowMs + base.wall);
    return `${cpu.toFixed(0)} ms (${(cpu / base.cpu).toFixed(2)} times; ${wall.toFixed(0)} ms by the clock, with the batch window ${waits.toFixed(2)} times)`;
  };
  return (
    `${objects} objects in one plan of ${ordinary} ordinary pods, ${first.length} such: ${lost} of these lost; processor time of a pass, the median: ` +
    `${of(alone)} without, ${of(first)} the first that sees the others, ${of(next)} the next; ${peakMb.toFixed(0)} MB at most\n`
  );
}

export function tenantText({ objects, ordinary, lost, alone, first, next }: TenantResult): string {
  const of = (times: readonly number[]): string => {
    const sorted = [...times].sort((a, b) => a - b);
    const at = (share: number): string => `${sorted[Math.floor((sorted.length - 1) * share)]!.toFixed(0)} ms`;
    return `${at(0.5)} (${(median(times) / alone).toFixed(2)} times; 99 of 100 ${at(0.99)}, the longest ${at(1)})`;
  };
  return (
    `${objects} objects in ${first.length} plans of ${ordinary} ordinary pods: ${lost} of these lost; processor time of a pass, the median: ` +
    `${alone.toFixed(0)} ms without, ${of(first)} the first that sees the others, ${of(next)} the next\n`
  );
}

/** A row for each kind of objects that stood beside the ordinary pods. */
export function hostileTable(results: readonly HostileResult[]): string {
  const rows = results.map(({ beside, objects, alone, with: both, lost, passes, longest }) =>
    [
      ...[beside, objects, `${alone.toFixed(0)} ms`, `${both.toFixed(0)} ms`, (both / alone).toFixed(2), lost, passes],
      `${longest.toFixed(0)} ms`,
    ].join(' | '),
  );
  const head =
    'beside | objects | a pass without | with | times | ordinary pods lost | passes until all had a turn | the longest';
  return [head, '--- | --: | --: | --: | --: | --: | --: | --:', ...rows].map((row) => `| ${row} |`).join('\n');
}

/** Milliseconds of processor time, which say less of what else the machine does than a clock. */
function cpuOf(run: () => unknown): number {
  const before = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** In turn, so that what else the machine does falls on both; the median of each. */
function timed(repeats: number, runs: readonly (() => unknown)[]): number[] {
  const times = runs.map((): number[] => []);
  for (let i = 0; i < repeats; i++) {
    runs.forEach((run, at) => {
      times[at]!.push(cpuOf(run));
    });
  }
  return times.map((each) => median(each));
}

function inputOf(made: Case): PackingInput {
  const folder = mkdtempSync(join(tmpdir(), 'stowage-hostile-'));
  try {
    const { objects, catalogue } = writeCase(folder, made);
    return packingInputOfFiles({
      objects: [objects],
      catalogue,
      preferencePolicy: 'Respect',
      minValuesPolicy: 'Strict',
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const namesOf = (objects: readonly KubernetesObject[]): string[] =>
  objects
    .filter(({ kind }) => kind === 'Pod')
    .filter((pod) => (pod as Pod).spec.nodeName === undefined)
    .map(({ metadata }) => `${metadata.namespace ?? ''}/${metadata.name ?? ''}`);

const placed = ({ newNodeClaims, existingNodes }: Plan): Set<string> =>
  new Set([...newNodeClaims, ...existingNodes].flatMap(({ pods }) => pods));

function passesOf(input: PackingInput): Pick<HostileResult, 'passes' | 'longest'> {
  let { pods } = input.objects;
  let resume: Resume | undefined;
  let longest = 0;
  for (let passes = 1; ; passes++) {
    const pass = { ...input, objects: { ...input.objects, pods }, ...(resume && { resume }) };
    let result: Plan | undefined;
    longest = Math.max(
      longest,
      cpuOf(() => (result = plan(pass))),
    );
    const there = placed(result!);
    pods = pods.filter(({ metadata }) => !there.has(`${metadata.namespace ?? ''}/${metadata.name ?? ''}`));
    ({ resume } = result!);
    if (resume === undefined || passes === mostPasses) return { passes, longest };
  }
}
