import { afterAll, describe, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KubernetesObject } from '../api/kubernetes.js';
import { offering } from '../test/cases/catalogues.js';
import { generate } from '../test/cases/index.js';
import { nodePool, pod, requestsOf, runningNode } from '../test/cases/objects.js';
import { nodeLabels } from '../test/cases/realistic.js';
import type { Consolidation } from '../disruption/consolidation/types.js';
import { checkConsolidation, type ConsolidationJson } from '../test/checker/consolidation.js';
import type { CatalogueEntry } from '../test/checker/types.js';
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

  test('prints commands that the checker can apply one by one', () => {
    expect(printed.engine).toBe('stowage');
    expect(printed.nodesBefore).toBe(12);
    expect(printed.commands.length).toBeGreaterThan(0);
    expect(printed.priceAfter).toBeLessThan(printed.priceBefore);
    expect(checkConsolidation({ items: made.objects }, made.catalogue, printed).violations).toEqual([]);
  });

  test('treats nodes without conditions as Ready and consolidatable', () => {
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

  /** What comes of the objects when each is changed so, and what is warned of. */
  function changed(change: (object: KubernetesObject) => KubernetesObject | undefined, more: object[] = []) {
    const items = [...made.objects.flatMap((object) => change(structuredClone(object)) ?? []), ...more];
    const file = join(folder, 'changed.json');
    writeFileSync(file, JSON.stringify({ kind: 'List', apiVersion: 'v1', items }));
    const warnings: string[] = [];
    const text = consolidateOffline({ ...options, objects: [file] }, (line) => warnings.push(line));
    const own = warnings.filter((line) => !line.includes('among the objects'));
    return { result: JSON.parse(text) as ConsolidationJson & Pick<Consolidation, 'held'>, warnings: own };
  }
  const withBudgets = (budgets: object[]) => (object: KubernetesObject) =>
    object.kind === 'NodePool' ? { ...object, ...nodePool('default', { disruption: { budgets } }) } : object;

  test('prices nodes although their NodePool is not among the objects', () => {
    const { result } = changed((object) => (object.kind === 'NodePool' ? undefined : object));
    expect(result.priceBefore).toBe(printed.priceBefore);
    expect(result.priceAfter).toBe(printed.priceBefore);
  });

  test('says that budgets keep every node, and which budgets can have no effect', () => {
    const closed = changed(withBudgets([{ nodes: '0' }]));
    expect(closed.result.commands).toEqual([]);
    expect(closed.result.held).toHaveLength(12);
    expect(closed.result.held[0]?.why).toContain('no empty node of its NodePool may be disrupted now');
    expect(closed.warnings).toEqual([]);
    const never = changed(withBudgets([{ nodes: '1', schedule: '0 9 31 2 *', duration: '1h' }]));
    expect(never.warnings).toEqual([
      expect.stringMatching(/^NodePool default: spec.disruption.budgets\[0\].schedule: /),
    ]);
  });

  test('says how much a DisruptionPolicy requires a command to save, and when', () => {
    const policy = (spec: object) => [
      { apiVersion: 'stowage.dev/v1alpha1', kind: 'DisruptionPolicy', metadata: { name: 'p' }, spec },
    ];
    const dear = changed((object) => object, policy({ savings: { minimumDollarsPerHour: '1000' } }));
    expect(dear.result.commands.every(({ method }) => method === 'empty')).toBe(true);
    const window = { name: 'leap', schedule: '0 0 29 2 *', duration: '1m' };
    const shut = changed((object) => object, policy({ maintenanceWindows: [window] }));
    expect(shut.result.commands).toEqual([]);
    const broken = changed((object) => object, policy({ maintenanceWindows: [{ ...window, schedule: '0 0 31 2 *' }] }));
    expect(broken.warnings).toEqual([
      expect.stringMatching(/^DisruptionPolicy p: spec.maintenanceWindows\[0\].schedule: /),
    ]);
  });

  test('lists pods resized in place below the template that they are created from', () => {
    const template = (cpu: string) => ({
      metadata: {},
      spec: { containers: [{ name: 'app', resources: { requests: { cpu } } }] },
    });
    const replicas = (name: string, cpu: string) => ({
      apiVersion: 'apps/v1',
      kind: 'ReplicaSet',
      metadata: { name, namespace: 'default' },
      spec: { selector: {}, template: template(cpu) },
    });
    const bound = made.objects.find(({ kind }) => kind === 'Node')!.metadata.name!;
    const own = (name: string, owner: string) => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        ...{ name, namespace: 'default', generation: 2 },
        ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: owner, uid: owner, controller: true }],
      },
      spec: { nodeName: bound, ...template('10m').spec },
    });
    const objects = [replicas('web', '20m'), replicas('same', '10m'), own('web-1', 'web'), own('same-1', 'same')];
    expect(changed((object) => object, objects).warnings).toEqual([
      'resized in place, and counted as large as the template of their owner where they move: default/web-1',
    ]);
  });

  test('says that there is no node, instead of printing an empty fleet', () => {
    const file = join(folder, 'empty.json');
    writeFileSync(file, JSON.stringify({ kind: 'List', apiVersion: 'v1', items: [] }));
    const text = consolidateOffline({ ...options, objects: [file], output: 'table' }, () => undefined);
    expect(text).toBe('There is no node among the objects.\n');
  });

  test('warns about a node with the name of a replacement', () => {
    const n = printed.commands.findIndex(({ replacements }) => replacements.length > 0);
    const taken = printed.commands[n]!.candidates[0]!;
    const name = `replacement-${n}-0`;
    const rename = (object: KubernetesObject) =>
      JSON.parse(JSON.stringify(object).replaceAll(`"${taken}"`, `"${name}"`)) as KubernetesObject;
    expect(changed((object) => object).warnings).toEqual([]);
    expect(changed(rename).warnings).toEqual([`Node ${name} has the name that a replacement of this plan has too`]);
  });

  test('prints the steps and their total as text', () => {
    const text = consolidateOffline({ ...options, output: 'table' });
    expect(text).toContain('NODES REMOVED');
    expect(text).toMatch(
      /12 nodes at \$\d+\.\d{4} per hour become \d+ at \$\d+\.\d{4}, in \d+ steps? that moves? \d+ pods/,
    );
  });

  test('2 yellow and 3 red pods on two nodes end on one cheaper node', () => {
    const type = (name: string, cpu: number, memory: number, price: number): CatalogueEntry => ({
      name,
      architecture: 'amd64',
      operatingSystems: ['linux'],
      resources: { cpu: String(cpu), memory: `${memory}Gi`, pods: '20' },
      offerings: [offering('a', 'on-demand', price)],
    });
    const [wide, tall, both] = [
      type('wide', 4, 8, 0.17),
      type('tall', 2, 16, 0.126),
      type('both', 5, 20, 0.25),
    ] as const;
    const on = (node: string, of: CatalogueEntry) =>
      runningNode({
        name: node,
        pool: 'default',
        labels: nodeLabels(of, of.offerings[0]!),
        allocatable: { ...of.resources },
      });
    const placed = (name: string, memory: string, nodeName: string) =>
      pod(name, { app: name }, requestsOf('1', memory), { nodeName });
    const items = [
      nodePool('default', { disruption: { budgets: [{ nodes: '100%' }] } }),
      ...on('n4x8', wide),
      ...on('n2x16', tall),
      ...['yellow-0', 'yellow-1'].map((name) => placed(name, '1Gi', 'n4x8')),
      placed('red-0', '6Gi', 'n4x8'),
      ...['red-1', 'red-2'].map((name) => placed(name, '6Gi', 'n2x16')),
    ];
    const file = join(folder, 'example.json');
    const types = join(folder, 'example-types.json');
    writeFileSync(file, JSON.stringify({ kind: 'List', apiVersion: 'v1', items }));
    writeFileSync(types, JSON.stringify([wide, tall, both]));

    const result = JSON.parse(
      consolidateOffline({ ...options, objects: [file], catalogue: types }),
    ) as ConsolidationJson;

    expect(result).toMatchObject({ nodesBefore: 2, nodesAfter: 1, priceBefore: 0.296, priceAfter: 0.25 });
    expect(result.commands).toHaveLength(1);
    expect(result.commands[0]).toMatchObject({ decision: 'replace', replacements: [{ instanceTypes: ['both'] }] });
    // Every pod has its new place before its node goes.
    expect(result.commands[0]?.moves.map(({ to }) => to)).toEqual(new Array(5).fill('replacement-0-0'));
    expect(checkConsolidation({ items }, [wide, tall, both], result).violations).toEqual([]);
  });
});
