import { parse as parseToml } from 'smol-toml';
import { parse as parseYaml } from 'yaml';
import { labels } from '../../../api/labels.js';
import { readMime } from '../../../cloud/aws/user-data/mime.js';
import { about, differs, gives, notApplicable, same, type Check, type ConformanceCase } from '../conformance-case.js';
import { oneOf } from '../world.js';
import { account, outcomeOf, userDataOf, type Asked, type Given } from './account.js';
import { alias } from './launch-templates.js';

export const types = ['m5.large', 'm5.xlarge', 'c6g.large'];
export type Row = readonly [at: number, title: string, settings: object, expected?: object];

/** kubelet's settings in the NodeConfig that Stowage writes, which is the last part. */
export const configOf = (text: string): Record<string, unknown> => nodeConfig(text).spec.kubelet.config;
export interface NodeConfig {
  readonly spec: {
    readonly cluster: Readonly<Record<string, string>>;
    readonly kubelet: { readonly config: Record<string, unknown>; readonly flags: readonly string[] };
    readonly instance?: object;
  };
}
export const nodeConfig = (text: string): NodeConfig => parseYaml(readMime(text).at(-1)?.body ?? '') as NodeConfig;
interface Bottlerocket {
  readonly settings: { readonly kubernetes: Record<string, unknown> } & Record<string, unknown>;
}
const settingsOf = (text: string): Bottlerocket['settings'] => (parseToml(text) as unknown as Bottlerocket).settings;

/** What each template's user data says of something: all of them the same. */
export const saying = (look: (text: string) => unknown, given: Given, expected: unknown, asked?: Asked): Check =>
  gives(async () => {
    const said = (await userDataOf({ types, ...given }, asked)).map((text) => JSON.stringify({ of: look(text) }));
    return [...new Set(said)];
  }, [JSON.stringify({ of: expected })]);
const picked = (from: Record<string, unknown>, like: object): object =>
  Object.fromEntries(Object.keys(like).map((key) => [key, from[key]]));

/** Settings of kubelet that AL2023 gets unchanged. */
export const passed = ([at, title, settings, expected = settings]: Row): ConformanceCase =>
  same(
    at,
    title,
    saying((text) => picked(configOf(text), expected), { spec: { kubelet: settings } }, expected),
  );
/** Kubelet settings that have other names in Bottlerocket. */
const translated = ([at, title, kubelet, expected]: Row): ConformanceCase =>
  same(
    at,
    `Bottlerocket: ${title}`,
    saying(
      (text) => picked(settingsOf(text).kubernetes, expected ?? {}),
      { spec: { ...alias('bottlerocket'), kubelet } },
      expected,
    ),
  );
/** Whether user data has each of the texts. */
export const has = (given: Given, texts: readonly string[], expected = true, asked?: Asked): Check =>
  saying(
    (text) => texts.map((part) => text.includes(part)),
    given,
    texts.map(() => expected),
    asked,
  );
/** The number of pods that each template's nodes take. */
const pods = async (given: Given): Promise<number[]> =>
  (await userDataOf({ types, ...given })).map((text) => Number(configOf(text)['maxPods'])).sort((a, b) => a - b);

export const amounts = { cpu: '500m', memory: '1Gi', 'ephemeral-storage': '2Gi' };
export const hard = { 'memory.available': '10%', 'nodefs.available': '15%', 'nodefs.inodesFree': '5%' };
const grace = { 'memory.available': '1m', 'nodefs.available': '3m', 'nodefs.inodesFree': '5m' };
export const soft = { evictionSoft: hard, evictionSoftGracePeriod: grace };
export const gate = { options: { kubeletExpressions: true } };
export const expression = 'min(110, 20 * 2)';
const bytes = 'karpenter_ec2nodeclasses_userdata_bytes';

const sizes: readonly ConformanceCase[] = about('size of user data', [
  same(
    1172,
    `the size of user data before it is encoded (${bytes})`,
    gives(async () => {
      const world = account({ types });
      await world.launch();
      const made = world.sent.templates.map(({ LaunchTemplateData: body }) =>
        Buffer.byteLength(Buffer.from(body?.UserData ?? '', 'base64')),
      );
      const size = world.provider.userDataBytes.get('default') ?? 0;
      return [made.includes(size), size < 16_384];
    }, [true, true]),
  ),
  same(
    1189,
    'is not reported for a node class that is gone',
    gives(async () => {
      const world = account({
        types,
        calls: { describeLaunchTemplates: () => Promise.resolve({}), deleteLaunchTemplate: () => Promise.resolve({}) },
      });
      await world.launch();
      const before = world.provider.userDataBytes.has('default');
      await world.provider.cleanUpNodeClass(world.nodeClass);
      return [before, world.provider.userDataBytes.has('default')];
    }, [true, false]),
  ),
]);

const kubeletCases: readonly ConformanceCase[] = about('number of pods in user data', [
  same(1203, 'AL2 does not compute it by itself', has({ spec: alias('al2') }, ['--use-max-pods false'])),
  same(
    1211,
    'AL2 gets that of the node class',
    has({ spec: { ...alias('al2'), kubelet: { maxPods: 10 } } }, ['--use-max-pods false', '--max-pods=10']),
  ),
  same(
    1220,
    'each one has its template',
    gives(() => pods({ spec: { kubelet: { clusterDNS: ['10.0.0.10'] } } }), [29, 29, 58]),
  ),
  ...(
    [
      [1233, 'amounts for the system', { systemReserved: amounts }],
      [1255, 'amounts for kubelet', { kubeReserved: amounts }],
      [1277, 'hard thresholds', { evictionHard: hard }],
      [1297, 'soft thresholds', soft, { evictionSoft: hard }],
      [1322, 'periods of grace', soft, { evictionSoftGracePeriod: grace }],
      [1347, 'the longest period of grace', { evictionMaxPodGracePeriod: 300 }],
      [1360, 'pods by core', { podsPerCore: 2 }],
      [1412, 'when images are collected', { imageGCHighThresholdPercent: 50 }],
      [1425, 'until when images are collected', { imageGCLowThresholdPercent: 50 }],
      [1438, 'no quotas of CPU', { cpuCFSQuota: false }],
    ] as const
  ).map(passed),
  differs(
    1373,
    'podsPerCore with maxPods',
    'instance-types/pods',
    'nodes get the lesser of the two, which kubelet uses too',
    gives(() => pods({ types: ['m5.large'], spec: { kubelet: { podsPerCore: 2, maxPods: 100 } } }), [4]),
  ),
  ...(
    [
      [1389, 'fd4b:121b:812b::a'],
      [1401, '10.0.100.10'],
    ] as const
  ).map(([at, dns]) =>
    same(
      at,
      `the address of the DNS service, ${dns}`,
      saying((text) => configOf(text)['clusterDNS'], { options: { clusterDns: () => Promise.resolve(dns) } }, [dns]),
    ),
  ),
  differs(
    1451,
    'AL2 with a setting that it does not support',
    'node-classes/fields-of-al2023-alone',
    'such a node class is not ready under either; nodes launched from it anyway lack the setting',
    saying(
      (text) => ['--max-pods=42', 'topologyManagerPolicy', 'restricted'].map((part) => text.includes(part)),
      { spec: { ...alias('al2'), kubelet: { maxPods: 42, topologyManagerPolicy: 'restricted' } } },
      [true, false, false],
    ),
  ),
  ...(
    [
      'node-restriction.kubernetes.io/bar',
      'kubernetes.io/bar',
      'k8s.io/bar',
      'foo.node-restriction.kubernetes.io/bar',
      'foo.kubernetes.io/bar',
      'foo.k8s.io/bar',
    ] as const
  ).map((key, i) =>
    same(
      1488 + i,
      `a label that kubelet may not set: ${key}`,
      has({}, [key], false, { labels: { [key]: 'foobar' }, needs: [] }),
    ),
  ),
]);

const mounting = (dirs: readonly string[]): object => ({
  commands: [
    ['apiclient', 'ephemeral-storage', 'init'],
    ['apiclient', 'ephemeral-storage', 'bind', ...dirs],
  ],
  essential: true,
  mode: 'always',
});
const hello = { commands: [['echo', 'hello']], mode: 'always', essential: true };
const helloText = `[settings.bootstrap-commands.111-say-hello]
commands = [['echo', 'hello']]
mode = 'always'
essential = true
`;
const bound = ['--dirs', '/var/lib/containerd', '/var/lib/kubelet', '/var/log/pods'];
const raid = (at: number, title: string, version: string, expected: object, userData?: string): ConformanceCase =>
  same(
    at,
    title,
    saying(
      (text) => settingsOf(text)['bootstrap-commands'],
      {
        spec: {
          amiSelectorTerms: [{ alias: `bottlerocket@${version}` }],
          instanceStorePolicy: 'RAID0',
          ...(userData === undefined ? {} : { userData }),
        },
      },
      expected,
    ),
  );
const mount = '000-mount-instance-storage';

const diskCases: readonly ConformanceCase[] = about('local disks in user data', [
  same(
    1495,
    'AL2 makes RAID0 of them',
    has({ spec: { ...alias('al2'), instanceStorePolicy: 'RAID0' } }, ['--local-disks raid0']),
  ),
  raid(1506, 'Bottlerocket makes RAID0 of them', 'latest', { [mount]: mounting([]) }),
  raid(
    1522,
    'Bottlerocket does so beside commands of the node class',
    'latest',
    { '111-say-hello': hello, [mount]: mounting([]) },
    helloText,
  ),
  raid(1550, 'Bottlerocket v1.45.0 gets the directories', 'v1.45.0', { [mount]: mounting(bound) }),
  raid(1566, 'Bottlerocket v1.46.0 knows the directories', 'v1.46.0', { [mount]: mounting([]) }),
  same(
    2377,
    'AL2023 makes RAID0 of them',
    saying(
      (text) => nodeConfig(text).spec.instance,
      { spec: { instanceStorePolicy: 'RAID0' } },
      {
        localStorage: { strategy: 'RAID0' },
      },
    ),
  ),
]);

const taint = (key: string, value: string): object => ({ key, value, effect: 'NoExecute' });
const tainted: Asked = { taints: [taint('foo', 'bar')], startupTaints: [taint('baz', 'bin')] };
const nodeTaints = { baz: ['bin:NoExecute'], foo: ['bar:NoExecute'], 'karpenter.sh/unregistered': [':NoExecute'] };
const own = `[settings.kubernetes]
"unknown-setting" = "unknown"
api-server = 'replaceme'
cloud-provider = 'external'
max-pods = 9999999999
[settings.kubernetes.eviction-hard]
"memory.available" = "12%"
[settings.kubernetes.node-labels]
"custom-node-label" = "custom"
"${labels.nodePool}" = "should-be-overridden"
[settings.kubernetes.node-taints]
"replace" = ["me:Schedule"]
[settings.network]
hostname = "test.local"
`;
const joined = {
  'api-server': 'https://test-cluster',
  'cluster-certificate': 'Y2EtYnVuZGxlCg==',
  'cluster-name': 'test-cluster',
  'cluster-dns-ip': '10.0.100.10',
  'max-pods': 110,
};
const ownLabels = {
  [labels.capacityType]: 'on-demand',
  [labels.doNotSyncTaints]: 'true',
  [labels.nodePool]: 'default',
};
export const twoLabels = { 'test-label-1': 'value-1', 'test-label-2': 'value-2' };
export const required: Asked = { needs: Object.entries(twoLabels).map(([key, value]) => oneOf(key, value)) };
const bottlerocket = (more: object = {}): Given => ({ spec: { ...alias('bottlerocket'), ...more } });
const reserved = { cpu: '2', memory: '3Gi', 'ephemeral-storage': '10Gi' };

const bottlerocketCases: readonly ConformanceCase[] = about('Bottlerocket user data', [
  same(
    1587,
    "is merged, and the cluster's settings come first",
    saying(
      (text) => {
        const { kubernetes, network } = settingsOf(text);
        const { 'node-labels': made, ...rest } = kubernetes;
        return [
          picked(rest, { ...joined, 'cloud-provider': 0, 'eviction-hard': 0, 'node-taints': 0 }),
          picked(made as Record<string, unknown>, { 'custom-node-label': 0, ...ownLabels }),
          network,
        ];
      },
      bottlerocket({ kubelet: { maxPods: 110 }, userData: own }),
      [
        {
          ...joined,
          'cloud-provider': 'external',
          'eviction-hard': { 'memory.available': '12%' },
          'node-taints': {
            foo: nodeTaints.foo,
            baz: nodeTaints.baz,
            'karpenter.sh/unregistered': nodeTaints['karpenter.sh/unregistered'],
          },
        },
        { 'custom-node-label': 'custom', ...ownLabels },
        { hostname: 'test.local' },
      ],
      tainted,
    ),
  ),
  same(
    1603,
    'without any of the node class',
    saying(
      (text) => {
        const { kubernetes } = settingsOf(text);
        return [picked(kubernetes, joined), picked(kubernetes['node-labels'] as Record<string, unknown>, ownLabels)];
      },
      bottlerocket({ kubelet: { maxPods: 110 } }),
      [joined, ownLabels],
      tainted,
    ),
  ),
  notApplicable(
    1617,
    'a node class of another kind',
    'the provider is asked for its own kind alone; claims of another wait',
  ),
  same(
    1629,
    'invalid TOML fails the launch',
    gives(
      () => outcomeOf(account({ types, ...bottlerocket({ userData: '#/bin/bash\n ./not-toml.sh' }) }).launch()),
      'NodeClassNotReady',
    ),
  ),
  ...(
    [
      [1637, 'amounts for the system', { systemReserved: reserved }, { 'system-reserved': reserved }],
      [1661, 'amounts for kubelet', { kubeReserved: reserved }, { 'kube-reserved': reserved }],
      [
        1685,
        'soft thresholds',
        { evictionSoft: { 'memory.available': '10%' }, evictionSoftGracePeriod: { 'memory.available': '1m' } },
        { 'eviction-soft': { 'memory.available': '10%' }, 'eviction-soft-grace-period': { 'memory.available': '1m' } },
      ],
      [
        1705,
        'the longest period of grace',
        { maxPods: 35, evictionMaxPodGracePeriod: 10 },
        { ...joined, 'max-pods': 35, 'eviction-max-pod-grace-period': 10 },
      ],
      [1725, 'hard thresholds', { evictionHard: hard }, { 'eviction-hard': hard }],
      [1749, 'a number of pods', { maxPods: 10 }, { 'max-pods': 10 }],
      [
        1967,
        'when images are collected',
        { imageGCHighThresholdPercent: 50 },
        { 'image-gc-high-threshold-percent': '50' },
      ],
      [1987, 'until when', { imageGCLowThresholdPercent: 50 }, { 'image-gc-low-threshold-percent': '50' }],
      [2007, 'the address of the DNS service', {}, { 'cluster-dns-ip': '10.0.100.10' }],
      [2022, 'no quotas of CPU', { cpuCFSQuota: false }, { 'cpu-cfs-quota-enforced': false }],
    ] as const
  ).map(translated),
  same(
    1767,
    'maxPods by expression',
    saying(
      (text) => settingsOf(text).kubernetes['max-pods'],
      { ...gate, ...bottlerocket({ kubelet: { maxPods: expression } }) },
      40,
    ),
  ),
  ...(
    [
      [2040, { labels: twoLabels }],
      [2059, required],
    ] as const
  ).map(([at, asked]) =>
    same(
      at,
      at === 2040 ? 'labels' : 'labels that are required',
      saying(
        (text) => picked(settingsOf(text).kubernetes['node-labels'] as Record<string, unknown>, twoLabels),
        { ...bottlerocket() },
        twoLabels,
        asked,
      ),
    ),
  ),
]);

const byCpus = { cpu: 'vcpus * 30', memory: 'memory_mib / 100' };
const worth = { cpu: '60m', memory: '96Mi' };
/** What kubelet reserves on m5.large by its user data, and what packing reserves. */
const parity = (at: number, field: 'kubeReserved' | 'systemReserved'): ConformanceCase =>
  same(
    at,
    `${field} by expression, to kubelet and to packing alike`,
    gives(async () => {
      const given = { ...gate, types: ['m5.large'], spec: { kubelet: { [field]: byCpus } } };
      const [text = ''] = await userDataOf(given);
      const [plain, kept] = await Promise.all(
        [{ ...given, spec: {} }, given].map(async (each) => (await account(each).types())[0]?.overhead),
      );
      const added = field === 'systemReserved' ? (plain?.cpu ?? 0) : 0;
      return [configOf(text)[field], (kept?.cpu ?? 0) - added];
    }, [worth, 60]),
  );

const expressionCases: readonly ConformanceCase[] = about('kubelet expressions in user data', [
  parity(1790, 'kubeReserved'),
  parity(1840, 'systemReserved'),
  same(
    1889,
    'maxPods, kubeReserved and systemReserved',
    saying(
      (text) => picked(configOf(text), { maxPods: 0, kubeReserved: 0, systemReserved: 0 }),
      {
        ...gate,
        types: ['m5.large'],
        spec: { kubelet: { maxPods: expression, kubeReserved: byCpus, systemReserved: byCpus } },
      },
      { maxPods: 40, kubeReserved: worth, systemReserved: worth },
    ),
  ),
  notApplicable(
    1935,
    'expressions without their gate',
    'such a node class is not ready under either, and nothing is launched from it',
  ),
]);

/** pkg/providers/launchtemplate/suite_test.go, user data but for the nodes of AL2, AL2023 and Windows. */
export const userDataCases: readonly ConformanceCase[] = [
  ...sizes,
  ...kubeletCases,
  ...diskCases,
  ...bottlerocketCases,
  ...expressionCases,
];
