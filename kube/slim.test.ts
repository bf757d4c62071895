import { describe, expect, test } from '@jest/globals';
import type { Pod } from '../api/kubernetes.js';
import { createInterner } from './intern.js';
import { slim } from './slim.js';

/** A pod as the API server sends it, with many fields that Stowage does not read. */
const fatPod = (index: number, more: { nodeName?: string; cpu?: string } = {}): Pod =>
  ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `web-${index}`,
      generateName: 'web-',
      namespace: 'default',
      uid: `uid-${index}`,
      resourceVersion: String(index),
      creationTimestamp: '2026-01-01T00:00:00Z',
      labels: { app: 'web' },
      annotations: { 'karpenter.sh/do-not-disrupt': '10m', 'example.com/config-hash': String(index) },
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'rs', controller: true }],
      managedFields: [{ manager: 'kubelet' }],
    },
    spec: {
      nodeName: more.nodeName,
      containers: [
        {
          name: 'main',
          image: 'registry.example/web:1',
          env: [{ name: 'A', value: 'b' }],
          volumeMounts: [{ name: `kube-api-access-${index}`, mountPath: '/var/run' }],
          resources: { requests: { cpu: more.cpu ?? '100m', memory: '1Gi' } },
          ports: [{ containerPort: 8080 }, { containerPort: 53, hostPort: 53, protocol: 'UDP' }],
          livenessProbe: { httpGet: { path: '/', port: 8080 } },
        },
      ],
      initContainers: [{ name: 'sidecar', restartPolicy: 'Always', resources: { requests: { cpu: '50m' } } }],
      volumes: [
        { name: `kube-api-access-${index}`, projected: { sources: [] } },
        { name: 'data', persistentVolumeClaim: { claimName: 'data' } },
      ],
      nodeSelector: { 'kubernetes.io/arch': 'arm64' },
      tolerations: [
        { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 },
      ],
      schedulerName: 'default-scheduler',
      dnsPolicy: 'ClusterFirst',
      serviceAccountName: 'default',
      terminationGracePeriodSeconds: 30,
      priority: 0,
    },
    status: {
      phase: 'Running',
      startTime: '2026-01-01T00:00:05Z',
      podIP: '10.0.0.1',
      containerStatuses: [{ name: 'main', restartCount: 0 }],
      conditions: [
        { type: 'Initialized', status: 'True' },
        { type: 'Ready', status: 'True', lastProbeTime: null, lastTransitionTime: '2026-01-01T00:00:09Z' },
        { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/3 nodes are available' },
      ],
    },
  }) as unknown as Pod;

describe('slimmed pods in the cache', () => {
  test('with hostNetwork keep every port as a host port', () => {
    const fat = fatPod(1);
    const slimmed = slim('Pod', { ...fat, spec: { ...fat.spec, hostNetwork: true } }, createInterner());
    expect(slimmed.spec.containers[0]!.ports).toEqual([{ hostPort: 8080 }, { hostPort: 53, protocol: 'UDP' }]);
  });

  test('keep what scheduling, draining and disruption read', () => {
    const slimmed = slim('Pod', fatPod(1, { nodeName: 'n' }), createInterner());
    expect(slimmed).toEqual({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: 'web-1',
        namespace: 'default',
        uid: 'uid-1',
        resourceVersion: '1',
        creationTimestamp: '2026-01-01T00:00:00Z',
        labels: { app: 'web' },
        annotations: { 'karpenter.sh/do-not-disrupt': '10m' },
        ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'rs', controller: true }],
      },
      spec: {
        nodeName: 'n',
        containers: [
          {
            name: 'main',
            resources: { requests: { cpu: '100m', memory: '1Gi' } },
            ports: [{ hostPort: 53, protocol: 'UDP' }],
          },
        ],
        initContainers: [{ name: 'sidecar', restartPolicy: 'Always', resources: { requests: { cpu: '50m' } } }],
        volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }],
        nodeSelector: { 'kubernetes.io/arch': 'arm64' },
        tolerations: [
          { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 },
        ],
        schedulerName: 'default-scheduler',
        terminationGracePeriodSeconds: 30,
        priority: 0,
      },
      status: {
        phase: 'Running',
        startTime: '2026-01-01T00:00:05Z',
        conditions: [
          { type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:09Z' },
          { type: 'PodScheduled', status: 'False', reason: 'Unschedulable' },
        ],
      },
    });
  });

  test('share the containers array exactly when the specs are equal but for the node', () => {
    const interner = createInterner();
    const [a, b, c] = [
      slim('Pod', fatPod(1, { nodeName: 'n1' }), interner),
      slim('Pod', fatPod(2, { nodeName: 'n2' }), interner),
      slim('Pod', fatPod(3, { nodeName: 'n1', cpu: '200m' }), interner),
    ];
    expect(a.spec.containers).toBe(b.spec.containers);
    expect(a.metadata.labels).toBe(b.metadata.labels);
    expect(a.metadata.ownerReferences).toBe(b.metadata.ownerReferences);
    expect(a.spec.containers).not.toBe(c.spec.containers);
    const other = fatPod(4, { nodeName: 'n1' });
    other.spec.nodeSelector = { 'kubernetes.io/arch': 'amd64' };
    // Equal containers in another spec are another array.
    expect(slim('Pod', other, interner).spec.containers).not.toBe(a.spec.containers);
  });

  test('share the whole spec while they have no node', () => {
    const interner = createInterner();
    const [a, b] = [slim('Pod', fatPod(1), interner), slim('Pod', fatPod(2), interner)];
    expect(a.spec).toBe(b.spec);
    expect(a.spec.nodeName).toBeUndefined();
  });
});

describe('slimmed objects in the cache', () => {
  test('of nodes lack images and heartbeats, and share their capacities', () => {
    const fat = (name: string) => ({
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name, annotations: { 'example.com/kept': 'yes', 'csi.volume.kubernetes.io/nodeid': '{}' } },
      spec: { providerID: `aws:///z/${name}`, podCIDR: '10.0.0.0/24', taints: [], unschedulable: true },
      status: {
        capacity: { cpu: '4' },
        allocatable: { cpu: '3900m' },
        images: [{ names: ['a'] }],
        nodeInfo: { kubeletVersion: 'v1.36.1', bootID: 'x' },
        conditions: [
          { type: 'Ready', status: 'True' as const, message: 'fine', lastHeartbeatTime: '2026-01-01T00:00:00Z' },
        ],
      },
    });
    const interner = createInterner();
    const [a, b] = [slim('Node', fat('a') as never, interner), slim('Node', fat('b') as never, interner)];
    expect(a).toEqual({
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'a', annotations: { 'example.com/kept': 'yes' } },
      spec: { providerID: 'aws:///z/a', taints: [], unschedulable: true },
      status: {
        capacity: { cpu: '4' },
        allocatable: { cpu: '3900m' },
        nodeInfo: { kubeletVersion: 'v1.36.1' },
        conditions: [{ type: 'Ready', status: 'True' }],
      },
    });
    expect(a.status?.allocatable).toBe(b.status?.allocatable);
  });

  test("of Karpenter's kinds keep all but managedFields and the last-applied annotation", () => {
    const pool = {
      apiVersion: 'karpenter.sh/v1',
      kind: 'NodePool',
      metadata: {
        name: 'p',
        generation: 3,
        annotations: { 'kubectl.kubernetes.io/last-applied-configuration': '{}', mine: 'x' },
        managedFields: [],
      },
      spec: { template: { spec: { anything: { deep: [1] } } } },
      status: { conditions: [{ type: 'Ready', status: 'False', message: 'spec.x is wrong' }] },
    };
    expect(slim('NodePool', pool as never, createInterner())).toEqual({
      ...pool,
      metadata: { name: 'p', generation: 3, annotations: { mine: 'x' } },
    });
  });

  test('of templates keep labels and slimmed pods, of volumes what places them', () => {
    const interner = createInterner();
    const { spec, metadata } = fatPod(1);
    const set = {
      metadata: { name: 's' },
      spec: { replicas: 2, selector: {}, serviceName: 'x', template: { metadata, spec } },
    };
    expect(slim('StatefulSet', set as never, interner).spec).toMatchObject({
      replicas: 2,
      template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'main' }] } },
    });
    const claim = {
      metadata: { name: 'c', annotations: { 'pv.kubernetes.io/bind-completed': 'yes', 'example.com/x': '1' } },
      spec: { volumeName: 'v', storageClassName: 'gp3', dataSource: { name: 'x' } },
      status: { phase: 'Bound', capacity: { storage: '1Gi' } },
    };
    expect(slim('PersistentVolumeClaim', claim as never, interner)).toEqual({
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'c', annotations: { 'pv.kubernetes.io/bind-completed': 'yes' } },
      spec: { volumeName: 'v', storageClassName: 'gp3' },
      status: { phase: 'Bound' },
    });
  });
});
