import { expect, test } from 'vitest';
import { fileURLToPath } from 'node:url';
import { loadOffline } from './offline-code.js';
import { UsageError } from './exit.js';

const example = (name: string): string => fileURLToPath(new URL(`../examples/${name}`, import.meta.url));
const options = {
  objects: [example('cluster.json')],
  catalogue: example('instance-types.json'),
  output: 'json',
  repeat: 1,
  preferencePolicy: 'Respect',
  minValuesPolicy: 'Strict',
} as const;

test('offline commands run from sources where no bundle was built', async () => {
  const { planOffline } = await loadOffline({ once: false });
  const plan = JSON.parse(planOffline(options)) as { newNodeClaims: unknown[] };
  expect(plan.newNodeClaims.length).toBeGreaterThan(0);
});

test('errors of bundled commands are instances of the classes that main.ts catches', async () => {
  const { planOffline } = await loadOffline({ once: false });
  expect(() => planOffline({ ...options, catalogue: example('nodepool.yaml') })).toThrow(UsageError);
});
