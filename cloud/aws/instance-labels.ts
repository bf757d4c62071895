import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';
import { awsLabels } from '../../api/aws/labels.js';
import type { NodeSelectorRequirement } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';

/** Labels of an instance type; undefined: nodes of this type do not have the label (labels/instance-labels). */
export function instanceLabels(info: InstanceTypeInfo): Record<string, string | undefined> {
  const name = info.InstanceType ?? '';
  const ebs = info.EbsInfo;
  const text = (value: number | undefined): string | undefined => (value === undefined ? undefined : String(value));
  return {
    [labels.instanceType]: name,
    ...nameLabels(name),
    [awsLabels.instanceCpu]: text(info.VCpuInfo?.DefaultVCpus),
    [awsLabels.instanceCpuManufacturer]: manufacturer(info.ProcessorInfo?.Manufacturer),
    [awsLabels.instanceCpuSustainedClockSpeedMhz]: text(megahertz(info)),
    [awsLabels.instanceMemory]: text(info.MemoryInfo?.SizeInMiB),
    [awsLabels.instanceEbsBandwidth]:
      ebs?.EbsOptimizedSupport === 'default' ? text(ebs.EbsOptimizedInfo?.MaximumBandwidthInMbps) : undefined,
    [awsLabels.instanceNetworkBandwidth]: text(networkBandwidth(info)),
    [awsLabels.instanceHypervisor]: info.Hypervisor ?? '',
    [awsLabels.instanceEncryptionInTransitSupported]: String(info.NetworkInfo?.EncryptionInTransitSupported === true),
    [awsLabels.nitroSandbox]: String(info.NitroEnclavesSupport === 'supported'),
    [awsLabels.instanceLocalNvme]: localNvme(info),
    ...gpuLabels(info),
    ...acceleratorLabels(info),
  };
}

/** The labels as requirements of an instance type. */
export function labelRequirements(values: Readonly<Record<string, string | undefined>>): NodeSelectorRequirement[] {
  return Object.entries(values).map(([key, value]) =>
    value === undefined ? { key, operator: 'DoesNotExist' } : { key, operator: 'In', values: [value] },
  );
}

/** The Kubernetes architecture of the type; undefined for machines that cannot run nodes. */
export function architectureOf(info: InstanceTypeInfo): 'amd64' | 'arm64' | undefined {
  const supported: readonly string[] = info.ProcessorInfo?.SupportedArchitectures ?? [];
  if (supported.includes('x86_64')) return 'amd64';
  return supported.includes('arm64') ? 'arm64' : undefined;
}

/** `m7g.2xlarge` → family m7g, size 2xlarge, category m, generation 7; `u-6tb1.metal` → category u, generation 1. */
function nameLabels(name: string): Record<string, string | undefined> {
  const [family, size] = name.split('.');
  const parts = /^([a-z]+)(?:-[0-9]+tb)?([0-9]+).*\./.exec(name);
  return {
    [awsLabels.instanceFamily]: family,
    [awsLabels.instanceSize]: size,
    [awsLabels.instanceCategory]: parts?.[1],
    [awsLabels.instanceGeneration]: parts?.[2],
    [awsLabels.instanceCapabilityFlex]: String(family?.endsWith('-flex') === true),
  };
}

function megahertz(info: InstanceTypeInfo): number | undefined {
  const clock = info.ProcessorInfo?.SustainedClockSpeedInGhz;
  return clock === undefined ? undefined : Math.round(clock * 1000);
}

function networkBandwidth(info: InstanceTypeInfo): number | undefined {
  const cards = info.NetworkInfo?.NetworkCards ?? [];
  const gigabits = cards.reduce((sum, card) => sum + (card.BaselineBandwidthInGbps ?? 0), 0);
  return gigabits === 0 ? undefined : Math.round(gigabits * 1000);
}

function localNvme(info: InstanceTypeInfo): string | undefined {
  const storage = info.InstanceStorageInfo;
  if (storage === undefined || storage.NvmeSupport === 'unsupported') return undefined;
  return storage.TotalSizeInGB === undefined ? undefined : String(storage.TotalSizeInGB);
}

/** Only if there is exactly one kind of GPU; memory of each in GB. */
function gpuLabels(info: InstanceTypeInfo): Record<string, string | undefined> {
  const gpus = info.GpuInfo?.Gpus ?? [];
  const gpu = gpus.length === 1 ? gpus[0] : undefined;
  return {
    [awsLabels.instanceGpuName]: kebab(gpu?.Name),
    [awsLabels.instanceGpuManufacturer]: kebab(gpu?.Manufacturer),
    [awsLabels.instanceGpuCount]: gpu?.Count === undefined ? undefined : String(gpu.Count),
    [awsLabels.instanceGpuMemory]:
      gpu?.MemoryInfo?.SizeInMiB === undefined ? undefined : String(gpu.MemoryInfo.SizeInMiB),
  };
}

function acceleratorLabels(info: InstanceTypeInfo): Record<string, string | undefined> {
  const neuron = info.NeuronInfo?.NeuronDevices ?? [];
  const inference = info.InferenceAcceleratorInfo?.Accelerators ?? [];
  const one =
    neuron.length === 1
      ? { Name: neuron[0]?.Name, Manufacturer: 'AWS', Count: neuron[0]?.Count }
      : inference.length === 1
        ? inference[0]
        : undefined;
  return {
    [awsLabels.instanceAcceleratorName]: kebab(one?.Name),
    [awsLabels.instanceAcceleratorManufacturer]: kebab(one?.Manufacturer),
    [awsLabels.instanceAcceleratorCount]: one?.Count === undefined ? undefined : String(one.Count),
  };
}

function manufacturer(name: string | undefined): string | undefined {
  if (name === undefined) return undefined;
  return name.toLowerCase().startsWith('amazon') ? 'aws' : kebab(name);
}

function kebab(text: string | undefined): string | undefined {
  return text?.toLowerCase().replaceAll(' ', '-');
}
