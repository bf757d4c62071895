import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';
import type { Node, ResourceList, Taint } from '../../../api/kubernetes.js';
import { labels as names } from '../../../api/labels.js';
import type { InstanceView } from '../cloud-proxy/control.js';
import type { KubeletStart } from './kubelet-arguments.js';
import { parseQuantity } from '../../../core/quantities.js';

const MiB = 2 ** 20;
const GiB = 2 ** 30;

/** What a node's status says of its resources. */
interface NodeResources {
  capacity: ResourceList;
  allocatable: ResourceList;
  /** What device plugins add once they run. */
  devices: ResourceList;
}

/**
 * The memory that the operating system finds, in bytes: firmware and kernel keep about 120 MiB and 3.9% back,
 * as measured on m5 nodes; small machines lose 7% at most here, so that the usual 7.5% estimate holds.
 */
function visibleMemory(type: InstanceTypeInfo, arm: boolean): number {
  const nominal = (type.MemoryInfo?.SizeInMiB ?? 0) - (arm ? 64 : 0);
  const lost = Math.min(nominal * 0.07, 120 + nominal * 0.039);
  return Math.floor(nominal - lost) * MiB;
}

/** Addresses that the VPC CNI can give to pods, plus two host-network pods. */
function eniPods(type: InstanceTypeInfo): number {
  const { MaximumNetworkInterfaces: interfaces = 0, Ipv4AddressesPerInterface: addresses = 0 } = type.NetworkInfo ?? {};
  return interfaces * (addresses - 1) + 2;
}

function defaultKubeReserved(vcpus: number, pods: number): Record<string, string> {
  const steps: [number, number][] = [
    [1, 60],
    [1, 10],
    [2, 5],
    [Number.POSITIVE_INFINITY, 2.5],
  ];
  let left = vcpus;
  let milli = 0;
  for (const [cores, each] of steps) {
    const here = Math.min(left, cores);
    if (here > 0) milli += here * each;
    left -= here;
  }
  return { cpu: `${Math.floor(milli)}m`, memory: `${11 * pods + 255}Mi`, 'ephemeral-storage': '1Gi' };
}

/** An eviction threshold, which is an amount or a share of the capacity, in bytes. */
function threshold(text: string | undefined, capacity: number, fallback: number): number {
  if (text === undefined) return fallback;
  return text.endsWith('%') ? (Number(text.slice(0, -1)) / 100) * capacity : parseQuantity(text);
}

const amount = (reserved: Record<string, string> | undefined, name: string): number => {
  const text = reserved?.[name];
  return text === undefined ? 0 : parseQuantity(text, name);
};

function devicesOf(type: InstanceTypeInfo, efaInterfaces: number): ResourceList {
  const devices: ResourceList = {};
  const add = (name: string, count: number): void => {
    if (count > 0) devices[name] = String(count);
  };
  for (const gpu of type.GpuInfo?.Gpus ?? []) {
    const names: Record<string, string> = { NVIDIA: 'nvidia.com/gpu', AMD: 'amd.com/gpu', Habana: 'habana.ai/gaudi' };
    add(names[gpu.Manufacturer ?? ''] ?? 'nvidia.com/gpu', gpu.Count ?? 0);
  }
  const neurons = type.NeuronInfo?.NeuronDevices ?? [];
  add(
    'aws.amazon.com/neuron',
    neurons.reduce((sum, each) => sum + (each.Count ?? 0), 0),
  );
  add(
    'aws.amazon.com/neuroncore',
    neurons.reduce((sum, each) => sum + (each.Count ?? 0) * (each.CoreInfo?.Count ?? 1), 0),
  );
  add('vpc.amazonaws.com/efa', efaInterfaces);
  return devices;
}

/** The bytes of the disk that holds pods' storage. */
function storageBytes(type: InstanceTypeInfo, start: KubeletStart, diskGiB: number): number {
  const local = type.InstanceStorageInfo?.TotalSizeInGB ?? 0;
  // A file system keeps a little of its disk.
  return Math.floor((start.raid0 === true && local > 0 ? local * 1e9 : diskGiB * GiB) * 0.9994);
}

/** Capacity and allocatable as a real kubelet of this type, started so, reports them. */
export function resourcesOf(
  type: InstanceTypeInfo,
  start: KubeletStart,
  arm: boolean,
  { diskGiB, efaInterfaces }: { readonly diskGiB: number; readonly efaInterfaces: number },
): NodeResources {
  const vcpus = type.VCpuInfo?.DefaultVCpus ?? 1;
  const memory = visibleMemory(type, arm);
  const storage = storageBytes(type, start, diskGiB);
  const pods = Math.min(
    start.maxPods ?? eniPods(type),
    start.podsPerCore ? start.podsPerCore * vcpus : Number.MAX_SAFE_INTEGER,
  );
  const kubeReserved = { ...defaultKubeReserved(vcpus, eniPods(type)), ...start.kubeReserved };
  const reserved = (name: string): number => amount(kubeReserved, name) + amount(start.systemReserved, name);
  const freeMemory =
    memory - reserved('memory') - threshold(start.evictionHard?.['memory.available'], memory, 100 * MiB);
  const keptStorage = threshold(start.evictionHard?.['nodefs.available'], storage, storage * 0.1);
  const common = { pods: String(pods), 'hugepages-1Gi': '0', 'hugepages-2Mi': '0' };
  return {
    capacity: {
      cpu: String(vcpus),
      memory: `${Math.floor(memory / 1024)}Ki`,
      'ephemeral-storage': `${Math.floor(storage / 1024)}Ki`,
      ...common,
    },
    allocatable: {
      cpu: `${Math.round((vcpus - reserved('cpu')) * 1000)}m`,
      memory: `${Math.floor(Math.max(0, freeMemory) / 1024)}Ki`,
      'ephemeral-storage': String(Math.floor(Math.max(0, storage - keptStorage - reserved('ephemeral-storage')))),
      ...common,
    },
    devices: devicesOf(type, efaInterfaces),
  };
}

/** KWOK plays the kubelet of nodes that carry it. */
export const kwokAnnotation = { 'kwok.x-k8s.io/node': 'fake' } as const;

/** The taint of a node that the cloud-controller-manager has not seen yet. */
export const uninitialized: Taint = {
  key: 'node.cloudprovider.kubernetes.io/uninitialized',
  value: 'true',
  effect: 'NoSchedule',
};

export interface Machine {
  instance: InstanceView;
  type: InstanceTypeInfo;
  start: KubeletStart;
  region: string;
  zoneId: string | undefined;
  windows: boolean;
  kubernetesVersion: string;
}

const diskGiB = ({ instance, windows }: Machine): number => {
  const sizes = instance.blockDevices.map(({ sizeGiB }) => sizeGiB).filter((size) => size > 0);
  // Bottlerocket's second volume holds pods; a root volume is the only one elsewhere.
  return sizes.at(-1) ?? (windows ? 50 : 20);
};

export function nodeResources(machine: Machine): NodeResources {
  const { instance, type, start } = machine;
  return resourcesOf(type, start, isArm(machine), { diskGiB: diskGiB(machine), efaInterfaces: instance.efaInterfaces });
}

const isArm = ({ type }: Machine): boolean => type.ProcessorInfo?.SupportedArchitectures?.includes('arm64') === true;

/** The Node that a kubelet registers on this machine. */
export function nodeOf(machine: Machine, ready: boolean): Node {
  const { instance, start } = machine;
  const name = instance.privateDnsName;
  const { capacity, allocatable } = nodeResources(machine);
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      labels: labelsOf(machine),
      annotations: { ...(ready && kwokAnnotation), 'stowage.dev/joined-by': 'stack' },
    },
    spec: { providerID: `aws:///${instance.zone}/${instance.id}`, taints: [...start.taints, uninitialized] },
    status: {
      capacity,
      allocatable,
      addresses: [
        // A kubelet of an IPv6 cluster knows its machine by that address alone.
        { type: 'InternalIP', address: instance.ipv6Address ?? instance.privateIp },
        { type: 'Hostname', address: name },
        { type: 'InternalDNS', address: name },
      ],
      conditions: [
        { type: 'Ready', status: 'False', reason: 'KubeletNotReady', message: 'container runtime network not ready' },
        { type: 'MemoryPressure', status: 'False', reason: 'KubeletHasSufficientMemory' },
        { type: 'DiskPressure', status: 'False', reason: 'KubeletHasNoDiskPressure' },
        { type: 'PIDPressure', status: 'False', reason: 'KubeletHasSufficientPID' },
      ],
      nodeInfo: nodeInfoOf(machine),
    },
  };
}

const architectureOf = (machine: Machine): string => (isArm(machine) ? 'arm64' : 'amd64');
const osOf = ({ windows }: Machine): string => (windows ? 'windows' : 'linux');

function labelsOf(machine: Machine): Record<string, string> {
  const { instance, start, region, zoneId } = machine;
  const [architecture, os] = [architectureOf(machine), osOf(machine)];
  return {
    ...start.labels,
    [names.hostname]: instance.privateDnsName,
    [names.arch]: architecture,
    [names.os]: os,
    [names.instanceType]: instance.instanceType,
    [names.zone]: instance.zone,
    [names.region]: region,
    ...(zoneId !== undefined && { [names.zoneId]: zoneId }),
    'beta.kubernetes.io/arch': architecture,
    'beta.kubernetes.io/os': os,
    'beta.kubernetes.io/instance-type': instance.instanceType,
    'failure-domain.beta.kubernetes.io/zone': instance.zone,
    'failure-domain.beta.kubernetes.io/region': region,
  };
}

function nodeInfoOf(machine: Machine): NonNullable<Node['status']>['nodeInfo'] {
  const { instance, windows, kubernetesVersion } = machine;
  return {
    architecture: architectureOf(machine),
    operatingSystem: osOf(machine),
    osImage: windows ? 'Windows Server Core' : 'Amazon Linux 2023',
    kernelVersion: '6.12.0-amzn',
    kubeletVersion: `v${kubernetesVersion}.1-eks-local`,
    kubeProxyVersion: '',
    containerRuntimeVersion: 'containerd://2.1.4',
    machineID: instance.id,
    systemUUID: instance.id,
    bootID: instance.id,
  };
}
