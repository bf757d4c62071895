import { z } from 'zod';
import { compareText } from '../../core/text.js';
import { lookUp } from '../../core/own.js';
import { type Activity, activity, type DoneRow } from './activity.js';

const dollars = z.number().describe('dollars per hour');

/** Totals of all actions, or of those for one reason. */
const sums = z.object({
  terminated: z.number(),
  forced: z.number().describe('terminated nodes that were forced'),
  commands: z.number().describe('completed consolidation commands'),
  predictedPerHour: dollars.describe('their predicted saving, dollars per hour'),
  measuredCommands: z.number(),
  measuredPredictedPerHour: dollars,
  measuredRealisedPerHour: dollars,
});
type Sums = z.infer<typeof sums>;

const totals = sums.extend({ launched: z.number() });
export type Totals = z.infer<typeof totals>;

const reasonSum = sums.extend({ reason: z.string() });
export type ReasonSum = z.infer<typeof reasonSum>;

/** The content of `stowage report`, in each format and in the API. */
export const reportSchema = activity.extend({ totals, reasons: z.array(reasonSum).readonly() });
export type ActivityReport = z.infer<typeof reportSchema>;

/** Titles of workflow kinds that act on nodes. */
const titles: Readonly<Record<string, string>> = {
  launch: 'nodes launched',
  terminate: 'nodes terminated',
  consolidate: 'consolidations',
  drift: 'drift rollouts',
  expire: 'expirations',
  interrupt: 'interruptions',
  repair: 'repairs',
  replace: 'replacements',
};

/** Workflows that ended because their node was removed for another reason: their action did not happen. */
const cameToNothing: ReadonlySet<string> = new Set([
  'expire gone',
  'expire not due',
  'repair gone',
  'replace gone',
  'launch gone',
]);

export const titleOf = (kind: string): string => lookUp(titles, kind) ?? kind;

/** Whether workflows of the kind act on nodes. */
export const isOfNodes = (kind: string): boolean => lookUp(titles, kind) !== undefined;

/** Whether the workflow acted on a node; entities, queries and maintenance did not (surfaces/report-what-happened). */
export const happened = ({ kind, outcome }: DoneRow): boolean =>
  isOfNodes(kind) && !cameToNothing.has(`${kind} ${outcome}`);

/** Savings count if the command was completed. */
export const savedBy = ({ kind, outcome, savedPerHour }: DoneRow): number =>
  isCommand({ kind, outcome }) ? savedPerHour : 0;

const isCommand = ({ kind, outcome }: Pick<DoneRow, 'kind' | 'outcome'>): boolean =>
  kind === 'consolidate' && outcome === 'done';

/** A node counts as launched when initialized, and as removed when its termination completed. */
const isLaunched = ({ kind, outcome }: DoneRow): boolean => kind === 'launch' && outcome === 'initialized';
const isTerminated = ({ kind, outcome }: DoneRow): boolean =>
  kind === 'terminate' && (outcome === 'terminated' || outcome === 'forced');

/** The same for every format: workflows without effect are not rows. */
export function reportOf(activity: Activity): ActivityReport {
  const rows = activity.rows.filter(happened);
  return { ...activity, rows, totals: totalsOf(activity), reasons: reasonsOf(activity) };
}

const totalsOf = (activity: Activity): Totals => ({
  launched: activity.rows.filter(isLaunched).length,
  ...sumsOf(activity),
});

function reasonsOf({ rows, measured }: Activity): readonly ReasonSum[] {
  const acted = rows.filter((row) => isTerminated(row) || isCommand(row));
  const names = [...new Set([...acted, ...measured].map(({ reason }) => reason))].sort(compareText);
  return names.map((reason) => {
    const own = <T extends { readonly reason: string }>(all: readonly T[]): T[] =>
      all.filter((one) => one.reason === reason);
    return { reason, ...sumsOf({ rows: own(rows), measured: own(measured) }) };
  });
}

/** Sums of all of them. */
export function sumsOf({ rows, measured }: Pick<Activity, 'rows' | 'measured'>): Sums {
  const terminated = rows.filter(isTerminated);
  return {
    terminated: terminated.length,
    forced: terminated.filter(({ outcome }) => outcome === 'forced').length,
    commands: rows.filter(isCommand).length,
    predictedPerHour: dollarsIn(rows.map(savedBy)),
    measuredCommands: measured.length,
    measuredPredictedPerHour: dollarsIn(measured.map(({ predictedPerHour }) => predictedPerHour)),
    measuredRealisedPerHour: dollarsIn(measured.map(({ realisedPerHour }) => realisedPerHour)),
  };
}

const dollarsIn = (amounts: readonly number[]): number =>
  Math.round(amounts.reduce((all, each) => all + each, 0) * 1e6) / 1e6;

/** Nodes in one interval of the report's time. */
export interface TimePart {
  /** Milliseconds of the epoch. */
  readonly from: number;
  readonly launched: number;
  /** In the order of the reasons of the report. */
  readonly terminated: readonly number[];
}

const minute = 60_000;
const lengths = [1, 5, 15, 30, 60, 180, 360, 720, 1440, 10_080].map((minutes) => minutes * minute);
const mostParts = 48;

/** The report's time in equal intervals, at most 48 unless that would make them longer than a week. */
export function timeParts({ since, until, rows, reasons: all }: ActivityReport): readonly TimePart[] {
  const [from, to] = [Date.parse(since), Date.parse(until)];
  const length = lengths.find((each) => (to - from) / each <= mostParts) ?? lengths.at(-1)!;
  const first = Math.floor(from / length) * length;
  const count = Math.max(1, Math.ceil((to - first) / length));
  return Array.from({ length: count }, (_, n) => {
    const start = first + n * length;
    const own = rows.filter(({ closedAt }) => {
      const at = Date.parse(closedAt);
      return at >= start && at < start + length;
    });
    const gone = own.filter(isTerminated);
    return {
      from: start,
      launched: own.filter(isLaunched).length,
      terminated: all.map(({ reason }) => gone.filter((row) => row.reason === reason).length),
    };
  });
}
