// node tools/docs/chart.mjs [--check]: writes what the chart has from elsewhere, or says what of it is not current: its README from the
// comments of values.yaml, copies of deploy/rbac.yaml and deploy/alerts.yaml, since Helm reads no files outside a chart, and the
// dashboards of dashboards/definitions.mjs.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { valuesTable } from './chart/values-table.mjs';
import { dashboards } from './dashboards/definitions.mjs';
import { grafanaJson } from './dashboards/grafana.mjs';

const deploy = join(dirname(fileURLToPath(import.meta.url)), '../../deploy');
const read = (name) => readFileSync(join(deploy, name), 'utf8');

/** What the generated files of the chart should hold, by their paths below deploy/chart. */
export function generatedFiles() {
  const [before, after] = read('chart/README.template.md').split('<!-- values -->\n');
  return {
    'files/rbac.yaml': read('rbac.yaml'),
    'files/alerts.yaml': read('alerts.yaml'),
    ...Object.fromEntries(dashboards.map((each) => [`files/dashboards/${each.name}.json`, grafanaJson(each)])),
    'README.md': `${before}${valuesTable(read('chart/values.yaml'))}${after}`,
  };
}

/** Those that do not hold it. */
export function outdatedFiles() {
  return Object.entries(generatedFiles())
    .filter(([name, text]) => !existsSync(join(deploy, 'chart', name)) || read(`chart/${name}`) !== text)
    .map(([name]) => `deploy/chart/${name}`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.argv.includes('--check')) {
    const outdated = outdatedFiles();
    for (const name of outdated) console.error(`${name} is not current: npm run generate writes it`);
    process.exitCode = outdated.length === 0 ? 0 : 1;
  } else {
    mkdirSync(join(deploy, 'chart', 'files', 'dashboards'), { recursive: true });
    for (const [name, text] of Object.entries(generatedFiles())) writeFileSync(join(deploy, 'chart', name), text);
  }
}
