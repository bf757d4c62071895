// Writes docs/settings.md, and what the chart's schema allows under `settings`, from the settings in the code: `npm run generate`.
import { build } from 'esbuild';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { withSettings } from './settings/chart-schema.mjs';
import { settingsPage } from './settings/page.mjs';
import { root } from '../root.mjs';

const outfile = join(root, 'node_modules/.cache/stowage-settings/settings.mjs');
const entry = join(root, 'process/settings.ts');
await build({
  entryPoints: [entry],
  outfile,
  bundle: true,
  format: 'esm',
  platform: 'node',
  packages: 'external',
  logLevel: 'error',
});
const { describeSettings } = await import(outfile);
const write = async (name, text) => {
  const file = join(root, name);
  writeFileSync(file, await format(text, { ...(await resolveConfig(file)), filepath: file }));
};
await write('docs/settings.md', settingsPage(describeSettings()));
const schema = 'deploy/chart/values.schema.json';
const known = JSON.parse(readFileSync(join(root, schema), 'utf8'));
await write(schema, JSON.stringify(withSettings(known, describeSettings())));
