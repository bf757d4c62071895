import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { describeSettings } from '../../../process/settings.js';
import { withSettings } from './chart-schema.mjs';
import { settingsPage } from './page.mjs';

/** Prettier pads the columns of a table. */
const bare = (text: string): string => text.replaceAll(/ +/g, ' ').replaceAll(/-{3,}/g, '---');

test('docs/settings.md is current (npm run generate)', () => {
  expect(bare(readFileSync('docs/settings.md', 'utf8'))).toBe(bare(settingsPage(describeSettings())));
});

test('the chart has the settings of `stowage run` and no others (npm run generate)', () => {
  const schema = JSON.parse(readFileSync('deploy/chart/values.schema.json', 'utf8')) as object;

  expect(schema).toEqual(withSettings(schema, describeSettings()));
});
