import { compareText } from '../../core/compare-text.js';
import { age } from './status-table.js';
import { timeText } from './people-table.js';
import { counted } from '../../core/plurals.js';
import { hourly, renderTable } from './table.js';
import { lookUp } from '../../core/own.js';

/** One workflow that is over. */
export interface DoneRow {
  readonly workflowId: string;
  readonly kind: string;
  readonly reason: string;
  readonly nodePool: string;
  readonly nodeClaim: string;
  /** The phase in which it ended, or how it failed. */
  readonly outcome: string;
  /** Dollars per hour. */
  readonly savedPerHour: number;
  readonly startedAt: string;
  readonly closedAt: string;
}

export interface ActivityReport {
  /** ISO 8601. */
  readonly since: string;
  /** Whether there was more than the list holds. */
  readonly truncated: boolean;
  readonly rows: readonly DoneRow[];
}

const shownLast = 10;

const titles: Readonly<Record<string, string>> = {
  launch: 'nodes launched',
  terminate: 'nodes terminated',
  consolidate: 'consolidations',
  drift: 'drift rollouts',
  expire: 'expiries',
  interrupt: 'interruptions',
  repair: 'repairs',
  replace: 'replacements',
};

/** Workflows that end because their node went for another reason: what they are called after did not happen. */
const cameToNothing: ReadonlySet<string> = new Set(['expire gone', 'repair gone', 'replace gone', 'launch gone']);

/** What did something to a node; entities, questions and upkeep did not (surfaces/report-what-happened). */
const happened = ({ kind, outcome }: DoneRow): boolean =>
  lookUp(titles, kind) !== undefined && !cameToNothing.has(`${kind} ${outcome}`);

/** What was done, for a person: sums by kind, reason and outcome, then the last few with their nodes. */
export function reportText({ rows, truncated }: ActivityReport, since: string): string {
  const shown = rows.filter(happened);
  if (shown.length === 0) return `Nothing was done in the last ${since}.\n`;
  const more = truncated ? `Only the newest ${rows.length} are counted.\n\n` : '';
  return `${more}${sums(shown)}\n\n${last(shown)}\n\n${total(shown, since)}${measuredText(rows)}\n`;
}

/** Savings count where the move was carried out. */
const saved = ({ kind, outcome, savedPerHour }: DoneRow): number =>
  kind === 'consolidate' && outcome === 'done' ? savedPerHour : 0;

function sums(rows: readonly DoneRow[]): string {
  const groups = new Map<string, { head: readonly string[]; count: number; saved: number; longestMs: number }>();
  for (const row of rows) {
    const head = [lookUp(titles, row.kind) ?? row.kind, row.reason, row.outcome];
    const key = head.join('|');
    const group = groups.get(key) ?? { head, count: 0, saved: 0, longestMs: 0 };
    const tookMs = Date.parse(row.closedAt) - Date.parse(row.startedAt);
    groups.set(key, {
      head,
      count: group.count + 1,
      saved: group.saved + saved(row),
      longestMs: Math.max(group.longestMs, tookMs),
    });
  }
  const lines = [...groups].sort(([a], [b]) => compareText(a, b)).map(([, group]) => group);
  return renderTable(
    ['WHAT', 'REASON', 'OUTCOME', 'COUNT', 'LONGEST', 'SAVES PER HOUR'],
    lines.map(({ head, count, saved: sum, longestMs }) => [
      ...head,
      count,
      age(longestMs),
      sum === 0 ? '' : hourly(sum),
    ]),
  );
}

function last(rows: readonly DoneRow[]): string {
  const newest = [...rows].sort((a, b) => (a.closedAt < b.closedAt ? 1 : -1)).slice(0, shownLast);
  return renderTable(
    ['ENDED', 'WHAT', 'NODEPOOL', 'NODECLAIM', 'REASON', 'OUTCOME', 'TOOK'],
    newest.map(({ closedAt, startedAt, kind, nodePool, nodeClaim, reason, outcome }) => [
      timeText(closedAt),
      kind,
      nodePool,
      nodeClaim,
      reason,
      outcome,
      age(Date.parse(closedAt) - Date.parse(startedAt)),
    ]),
  );
}

/** What finished commands were found to save, as `measureSavings` measured it last: a day after each. */
function measuredText(rows: readonly DoneRow[]): string {
  const measured = rows.filter(({ kind, outcome }) => kind === 'savings' && outcome === 'done');
  if (measured.length === 0) return '';
  const sum = measured.reduce((all, { savedPerHour }) => all + savedPerHour, 0);
  return ` ${counted(measured.length, 'command')} measured a day later: ${hourly(sum)} per hour really saved.`;
}

const forcedText = (forced: number): string => (forced === 0 ? '' : ` (${forced} by force)`);

function total(rows: readonly DoneRow[], since: string): string {
  const sum = rows.reduce((all, row) => all + saved(row), 0);
  const count = (kind: string, outcome?: string): number =>
    rows.filter((row) => row.kind === kind && (outcome === undefined || row.outcome === outcome)).length;
  const ended = count('terminate', 'terminated') + count('terminate', 'forced');
  const nodes = `${counted(count('launch', 'initialized'), 'node')} launched, ${ended} terminated${forcedText(count('terminate', 'forced'))}`;
  return `In the last ${since}: ${nodes}; consolidation is to save ${hourly(sum)} per hour.`;
}
