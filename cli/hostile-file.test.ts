import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { pod } from '../test/cases/objects.js';
import { consolidateOffline } from './consolidate.js';
import { planOffline } from './plan.js';

const folder = mkdtempSync(join(tmpdir(), 'stowage-hostile-'));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

const names = ['constructor', '__proto__', 'toString', 'hasOwnProperty', 'valueOf'];

// "Contained" 1: the pod that ended planning for everybody, and its like.
describe('files with names such as `__proto__`', () => {
  const items = names.map((name, i) => {
    const each = pod(`odd-${i}`, {}, { cpu: '100m' });
    const nodeSelector = Object.fromEntries([[name, 'a']]);
    return { ...each, spec: { ...each.spec, nodeSelector } };
  });
  const objects = join(folder, 'objects.json');
  writeFileSync(
    objects,
    JSON.stringify({ kind: 'List', apiVersion: 'v1', items: [pod('good', {}, { cpu: '100m' }), ...items] }),
  );
  const options = {
    objects: ['examples/nodepool.yaml', objects],
    catalogue: 'examples/instance-types.json',
    preferencePolicy: 'Respect',
    minValuesPolicy: 'Strict',
  } as const;

  test('are planned: each pod has its reason, and no stack trace is printed', () => {
    const text = planOffline({ ...options, output: 'table', repeat: 1 });

    expect(text).toContain('1 node for 1 pod');
    for (const name of names) expect(text).toContain(name);
    expect(text).not.toMatch(/\n\s+at |TypeError|is not a function/);
  });

  test('are consolidated', () => {
    expect(consolidateOffline({ ...options, output: 'table', spotToSpot: false })).not.toMatch(/\n\s+at |TypeError/);
  });
});
