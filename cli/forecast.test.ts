import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { ec2NodeClasses } from '../api/aws/ec2-node-class.js';
import { nodePools } from '../api/karpenter/node-pool.js';
import type { KubernetesObject, Pod } from '../api/kubernetes.js';
import { labels } from '../api/labels.js';
import { pod as podOf, runningNode } from '../test/cases/objects.js';
import { forecastOf, forecastOfFiles, type ForecastOptions } from './forecast.js';
import { forecastDocument, forecastSchema, type Forecast } from './forecast/types.js';
import { packingInputOfFiles, type PlanOptions } from './plan.js';

const folder = mkdtempSync(join(tmpdir(), 'stowage-forecast-'));
afterAll(() => rmSync(folder, { recursive: true }));
beforeEach(() => void jest.spyOn(Date, 'now').mockReturnValue(Date.parse('2026-11-30T08:00:00Z')));
afterEach(() => {
  jest.restoreAllMocks();
  process.exitCode = undefined;
});

let files = 0;
function file(content: object | string): string {
  const path = join(folder, `${(files += 1)}.yaml`);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}
const list = (items: readonly object[]): object => ({ apiVersion: 'v1', kind: 'List', items });

type Requirement = { key: string; operator: string; values: string[] };
const zones = (...values: string[]): Requirement => ({ key: labels.zone, operator: 'In', values });
const onDemand: Requirement = { key: labels.capacityType, operator: 'In', values: ['on-demand'] };
const nodeClassRef = { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' };

/** A NodePool as a file has it. */
function pool(
  name: string,
  { spec = {}, template = {}, disruption = {} }: Record<string, object> = {},
): KubernetesObject {
  return {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodePool',
    metadata: { name },
    spec: {
      template: {
        spec: { nodeClassRef, requirements: [zones('us-west-2a', 'us-west-2b', 'us-west-2c'), onDemand], ...template },
      },
      limits: { cpu: '100' },
      disruption: {
        consolidateAfter: '0s',
        consolidationPolicy: 'WhenEmpty',
        budgets: [{ nodes: '2' }],
        ...disruption,
      },
      ...spec,
    },
  } as KubernetesObject;
}

function nodeClass(image: string): KubernetesObject {
  return {
    apiVersion: 'karpenter.k8s.aws/v1',
    kind: 'EC2NodeClass',
    metadata: { name: 'default' },
    spec: {
      amiFamily: 'AL2023',
      amiSelectorTerms: [{ id: image }],
      role: 'node',
      subnetSelectorTerms: [{ tags: { net: 'a' } }],
      securityGroupSelectorTerms: [{ tags: { net: 'a' } }],
    },
  } as KubernetesObject;
}

const pod = (name: string, app: string, nodeName?: string, spec: object = {}): Pod =>
  podOf(name, { app }, { cpu: '800m', memory: '2Gi' }, { ...(nodeName !== undefined && { nodeName }), ...spec });

/** Two nodes in each of three zones, two of them with an older image; two pods run in the third zone alone. */
function cluster(): KubernetesObject[] {
  const resolved = { ...nodeClass('ami-1'), status: { amis: [{ id: 'ami-1', requirements: [] }] } };
  const nodes = ['a', 'b', 'c'].flatMap((zone) =>
    [1, 2].flatMap((n) => {
      const [node, claim] = runningNode({
        name: `node-${zone}${n}`,
        pool: 'default',
        labels: {
          [labels.zone]: `us-west-2${zone}`,
          [labels.capacityType]: 'on-demand',
          [labels.instanceType]: 'm7i.large',
          [labels.arch]: 'amd64',
          [labels.os]: 'linux',
        },
        allocatable: { cpu: '2', memory: '8Gi', pods: '29' },
      }) as [KubernetesObject, KubernetesObject & { status: object }];
      const imageID = zone === 'b' ? 'ami-0' : 'ami-1';
      return [node, { ...claim, status: { ...claim.status, imageID } }];
    }),
  );
  const inThird = { nodeSelector: { [labels.zone]: 'us-west-2c' } };
  const pods = [
    ...['a1', 'a2', 'b1', 'b2', 'c1', 'c2'].map((node, n) => pod(`web-${n}`, 'web', `node-${node}`)),
    ...['c1', 'c2'].map((node, n) => pod(`ledger-${n}`, 'ledger', `node-${node}`, inThird)),
    ...[0, 1, 2, 3, 4, 5, 6, 7, 8].map((n) => pod(`job-${n}`, 'job')),
  ];
  return [resolved, pool('default'), ...nodes, ...pods];
}

const quiet = (): void => undefined;

const optionsFor = (items: readonly object[]): Omit<PlanOptions, 'output' | 'repeat'> => ({
  ...{ objects: [file(list(items))], catalogue: 'examples/instance-types.json' },
  ...{ preferencePolicy: 'Respect', minValuesPolicy: 'Strict' },
});

const printed = (given: Partial<ForecastOptions>, items: readonly object[] = cluster()): Promise<string> =>
  forecastOfFiles({ ...optionsFor(items), output: 'markdown', ...given }, quiet);

async function found(
  given: Pick<ForecastOptions, 'with' | 'without'>,
  items: readonly object[] = cluster(),
): Promise<Forecast> {
  return JSON.parse(await printed({ ...given, output: 'json' }, items)) as Forecast;
}

const changes: Readonly<Record<string, readonly KubernetesObject[]>> = {
  limits: [pool('default', { spec: { limits: { cpu: '14' } } })],
  budgets: [
    pool('default', {
      disruption: { budgets: [{ nodes: '1' }, { nodes: '0', schedule: '30 0 * * *', duration: '23h30m' }] },
    }),
  ],
  image: [nodeClass('ami-2')],
  requirement: [pool('default', { template: { requirements: [zones('us-west-2a', 'us-west-2b'), onDemand] } })],
  'new-pool': [pool('spot', { spec: { weight: 10 }, template: { requirements: [zones('us-west-2a')] } })],
};

describe('stowage plan --with: the comment on a pull request', () => {
  test.each(Object.entries(changes))('that changes: %s', async (name, objects) => {
    const text = await printed({ with: [file(list(objects))] });
    expect(process.exitCode).toBe(3);
    expect(text).toBe(readFileSync(`cli/forecast/testdata/${name}.txt`, 'utf8'));
  });
});

describe('stowage plan --with: what changes nothing', () => {
  test('the objects of the export themselves, in any form and order of files', async () => {
    const own = cluster().filter(({ kind }) => kind === 'NodePool' || kind === 'EC2NodeClass' || kind === 'Pod');
    const text = await printed({ with: own.map((object) => file(object)).reverse(), output: 'table' });
    expect(text).toBe('If this is applied, nothing changes.\n');
    expect(process.exitCode).toBe(0);
  });

  test('a Deployment as in its file, whose pods run, also with other spellings of the same requests', async () => {
    const pods = [0, 1].map((n) => pod(`api-${n}`, 'api', 'node-a1'));
    const spec = { containers: [{ name: 'main', resources: { requests: { cpu: '0.8', memory: '2048Mi' } } }] };
    const deployment = {
      ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'api' } },
      spec: { replicas: 2, template: { metadata: { labels: { app: 'api' } }, spec } },
    };
    const owned = pods.map((each) => ({
      ...each,
      metadata: {
        ...each.metadata,
        ownerReferences: [{ ...each.metadata.ownerReferences![0]!, name: 'api-5d4f6c7b8' }],
      },
    }));
    const answer = await found({ with: [file(deployment)] }, [...cluster(), ...owned]);
    expect(answer.summary).toBe('If this is applied, nothing changes.');
    const grown = await found({ with: [file({ ...deployment, spec: { ...deployment.spec, replicas: 9 } })] }, [
      ...cluster(),
      ...owned,
    ]);
    expect(grown.objects).toMatchObject([{ change: 'added', fields: [{ field: 'pods', from: '2', to: '9' }] }]);
    expect(grown.pricePerHour.with).toBeGreaterThan(grown.pricePerHour.without);
  });
});

describe('stowage plan --with: the answer', () => {
  test('is the same whatever the order of files, and has the published schema', async () => {
    const paths = [...Object.values(changes)].slice(2, 5).map((objects) => file(list(objects)));
    const one = await found({ with: paths });
    const other = await found({ with: [...paths].reverse() });
    expect(forecastDocument.parse(one)).toEqual(one);
    expect(other.summary).toBe(one.summary);
    expect(other.pools).toEqual(one.pools);
    expect(other.turns).toEqual(one.turns);
  });

  test('has the waves of a rollout, each after the soak of the one before', async () => {
    const policy = {
      ...{ apiVersion: 'stowage.dev/v1alpha1', kind: 'DisruptionPolicy', metadata: { name: 'waves' } },
      spec: { driftRollout: { canary: '1', soak: '1h', growthFactor: 2, maximumWave: '50%' } },
    };
    const budgets = pool('default', { disruption: { budgets: [{ nodes: '100%' }] } });
    const { turns, summary } = await found({ with: [file(list([policy, budgets, nodeClass('ami-2')]))] });
    expect(turns.map(({ wave, nodes, from }) => [wave, nodes.length, from])).toEqual([
      [1, 1, '2026-11-30T08:00:00Z'],
      [2, 2, '2026-11-30T09:10:00Z'],
      [3, 3, '2026-11-30T10:20:00Z'],
    ]);
    expect(summary).toContain('four nodes drift over three waves');
  });

  test('a PodDisruptionBudget that lets no pod go keeps drifted nodes, and says which pod', async () => {
    const budget = {
      ...{ apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata: { name: 'web', namespace: 'default' } },
      spec: { selector: { matchLabels: { app: 'web' } }, minAvailable: '100%' },
    };
    const { stays } = await found({ with: [file(list([budget, nodeClass('ami-2')]))] });
    expect(stays).toHaveLength(6);
    expect(stays[0]!.why).toMatch(/PodDisruptionBudget default\/web forbids evicting pod default\/web-\d/);
  });

  test('--without a NodePool removes its nodes, and an unknown object is an error of the command line', async () => {
    const answer = await found({ without: ['NodePool/default'] });
    expect(answer.disruptions).toContainEqual({ pool: 'default', reason: 'Deleted', without: 0, with: 6 });
    expect(answer.pricePerHour.with).toBe(0);
    await expect(found({ without: ['NodePool/none'] })).rejects.toThrow('there is no NodePool none among the objects');
    await expect(found({ without: ['default'] })).rejects.toThrow('expected KIND/NAME');
  });
});

describe('stowage plan --with: files that the API server would refuse', () => {
  const bad = [
    'apiVersion: v1',
    'kind: ConfigMap',
    'metadata: { name: settings }',
    '---',
    'apiVersion: karpenter.sh/v1',
    'kind: NodePool',
    'metadata:',
    '  name: bad',
    'spec:',
    '  limitz: { cpu: 1 }',
    '  template:',
    '    spec:',
    '      nodeClassRef: { group: karpenter.k8s.aws, kind: EC2NodeClass, name: default }',
    '      requirements:',
    '        - key: kubernetes.io/os',
    '          operator: Inn',
    '          values: [linux]',
    '',
  ].join('\n');

  test('are named with file, line and field, and nothing else stops', async () => {
    const path = file(bad);
    const answer = await found({ with: [path, file(list(changes['image']!)), file(''), file('kind: [')] });
    expect(process.exitCode).toBe(1);
    expect(answer.refused.map(({ at, object, field }) => [at.replace(/^.*\//, ''), object, field])).toEqual(
      expect.arrayContaining([
        [`${path.replace(/^.*\//, '')}:16`, 'NodePool bad', 'spec.template.spec.requirements[0].operator'],
        [`${path.replace(/^.*\//, '')}:10`, 'NodePool bad', 'spec.limitz'],
      ]),
    );
    expect(answer.refused.map(({ why }) => why).join('\n')).toMatch(
      /it is empty[\s\S]*not valid YAML|not valid YAML[\s\S]*it is empty/,
    );
    expect(answer.skipped).toMatchObject([{ object: 'ConfigMap settings', why: 'no decision depends on a ConfigMap' }]);
    expect(answer.drifted).toMatchObject([{ reason: 'AMIDrift', nodes: ['node-a1', 'node-a2', 'node-c1', 'node-c2'] }]);
    expect(answer.summary).toMatch(/^Four objects are refused\. If the rest is applied, four nodes drift/);
  });

  test('an object that is there twice: once if equal, and refused in both places if not', async () => {
    const path = file(list(changes['image']!));
    const equal = await found({ with: [path, path] });
    expect(equal.refused).toEqual([]);
    const differing = await found({ with: [path, file(nodeClass('ami-3'))] });
    expect(differing.refused).toHaveLength(2);
    expect(differing.refused[0]!.why).toContain('it is there 2 times, and differs');
    expect(differing.objects).toEqual([]);
  });

  test('a change that the API server allows for no existing object', async () => {
    const { refused } = await found({
      with: [file(pool('default', { spec: { replicas: 3, limits: { nodes: '4' } } }))],
    });
    expect(refused).toMatchObject([{ object: 'NodePool default', field: 'spec.replicas' }]);
  });

  test('a workload without a template', async () => {
    const workload = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'w' }, spec: { replicas: 1 } };
    const { refused } = await found({ with: [file(workload)] });
    expect(refused).toMatchObject([{ object: 'Deployment w', field: 'spec.template' }]);
  });
});

describe('stowage plan --with: hostile names', () => {
  const names = ['constructor', '__proto__', 'toString', 'hasOwnProperty'];

  test('keys such as __proto__ in labels and limits are those of any other label', async () => {
    const labelled = (value: string): KubernetesObject =>
      JSON.parse(
        JSON.stringify(pool('default'))
          .replace('"limits"', `"weight":1,"limits"`)
          .replace(
            '"spec":{"nodeClassRef"',
            `"metadata":{"labels":{${names.map((name) => `"${name}":"${value}"`).join(',')}}},"spec":{"nodeClassRef"`,
          ),
      ) as KubernetesObject;
    const answer = await found({ with: [file(labelled('a'))] });
    expect(answer.drifted).toMatchObject([{ reason: 'NodePoolDrifted' }]);
    const workload = {
      ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'constructor', namespace: '__proto__' } },
      spec: { template: { metadata: { labels: { toString: 'a' } }, spec: { containers: [{ name: 'c' }] } } },
    };
    const { summary } = await found({ with: [file(workload)], without: ['NodePool/default'] });
    expect(summary).toContain('ten pods stay pending');
  });

  test('names of files and pods write nothing into the comment but themselves', async () => {
    const name = '`|</details><img src=x>@team|`';
    const text = await printed({ with: [file({ apiVersion: 'v1', kind: 'Secret', metadata: { name } })] });
    expect(text).toContain('| `` Secret `\\|</details><img src=x>@team\\|` `` |');
  });
});

test('drift is that of the operator: conditions of the cloud stay, and those of the template are found again', async () => {
  const items = cluster().map((object) =>
    object.kind === 'NodeClaim' && object.metadata.name === 'node-a1'
      ? {
          ...object,
          status: {
            ...(object as { status?: { conditions?: object[] } }).status,
            conditions: [
              ...((object as { status?: { conditions?: object[] } }).status?.conditions ?? []),
              {
                type: 'Drifted',
                status: 'True',
                reason: 'SubnetDrift',
                message: '',
                lastTransitionTime: '2026-01-01T00:00:00Z',
              },
            ],
          },
        }
      : object,
  );
  const options = optionsFor(items);
  const input = packingInputOfFiles(options, quiet);
  const snapshot = { input, nodeClasses: [], spotToSpot: false };
  const path = file(list(changes['requirement']!));
  const { found: answer } = await forecastOf(snapshot, { with: [path] });
  expect(answer.drifted).toEqual([{ pool: 'default', reason: 'RequirementsDrifted', nodes: ['node-c1', 'node-c2'] }]);
  expect(answer.noLongerDrifted).toEqual([]);
});

test('the published schema is the one of this version (npm run generate -- forecast)', () => {
  expect(JSON.parse(readFileSync('docs/forecast.schema.json', 'utf8'))).toEqual(forecastSchema());
});

test('what the fixtures apply is what the API server accepts', () => {
  for (const objects of Object.values(changes))
    for (const object of objects)
      expect((object.kind === 'NodePool' ? nodePools : ec2NodeClasses).parse(object)).toMatchObject({ ok: true });
});
