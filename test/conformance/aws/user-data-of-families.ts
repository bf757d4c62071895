import { labels } from '../../../api/labels.js';
import { readMime } from '../../../cloud/aws/user-data/mime.js';
import { about, gives, same, type Check, type ConformanceCase } from '../conformance-case.js';
import { oneOf } from '../world.js';
import { account, outcomeOf, userDataOf, type Asked, type Given } from './account.js';
import { alias, custom } from './launch-templates.js';
import {
  amounts,
  configOf,
  expression,
  gate,
  hard,
  has,
  nodeConfig,
  passed,
  required,
  saying,
  soft,
  twoLabels,
  types,
} from './user-data.js';

const hello = '#!/bin/bash\necho "Running custom user data script"';
const mime = (...headers: readonly string[]): string =>
  [...headers, '', '--//', 'Content-Type: text/x-shellscript; charset="us-ascii"', '', hello, '--//--', ''].join('\n');
const version = 'MIME-Version: 1.0';
const content = 'Content-Type: multipart/mixed; boundary="//"';
const shell = 'text/x-shellscript; charset="us-ascii"';

/** How AL2 calls its image's script; the unregistered taint and the labels are among what it hands to kubelet. */
const call = [
  "/etc/eks/bootstrap.sh 'test-cluster' --apiserver-endpoint 'https://test-cluster' --b64-cluster-ca 'Y2EtYnVuZGxlCg=='",
  "--dns-cluster-ip '10.0.100.10'",
  '--use-max-pods false',
  'karpenter.sh/capacity-type=on-demand,karpenter.sh/do-not-sync-taints=true,karpenter.sh/nodepool=default',
  '--register-with-taints="karpenter.sh/unregistered=:NoExecute" --max-pods=110',
];
/** The parts of AL2's user data: those of the node class, and the call last. */
const al2 = (at: number, title: string, userData: string | undefined, own: readonly string[]): ConformanceCase =>
  same(
    at,
    `AL2: ${title}`,
    saying(
      (text) => {
        const parts = readMime(text);
        const last = (parts.at(-1)?.body ?? '').replaceAll(' \\\n', ' ');
        return [
          parts.map(({ contentType }) => contentType),
          parts.slice(0, -1).map(({ body }) => body),
          call.map((part) => last.includes(part)),
        ];
      },
      { spec: { ...alias('al2'), kubelet: { maxPods: 110 }, ...(userData === undefined ? {} : { userData }) } },
      [[...own.map(() => shell), shell], own, call.map(() => true)],
    ),
  );

const al2Cases: readonly ConformanceCase[] = about('AL2 user data', [
  al2(2090, 'MIME parts of the node class', mime(version, content), [hello]),
  al2(2103, 'MIME parts with headers in any order', mime(content, version), [hello]),
  al2(2116, 'a script of the node class', hello, [hello]),
  al2(2129, 'none of the node class', undefined, []),
]);

const labelFlag = (text: string): string =>
  nodeConfig(text).spec.kubelet.flags.find((flag) => flag.startsWith('--node-labels')) ?? '';
const labelled = (at: number, title: string, asked: Asked): ConformanceCase =>
  same(
    at,
    `AL2023: ${title}`,
    saying(
      (text) => Object.entries(twoLabels).map(([key, value]) => labelFlag(text).includes(`${key}=${value}`)),
      {},
      [true, true],
      asked,
    ),
  );
const taints = [
  { key: 'test-taint-1', effect: 'NoSchedule' },
  { key: 'test-taint-2', effect: 'NoExecute' },
];

const yamlConfig =
  'apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet:\n    config:\n      maxPods: 42';
const nodeType = 'application/node.eks.aws';
const generated = {
  cluster: {
    name: 'test-cluster',
    apiServerEndpoint: 'https://test-cluster',
    certificateAuthority: 'Y2EtYnVuZGxlCg==',
    cidr: '10.0.0.0/16',
  },
  config: {
    clusterDNS: ['10.0.100.10'],
    maxPods: 110,
    registerWithTaints: [{ key: 'karpenter.sh/unregistered', effect: 'NoExecute' }],
  },
};
/** The kinds of AL2023's parts, and what the last one says, in which Stowage's settings win. */
const al2023 = (at: number, title: string, userData: string | undefined, kinds: readonly string[]): ConformanceCase =>
  same(
    at,
    `AL2023: ${title}`,
    saying(
      (text) => [readMime(text).map(({ contentType }) => contentType), nodeConfig(text).spec.cluster, configOf(text)],
      { spec: { kubelet: { maxPods: 110 }, ...(userData === undefined ? {} : { userData }) } },
      [[...kinds, nodeType], generated.cluster, generated.config],
    ),
  );
const parts = [
  version,
  content,
  '',
  '--//',
  `Content-Type: ${nodeType}`,
  '',
  yamlConfig,
  '--//',
  `Content-Type: ${shell}`,
  '',
  hello,
  '--//--',
  '',
];

const al2023Cases: readonly ConformanceCase[] = about('AL2023 user data', [
  same(
    2146,
    'taints',
    saying(
      (text) => configOf(text)['registerWithTaints'],
      {},
      [...taints, { key: 'karpenter.sh/unregistered', effect: 'NoExecute' }],
      { taints },
    ),
  ),
  labelled(2179, 'labels', { labels: twoLabels }),
  labelled(2202, 'labels from requirements', required),
  ...(
    [
      [2258, 'amounts for the system, field by field', { systemReserved: amounts }],
      [2265, 'amounts for kubelet, field by field', { kubeReserved: amounts }],
      [2272, 'hard thresholds, field by field', { evictionHard: hard }],
      [2279, 'soft thresholds, field by field', soft, { evictionSoft: hard }],
      [2291, 'periods of grace, field by field', soft, { evictionSoftGracePeriod: soft.evictionSoftGracePeriod }],
      [2303, 'the longest period of grace, field by field', { evictionMaxPodGracePeriod: 300 }],
      [2306, 'pods by core, field by field', { podsPerCore: 2 }],
      [2309, 'the address of the DNS service, field by field', { clusterDNS: ['10.0.100.0'] }],
      [2312, 'when images are collected, field by field', { imageGCHighThresholdPercent: 50 }],
      [2315, 'until when images are collected, field by field', { imageGCLowThresholdPercent: 50 }],
      [2318, 'no quotas of CPU, field by field', { cpuCFSQuota: false }],
      [2343, 'a text that is passed on', { topologyManagerPolicy: 'best-effort' }],
      [2344, 'a truth that is passed on', { serializeImagePulls: false }],
      [2345, 'a quantity that is passed on', { containerLogMaxSize: '50Mi' }],
    ] as const
  ).map(passed),
  same(
    2347,
    'maxPods where the node class has none',
    gives(async () => (await userDataOf({ types })).every((text) => Number(configOf(text)['maxPods']) > 0), true),
  ),
  same(
    2359,
    'maxPods by expression',
    saying((text) => configOf(text)['maxPods'], { ...gate, spec: { kubelet: { maxPods: expression } } }, 40),
  ),
  al2023(2407, 'MIME parts of the node class', parts.join('\n'), [nodeType, shell]),
  al2023(2408, 'a NodeConfig of the node class', yamlConfig, [nodeType]),
  al2023(2409, 'a script of the node class', hello, [shell]),
  al2023(2410, 'none of the node class', undefined, []),
  same(
    2412,
    'no launch while the service CIDR is unknown',
    gives(async () => {
      const world = account({
        types,
        options: { serviceCidr: undefined as never },
        calls: { describeCluster: () => Promise.resolve({ cluster: {} }) },
      });
      return [await outcomeOf(world.launch()), world.sent.templates.length];
    }, ['NodeClassNotReady', 0]),
  ),
]);

const windowsCall = [
  "& $EKSBootstrapScriptFile -EKSClusterName 'test-cluster' -APIServerEndpoint 'https://test-cluster' -Base64ClusterCA 'Y2EtYnVuZGxlCg=='",
  'karpenter.sh/do-not-sync-taints=true,karpenter.sh/nodepool=default',
  "--register-with-taints=\"karpenter.sh/unregistered=:NoExecute\" --max-pods=110' -DNSClusterIP '10.0.100.10'",
];
const written = 'Write-Host "Running custom user data script"';
const windows = (userData?: string): Given => ({
  spec: { ...alias('windows2022'), kubelet: { maxPods: 110 }, ...(userData === undefined ? {} : { userData }) },
});
const onWindows: Asked = { needs: [oneOf(labels.os, 'windows'), oneOf(labels.windowsBuild, '10.0.20348')] };
const windowsCheck = (given: Given, more: readonly string[]): Check =>
  has(given, ['<powershell>', ...more, ...windowsCall], true, onWindows);

/** pkg/providers/launchtemplate/suite_test.go, user data of AL2, AL2023, Windows and Custom. */
export const familyUserDataCases: readonly ConformanceCase[] = [
  ...al2Cases,
  ...al2023Cases,
  same(
    2442,
    'Custom: word for word',
    saying((text) => text, { spec: { ...custom, userData: 'special user data' } }, 'special user data'),
  ),
  same(2696, 'Windows: a script of the node class', windowsCheck(windows(written), [written])),
  same(2714, 'Windows: none of the node class', windowsCheck(windows(), [])),
];
