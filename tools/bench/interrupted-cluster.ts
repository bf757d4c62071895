import { nodePools } from '../../api/karpenter/node-pool.js';
import { labels as known } from '../../api/labels.js';
import type { FakeCloud } from '../../test/simulation/cloud/fake.js';
import type { InstanceType } from '../../core/instance-type.js';
import type { FakeKube } from '../../test/simulation/kube/fake.js';

const nodeClassRef = { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' };
const gi = 2 ** 30;
const requirement = (key: string, ...values: string[]) => ({ key, operator: 'In' as const, values });

/** One type, spot, in one zone. */
export const catalogue: readonly InstanceType[] = [
  {
    name: 'm5.xlarge',
    requirements: [
      requirement(known.instanceType, 'm5.xlarge'),
      requirement(known.arch, 'amd64'),
      requirement(known.os, 'linux'),
      requirement(known.zone, 'a'),
      requirement(known.capacityType, 'spot'),
    ],
    offerings: [
      {
        requirements: [requirement(known.zone, 'a'), requirement(known.capacityType, 'spot')],
        price: 0.06,
        available: true,
      },
    ],
    capacity: { cpu: 4000, memory: 16 * gi, pods: 58, 'ephemeral-storage': 20 * gi },
    overhead: { cpu: 100, memory: gi },
  },
];

export const nameOf = (serial: number): string => `node-${String(serial).padStart(5, '0')}`;

/** A pool of so many nodes of one type, each with a pod that asks for an eighth of it. */
export function fill(kube: FakeKube, cloud: FakeCloud, nodes: number): void {
  const pool = nodePools.mustParse({
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodePool',
    metadata: { name: 'default', uid: 'pool-default', generation: 1 },
    spec: { template: { spec: { requirements: [], nodeClassRef } } },
  });
  kube.put('NodePool', { ...pool, status: { conditions: [{ type: 'Ready', status: 'True' }] } });
  kube.put('EC2NodeClass', { metadata: { name: 'default' }, spec: {} } as never);
  for (let i = 0; i < nodes; i++) addNode(kube, cloud, nameOf(i));
}

function addNode(kube: FakeKube, cloud: FakeCloud, name: string): void {
  const providerID = `fake:///a/i-${name}`;
  const [type] = catalogue;
  const own = { instanceType: type!.name, zone: 'a', capacityType: 'spot' } as const;
  cloud.addOrphan({
    ...own,
    providerId: providerID,
    instanceId: `i-${name}`,
    state: 'running',
    launchedAt: 0,
    tags: {},
    labels: {},
  });
  const conditions = ['Launched', 'Registered', 'Initialized', 'Ready'].map((kind) => ({
    type: kind,
    status: 'True' as const,
  }));
  const allocatable = { cpu: '3900m', memory: '15Gi', pods: '58' };
  const labels = labelsOf(name, own);
  kube.put('NodeClaim', {
    metadata: { name, uid: `uid-${name}`, labels, finalizers: ['karpenter.sh/termination'] },
    spec: { requirements: [], nodeClassRef, expireAfter: '720h' },
    status: { providerID, nodeName: name, conditions, allocatable, capacity: allocatable },
  });
  kube.put('Node', {
    metadata: { name, labels, finalizers: ['karpenter.sh/termination'] },
    spec: { providerID },
    status: { conditions: [{ type: 'Ready', status: 'True' }], allocatable, capacity: allocatable },
  });
  kube.put('Pod', podOn(name) as never);
}

function labelsOf(
  name: string,
  own: { readonly instanceType: string; readonly capacityType: string; readonly zone: string },
): Record<string, string> {
  return {
    'karpenter.sh/nodepool': 'default',
    'karpenter.sh/capacity-type': own.capacityType,
    'node.kubernetes.io/instance-type': own.instanceType,
    'topology.kubernetes.io/zone': own.zone,
    'kubernetes.io/hostname': name,
    'kubernetes.io/arch': 'amd64',
    'kubernetes.io/os': 'linux',
    'karpenter.sh/registered': 'true',
    'karpenter.sh/initialized': 'true',
  };
}

function podOn(name: string): object {
  return {
    metadata: {
      name: `pod-${name}`,
      namespace: 'default',
      uid: `pod-${name}`,
      labels: { app: 'web' },
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'web', controller: true }],
    },
    spec: {
      nodeName: name,
      terminationGracePeriodSeconds: 30,
      containers: [{ name: 'app', resources: { requests: { cpu: '500m' } } }],
    },
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
  };
}
