import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { UsageError } from '../exit.js';
import { loadObjects as load } from './load.js';
import { builtInShapes } from './shapes.js';

const warnings: string[] = [];
const loadObjects = (files: readonly string[]) => load(files, (line) => warnings.push(line));
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

describe('reading objects from files', () => {
  test('a List of several kinds is read, and kinds that packing does not use are skipped', () => {
    const objects = loadObjects([
      file('list.json', list(pod(), pool(), { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' } })),
    ]);

    expect(objects.pods.map(({ metadata }) => metadata.name)).toEqual(['web-0']);
    expect(objects.nodePools.map(({ metadata }) => metadata.name)).toEqual(['default']);
    expect(Object.keys(objects).sort()).toEqual(['nodePools', 'pods']);
  });

  test('a PodList whose items have no kind is read', () => {
    const { metadata, spec } = pod();
    expect(
      loadObjects([file('pods.json', { apiVersion: 'v1', kind: 'PodList', items: [{ metadata, spec }] })]).pods,
    ).toHaveLength(1);
  });

  test('single objects, arrays and YAML documents are read from several files', () => {
    const objects = loadObjects([
      file('one.json', pod()),
      file('array.json', [pod({}, 'web-1')]),
      file('many.yaml', `kind: Namespace\nmetadata: {name: shop}\n---\n${JSON.stringify(pod({}, 'web-2'))}\n`),
    ]);
    expect(objects.pods.map(({ metadata }) => metadata.name)).toEqual(['web-0', 'web-1', 'web-2']);
    expect(objects.namespaces).toHaveLength(1);
  });

  test('defaults are filled in as by the API server', () => {
    const { nodePools } = loadObjects([file('pool.json', pool())]);
    expect(nodePools[0]?.spec.disruption.budgets).toEqual([{ nodes: '10%' }]);
    expect(nodePools[0]?.spec.template.spec.expireAfter).toBe('720h');
  });

  test('an object given twice counts once', () => {
    expect(loadObjects([file('a.json', list(pod())), file('b.json', list(pod()))]).pods).toHaveLength(1);
  });

  test('a pod without a namespace is in default', () => {
    const bare = { ...pod(), metadata: { name: 'x' } };
    expect(loadObjects([file('bare.json', bare)]).pods[0]?.metadata.namespace).toBe('default');
  });
});

describe('refused objects are reported by file, object and field', () => {
  const refused: [string, unknown, string[]][] = [
    ['broken JSON', '{"kind": "List", ', ['not valid JSON']],
    ['broken YAML', 'kind: [', ['not valid YAML']],
    ['a YAML key twice', 'kind: Pod\nkind: Node', ['line 2, column 1', 'Map keys must be unique']],
    ['no text', 'kind: Pod\u0000', ['it is not text, expected YAML or JSON']],
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

  test('keys of one large map take as long as those of many maps', () => {
    const keys = (count: number): string => Array.from({ length: count }, (_, i) => `  k${i}: v\n`).join('');
    const timeOf = (name: string, maps: string): number => {
      const path = file(name, `kind: ConfigMap\n${maps}`);
      const begun = process.cpuUsage();
      loadObjects([path]);
      return process.cpuUsage(begun).user;
    };
    timeOf('warm.yaml', `m:\n${keys(1000)}`);
    const many = timeOf('many.yaml', Array.from({ length: 40 }, (_, i) => `m${i}:\n${keys(1000)}`).join(''));
    expect(timeOf('large.yaml', `m:\n${keys(40_000)}`)).toBeLessThan(4 * many);
  });

  test('a file that does not exist, is a folder or is empty is refused', () => {
    expect(() => loadObjects([join(folder, 'nowhere.json')])).toThrow('nowhere.json: no such file');
    expect(() => loadObjects([folder])).toThrow(`${folder}: it is a folder`);
    expect(() => loadObjects([file('empty.json', ' \n')])).toThrow('empty.json: it is empty');
  });

  test('a single object without a kind is refused', () => {
    expect(() => loadObjects([file('kind.json', { metadata: { name: 'x' } })])).toThrow(/kind\.json: kind: expected/);
  });
});

describe('objects are read as kubectl reads them', () => {
  const pods = (name: string, text: string) => loadObjects([file(name, text)]).pods;
  const first = (name: string, text: string): { name?: string; spec: Record<string, unknown> } => {
    const [found] = pods(name, text);
    return { ...found?.metadata, spec: found?.spec as unknown as Record<string, unknown> };
  };
  const head = 'apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n';

  test('null is absent everywhere', () => {
    const nulls = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(nulls);
      if (value === null || typeof value !== 'object') return value;
      return { ...Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, nulls(inner)])), extra: null };
    };
    const affinity = {
      podAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'z', labelSelector: { matchLabels: {} } }],
      },
    };
    const given = list(pod({ affinity, containers: [{ name: 'a', resources: { requests: { cpu: 1 } } }] }), pool());
    expect(loadObjects([file('nulls.json', nulls(given))])).toEqual(loadObjects([file('no-nulls.json', given)]));
    const { nodeName, affinity: none } = first(
      'null.yaml',
      `${head}spec: {nodeName: null, affinity: ~, containers: []}`,
    ).spec;
    expect([nodeName, none]).toEqual([undefined, undefined]);
  });

  test('YAML merge keys, 1.1 booleans, dates and base 60 numbers', () => {
    const { spec } = first(
      'yaml.yaml',
      `${head}spec:\n  x: &x {hostNetwork: yes}\n  z: {<<: *x, d: 2020-01-01, t: 1:30}\n  hostNetwork: off\n  containers: []\n`,
    );
    expect(spec).toMatchObject({ hostNetwork: false, z: { hostNetwork: true, d: '2020-01-01', t: '1:30' } });
  });

  test('several JSON values, nested Lists, flow YAML, a document end marker and UTF-16', () => {
    const [a, b] = [pod({}, 'a'), pod({}, 'b')];
    const names = (text: string) => pods('some', text).map(({ metadata }) => metadata.name);
    expect(names(`${JSON.stringify(a, null, 2)}\n${JSON.stringify(b)}`)).toEqual(['a', 'b']);
    expect(names(JSON.stringify(list(list(a), b)))).toEqual(['a', 'b']);
    expect(names('{kind: Pod, metadata: {name: a}, spec: {containers: []}}')).toEqual(['a']);
    expect(names(`${head}spec: {containers: []}\n...\n# no more\n---\n`)).toEqual(['a']);
    writeFileSync(join(folder, 'wide'), Buffer.from(`\uFEFF${JSON.stringify(a)}`, 'utf16le'));
    expect(loadObjects([join(folder, 'wide')]).pods).toHaveLength(1);
  });

  test('the kind of an object is its group and kind together', () => {
    const others = ['serving.knative.dev/v1 Service', 'longhorn.io/v1beta2 Node', 'provisioning.cattle.io/v1 NodePool'];
    const foreign = others.map((each) => {
      const [apiVersion, kind] = each.split(' ');
      return { apiVersion, kind, metadata: { name: 'x' }, spec: { selector: 7 } };
    });
    expect(Object.keys(loadObjects([file('foreign.json', list(pod(), ...foreign))])).sort()).toEqual([
      'nodePools',
      'pods',
    ]);
  });

  test("NodePools and claims of another provider's node class are skipped and reported", () => {
    const nodeClassRef = { group: 'eks.amazonaws.com', kind: 'NodeClass', name: 'default' };
    const auto = { ...pool({ template: { spec: { nodeClassRef } } }), metadata: { name: 'auto' } };
    const claim = { apiVersion: 'karpenter.sh/v1', kind: 'NodeClaim', metadata: { name: 'c' }, spec: { nodeClassRef } };
    warnings.length = 0;
    const objects = loadObjects([file('auto.json', list(auto, claim, pool()))]);
    expect(objects.nodePools.map(({ metadata }) => metadata.name)).toEqual(['default']);
    expect(objects.nodeClaims).toBeUndefined();
    expect(warnings).toHaveLength(2);
    expect(warnings[0]).toMatch(/NodePool auto is left out.* NodeClass of eks\.amazonaws\.com \(EKS Auto Mode\)/);
  });

  test('a misspelt field of a built-in kind is reported once; other unknown fields are not', () => {
    const odd = (name: string) => ({
      ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name, annotation: { a: 'b' }, managedFields: [] } },
      spec: {
        containers: [{ name: 'a', image: 'i', env: [], resources: { request: { cpu: '1' } } }],
        toleration: [],
        hostPID: true,
        constructor: 1,
        affinity: { nodeAffinty: {} },
      },
    });
    warnings.length = 0;
    loadObjects([file('misspelt.json', list(odd('a'), odd('b')))]);
    expect(warnings.map((line) => /Pod default\/a: (.*)/.exec(line)?.[1])).toEqual([
      'unknown field "metadata.annotation" is ignored (did you mean annotations?)',
      'unknown field "spec.containers[0].resources.request" is ignored (did you mean requests?)',
      'unknown field "spec.toleration" is ignored (did you mean tolerations?)',
      'unknown field "spec.affinity.nodeAffinty" is ignored (did you mean nodeAffinity?)',
    ]);
  });

  test.each(['README.md', 'docs/moving-from-karpenter.md'])(
    'the export made with %s has every kind that is read',
    (page) => {
      const exported = /^kubectl get (\S+) -A -o json > cluster.json$/m
        .exec(readFileSync(page, 'utf8'))![1]!
        .split(',');
      const short = { PodDisruptionBudget: 'pdb', PersistentVolumeClaim: 'pvc', PersistentVolume: 'pv' };
      const names = Object.keys(builtInShapes).map(
        (kind) => new Map(Object.entries(short)).get(kind) ?? `${kind.toLowerCase()}${kind.endsWith('s') ? 'es' : 's'}`,
      );
      expect([...names, 'karpenter'].filter((name) => !exported.includes(name))).toEqual([]);
      expect(readFileSync('README.md', 'utf8')).toContain('`,capacitybuffers`');
    },
  );

  const refused: [string, string, RegExp][] = [
    ['karpenter.sh/v1alpha5', 'Provisioner', /Provisioner x is of karpenter.sh\/v1alpha5: stowage convert makes it v1/],
    ['karpenter.sh/v1beta1', 'NodePool', /NodePool x is of karpenter.sh\/v1beta1: stowage convert/],
    ['karpenter.k8s.aws/v1beta1', 'EC2NodeClass', /stowage convert/],
    [
      'karpenter.sh/v7',
      'NodePool',
      /NodePool x: .*apiVersion: found "karpenter.sh\/v7", allowed: one of karpenter.sh\/v1/,
    ],
    ['karpenter.sh/v1', 'NodePool', /unknown field "spec.limit" \(did you mean limits\?\)/],
  ];
  test.each(refused)('%s %s is refused', (apiVersion, kind, message) => {
    const object = { ...pool({ limit: {} }), apiVersion, kind, metadata: { name: 'x' } };
    expect(() => loadObjects([file('old.json', object)])).toThrow(message);
  });

  test('unknown fields are reported at any depth and in metadata, with other problems; a status may have any', () => {
    const template = { spec: { requirments: [], taints: [{ key: 'a', efect: 'NoSchedule' }] } };
    const odd = { ...pool({ template, weight: 101 }), metadata: { name: 'x', lables: {} }, status: { later: 1 } };
    expect(() => loadObjects([file('odd.json', odd)])).toThrow(
      /"metadata.lables" \(did you mean labels\?\) \(and 4 more: .*requirments.*taints\[0\].efect" \(did you mean effect\?\); .*spec\.weight/,
    );
    expect(loadObjects([file('status.json', { ...pool(), status: { later: 1 } })]).nodePools).toHaveLength(1);
  });

  test.each([
    [
      'apiVersion: v1\nkind: Pod\nmetadata:\n  name: {{ .Values.name }}\n',
      /line 4, column 10: looks like a Helm template/,
    ],
    ['{{- if .Values.on }}\nkind: Pod\n{{- end }}\n', /line 1.*Helm template/],
    [
      'apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: "${var.name}"}\nspec: {template: {spec: {}}}\n',
      /metadata.name: .*Terraform/,
    ],
    ['kind: Pod\nspec:\n...\n  a: 1\n', /line 3: text after the end of a document \(\.\.\.\)/],
    ['? [a]\n: 1\n', /a key is no text/],
  ])('Helm templates and half-written YAML are reported in a sentence: %#', (text, message) => {
    expect(() => loadObjects([file('template.yaml', text)])).toThrow(message);
  });

  // Tens of thousands of errors: the fuzzer holds readers to a second each (test/property/fuzz.test.ts).
  test.each(['*'.concat('['.repeat(60_000)), '*a['.repeat(30_000), `${'a'.repeat(100)}: "a" ${'b'.repeat(100)}`])(
    'broken YAML is reported once, with a part of its line: %#',
    (text) => {
      expect(() => pods('broken.yaml', text)).toThrow(/line 1, column \d+: not valid YAML: .*:\n\n.{1,80}\n *\^$/);
    },
  );
});
