import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { UsageError } from '../exit.js';
import { loadObjects } from './load.js';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'stowage-load-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, content: unknown): string {
  const path = join(folder, name);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

const list = (...items: object[]) => ({ apiVersion: 'v1', kind: 'List', items });
const pod = (spec: object = {}, name = 'web-0') => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace: 'shop', name },
  spec: { containers: [{ name: 'app' }], ...spec },
});
const pool = (spec: object = {}) => ({
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodePool',
  metadata: { name: 'default' },
  spec: { template: { spec: {} }, ...spec },
});

describe('what can be read', () => {
  test('a List of several kinds; kinds that packing does not read are passed over', () => {
    const objects = loadObjects([
      file('list.json', list(pod(), pool(), { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' } })),
    ]);

    expect(objects.pods.map(({ metadata }) => metadata.name)).toEqual(['web-0']);
    expect(objects.nodePools.map(({ metadata }) => metadata.name)).toEqual(['default']);
    expect(Object.keys(objects).sort()).toEqual(['nodePools', 'pods']);
  });

  test('a PodList whose items name no kind', () => {
    const { metadata, spec } = pod();
    expect(
      loadObjects([file('pods.json', { apiVersion: 'v1', kind: 'PodList', items: [{ metadata, spec }] })]).pods,
    ).toHaveLength(1);
  });

  test('one object, an array, and YAML documents, over several files', () => {
    const objects = loadObjects([
      file('one.json', pod()),
      file('array.json', [pod({}, 'web-1')]),
      file('many.yaml', `kind: Namespace\nmetadata: {name: shop}\n---\n${JSON.stringify(pod({}, 'web-2'))}\n`),
    ]);
    expect(objects.pods.map(({ metadata }) => metadata.name)).toEqual(['web-0', 'web-1', 'web-2']);
    expect(objects.namespaces).toHaveLength(1);
  });

  test('defaults are filled in as the API server would', () => {
    const { nodePools } = loadObjects([file('pool.json', pool())]);
    expect(nodePools[0]?.spec.disruption.budgets).toEqual([{ nodes: '10%' }]);
    expect(nodePools[0]?.spec.template.spec.expireAfter).toBe('720h');
  });

  test('the same object twice counts once', () => {
    expect(loadObjects([file('a.json', list(pod())), file('b.json', list(pod()))]).pods).toHaveLength(1);
  });

  test('a pod without a namespace is in the default one', () => {
    const bare = { ...pod(), metadata: { name: 'x' } };
    expect(loadObjects([file('bare.json', bare)]).pods[0]?.metadata.namespace).toBe('default');
  });
});

describe('what is refused, by file, object and field', () => {
  const refused: [string, unknown, string[]][] = [
    ['broken JSON', '{"kind": "List", ', ['not valid JSON']],
    ['broken YAML', 'kind: [', ['not valid YAML']],
    ['a number', '17', ['expected a Kubernetes object or List']],
    ['a List without items', { kind: 'List' }, ['items', 'expected an array']],
    ['no kind', list({ metadata: { name: 'x' } }), ['items[0]', 'kind']],
    ['no name', list({ kind: 'Pod', metadata: {}, spec: { containers: [] } }), ['items[0]', 'metadata.name']],
    ['no containers', list({ kind: 'Pod', metadata: { name: 'x' }, spec: {} }), ['Pod x', 'spec.containers']],
    [
      'a bad quantity',
      list(pod(), pod({ containers: [{ name: 'a', resources: { requests: { cpu: 'lots' } } }] }, 'web-1')),
      ['items[1]', 'Pod shop/web-1', 'spec.containers[0].resources.requests.cpu', '"lots"', 'quantity'],
    ],
    [
      'a negative quantity',
      pod({ containers: [{ name: 'a', resources: { requests: { memory: '-1Gi' } } }] }),
      ['spec.containers[0].resources.requests.memory', 'not negative'],
    ],
    [
      'a label that is no text',
      { ...pod(), metadata: { name: 'x', labels: { app: 1 } } },
      ['metadata.labels.app', 'string'],
    ],
    [
      'a toleration operator',
      pod({ tolerations: [{ operator: 'Equals' }] }),
      ['spec.tolerations[0].operator', 'Equal'],
    ],
    [
      'In without values',
      pod({
        affinity: {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: {
              nodeSelectorTerms: [{ matchExpressions: [{ key: 'a', operator: 'In' }] }],
            },
          },
        },
      }),
      ['matchExpressions[0].values', 'at least one value for operator In'],
    ],
    [
      'a spread without a skew',
      pod({ topologySpreadConstraints: [{ maxSkew: 0, topologyKey: 'z', whenUnsatisfiable: 'DoNotSchedule' }] }),
      ['spec.topologySpreadConstraints[0].maxSkew', 'at least 1'],
    ],
    [
      'anti-affinity without a topology key',
      pod({ affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{}] } } }),
      ['requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey'],
    ],
    [
      'required node affinity without terms',
      pod({
        affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] } } },
      }),
      ['nodeSelectorTerms', 'at least one entry'],
    ],
    [
      'a preference without weight',
      pod({
        affinity: {
          nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 101, preference: {} }] },
        },
      }),
      ['preferredDuringSchedulingIgnoredDuringExecution[0].weight', 'from 1 to 100', '101'],
    ],
    [
      'a value for Exists',
      pod({ tolerations: [{ key: 'a', operator: 'Exists', value: 'b' }] }),
      ['spec.tolerations[0].value', 'no value for operator Exists', '"b"'],
    ],
    [
      'minDomains of a spread that is only asked for',
      pod({
        topologySpreadConstraints: [
          { maxSkew: 1, topologyKey: 'z', whenUnsatisfiable: 'ScheduleAnyway', minDomains: 2 },
        ],
      }),
      ['spec.topologySpreadConstraints[0].minDomains', 'ScheduleAnyway'],
    ],
    [
      'a restart policy',
      pod({ initContainers: [{ name: 'i', restartPolicy: 'always' }] }),
      ['spec.initContainers[0].restartPolicy', 'Always'],
    ],
    ['scheduling gates that are no list', pod({ schedulingGates: 'x' }), ['spec.schedulingGates', 'a list']],
    [
      'a pool with a bad budget',
      pool({ disruption: { budgets: [{ nodes: '101%' }] } }),
      ['NodePool default', 'spec.disruption.budgets[0].nodes', '"101%"'],
    ],
    ['a pool with a bad weight', pool({ weight: 101 }), ['NodePool default', 'spec.weight']],
    ['two objects of one name', list(pod(), pod({ nodeName: 'n' })), ['items[1]', 'Pod shop/web-0', 'items[0]']],
  ];

  test.each(refused)('%s', (name, content, parts) => {
    const path = file(`${name.replaceAll(' ', '-')}.json`, content);
    let message = '';
    try {
      loadObjects([path]);
    } catch (error) {
      expect((error as Error).name).toBe(UsageError.name);
      message = (error as Error).message;
    }
    for (const part of [path, ...parts]) expect(message).toContain(part);
  });

  test('a file that is not there, is a folder, or is empty', () => {
    expect(() => loadObjects([join(folder, 'nowhere.json')])).toThrow('nowhere.json: no such file');
    expect(() => loadObjects([folder])).toThrow(`${folder}: it is a folder`);
    expect(() => loadObjects([file('empty.json', ' \n')])).toThrow('empty.json: it is empty');
  });

  test('one object without a kind', () => {
    expect(() => loadObjects([file('kind.json', { metadata: { name: 'x' } })])).toThrow(/kind\.json: kind: expected/);
  });
});
