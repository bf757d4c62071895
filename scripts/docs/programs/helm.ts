import { existsSync, readFileSync } from 'node:fs';
import { valuesOf } from './described.js';
import { problemOfFile } from './page.js';
import type { Check, PageSoFar } from './page.js';
import { problemOfSet } from './values-schema.js';
import type { Schema } from './values-schema.js';

const ourChart = 'deploy/chart';
const schema = JSON.parse(readFileSync(`${ourChart}/values.schema.json`, 'utf8')) as Schema;

/** A folder, or a chart of a repository that the page added. */
function problemOfChart(chart: string | undefined, page: PageSoFar): string | undefined {
  if (chart === undefined) return 'names no chart';
  const [repository = ''] = chart.split('/');
  return existsSync(`${chart}/Chart.yaml`) || page.chartRepositories.has(repository)
    ? undefined
    : `there is no chart ${chart}`;
}

export const checkHelm: Check = (call, page) => {
  const [name = '', chart] = call.arguments;
  if (call.command === 'repo add') page.chartRepositories.add(name);
  const sets = valuesOf(call, '--set').flatMap((value) => value.split(/(?<!\\),/));
  return [
    // Alone it names the command in a sentence.
    ['install', 'upgrade'].includes(call.command) && name !== '' ? problemOfChart(chart, page) : undefined,
    ...(chart === ourChart ? sets.map((each) => problemOfSet(schema, each)) : []),
    ...valuesOf(call, '--values').map((path) => problemOfFile(path, page)),
  ];
};
