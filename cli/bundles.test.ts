import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { isBundled, loadOffline, loadOnline } from './bundles.js';
import { UsageError } from './exit.js';
import { liveCommands } from './live-commands.js';

test('no bundle lies beside the sources, so tests run the sources', () => {
  expect([isBundled('offline'), isBundled('online')]).toEqual([false, false]);
});

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

test('online commands run from sources where no bundle was built', async () => {
  const online = await loadOnline();
  expect([...online.liveCommands.keys()]).toEqual([...liveCommands.keys()]);
  const { command } = await online.liveCommands.get('status')!();
  expect(command().helpInformation()).toContain('--watch');
});
