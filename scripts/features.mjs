// Writes docs/aws-features.md, the feature table against Karpenter's AWS provider: `npm run features`.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { errorsOf, featurePage, ownFeatures } from './features/table.mjs';

const root = join(fileURLToPath(import.meta.url), '..', '..');
execFileSync(process.execPath, [join(root, 'scripts', 'build.mjs')], { stdio: 'inherit' });
const of = (path) => import(join(root, 'dist', path));
const [{ describeSettings }, { awsWellKnownLabels }, { crdManifests }, { knownErrors }, { failures }] =
  await Promise.all(
    ['process/settings.js', 'api/aws/labels.js', 'api/crds.js', 'cloud/aws/error-table.js', 'core/failures.js'].map(of),
  );
const theirs = JSON.parse(readFileSync(join(root, 'scripts/features/karpenter-aws.json'), 'utf8'));
const file = join(root, 'docs/aws-features.md');
const page = featurePage(theirs, {
  ...ownFeatures(describeSettings(), awsWellKnownLabels, crdManifests()),
  errors: errorsOf(knownErrors, failures),
});
writeFileSync(file, await format(page, { ...(await resolveConfig(file)), filepath: file }));
