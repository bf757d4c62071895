// Writes docs/settings.md from the settings in the code: `npm run settings`.
import { build } from 'esbuild';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { settingsPage } from './settings/page.mjs';

const root = join(fileURLToPath(import.meta.url), '..', '..');
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
const file = join(root, 'docs/settings.md');
const page = settingsPage(describeSettings());
writeFileSync(file, await format(page, { ...(await resolveConfig(file)), filepath: file }));
