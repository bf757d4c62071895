import { compareText, counted, onOneLine } from '../../core/text.js';
import type { DoneRow, Forced, OrderGiven } from './activity.js';
import { savedBy, titleOf, type ActivityReport, type ReasonSum, type Totals } from './sums.js';
import { age } from '../output/status-table.js';
import { hourly, renderTable } from '../output/table.js';
import { timeText } from '../../core/time.js';

const shownLast = 10;
/** Maximum number of orders and forced drains shown, newest first. */
const shownPeople = 20;

/** The report as text: a summary sentence, totals by reason, forced drains, orders, and the last actions. */
export function reportText(given: ActivityReport, since: string): string {
  const report = onOneLine(given);
  const { rows, reasons, forced, orders, notes } = report;
  const parts = [
    rows.length + orders.length + report.measured.length === 0
      ? `Nothing was done in the last ${since}.`
      : `In the last ${since}: ${headline(report.totals)}`,
    ...(reasons.length === 0 ? [] : [`By reason\n${reasonTable(reasons)}`]),
    ...(forced.length === 0 ? [] : [`Forced\n${forcedTable(forced.slice(-shownPeople))}`]),
    ...(orders.length === 0 ? [] : [`Orders by people\n${orderTable(orders.slice(-shownPeople))}`]),
    ...(rows.length === 0 ? [] : [`All that was done\n${sums(rows)}`, `The last of it\n${last(rows)}`]),
    ...notes,
  ];
  return `${parts.join('\n\n')}\n`;
}

/** The summary sentence. */
export function headline(totals: Totals): string {
  const { launched, terminated, forced, predictedPerHour } = totals;
  const byForce = forced === 0 ? '' : ` (${forced} by force)`;
  const nodes = `${counted(launched, 'node')} launched, ${terminated} terminated${byForce}`;
  return `${nodes}; consolidation is expected to save ${hourly(predictedPerHour)} per hour.${measuredText(totals)}`;
}

/** Measured savings of completed commands, an hour or a day after each. */
function measuredText({ measuredCommands, measuredPredictedPerHour, measuredRealisedPerHour }: Totals): string {
  if (measuredCommands === 0) return '';
  const found = `${hourly(measuredRealisedPerHour)} per hour actually saved of ${hourly(measuredPredictedPerHour)} predicted`;
  return ` ${counted(measuredCommands, 'command')} measured afterwards: ${found}.`;
}

const dollarsOr = (amount: number, count: number): string => (count === 0 ? '' : hourly(amount));

const reasonTable = (reasons: readonly ReasonSum[]): string =>
  renderTable(
    [
      'REASON',
      'NODES TERMINATED',
      'BY FORCE',
      'COMMANDS',
      'PREDICTED PER HOUR',
      'MEASURED',
      'OF PREDICTED',
      'REALISED',
    ],
    reasons.map((sum) => [
      sum.reason === '' ? '-' : sum.reason,
      ...[sum.terminated, sum.forced, sum.commands],
      dollarsOr(sum.predictedPerHour, sum.commands),
      sum.measuredCommands,
      dollarsOr(sum.measuredPredictedPerHour, sum.measuredCommands),
      dollarsOr(sum.measuredRealisedPerHour, sum.measuredCommands),
    ]),
  );

const forcedTable = (forced: readonly Forced[]): string =>
  renderTable(
    ['AT', 'NODEPOOL', 'NODECLAIM', 'BY', 'WHAT'],
    forced.map(({ at, nodePool, nodeClaim, by, what }) => [timeText(at), nodePool, nodeClaim, by, what]),
  );

const orderTable = (orders: readonly OrderGiven[]): string =>
  renderTable(
    ['AT', 'ORDER', 'ABOUT', 'BY', 'BECAUSE'],
    orders.map((order) => [timeText(order.at), orderText(order), order.about, order.by, order.because]),
  );

/** `approve --force`. */
export const orderText = ({ order, isForced }: OrderGiven): string => `${order}${isForced ? ' --force' : ''}`;

function sums(rows: readonly DoneRow[]): string {
  const groups = new Map<string, { head: readonly string[]; count: number; saved: number; longestMs: number }>();
  for (const row of rows) {
    const head = [titleOf(row.kind), row.reason, row.outcome];
    const key = head.join('|');
    const group = groups.get(key) ?? { head, count: 0, saved: 0, longestMs: 0 };
    groups.set(key, {
      head,
      count: group.count + 1,
      saved: group.saved + savedBy(row),
      longestMs: Math.max(group.longestMs, tookMs(row)),
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

export const tookMs = ({ startedAt, closedAt }: DoneRow): number => Date.parse(closedAt) - Date.parse(startedAt);

/** The newest first. */
export const newestOf = (rows: readonly DoneRow[], most: number): readonly DoneRow[] =>
  rows.toSorted((a, b) => compareText(b.closedAt, a.closedAt)).slice(0, most);

function last(rows: readonly DoneRow[]): string {
  return renderTable(
    ['ENDED', 'WHAT', 'NODEPOOL', 'NODECLAIM', 'REASON', 'OUTCOME', 'TOOK'],
    newestOf(rows, shownLast).map((row) => [
      timeText(row.closedAt),
      ...[row.kind, row.nodePool, row.nodeClaim, row.reason, row.outcome],
      age(tookMs(row)),
    ]),
  );
}
