import Table from 'cli-table3';
import { median } from './median.js';
import { orderNote, type PlanResult } from './plans.js';

export const bare = {
  chars: { mid: '', 'left-mid': '', 'mid-mid': '', 'right-mid': '' },
  style: { head: [], border: [], compact: true },
};

const dash = '-';
const number = (value: number | undefined, digits = 0): string =>
  value === undefined || !Number.isFinite(value) ? dash : value.toFixed(digits);
const percent = (ratio: number | undefined): string =>
  ratio === undefined || !Number.isFinite(ratio) ? dash : `${(ratio * 100).toFixed(1)}%`;

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** A line a case, both engines side by side. */
export function planTable(results: readonly PlanResult[]): string {
  const table = new Table({
    ...bare,
    head: [
      'case',
      'pods S/K',
      'nodes S/K',
      'price S',
      'price K',
      'saved',
      'bound',
      'over',
      'broken S/K',
      'kept S/K',
      'ms S cold',
      'warm',
      'whole',
      'ms K',
      'faster cold',
      'warm',
      'MB S/K',
    ],
    colAligns: ['left', ...new Array<'right'>(16).fill('right')],
  });
  for (const result of results) table.push(row(result));
  return table.toString();
}

function row(result: PlanResult): string[] {
  const { stowage, karpenter } = result;
  const best = bestRun(result);
  return [
    `${result.kind} ${result.size} #${result.seed}`,
    `${number(stowage?.placed)}/${number(best?.placed)}`,
    `${number(stowage?.nodes)}/${number(best?.nodes)}`,
    number(stowage?.price, 3),
    number(best?.price, 3),
    percent(savedOf(result)),
    number(boundOf(result), 3),
    percent(overBound(result)),
    `${number(stowage?.violations.length)}/${brokenRuns(result)}`,
    `${percent(stowage?.preferencesKept)}/${percent(best?.preferencesKept)}`,
    number(stowage?.coldMs, 1),
    number(stowage?.warmMs, 1),
    number(stowage?.wallMs, 0),
    number(karpenterMs(result), 0),
    ratio(speedup(result, 'coldMs')),
    ratio(speedup(result, 'warmMs')),
    `${number(stowage?.maxRssMb)}/${number(karpenter?.maxRssMb)}`,
  ];
}

const brokenRuns = (result: PlanResult): string =>
  result.karpenter?.runs.map((run) => run.violations.length).join(',') ?? dash;

const ratio = (value: number | undefined): string =>
  value === undefined || !Number.isFinite(value) ? dash : `${value.toFixed(value < 10 ? 1 : 0)}x`;

/** Karpenter's run that places most, the cheapest of them. */
function bestRun(result: PlanResult): NonNullable<PlanResult['karpenter']>['runs'][number] | undefined {
  return [...(result.karpenter?.runs ?? [])].sort((a, b) => b.placed - a.placed || a.price - b.price)[0];
}

const karpenterMs = (result: PlanResult): number | undefined =>
  result.karpenter && median(result.karpenter.runs.map((run) => run.ms));

/** The first solve of a fresh process, or a later one, against Karpenter's median. */
function speedup(result: PlanResult, solve: 'coldMs' | 'warmMs'): number | undefined {
  const ms = karpenterMs(result);
  return ms === undefined || result.stowage === undefined ? undefined : ms / result.stowage[solve];
}

/** What Stowage saves of Karpenter's best price, where both place the same pods. */
function savedOf(result: PlanResult): number | undefined {
  if (result.comparable === undefined || result.stowage === undefined || result.comparable.price <= 0) return undefined;
  return 1 - result.stowage.price / result.comparable.price;
}

/** The better of the checker's bound and the engine's own, for plans that keep the same preferences on at most as many nodes. */
const boundOf = (result: PlanResult): number => Math.max(result.lowerBound, result.stowage?.comparableBound ?? 0);

function overBound(result: PlanResult): number | undefined {
  const bound = boundOf(result);
  return result.stowage === undefined || bound <= 0 ? undefined : result.stowage.price / bound - 1;
}

export interface Summary {
  readonly kind: string;
  readonly cases: number;
  readonly comparable: number;
  readonly meanSaved: number | undefined;
  readonly worstSaved: number | undefined;
  readonly meanOverBound: number | undefined;
  readonly medianOverBound: number | undefined;
  readonly worstOverBound: number | undefined;
  readonly medianSpeedup: number | undefined;
  readonly leastSpeedup: number | undefined;
  readonly medianWarmSpeedup: number | undefined;
  readonly leastWarmSpeedup: number | undefined;
  readonly dearer: number;
  /** Cases in which a plan of Karpenter's costs less, but depends on the order of binding. */
  readonly cheaperInOrder: number;
  readonly fewerPods: number;
  readonly morePods: number;
  readonly brokenStowage: number;
  readonly brokenKarpenter: number;
}

const defined = <T>(values: readonly (T | undefined)[]): T[] => values.filter((value) => value !== undefined);
const orNothing = (values: readonly number[], of: (values: readonly number[]) => number): number | undefined =>
  values.length === 0 ? undefined : of(values);

/** What the cases of one kind come to. */
export function summarize(kind: string, results: readonly PlanResult[]): Summary {
  const saved = defined(results.map(savedOf));
  const over = defined(results.map(overBound));
  const speed = defined(results.map((result) => speedup(result, 'coldMs')));
  const warm = defined(results.map((result) => speedup(result, 'warmMs')));
  const placedMore = (result: PlanResult): number =>
    result.stowage === undefined ? 0 : result.stowage.placed - (bestRun(result)?.placed ?? result.stowage.placed);
  return {
    kind,
    cases: results.length,
    comparable: saved.length,
    meanSaved: orNothing(saved, mean),
    worstSaved: orNothing(saved, (values) => Math.min(...values)),
    meanOverBound: orNothing(over, mean),
    medianOverBound: orNothing(over, median),
    worstOverBound: orNothing(over, (values) => Math.max(...values)),
    medianSpeedup: orNothing(speed, median),
    leastSpeedup: orNothing(speed, (values) => Math.min(...values)),
    medianWarmSpeedup: orNothing(warm, median),
    leastWarmSpeedup: orNothing(warm, (values) => Math.min(...values)),
    dearer: results.filter((result) => result.problems.some((problem) => problem.startsWith('dearer'))).length,
    cheaperInOrder: results.filter((result) => orderNote(result) !== undefined).length,
    fewerPods: results.filter((result) => placedMore(result) < 0).length,
    morePods: results.filter((result) => placedMore(result) > 0).length,
    brokenStowage: results.filter((result) => (result.stowage?.violations.length ?? 1) > 0).length,
    brokenKarpenter: results.filter(
      (result) => result.karpenter?.runs.some((run) => run.violations.length > 0) === true,
    ).length,
  };
}

export function summaries(results: readonly PlanResult[]): Summary[] {
  const kinds = [...new Set(results.map(({ kind }) => kind))];
  const each = kinds.map((kind) =>
    summarize(
      kind,
      results.filter((result) => result.kind === kind),
    ),
  );
  return kinds.length > 1 ? [...each, summarize('all', results)] : each;
}

const summaryHead = [
  'kind',
  'cases',
  'same pods',
  'saved, mean',
  'worst',
  'over bound, mean',
  'median',
  'worst',
  'faster cold, median',
  'least',
  'faster warm, median',
  'least',
  'dearer',
  'in order',
  'fewer pods',
  'more pods',
  'broken S',
  'broken K',
];

function summaryRow(summary: Summary): string[] {
  return [
    summary.kind,
    String(summary.cases),
    String(summary.comparable),
    percent(summary.meanSaved),
    percent(summary.worstSaved),
    percent(summary.meanOverBound),
    percent(summary.medianOverBound),
    percent(summary.worstOverBound),
    ratio(summary.medianSpeedup),
    ratio(summary.leastSpeedup),
    ratio(summary.medianWarmSpeedup),
    ratio(summary.leastWarmSpeedup),
    String(summary.dearer),
    String(summary.cheaperInOrder),
    String(summary.fewerPods),
    String(summary.morePods),
    String(summary.brokenStowage),
    String(summary.brokenKarpenter),
  ];
}

export function summaryTable(all: readonly Summary[]): string {
  const table = new Table({ ...bare, head: summaryHead, colAligns: ['left', ...new Array<'right'>(17).fill('right')] });
  for (const summary of all) table.push(summaryRow(summary));
  return table.toString();
}

/** The same for docs/benchmarks.md. */
export function summaryMarkdown(all: readonly Summary[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [
    line(summaryHead),
    line(summaryHead.map((_, i) => (i === 0 ? '---' : '--:'))),
    ...all.map(summaryRow).map(line),
  ].join('\n');
}
