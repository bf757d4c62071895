import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';
import type { Node, Taint } from '../../../api/kubernetes.js';
import { labels as names } from '../../../api/labels.js';
import type { InstanceView } from '../cloud-proxy/control.js';
import { resourcesOf, type NodeResources } from './capacity.js';
import type { KubeletStart } from './kubelet-arguments.js';

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
