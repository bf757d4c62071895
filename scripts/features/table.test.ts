import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { awsWellKnownLabels } from '../../api/aws/labels.js';
import { crdManifests } from '../../api/crds.js';
import { knownErrors } from '../../cloud/aws/error-table.js';
import { failures } from '../../core/failures.js';
import { describeSettings } from '../../process/settings.js';
import { errorsOf, featurePage, ownFeatures } from './table.mjs';
import type { TheirFeatures } from './table.mjs';

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8');
const theirs = JSON.parse(read('./karpenter-aws.json')) as TheirFeatures;
const ours = {
  ...ownFeatures(describeSettings(), awsWellKnownLabels, crdManifests()),
  errors: errorsOf(knownErrors, failures),
};
/** Tables as cells: how they are aligned does not matter. */
const cells = (page: string): string[] =>
  page.split('\n').map((line) => line.replace(/ +/g, ' ').replace(/-{3,}/g, '---'));

test('docs/aws-features.md is what the sources say (npm run features)', () => {
  expect(cells(read('../../docs/aws-features.md'))).toEqual(cells(featurePage(theirs, ours)));
});

test('what Karpenter has and Stowage has not needs a reason', () => {
  const fewer = { ...ours, settings: ours.settings.filter(({ name }) => name !== 'RESERVED_ENIS') };
  expect(() => featurePage(theirs, fewer)).toThrow('setting RESERVED_ENIS');
  expect(() => featurePage(theirs, { ...ours, fields: ours.fields.slice(1) })).toThrow(`field ${ours.fields[0]}`);
  const other = ours.settings.map((each) => (each.name === 'METRICS_PORT' ? { ...each, default: '9090' } : each));
  expect(() => featurePage(theirs, { ...ours, settings: other })).toThrow('METRICS_PORT');
});
