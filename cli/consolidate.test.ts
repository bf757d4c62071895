import { afterAll, describe, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generate } from '../bench/generate/index.js';
import { checkConsolidation, type ConsolidationJson } from '../test/checker/consolidation.js';
import { consolidateOffline, type ConsolidateOptions } from './consolidate.js';

const folder = mkdtempSync(join(tmpdir(), 'stowage-consolidate-'));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

const made = generate('cluster', 12, 3);
const objects = join(folder, 'objects.json');
const catalogue = join(folder, 'catalogue.json');
writeFileSync(objects, JSON.stringify({ kind: 'List', apiVersion: 'v1', items: made.objects }));
writeFileSync(catalogue, JSON.stringify(made.catalogue));
const options: ConsolidateOptions = {
  objects: [objects],
  catalogue,
  output: 'json',
  preferencePolicy: 'Respect',
  minValuesPolicy: 'Strict',
  spotToSpot: false,
};

describe('stowage consolidate', () => {
  const printed = JSON.parse(consolidateOffline(options)) as ConsolidationJson;

  test('prints commands that a judge can follow', () => {
    expect(printed.engine).toBe('stowage');
    expect(printed.nodesBefore).toBe(12);
    expect(printed.commands.length).toBeGreaterThan(0);
    expect(printed.priceAfter).toBeLessThan(printed.priceBefore);
    expect(checkConsolidation({ items: made.objects }, made.catalogue, printed).violations).toEqual([]);
  });

  test('takes nodes that say nothing of their state as ready and long at rest', () => {
    const bare = made.objects.map((object) =>
      object.kind === 'Node' || object.kind === 'NodeClaim'
        ? { ...object, status: { ...(object as { status?: object }).status, conditions: [] } }
        : object,
    );
    const file = join(folder, 'bare.json');
    writeFileSync(file, JSON.stringify({ kind: 'List', apiVersion: 'v1', items: bare }));
    const again = JSON.parse(consolidateOffline({ ...options, objects: [file] })) as ConsolidationJson;
    expect(again.commands).toEqual(printed.commands);
  });

  test('shows a person the steps, and what they come to', () => {
    const text = consolidateOffline({ ...options, output: 'table' });
    expect(text).toContain('NODES THAT GO');
    expect(text).toMatch(
      /12 nodes at \$\d+\.\d{4} per hour become \d+ at \$\d+\.\d{4}, in \d+ steps that move \d+ pods/,
    );
  });
});
