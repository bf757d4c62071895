import { describe, expect, test } from '@jest/globals';
import { build, type Patch } from '../../test/integration/crd-case-helpers.js';
import { ec2NodeClasses, type AmiFamily } from './ec2-node-class.js';
import { kubeletFields, understoodKubeletFields } from './kubelet-fields.js';
import {
  amiAlias,
  ec2NodeClassKubeletVerdict,
  type Kubelet,
  kubeletVerdict,
  resolvedAmiFamily,
} from './node-class-rules.js';

/** The verdict as the reason and the fields it names. */
function verdict(
  kubelet: Kubelet,
  family: AmiFamily = 'AL2023',
  expressions = false,
): [string, ...string[]] | undefined {
  const found = kubeletVerdict(kubelet, family, expressions);
  return found === undefined ? undefined : [found.reason, ...found.issues.map(({ path }) => path)];
}

const invalid = (...fields: string[]): string[] => [
  'InvalidKubeletConfiguration',
  ...fields.map((field) => `spec.kubelet${field}`),
];

describe('kubeletVerdict on spec.kubelet', () => {
  test('accepts valid kubelet settings for every family', () => {
    const kubelet = {
      clusterDNS: ['10.0.0.10'],
      maxPods: 58,
      podsPerCore: 10,
      kubeReserved: { cpu: '200m', memory: '100Mi', 'ephemeral-storage': '1Gi', pid: '1000' },
      systemReserved: { cpu: '100m' },
      evictionHard: { 'memory.available': '5%', 'nodefs.available': '10Gi', 'pid.available': '0%' },
      evictionSoft: { 'memory.available': '100%' },
      evictionSoftGracePeriod: { 'memory.available': '1m30s' },
      evictionMaxPodGracePeriod: 60,
      imageGCHighThresholdPercent: 85,
      imageGCLowThresholdPercent: 80,
      cpuCFSQuota: false,
    };

    for (const family of ['AL2', 'AL2023', 'Custom', 'Windows2022'] as const) {
      expect(verdict(kubelet, family)).toBeUndefined();
    }
    expect(kubeletVerdict(undefined, 'AL2')).toBeUndefined();
  });

  // Rule `node-classes/kubelet-checks`.
  test.each<[Kubelet, string[]]>([
    [{ maxPodz: 1 }, invalid('.maxPodz')],
    [{ logging: { format: 12_345 } }, invalid('.logging.format')],
    [{ logging: { options: { json: { nope: 'x' } } } }, invalid('.logging.options.json.nope')],
    [{ logging: { vmodule: [{ filePattern: 'a', verbosity: '1' }] } }, invalid('.logging.vmodule[0].verbosity')],
    [{ reservedMemory: { numaNode: 0 } }, invalid('.reservedMemory')],
    [{ evictionMinimumReclaim: { notASignal: '500Mi' } }, invalid('.evictionMinimumReclaim.notASignal')],
    [{ evictionMinimumReclaim: { 'memory.available': 'lots' } }, invalid('.evictionMinimumReclaim[memory.available]')],
    [
      { evictionSoft: { 'memory.available': '5%' }, evictionSoftGracePeriod: { 'memory.available': '-1m' } },
      invalid('.evictionSoftGracePeriod[memory.available]'),
    ],
    [{ maxPods: 1.5 }, invalid('.maxPods')],
    [{ maxPods: -1 }, invalid('.maxPods')],
    [{ podsPerCore: -1 }, invalid('.podsPerCore')],
    [{ podsPerCore: '2' }, invalid('.podsPerCore')],
    [{ evictionMaxPodGracePeriod: -1 }, invalid('.evictionMaxPodGracePeriod')],
    [{ clusterDNS: '10.0.0.10' }, invalid('.clusterDNS')],
    [{ featureGates: { A: 'yes' } }, invalid('.featureGates')],
    [{ cpuCFSQuota: 'false' }, invalid('.cpuCFSQuota')],
    [{ syncFrequency: '1 minute' }, invalid('.syncFrequency')],
    [{ tlsCurvePreferences: ['a'] }, invalid('.tlsCurvePreferences')],
    [{ memorySwap: 'LimitedSwap' }, invalid('.memorySwap')],
    [{ memoryThrottlingFactor: '1' }, invalid('.memoryThrottlingFactor')],
    [{ clusterDomain: 1 }, invalid('.clusterDomain')],
    [{ reservedMemory: {} }, invalid('.reservedMemory')],
    [{ registerWithTaints: [] }, invalid('.registerWithTaints')],
    [{ kubeReserved: { gpu: '1' } }, invalid('.kubeReserved.gpu')],
    [{ systemReserved: { cpu: '-1' } }, invalid('.systemReserved.cpu')],
    [{ kubeReserved: { cpu: 1 } }, invalid('.kubeReserved')],
    [{ evictionHard: { 'memory.free': '5%' } }, invalid('.evictionHard[memory.free]')],
    [{ evictionHard: { 'memory.available': '101%' } }, invalid('.evictionHard[memory.available]')],
    [{ evictionHard: { 'memory.available': '-1Gi' } }, invalid('.evictionHard[memory.available]')],
    [{ evictionHard: { 'memory.available': 'little' } }, invalid('.evictionHard[memory.available]')],
    [{ imageGCHighThresholdPercent: 101 }, invalid('.imageGCHighThresholdPercent')],
    [{ imageGCLowThresholdPercent: -1 }, invalid('.imageGCLowThresholdPercent')],
    [{ imageGCHighThresholdPercent: 80, imageGCLowThresholdPercent: 80 }, invalid('.imageGCHighThresholdPercent')],
  ])('refuses %j', (kubelet, expected) => {
    expect(verdict(kubelet)).toEqual(expected);
  });

  test('evictionSoft and its grace periods go together (node-classes/soft-eviction-in-pairs)', () => {
    expect(verdict({ evictionSoft: { 'memory.available': '5%' } })).toEqual(invalid('.evictionSoft[memory.available]'));
    expect(verdict({ evictionSoftGracePeriod: { 'memory.available': '1m' } })).toEqual(
      invalid('.evictionSoftGracePeriod[memory.available]'),
    );
    expect(
      verdict({
        evictionSoft: { 'memory.available': '5%' },
        evictionSoftGracePeriod: { 'memory.available': 'a while' },
      }),
    ).toEqual(invalid('.evictionSoftGracePeriod[memory.available]'));
  });

  test('a field that only AL2023 can pass on is unsupported elsewhere (node-classes/fields-of-al2023-alone)', () => {
    const kubelet = { seccompDefault: true };
    const unsupported = ['UnsupportedKubeletConfiguration', 'spec.kubelet.seccompDefault'];

    expect(verdict(kubelet, 'Bottlerocket')).toEqual(unsupported);
    expect(verdict(kubelet, 'AL2')).toEqual(unsupported);
    expect(verdict(kubelet, 'Windows2019')).toEqual(unsupported);
    expect(verdict(kubelet, 'AL2023')).toBeUndefined();
    expect(verdict(kubelet, 'Custom')).toBeUndefined();
  });

  test('podsPerCore is refused on Bottlerocket, and a second cluster DNS address off AL2023', () => {
    const addresses = { clusterDNS: ['10.0.0.10', '10.0.0.11'] };

    expect(verdict({ podsPerCore: 4 }, 'Bottlerocket')).toEqual([
      'UnsupportedKubeletConfiguration',
      'spec.kubelet.podsPerCore',
    ]);
    expect(verdict(addresses, 'AL2')).toEqual(['UnsupportedKubeletConfiguration', 'spec.kubelet.clusterDNS']);
    expect(verdict(addresses, 'AL2023')).toBeUndefined();
  });

  test('kubelet expressions are refused without their feature gate', () => {
    const kubelet = { maxPods: 'min(max_pods, 58)', kubeReserved: { cpu: 'vcpus * 10' } };

    expect(verdict(kubelet)).toEqual([
      'KubeletExpressionsDisabled',
      'spec.kubelet.maxPods',
      'spec.kubelet.kubeReserved.cpu',
    ]);
    expect(verdict(kubelet, 'AL2023', true)).toBeUndefined();
  });

  test('nested settings are read', () => {
    const kubelet = {
      logging: {
        flushFrequency: 5_000_000_000,
        vmodule: [{ filePattern: 'a*', verbosity: 3 }],
        options: { json: { infoBufferSize: '100Mi', splitStream: true } },
      },
      authentication: { webhook: { enabled: true, cacheTTL: '2m' } },
      reservedMemory: [{ numaNode: 0, limits: { memory: '1Gi', 'hugepages-2Mi': 0 } }],
      shutdownGracePeriodByPodPriority: [{ priority: 100_000, shutdownGracePeriodSeconds: 10 }],
      staticPodURLHeader: { 'x-token': ['a'] },
    };
    expect(verdict(kubelet)).toBeUndefined();
  });

  // Rule `node-classes/kubelet-fields`.
  test('every field supported by all families is a kubelet field', () => {
    expect(understoodKubeletFields.filter((name) => !(name in kubeletFields))).toEqual([]);
  });
});

const nodeClass = (patch: Patch) => ec2NodeClasses.mustParse(build('EC2NodeClass', patch));

describe('EC2NodeClass rules', () => {
  test('an AMI alias is split into family and version', () => {
    expect(amiAlias({ amiSelectorTerms: [{ alias: 'bottlerocket@v1.10.0' }] })).toEqual({
      family: 'Bottlerocket',
      version: 'v1.10.0',
    });
    expect(amiAlias({ amiSelectorTerms: [{ id: 'ami-1' }] })).toBeUndefined();
  });

  test('the AMI family is the field, else that of the alias', () => {
    expect(resolvedAmiFamily({ amiSelectorTerms: [{ alias: 'al2023@latest' }] })).toBe('AL2023');
    expect(resolvedAmiFamily({ amiFamily: 'Custom', amiSelectorTerms: [{ alias: 'al2023@latest' }] })).toBe('Custom');
  });

  test('the kubelet is validated for the resolved family', () => {
    const patch = { 'spec.kubelet': { seccompDefault: true } };

    expect(ec2NodeClassKubeletVerdict(nodeClass(patch))).toBeUndefined();
    expect(
      ec2NodeClassKubeletVerdict(nodeClass({ ...patch, 'spec.amiSelectorTerms': [{ alias: 'bottlerocket@latest' }] }))
        ?.reason,
    ).toBe('UnsupportedKubeletConfiguration');
  });
});
