// Writes the manifests of the custom resources to deploy/crds/, one file a kind: `npm run generate`.
import { build } from 'esbuild';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { root } from '../root.mjs';

const bundle = join(root, 'node_modules/.cache/stowage-crds/crds.mjs');
const folder = join(root, 'deploy/crds');

await build({
  entryPoints: [join(root, 'api/crds.ts')],
  outfile: bundle,
  bundle: true,
  format: 'esm',
  platform: 'node',
  packages: 'external',
  logLevel: 'error',
});
const { crdManifests } = await import(bundle);

mkdirSync(folder, { recursive: true });
for (const file of readdirSync(folder)) if (file.endsWith('.yaml')) rmSync(join(folder, file));
for (const manifest of crdManifests()) {
  const text = stringify(manifest, { lineWidth: 0, aliasDuplicateObjects: false });
  writeFileSync(join(folder, `${manifest.metadata.name}.yaml`), text);
}
