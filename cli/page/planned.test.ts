import { afterAll, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { instanceType, packingInput, podsOf } from '../../test/builders/packing-fixtures.js';
import { generate } from '../../test/cases/index.js';
import { consolidateOffline, type ConsolidateOptions } from '../consolidate.js';
import { consolidationSnapshot, planSnapshot } from './planned.js';
import { pageSnapshot } from './snapshot.js';

const folder = mkdtempSync(join(tmpdir(), 'stowage-page-'));
afterAll(() => rmSync(folder, { recursive: true }));

test('the page of a plan has its nodes with their pods, what they cost, and the pods without a node', () => {
  const pods = [...podsOf(4, 'web', { cpu: '2' }), ...podsOf(1, 'huge', { cpu: '64' })];
  const page = planSnapshot(packingInput({ pods }, { types: [instanceType('small', { cpu: 4, price: 0.2 })] }));
  expect(pageSnapshot.parse(page)).toEqual(page);
  expect(page.nodes.every(({ state, type }) => state === 'launching' && type === 'small')).toBe(true);
  expect(page.nodes.flatMap((node) => node.pods.map(([, count]) => count)).reduce((a, b) => a + b, 0)).toBe(4);
  expect(page.pricePerHour).toBeCloseTo(page.nodes.reduce((sum, { pricePerHour }) => sum + pricePerHour, 0));
  expect(page.leastPossiblePerHour).toBeLessThanOrEqual(page.pricePerHour);
  expect(page.waiting).toMatchObject([{ count: 1, pods: ['default/huge-0'] }]);
});

test('the page of a consolidation has the same steps as its JSON, and moves begin where the pod is by then', () => {
  const made = generate('cluster', 12, 3);
  const [objects, catalogue] = [join(folder, 'objects.json'), join(folder, 'catalogue.json')];
  writeFileSync(objects, JSON.stringify({ kind: 'List', apiVersion: 'v1', items: made.objects }));
  writeFileSync(catalogue, JSON.stringify(made.catalogue));
  const options: ConsolidateOptions = {
    ...{ objects: [objects], catalogue, output: 'json', preferencePolicy: 'Respect' },
    ...{ minValuesPolicy: 'Strict', spotToSpot: false },
  };
  const printed = JSON.parse(consolidateOffline(options, () => undefined)) as {
    commands: { candidates: string[]; moves: { pod: string; to: string }[] }[];
    priceBefore: number;
  };
  const page = consolidationSnapshot(options, () => undefined);
  expect(pageSnapshot.parse(page)).toEqual(page);
  expect(page.commands.map(({ nodes }) => nodes)).toEqual(printed.commands.map(({ candidates }) => candidates));
  expect(page.pricePerHour).toBeCloseTo(printed.priceBefore);
  for (const { nodes, moves } of page.commands) expect(moves.filter(({ from }) => !nodes.includes(from))).toEqual([]);
});
