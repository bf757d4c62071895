// Writes the manifests of the custom resources to deploy/crds/, one file a kind, and to deploy/schemas/ the JSON schemas of
// stowage.dev in the layout of the CRDs catalog, which kubeconform and editors read: `npm run generate`.
import { build } from 'esbuild';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { root } from '../root.mjs';

const bundle = join(root, 'node_modules/.cache/stowage-crds/crds.mjs');
const folder = join(root, 'deploy/crds');
const schemas = join(root, 'deploy/schemas');

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

/** Strict: a field that the schema does not know is an error. */
function strict(schema) {
  if (Array.isArray(schema)) return schema.map(strict);
  if (schema === null || typeof schema !== 'object') return schema;
  const copy = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, strict(value)]));
  if (copy['x-kubernetes-int-or-string'] === true) copy.oneOf = [{ type: 'string' }, { type: 'integer' }];
  const isOpen = 'additionalProperties' in copy || copy['x-kubernetes-preserve-unknown-fields'] === true;
  return copy.type === 'object' && copy.properties !== undefined && !isOpen
    ? { ...copy, additionalProperties: false }
    : copy;
}

function writeSchema({ spec: { group, names, versions } }) {
  mkdirSync(join(schemas, group), { recursive: true });
  for (const { name, schema } of versions)
    writeFileSync(
      join(schemas, group, `${names.singular}_${name}.json`),
      `${JSON.stringify(strict(schema.openAPIV3Schema), null, 2)}\n`,
    );
}

rmSync(schemas, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
for (const file of readdirSync(folder)) if (file.endsWith('.yaml')) rmSync(join(folder, file));
for (const manifest of crdManifests()) {
  const text = stringify(manifest, { lineWidth: 0, aliasDuplicateObjects: false });
  writeFileSync(join(folder, `${manifest.metadata.name}.yaml`), text);
  if (manifest.spec.group === 'stowage.dev') writeSchema(manifest);
}
