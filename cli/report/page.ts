import { age } from '../output/status-table.js';
import { headline, newestOf, orderText, tookMs } from './report-table.js';
import { hourly } from '../output/table.js';
import { nodesChart, savingsChart, type Chart } from './charts.js';
import { timeParts, titleOf, type ActivityReport } from './sums.js';
import { timeText } from '../../core/time.js';

const shownLast = 100;

/** A cell of a table: text, or a figure of the report with its path in the JSON format. */
type Cell = string | { readonly path: string; readonly value: number; readonly shown: string };

/** The report as one self-contained HTML page: rendered charts, no scripts, no requests. */
export function reportPage(report: ActivityReport, since: string): string {
  const { cluster, totals } = report;
  const title = `Stowage report of ${cluster}`;
  return [
    '<!doctype html>',
    `<html lang="en"><head><meta charset="utf-8"><title>${escaped(title)}</title>`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<style>${style}</style></head><body><main>`,
    `<h1>${escaped(title)}</h1>`,
    `<p class="when">The last ${escaped(since)}: ${timeText(report.since)} to ${timeText(report.until)}</p>`,
    tiles(report),
    `<p>${escaped(headline(totals))}</p>`,
    ...charts(report).map(figure),
    ...tables(report),
    ...report.notes.map((note) => `<p class="note">${escaped(note)}</p>`),
    '</main></body></html>',
    '',
  ].join('\n');
}

function charts(report: ActivityReport): Chart[] {
  const { launched, terminated, measuredCommands } = report.totals;
  return [
    ...(launched + terminated > 0 ? [nodesChart(report, timeParts(report))] : []),
    ...(measuredCommands > 0 ? [savingsChart(report)] : []),
  ];
}

function figure({ title, legend, svg }: Chart): string {
  const entries = legend.map(
    ({ name, colour }) => `<li><span style="background:${colour}"></span>${escaped(name)}</li>`,
  );
  return `<figure><figcaption>${escaped(title)}</figcaption><ul class="legend">${entries.join('')}</ul>${svg}</figure>`;
}

function tiles({ totals }: ActivityReport): string {
  const figures: readonly [string, Cell][] = [
    ['nodes launched', count('totals.launched', totals.launched)],
    ['nodes terminated', count('totals.terminated', totals.terminated)],
    ['of them by force', count('totals.forced', totals.forced)],
    ['predicted savings per hour', price('totals.predictedPerHour', totals.predictedPerHour)],
    ...(totals.measuredCommands === 0
      ? []
      : ([
          [
            'realised per hour, of what was measured',
            price('totals.measuredRealisedPerHour', totals.measuredRealisedPerHour),
          ],
        ] satisfies [string, Cell][])),
  ];
  const each = figures.map(([label, cell]) => `<div><dt>${escaped(label)}</dt>${element('dd', cell)}</div>`);
  return `<dl class="tiles">${each.join('')}</dl>`;
}

function tables(report: ActivityReport): string[] {
  return [
    table('By reason', reasonHead, reasonRows(report), 'Nothing was disrupted.'),
    table('What was forced', ['At', 'NodePool', 'NodeClaim', 'By', 'What'], forcedRows(report), 'Nothing was forced.'),
    table('What people ordered', ['At', 'Order', 'About', 'By', 'Because'], orderRows(report), 'Nobody gave an order.'),
    table(
      'What was done',
      ['Ended', 'What', 'NodePool', 'NodeClaim', 'Reason', 'Outcome', 'Took'],
      doneRows(report),
      'Nothing.',
    ),
  ];
}

const reasonHead = [
  'Reason',
  'Nodes terminated',
  'By force',
  'Commands',
  'Predicted per hour',
  'Measured',
  'Of predicted',
  'Realised',
];

const reasonRows = ({ reasons }: ActivityReport): Cell[][] =>
  reasons.map((sum, n) => {
    const path = (field: string): string => `reasons.${n}.${field}`;
    return [
      sum.reason === '' ? 'no reason given' : sum.reason,
      count(path('terminated'), sum.terminated),
      count(path('forced'), sum.forced),
      count(path('commands'), sum.commands),
      sum.commands === 0 ? '' : price(path('predictedPerHour'), sum.predictedPerHour),
      count(path('measuredCommands'), sum.measuredCommands),
      sum.measuredCommands === 0 ? '' : price(path('measuredPredictedPerHour'), sum.measuredPredictedPerHour),
      sum.measuredCommands === 0 ? '' : price(path('measuredRealisedPerHour'), sum.measuredRealisedPerHour),
    ];
  });

const forcedRows = ({ forced }: ActivityReport): Cell[][] =>
  forced.map(({ at, nodePool, nodeClaim, by, what }) => [timeText(at), nodePool, nodeClaim, by, what]);

const orderRows = ({ orders }: ActivityReport): Cell[][] =>
  orders.map((order) => [timeText(order.at), orderText(order), order.about, order.by, order.because]);

const doneRows = ({ rows }: ActivityReport): Cell[][] =>
  newestOf(rows, shownLast).map((row) => [
    ...[timeText(row.closedAt), titleOf(row.kind), row.nodePool, row.nodeClaim, row.reason, row.outcome],
    age(tookMs(row)),
  ]);

const count = (path: string, value: number): Cell => ({ path, value, shown: String(value) });
const price = (path: string, value: number): Cell => ({ path, value, shown: hourly(value) });

function table(title: string, head: readonly string[], rows: readonly Cell[][], empty: string): string {
  if (rows.length === 0) return `<h2>${title}</h2><p>${empty}</p>`;
  const heads = head
    .map((each, n) => `<th${rows.some((row) => isFigure(row[n])) ? ' class="figure"' : ''}>${each}</th>`)
    .join('');
  const lines = rows.map((row) => `<tr>${row.map((cell) => element('td', cell)).join('')}</tr>`);
  return `<h2>${title}</h2><div class="wide"><table><thead><tr>${heads}</tr></thead><tbody>\n${lines.join('\n')}\n</tbody></table></div>`;
}

const isFigure = (cell: Cell | undefined): boolean => typeof cell === 'object';

function element(name: 'td' | 'dd', cell: Cell): string {
  if (typeof cell === 'string') return `<${name}>${escaped(cell)}</${name}>`;
  const { path, value, shown } = cell;
  return `<${name} class="figure" data-path="${path}" data-value="${value}">${shown}</${name}>`;
}

const marks: ReadonlyMap<string, string> = new Map([
  ['&', '&amp;'],
  ['<', '&lt;'],
  ['>', '&gt;'],
  ['"', '&quot;'],
  ["'", '&#39;'],
]);

/** Escapes text of users. */
const escaped = (text: string): string => text.replace(/[&<>"']/g, (each) => marks.get(each) ?? each);

const style = `
body { margin: 0; font: 14px/1.5 system-ui, sans-serif; color: #24292f; background: #fff; }
main { max-width: 960px; margin: 0 auto; padding: 24px 20px 64px; }
h1 { font-size: 24px; margin: 0; }
h2 { font-size: 17px; margin: 36px 0 8px; }
.when, .note { color: #57606a; margin: 4px 0 20px; }
.tiles { display: flex; flex-wrap: wrap; gap: 12px; margin: 20px 0; }
.tiles div { flex: 1 1 150px; border: 1px solid #d0d7de; border-radius: 6px; padding: 10px 14px; }
.tiles dt { color: #57606a; font-size: 12px; }
.tiles dd { margin: 2px 0 0; font-size: 22px; font-variant-numeric: tabular-nums; }
figure { margin: 32px 0 0; }
figcaption { font-weight: 600; margin-bottom: 8px; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: 4px 16px; margin: 0 0 4px; padding: 0; font-size: 12px; }
.legend span { display: inline-block; width: 12px; height: 12px; border-radius: 2px; margin-right: 6px; vertical-align: -1px; }
svg { max-width: 100%; height: auto; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: 5px 14px 5px 0; border-bottom: 1px solid #d8dee4; vertical-align: top; }
th { font-weight: 600; }
th.figure { text-align: right; }
td.figure { text-align: right; font-variant-numeric: tabular-nums; }
@media print { main { max-width: none; } }
`;
