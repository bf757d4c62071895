import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { readSettings } from '../process/settings.js';
import { createFakeKube } from '../test/simulation/kube/fake.js';
import { createManualClock } from '../test/builders/manual-clock.js';
import { installationChecks } from './doctor/installation.js';
import type { EngineReader } from './doctor/check.js';

const page = readFileSync('docs/troubleshooting.md', 'utf8');

describe('docs/troubleshooting.md', () => {
  test('has a row for each check of stowage doctor, and no other', () => {
    const unused: unknown = undefined;
    const checks = installationChecks({
      settings: readSettings({ CLUSTER_NAME: 'c' }),
      kube: createFakeKube(),
      engine: unused as EngineReader,
      accountOf: () => undefined,
      clock: createManualClock(),
    });
    const [, rest = ''] = page.split('## What stowage doctor checks');
    const [table = ''] = rest.split('\n## ');
    const rows = [...table.matchAll(/^\| `([a-z-]+)`/gm)].map(([, name]) => name);

    expect(rows).toEqual(checks.map(({ name }) => name));
  });
});
