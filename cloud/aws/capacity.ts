import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';
import type { BlockDeviceMapping } from '../../api/aws/block-devices.js';
import type { AmiFamily, EC2NodeClassSpec } from '../../api/aws/ec2-node-class.js';
import { parseQuantity, parseResource, type Resources } from '../../core/quantities.js';
import { branchInterfacesOf } from './branch-interfaces.js';
import { families } from './families.js';
import { kubeletSettings } from './kubelet.js';
import { resolvedKubelet } from './kubelet-expressions.js';
import { lookUp } from '../../core/own.js';

const mebi = 2 ** 20;
const gibi = 2 ** 30;

/** The fields of a node class and the settings that determine the capacity of a node. */
export interface CapacitySettings {
  readonly family: AmiFamily;
  readonly spec: Pick<
    EC2NodeClassSpec,
    'kubelet' | 'blockDeviceMappings' | 'instanceStorePolicy' | 'networkInterfaces'
  >;
  /** Share of memory that the hypervisor is assumed to use, such as 0.075. */
  readonly vmMemoryOverheadPercent: number;
  /** ENIs that the CNI does not use for pods. */
  readonly reservedEnis: number;
  /** Observed capacity of a resource, at most the expected one (instance-types/known-memory). */
  readonly knownCapacity?: (resource: string, promised: number) => number;
}

interface MachineResources {
  readonly capacity: Resources;
  readonly overhead: Resources;
}

/** Capacity and overhead of a node of this type (instance-types/capacity). */
export function machineResources(info: InstanceTypeInfo, settings: CapacitySettings): MachineResources {
  const { knownCapacity = (_resource: string, promised: number): number => promised } = settings;
  const expected = {
    cpu: vcpusOf(info) * 1000,
    memory: machineMemory(info),
    'ephemeral-storage': storageOf(info, settings),
    pods: podsOf(info, settings),
    ...extendedResources(info, settings),
  };
  const capacity = Object.fromEntries(
    Object.entries(expected).map(([name, amount]) => [name, knownCapacity(name, amount)]),
  );
  // Of a machine without observations the memory is estimated.
  if (capacity['memory'] === expected.memory) capacity['memory'] = memoryOf(info, settings.vmMemoryOverheadPercent);
  return { capacity, overhead: overheadOf(info, settings, capacity) };
}

/** Pods allowed by the IP addresses of the default network card's interfaces; 0 if no interface is left. */
export function eniPods(info: InstanceTypeInfo, reservedEnis: number): number {
  const network = info.NetworkInfo;
  const card = network?.NetworkCards?.[network.DefaultNetworkCardIndex ?? 0];
  const interfaces = (card?.MaximumNetworkInterfaces ?? network?.MaximumNetworkInterfaces ?? 0) - reservedEnis;
  return interfaces <= 0 ? 0 : interfaces * ((network?.Ipv4AddressesPerInterface ?? 1) - 1) + 2;
}

/** Interfaces of the default network card without IP addresses. */
const efaOnlyOf = ({ networkInterfaces = [] }: CapacitySettings['spec']): number =>
  networkInterfaces.filter((each) => each.networkCardIndex === 0 && each.interfaceType === 'efa-only').length;

type PodSettings = Pick<CapacitySettings, 'family' | 'spec' | 'reservedEnis'>;

/** The kubelet's `maxPods` on a node of this type. */
export function podsOf(info: InstanceTypeInfo, { family, spec, reservedEnis }: PodSettings): number {
  const { maxPods, podsPerCore } = kubeletSettings(spec.kubelet);
  const traits = families[family];
  const count = maxPods ?? (traits.eniLimitsPods ? eniPods(info, reservedEnis + efaOnlyOf(spec)) : 110);
  const capped = podsPerCore !== undefined && podsPerCore > 0 && traits.podsPerCore;
  return capped ? Math.min(count, podsPerCore * vcpusOf(info)) : count;
}

/** The kubelet settings of a node of this type, with expressions evaluated. Throws `DomainError` of type Invalid. */
export function kubeletOf(info: InstanceTypeInfo, settings: PodSettings): ReturnType<typeof resolvedKubelet> {
  const { spec } = settings;
  return resolvedKubelet(spec.kubelet, info, (maxPods) =>
    podsOf(info, { ...settings, spec: { ...spec, kubelet: { ...spec.kubelet, maxPods } } }),
  );
}

/** CPU millicores that kubelet keeps: 6% of the first core, 1% of the second, 0.5% of two more, 0.25% beyond. */
export function kubeReservedCpu(vcpus: number): number {
  const steps = [
    { upTo: 1, perCore: 60 },
    { upTo: 2, perCore: 10 },
    { upTo: 4, perCore: 5 },
    { upTo: Number.POSITIVE_INFINITY, perCore: 2.5 },
  ];
  let reserved = 0;
  let from = 0;
  for (const { upTo, perCore } of steps) {
    reserved += Math.max(0, Math.min(vcpus, upTo) - from) * perCore;
    from = upTo;
  }
  return Math.floor(reserved);
}

/** `kubeReserved` of a node of this type; the user's values override it key by key. */
function kubeReserved(info: InstanceTypeInfo, settings: CapacitySettings): Resources {
  const pods = families[settings.family].memoryReservedByEniPods
    ? eniPods(info, efaOnlyOf(settings.spec))
    : podsOf(info, settings);
  return {
    cpu: kubeReservedCpu(vcpusOf(info)),
    memory: (11 * pods + 255) * mebi,
    'ephemeral-storage': gibi,
    ...amounts(kubeletSettings(settings.spec.kubelet).kubeReserved),
  };
}

function vcpusOf(info: InstanceTypeInfo): number {
  return info.VCpuInfo?.DefaultVCpus ?? 0;
}

/** Memory of the machine by EC2, in bytes. */
export const machineMemory = ({ MemoryInfo }: InstanceTypeInfo): number => (MemoryInfo?.SizeInMiB ?? 0) * mebi;

/** Arm machines reserve 64 MiB for contiguous allocations; the hypervisor's share is rounded up to whole MiB. */
function memoryOf(info: InstanceTypeInfo, overheadPercent: number): number {
  const arm = info.ProcessorInfo?.SupportedArchitectures?.includes('arm64') === true;
  const total = (info.MemoryInfo?.SizeInMiB ?? 0) - (arm ? 64 : 0);
  return (total - Math.ceil(total * overheadPercent)) * mebi;
}

function storageOf(info: InstanceTypeInfo, { family, spec }: CapacitySettings): number {
  const local = info.InstanceStorageInfo?.TotalSizeInGB;
  if (spec.instanceStorePolicy === 'RAID0' && local !== undefined) return local * 1e9;
  const { ephemeralDevice, blockDevices } = families[family];
  const own = spec.blockDeviceMappings ?? [];
  const isEphemeral = (mapping: BlockDeviceMapping): boolean => mapping.deviceName === ephemeralDevice;
  // A volume with the size of its snapshot has no known size.
  const sized = [
    own.find((mapping) => mapping.rootVolume === true),
    family === 'Custom' ? own.at(-1) : own.find(isEphemeral),
    blockDevices.find(isEphemeral),
  ].find((mapping) => mapping?.ebs?.volumeSize !== undefined);
  return parseResource('ephemeral-storage', sized?.ebs?.volumeSize ?? '20Gi');
}

function extendedResources(info: InstanceTypeInfo, { family, spec }: CapacitySettings): Record<string, number> {
  const { GpuInfo, NeuronInfo, InferenceAcceleratorInfo, NetworkInfo } = info;
  const gpus = (manufacturer: string): number =>
    sum(GpuInfo?.Gpus, (gpu) => (gpu.Manufacturer === manufacturer ? gpu.Count : 0));
  const neuron = NeuronInfo?.NeuronDevices;
  const efaInterfaces = sum(spec.networkInterfaces, (each) => (each.interfaceType === 'efa-only' ? 1 : 0));
  const windows = families[family].os === 'windows';
  const counts = {
    'nvidia.com/gpu': gpus('NVIDIA'),
    'amd.com/gpu': gpus('AMD'),
    'habana.ai/gaudi': gpus('Habana'),
    'aws.amazon.com/neuron': sum(neuron ?? InferenceAcceleratorInfo?.Accelerators, (device) => device.Count),
    'aws.amazon.com/neuroncore': sum(neuron, (device) => (device.Count ?? 0) * (device.CoreInfo?.Count ?? 0)),
    // A node class that lists interfaces has no others.
    'vpc.amazonaws.com/efa':
      (spec.networkInterfaces ?? []).length > 0 ? efaInterfaces : (NetworkInfo?.EfaInfo?.MaximumEfaInterfaces ?? 0),
    'vpc.amazonaws.com/pod-eni': windows ? 0 : branchInterfacesOf(info.InstanceType ?? ''),
    'vpc.amazonaws.com/PrivateIPv4Address': windows ? (NetworkInfo?.Ipv4AddressesPerInterface ?? 1) - 1 : 0,
  };
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));
}

function sum<T>(items: readonly T[] | undefined, amount: (item: T) => number | undefined): number {
  return (items ?? []).reduce((total, item) => total + (amount(item) ?? 0), 0);
}

function overheadOf(info: InstanceTypeInfo, settings: CapacitySettings, capacity: Resources): Resources {
  const kubelet = kubeletSettings(settings.spec.kubelet);
  const kept = [
    kubeReserved(info, settings),
    amounts(kubelet.systemReserved),
    eviction(kubelet.evictionHard, capacity),
  ];
  const overhead: Record<string, number> = {};
  for (const part of kept) {
    for (const [name, amount] of Object.entries(part)) overhead[name] = (lookUp(overhead, name) ?? 0) + amount;
  }
  return overhead;
}

/** Hard thresholds only: soft ones do not reserve resources. `100%` disables a threshold. */
function eviction(hard: Readonly<Record<string, string>> | undefined, capacity: Resources): Resources {
  const storage = capacity['ephemeral-storage'] ?? 0;
  return {
    memory: threshold(hard?.['memory.available'], capacity.memory ?? 0) ?? 100 * mebi,
    'ephemeral-storage': threshold(hard?.['nodefs.available'], storage) ?? Math.ceil(storage / 10),
  };
}

function threshold(value: string | undefined, of: number): number | undefined {
  if (value === undefined) return undefined;
  if (!value.endsWith('%')) return Math.ceil(parseQuantity(value, 'evictionHard'));
  const percent = Number(value.slice(0, -1));
  return percent === 100 ? 0 : Math.ceil((of / 100) * percent);
}

/** `pid` is not a node resource and reserves nothing. */
function amounts(list: Readonly<Record<string, string>> | undefined): Resources {
  const entries = Object.entries(list ?? {}).filter(([name]) => name !== 'pid');
  return Object.fromEntries(entries.map(([name, quantity]) => [name, parseResource(name, quantity)]));
}
