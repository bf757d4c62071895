import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { planOffline } from './plan.js';

test('the README shows what its command prints', () => {
  const text = planOffline({
    objects: ['examples/cluster.json'],
    catalogue: 'examples/instance-types.json',
    output: 'table',
    repeat: 1,
    preferencePolicy: 'Respect',
    minValuesPolicy: 'Strict',
  });

  expect(readFileSync('README.md', 'utf8')).toContain(text.replace(/, planned in [\d.]+ ms/, ''));
});
