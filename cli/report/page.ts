import { age } from '../output/status-table.js';
import { headline, newestOf, orderText, tookMs } from './report-table.js';
import { hourly } from '../output/table.js';
import { type ActivityReport, type ReasonSum, type TimePart, timeParts, titleOf } from './sums.js';
import { timeText } from '../../core/time.js';

/** A chart as SVG, rendered here so that the page needs no script. */
interface Chart {
  readonly title: string;
  /** Legend; the page renders it, since the width of text is known only there. */
  readonly legend: readonly { readonly name: string; readonly colour: string }[];
  readonly svg: string;
}

const size = { width: 920, height: 250 };
/** Distinguishable with colour blindness (Okabe and Ito, then Tol). */
const colours = [
  ...['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#f0e442', '#7f7f7f'],
  ...['#332288', '#117733', '#882255', '#999933'],
];
/** Nodes launched and removed over time. */
function nodesChart({ reasons }: ActivityReport, parts: readonly TimePart[]): Chart {
  const launched = { name: 'launched', data: parts.map((part) => part.launched), stack: 'launched' };
  const terminated = reasons.map(({ reason }, n) => ({
    name: `terminated: ${reasonText(reason)}`,
    data: parts.map((part) => part.terminated[n] ?? 0),
    stack: 'terminated',
  }));
  const shown = terminated.filter(({ data }) => data.some((count) => count > 0));
  return drawn('Nodes launched and terminated', {
    names: parts.map(({ from }) => new Date(from).toISOString().slice(5, 16).replace('T', ' ')),
    series: [launched, ...shown],
    unit: 'nodes',
  });
}

/** Predicted and measured savings of the same commands, by reason. */
function savingsChart({ reasons }: ActivityReport): Chart {
  const measured = reasons.filter(({ measuredCommands }) => measuredCommands > 0);
  const of = (name: string, amount: (sum: ReasonSum) => number) => ({ name, data: measured.map(amount) });
  return drawn('Savings of the commands that were measured, USD per hour', {
    names: measured.map(({ reason }) => reasonText(reason)),
    series: [
      of('predicted', ({ measuredPredictedPerHour }) => measuredPredictedPerHour),
      of('realised', ({ measuredRealisedPerHour }) => measuredRealisedPerHour),
    ],
    unit: 'USD per hour',
  });
}

const reasonText = (reason: string): string => (reason === '' ? 'no reason given' : reason);

interface Bars {
  readonly names: readonly string[];
  readonly series: readonly { readonly name: string; readonly data: readonly number[]; readonly stack?: string }[];
  readonly unit: string;
}

/** The part of the picture for bars, pixels. */
const plot = { left: 56, top: 28, width: size.width - 64, height: size.height - 60 };

function drawn(title: string, { names, series, unit }: Bars): Chart {
  const stacks = [...new Set(series.map(({ name, stack = name }) => stack))];
  const heightOf = (stack: string, at: number): number =>
    series.reduce((sum, { name, stack: own = name, data }) => (own === stack ? sum + (data[at] ?? 0) : sum), 0);
  const heights = names.flatMap((_, at) => stacks.map((stack) => heightOf(stack, at)));
  const [least, most] = [Math.min(0, ...heights), Math.max(0, ...heights)];
  const step = stepFor(most - least, unit === 'nodes' ? 1 : 0);
  const [bottom, top] = [Math.floor(least / step) * step, Math.ceil(most / step) * step];
  const y = (value: number): number => plot.top + (plot.height * (top - value)) / (top - bottom);
  const lines = Array.from({ length: Math.round((top - bottom) / step) + 1 }, (_, n) => bottom + n * step).map(
    (value) =>
      `<path d="M${plot.left} ${y(value)}h${plot.width}" stroke="#d8dee4"/><text x="${plot.left - 6}" y="${y(value) + 4}" text-anchor="end">${Number(value.toPrecision(6))}</text>`,
  );
  const slot = plot.width / names.length;
  const width = Math.min(32, (slot * 0.8) / stacks.length);
  const every = Math.ceil(90 / slot);
  const labels = names.map((name, at) =>
    at % every === 0
      ? `<text x="${plot.left + slot * (at + 0.5)}" y="${plot.top + plot.height + 18}" text-anchor="middle">${escaped(name)}</text>`
      : '',
  );
  const bars = names.flatMap((_, at) => {
    const filled = new Map<string, number>();
    return series.map(({ name, stack = name, data }, n) => {
      const [value, from] = [data[at] ?? 0, filled.get(stack) ?? 0];
      filled.set(stack, from + value);
      const x = plot.left + slot * (at + 0.5) + (stacks.indexOf(stack) - stacks.length / 2) * width;
      return value === 0
        ? ''
        : `<rect x="${x}" y="${y(Math.max(from, from + value))}" width="${width}" height="${Math.abs(y(from) - y(from + value))}" fill="${colours[n % colours.length]!}"/>`;
    });
  });
  return {
    title,
    legend: series.map(({ name }, n) => ({ name, colour: colours[n % colours.length]! })),
    svg: `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size.width} ${size.height}" role="img" aria-label="${escaped(title)}" font-size="12" fill="#24292f"><text x="0" y="14">${unit}</text>${[...lines, ...labels, ...bars].join('')}</svg>`,
  };
}

/** 1, 2 or 5 times a power of ten, at least `least`, that covers the range in at most six steps. */
function stepFor(range: number, least: number): number {
  if (range <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(range / 6));
  return Math.max(
    least,
    [1, 2, 5, 10].map((digit) => digit * power).find((step) => range / step <= 6)!,
  );
}

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
    table('What people ordered', ['At', 'Order', 'About', 'By', 'Because'], orderRows(report), 'No orders.'),
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
