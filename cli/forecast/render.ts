import { counted, listedNames, onOneLine } from '../../core/text.js';
import { renderTable } from '../output/table.js';
import { dollarsText } from './summary.js';
import type { Forecast, DriftTurn } from './types.js';

/** Part of a forecast as people read it. */
interface Section {
  readonly title: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
}

/** A name or value of an object, or a text. */
type Cell = { readonly code: string } | string | number;

const shownRows = 20;

function sectionsOf(given: Forecast): Section[] {
  const found = onOneLine(given);
  const sections: Section[] = [
    {
      title: 'Refused by the API server',
      head: ['AT', 'OBJECT', 'FIELD', 'WHY'],
      rows: found.refused.map(({ at, object, field, why }) => [code(at), code(object), code(field), why]),
    },
    {
      title: 'Changes',
      head: ['OBJECT', 'CHANGE', 'FIELD', 'FROM', 'TO'],
      rows: found.objects.flatMap(({ object, change, fields }): Cell[][] =>
        fields.length === 0
          ? [[code(object), change, '', '', '']]
          : fields.map(({ field, from, to }) => [code(object), change, code(field), code(from), code(to)]),
      ),
    },
    { title: 'Nodes', head: ['NODEPOOL', 'WHAT', 'NODES', 'WHICH'], rows: nodeRows(found) },
    ...turnSections(found),
    {
      title: 'Drifted nodes that stay',
      head: ['NODEPOOL', 'NODE', 'WHY'],
      rows: found.stays.map(({ pool, node, why }) => [code(pool), code(node), why]),
    },
    {
      title: 'Pods without a place',
      head: ['POD', 'RUNS ON', 'WHY'],
      rows: found.withoutPlace.map(({ pod, node, why }) => [code(pod), code(node), why]),
    },
    { title: 'Pending pods that get a node', head: ['POD'], rows: found.placed.map((pod) => [code(pod)]) },
    { title: 'Price', head: ['NODEPOOL', 'NODES', 'THEN', 'PER HOUR', 'THEN'], rows: priceRows(found) },
    {
      title: 'Left out: nothing here depends on it',
      head: ['AT', 'OBJECT', 'WHY'],
      rows: found.skipped.map(({ at, object, why }) => [code(at), code(object), why]),
    },
    { title: 'Notes', head: ['NOTE'], rows: found.notes.map((note) => [note]) },
  ];
  return sections.filter(({ rows }) => rows.length > 0);
}

const code = (text: string): Cell => ({ code: text });

const reasonsOfGoing: Readonly<Record<Forecast['disruptions'][number]['reason'], string>> = {
  Deleted: 'removed with its NodePool',
  Drifted: 'replaced for drift',
  Empty: 'removed as empty',
  Underutilized: 'consolidated',
};

function nodeRows({ drifted, noLongerDrifted, disruptions, launches }: Forecast): Cell[][] {
  return [
    ...drifted.map(({ pool, reason, nodes }) => [
      code(pool),
      `drift: ${reason}`,
      nodes.length,
      code(listedNames(nodes)),
    ]),
    ...noLongerDrifted.map(({ pool, reason, nodes }) => [
      ...[code(pool), `no longer drift: ${reason}`, nodes.length, code(listedNames(nodes))],
    ]),
    ...disruptions.map(({ pool, reason, without, with: then, from, fromWithout }) => [
      ...[code(pool), reasonsOfGoing[reason], then],
      [
        ...(from === undefined ? [] : [`from ${from}`]),
        `${without} without the change${fromWithout === undefined ? '' : `, from ${fromWithout}`}`,
      ].join('; '),
    ]),
    ...launches.map(({ pool, instanceType, zone, capacityType, nodes, pricePerHour }) => [
      ...[
        code(pool),
        'launched',
        nodes,
        `${instanceType}, ${capacityType}, ${zone}: ${dollarsText(pricePerHour)} dollars an hour`,
      ],
    ]),
  ];
}

/** When drifted nodes go, if the change has an effect on that. */
function turnSections({ turns, turnsWithout }: Forecast): Section[] {
  if (JSON.stringify(turns) === JSON.stringify(turnsWithout)) return [];
  const hasWaves = [...turns, ...turnsWithout].some(({ wave }) => wave !== undefined);
  const head = ['NODEPOOL', ...(hasWaves ? ['WAVE'] : []), 'FROM', 'UNTIL ABOUT', 'NODES', 'WHICH'];
  const row = ({ pool, wave, from, until, nodes }: DriftTurn): Cell[] => [
    ...[code(pool), ...(hasWaves ? [wave ?? ''] : []), from, until, nodes.length, code(listedNames(nodes))],
  ];
  return [
    { title: 'When drifted nodes go', head, rows: turns.map(row) },
    { title: 'When they go without the change', head, rows: turnsWithout.map(row) },
  ];
}

function priceRows({ pools, pricePerHour, outcome, objects }: Forecast): Cell[][] {
  if (outcome === 'unchanged' || objects.length === 0) return [];
  const rows = pools.map(({ pool, nodesWithout, nodesWith, pricePerHourWithout, pricePerHourWith }): Cell[] => [
    ...[code(pool), nodesWithout, nodesWith, dollarsText(pricePerHourWithout), dollarsText(pricePerHourWith)],
  ]);
  const sum = (of: 'nodesWithout' | 'nodesWith'): number => pools.reduce((total, each) => total + each[of], 0);
  return [
    ...rows,
    ['all', sum('nodesWithout'), sum('nodesWith'), dollarsText(pricePerHour.without), dollarsText(pricePerHour.with)],
  ];
}

const explained =
  'Prices are of the cluster once pending pods have nodes, drifted nodes are replaced and nothing is left to consolidate, without and with the change. ' +
  'Drifted nodes are planned together, where live they go one by one. A replacement is taken to need ten minutes. Times are UTC.';

/** A forecast as text. */
export function forecastText(found: Forecast): string {
  const sections = sectionsOf(found).map(({ title, head, rows }) => {
    const shown = rows
      .slice(0, shownRows)
      .map((row) => row.map((cell) => (typeof cell === 'object' ? cell.code : cell)));
    const more =
      rows.length > shownRows
        ? `\n  ... and ${counted(rows.length - shownRows, 'more line')}; -o json lists them all`
        : '';
    return `${title}\n${renderTable(head, shown)}${more}`;
  });
  const end = found.objects.length === 0 ? [] : [explained];
  return `${[onOneLine(found.summary), ...sections, ...end].join('\n\n')}\n`;
}

/** A forecast as a comment on a pull request. */
export function forecastMarkdown(found: Forecast): string {
  const sections = sectionsOf(found).map(({ title, head, rows }) => {
    const lines = rows.slice(0, shownRows).map((row) => `| ${row.map(cellText).join(' | ')} |`);
    const table = [`| ${head.map(heading).join(' | ')} |`, `|${head.map(() => ' --- |').join('')}`, ...lines].join(
      '\n',
    );
    const more = rows.length > shownRows ? `\n\n… and ${counted(rows.length - shownRows, 'more line')}.` : '';
    if (rows.length <= 8) return `#### ${title}\n\n${table}${more}`;
    return `<details>\n<summary><b>${title}</b> (${rows.length})</summary>\n\n${table}${more}\n\n</details>`;
  });
  const end = found.objects.length === 0 ? [] : [`<sub>${explained}</sub>`];
  return `${[`**${escaped(onOneLine(found.summary))}**`, ...sections, ...end].join('\n\n')}\n`;
}

const heading = (text: string): string =>
  text === 'NODEPOOL' ? 'NodePool' : text.charAt(0) + text.slice(1).toLowerCase();

function cellText(cell: Cell): string {
  if (typeof cell !== 'object') return escaped(String(cell));
  if (cell.code === '') return '';
  // A fence longer than any in the text, and spaces so that the text may begin with one.
  const longest = Math.max(0, ...[...cell.code.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  const space = longest > 0 ? ' ' : '';
  return `${fence}${space}${cell.code.replaceAll('|', '\\|')}${space}${fence}`;
}

/** Text that Markdown shows as it is: without links, mentions and HTML. */
const escaped = (text: string): string =>
  text
    .replace(/[\\`*_{}[\]<>#|~]/g, '\\$&')
    .replace(/[@]/g, '@\u200b')
    .replace(/:\/\//g, ':\u200b//');
