import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';
import { describe, expect, test } from '@jest/globals';
import type { AmiFamily } from '../../api/aws/ec2-node-class.js';
import { allocatableOf } from '../../core/launch-options.js';
import { eniPods, kubeletOf, kubeReservedCpu, machineResources } from './capacity.js';
import type { CapacitySettings } from './capacity.js';

const mebi = 2 ** 20;
const gibi = 2 ** 30;

/**
 * What EC2 says of well-known types (vCPUs, MiB, interfaces of the default card, IPv4 addresses each, architecture),
 * and what pods can use of a node with default settings (millicores, MiB, pods), worked out apart from this code from
 * the rules (instance-types/memory, instance-types/pods, instance-types/kubelet-memory): MiB − 64 on arm64, less 7.5% rounded up, less 11 × pods + 255 and 100 for eviction.
 */
const table: [string, number, number, number, number, 'x86_64' | 'arm64', number, number, number][] = [
  ['t3.medium', 2, 4096, 3, 6, 'x86_64', 1930, 3246, 17],
  ['t3a.small', 2, 2048, 2, 4, 'x86_64', 1930, 1451, 8],
  ['t4g.medium', 2, 4096, 3, 6, 'arm64', 1930, 3187, 17],
  ['m5.large', 2, 8192, 3, 10, 'x86_64', 1930, 6903, 29],
  ['m5.xlarge', 4, 16384, 4, 15, 'x86_64', 3920, 14162, 58],
  ['m5.24xlarge', 96, 393216, 15, 50, 'x86_64', 95690, 355262, 737],
  ['m5d.2xlarge', 8, 32768, 4, 15, 'x86_64', 7910, 29317, 58],
  ['m6i.large', 2, 8192, 3, 10, 'x86_64', 1930, 6903, 29],
  ['m6g.large', 2, 8192, 3, 10, 'arm64', 1930, 6844, 29],
  ['m6gd.xlarge', 4, 16384, 4, 15, 'arm64', 3920, 14103, 58],
  ['m7g.2xlarge', 8, 32768, 4, 15, 'arm64', 7910, 29258, 58],
  ['m7i.4xlarge', 16, 65536, 8, 30, 'x86_64', 15890, 57691, 234],
  ['m7a.8xlarge', 32, 131072, 8, 30, 'x86_64', 31850, 118312, 234],
  ['c5.large', 2, 4096, 3, 10, 'x86_64', 1930, 3114, 29],
  ['c5n.18xlarge', 72, 196608, 15, 50, 'x86_64', 71750, 173400, 737],
  ['c6g.medium', 1, 2048, 2, 4, 'arm64', 940, 1392, 8],
  ['c6i.32xlarge', 128, 262144, 15, 50, 'x86_64', 127610, 234021, 737],
  ['c7g.16xlarge', 64, 131072, 15, 50, 'arm64', 63770, 112720, 737],
  ['c7a.48xlarge', 192, 393216, 15, 50, 'x86_64', 191450, 355262, 737],
  ['r5.large', 2, 16384, 3, 10, 'x86_64', 1930, 14481, 29],
  ['r6g.4xlarge', 16, 131072, 8, 30, 'arm64', 15890, 118253, 234],
  ['r7i.12xlarge', 48, 393216, 8, 30, 'x86_64', 47810, 360795, 234],
  ['x2gd.medium', 1, 16384, 2, 4, 'arm64', 940, 14653, 8],
  ['i4i.xlarge', 4, 32768, 4, 15, 'x86_64', 3920, 29317, 58],
  ['g4dn.xlarge', 4, 16384, 3, 10, 'x86_64', 3920, 14481, 29],
  ['g5.12xlarge', 48, 196608, 15, 50, 'x86_64', 47810, 173400, 737],
  ['p4d.24xlarge', 96, 1179648, 15, 50, 'x86_64', 95690, 1082712, 737],
  ['p5.48xlarge', 192, 2097152, 2, 50, 'x86_64', 191450, 1938410, 100],
  ['inf2.xlarge', 4, 16384, 4, 15, 'x86_64', 3920, 14162, 58],
  ['trn1.32xlarge', 128, 524288, 5, 50, 'x86_64', 127610, 481894, 247],
  ['m5.metal', 96, 393216, 15, 50, 'x86_64', 95690, 355262, 737],
  ['a1.large', 2, 4096, 3, 10, 'arm64', 1930, 3055, 29],
];

function info(row: (typeof table)[number]): InstanceTypeInfo {
  const [name, vcpus, memory, interfaces, addresses, architecture] = row;
  return {
    InstanceType: name as never,
    VCpuInfo: { DefaultVCpus: vcpus },
    MemoryInfo: { SizeInMiB: memory },
    ProcessorInfo: { SupportedArchitectures: [architecture] },
    NetworkInfo: {
      DefaultNetworkCardIndex: 0,
      NetworkCards: [{ NetworkCardIndex: 0, MaximumNetworkInterfaces: interfaces }],
      MaximumNetworkInterfaces: interfaces * 2,
      Ipv4AddressesPerInterface: addresses,
    },
  };
}

const settings = (
  family: AmiFamily = 'AL2023',
  spec: CapacitySettings['spec'] = {},
  more: Partial<CapacitySettings> = {},
): CapacitySettings => ({ family, spec, vmMemoryOverheadPercent: 0.075, reservedEnis: 0, ...more });

const named = (name: string): InstanceTypeInfo => info(table.find((row) => row[0] === name)!);
const resourcesOf = (type: InstanceTypeInfo, given: CapacitySettings) => machineResources(type, given);
const allocatable = (type: InstanceTypeInfo, given: CapacitySettings) =>
  allocatableOf({ name: '', requirements: [], offerings: [], ...resourcesOf(type, given) });

test.each(table)('allocatable of %s', (...row) => {
  const [, , , , , , cpu, memoryMi, pods] = row;
  expect(allocatable(info(row), settings())).toMatchObject({
    cpu,
    memory: memoryMi * mebi,
    pods,
    'ephemeral-storage': 20 * gibi - gibi - 2 * gibi,
  });
});

test.each([
  [1, 60],
  [2, 70],
  [4, 80],
  [8, 90],
  [192, 550],
])('kubelet keeps of %d cores %d millicores', (vcpus, reserved) => {
  expect(kubeReservedCpu(vcpus)).toBe(reserved);
});

describe('pods', () => {
  test('reserved and efa-only interfaces carry none; no interface left means no pods', () => {
    expect(eniPods(named('m5.large'), 1)).toBe(2 * 9 + 2);
    expect(eniPods(named('m5.large'), 3)).toBe(0);
    const networkInterfaces = [
      { networkCardIndex: 0, deviceIndex: 0, interfaceType: 'interface' as const },
      { networkCardIndex: 0, deviceIndex: 1, interfaceType: 'efa-only' as const },
    ];
    expect(resourcesOf(named('m5.large'), settings('AL2023', { networkInterfaces })).capacity.pods).toBe(20);
  });

  test('podsPerCore caps the number of pods, except on Bottlerocket', () => {
    const spec = { kubelet: { podsPerCore: 4 } };
    expect(resourcesOf(named('m5.large'), settings('AL2023', spec)).capacity.pods).toBe(8);
    expect(resourcesOf(named('m5.large'), settings('Bottlerocket', spec)).capacity.pods).toBe(29);
    expect(resourcesOf(named('m5.large'), settings('Windows2022')).capacity.pods).toBe(110);
  });

  test('with maxPods 110 memory kept for kubelet follows ENI pods on AL2, maxPods on Bottlerocket (instance-types/kubelet-memory)', () => {
    const spec = { kubelet: { maxPods: 110 } };
    const kept = (family: AmiFamily) => resourcesOf(named('m5.large'), settings(family, spec)).overhead.memory;
    expect(kept('AL2')).toBe((11 * 29 + 255 + 100) * mebi);
    expect(kept('Bottlerocket')).toBe((11 * 110 + 255 + 100) * mebi);
    expect(resourcesOf(named('m5.large'), settings('AL2', spec)).capacity.pods).toBe(110);
  });

  test('memory kept for kubelet follows the interfaces with addresses, the reserved ones included (instance-types/kubelet-memory)', () => {
    const networkInterfaces = [
      { networkCardIndex: 0, deviceIndex: 0, interfaceType: 'interface' as const },
      { networkCardIndex: 0, deviceIndex: 1, interfaceType: 'efa-only' as const },
    ];
    const own = settings('AL2023', { networkInterfaces }, { reservedEnis: 1 });
    expect(resourcesOf(named('m5.large'), own).overhead.memory).toBe((11 * 20 + 255 + 100) * mebi);
  });

  // Rule `node-classes/kubelet-expressions`.
  test.each<[string, AmiFamily, { efaOnly?: number; podsPerCore?: number; maxPods?: number | string }, number, number]>(
    [
      ['of the interfaces', 'AL2023', {}, 29, 29],
      ['without those of EFA alone', 'AL2023', { efaOnly: 1 }, 20, 20],
      ['by core', 'AL2023', { podsPerCore: 4 }, 8, 8],
      ['where pods by core do not count', 'Bottlerocket', { podsPerCore: 4 }, 29, 29],
      ['of Windows', 'Windows2022', {}, 110, 110],
      ['of maxPods', 'AL2023', { maxPods: 16 }, 16, 16],
      ['of an expression for maxPods, by core', 'AL2023', { maxPods: 'max_pods * 2', podsPerCore: 4 }, 16, 8],
    ],
  )('in expressions max_pods is the number %s', (_, family, { efaOnly = 0, ...given }, maxPods, pods) => {
    const interfaces = Array.from({ length: efaOnly }, (_each, at) => ({
      ...{ networkCardIndex: 0, deviceIndex: at + 1, interfaceType: 'efa-only' as const },
    }));
    const kubelet = { maxPods: 'max_pods', ...given, kubeReserved: { pid: 'max_pods' } };
    const spec = { kubelet, networkInterfaces: interfaces };
    const resolved = kubeletOf(named('m5.large'), { family, spec, reservedEnis: 0 });
    expect(resolved).toMatchObject({ maxPods, kubeReserved: { pid: String(pods) } });
  });
});

// Rule `instance-types/capacity`.
describe('memory and storage reserved on a node', () => {
  const overhead = (kubelet: Record<string, unknown>) =>
    resourcesOf(named('m5.large'), settings('AL2023', { kubelet })).overhead;

  test('evictionHard 100% switches the threshold off; percentages are of capacity, rounded up (instance-types/eviction-threshold)', () => {
    expect(overhead({ evictionHard: { 'memory.available': '100%' } }).memory).toBe(574 * mebi);
    expect(overhead({ evictionHard: { 'memory.available': '1%' } }).memory).toBe(
      574 * mebi + Math.ceil((7577 * mebi) / 100),
    );
    expect(overhead({ evictionHard: { 'memory.available': '500Mi' } }).memory).toBe(1074 * mebi);
    expect(overhead({ evictionHard: { 'nodefs.available': '5%' } })['ephemeral-storage']).toBe(2 * gibi);
    expect(overhead({ evictionSoft: { 'memory.available': '2Gi' } }).memory).toBe(674 * mebi);
  });

  test('the user’s amounts win key by key, and the system’s are added', () => {
    const kept = overhead({
      kubeReserved: { cpu: '200m' },
      systemReserved: { cpu: '100m', memory: '1Gi', pid: '100' },
    });
    expect(kept).toMatchObject({ cpu: 300, memory: (674 + 1024) * mebi });
    expect(kept.pid).toBeUndefined();
  });
});

// Rule `instance-types/family-traits`.
describe('storage', () => {
  const storage = (spec: CapacitySettings['spec'], family: AmiFamily = 'AL2023', local?: number) =>
    resourcesOf(
      { ...named('m5d.2xlarge'), ...(local === undefined ? {} : { InstanceStorageInfo: { TotalSizeInGB: local } }) },
      settings(family, spec),
    ).capacity['ephemeral-storage'];
  const device = (deviceName: string, volumeSize: string, rootVolume = false) => ({
    deviceName,
    rootVolume,
    ebs: { volumeSize },
  });

  test('local disks count as ephemeral storage under RAID0 alone', () => {
    expect(storage({}, 'AL2023', 300)).toBe(20 * gibi);
    expect(storage({ instanceStorePolicy: 'RAID0' }, 'AL2023', 300)).toBe(300e9);
    expect(storage({ instanceStorePolicy: 'RAID0' }, 'AL2023')).toBe(20 * gibi);
  });

  test("the root volume sets ephemeral storage, else the family's device, else for Custom the last one", () => {
    const blockDeviceMappings = [device('/dev/xvda', '50Gi'), device('/dev/xvdb', '100G')];
    expect(storage({ blockDeviceMappings })).toBe(50 * gibi);
    expect(storage({ blockDeviceMappings }, 'Bottlerocket')).toBe(100e9);
    expect(storage({ blockDeviceMappings }, 'Custom')).toBe(100e9);
    expect(storage({ blockDeviceMappings: [device('/dev/sdx', '7Gi', true), ...blockDeviceMappings] })).toBe(7 * gibi);
    const ofSnapshot = { deviceName: '/dev/xvda', rootVolume: true, ebs: { snapshotID: 'snap-1' } };
    expect(storage({ blockDeviceMappings: [ofSnapshot, device('/dev/xvdb', '100Gi')] }, 'Bottlerocket')).toBe(
      100 * gibi,
    );
    expect(storage({ blockDeviceMappings: [ofSnapshot, device('/dev/xvdb', '100Gi')] }, 'Custom')).toBe(100 * gibi);
    expect(storage({}, 'Windows2022')).toBe(50 * gibi);
    expect(storage({}, 'Custom')).toBe(20 * gibi);
  });
});

describe('extended resources', () => {
  test('devices are counted by maker, and absent ones have no entry', () => {
    const accelerated: InstanceTypeInfo = {
      ...named('trn1.32xlarge'),
      GpuInfo: {
        Gpus: [
          { Manufacturer: 'NVIDIA', Count: 4 },
          { Manufacturer: 'AMD', Count: 1 },
        ],
      },
      NeuronInfo: { NeuronDevices: [{ Count: 16, CoreInfo: { Count: 2 } }] },
      NetworkInfo: { ...named('trn1.32xlarge').NetworkInfo, EfaInfo: { MaximumEfaInterfaces: 8 } },
    };
    expect(resourcesOf(accelerated, settings()).capacity).toMatchObject({
      'nvidia.com/gpu': 4,
      'amd.com/gpu': 1,
      'aws.amazon.com/neuron': 16,
      'aws.amazon.com/neuroncore': 32,
      'vpc.amazonaws.com/efa': 8,
    });
    const networkInterfaces = [{ networkCardIndex: 0, deviceIndex: 0, interfaceType: 'interface' as const }];
    const listed = resourcesOf(accelerated, settings('AL2023', { networkInterfaces })).capacity;
    expect(listed['vpc.amazonaws.com/efa']).toBeUndefined();
    const plain = resourcesOf(named('t3.medium'), settings()).capacity;
    expect(Object.keys(plain).sort()).toEqual(['cpu', 'ephemeral-storage', 'memory', 'pods']);
    expect(resourcesOf(named('m5.large'), settings()).capacity['vpc.amazonaws.com/pod-eni']).toBe(9);
  });

  test('memory seen on nodes replaces the estimate (instance-types/known-memory)', () => {
    const knownCapacity = (resource: string, promised: number): number =>
      resource === 'memory' ? 7000 * mebi : promised;
    const { capacity } = resourcesOf(named('m5.large'), settings('AL2023', {}, { knownCapacity }));
    expect(capacity.memory).toBe(7000 * mebi);
    expect({ ...capacity, memory: 0 }).toEqual({ ...resourcesOf(named('m5.large'), settings()).capacity, memory: 0 });
  });
});
