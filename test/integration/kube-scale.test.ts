import { afterAll, beforeAll, expect, test } from '@jest/globals';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createClusterCache } from '../../kube/cache.js';
import { createApi } from '../../kube/client-api.js';
import { createTransport } from '../../kube/client-transport.js';
import { createRateLimiter, limiterClock } from '../../kube/limiter.js';

/** The promise of the roadmap: 5,000 nodes and 100,000 pods of 500 workloads in one worker. */
const [nodes, pods, workloads] = [5_000, 100_000, 500];
const megabytes = 2 ** 20;

const nodeName = (index: number): string => `ip-10-0-${index >> 8}-${index % 256}.us-west-2.compute.internal`;

/** A pod of the size that a small production pod has in JSON, about 5 KB. */
function podJson(index: number): string {
  const workload = index % workloads;
  const id = index.toString(16).padStart(8, '0');
  const name = `workload-${workload}-7d9f8b6c5d-${id}`;
  const node = nodeName(index % nodes);
  return JSON.stringify({
    metadata: {
      name,
      generateName: `workload-${workload}-7d9f8b6c5d-`,
      namespace: `team-${workload % 50}`,
      uid: `${id}-0000-4000-8000-000000000000`,
      resourceVersion: String(1_000_000 + index),
      creationTimestamp: new Date(1_760_000_000_000 + index * 997).toISOString(),
      labels: { app: `workload-${workload}`, 'pod-template-hash': '7d9f8b6c5d', team: `team-${workload % 50}` },
      annotations: { 'prometheus.io/scrape': 'true', 'checksum/config': id.repeat(8) },
      ownerReferences: [
        {
          apiVersion: 'apps/v1',
          kind: 'ReplicaSet',
          name: `workload-${workload}-7d9f8b6c5d`,
          uid: `rs-${workload}`,
          controller: true,
        },
      ],
      managedFields: [{ manager: 'kubelet', operation: 'Update', fieldsV1: { padding: 'f:status '.repeat(150) } }],
    },
    spec: {
      volumes: [{ name: `kube-api-access-${id}`, projected: { sources: [{ serviceAccountToken: {} }] } }],
      containers: ['main', 'sidecar'].map((container) => ({
        name: container,
        image: `registry.example/${workload}/${container}:1.2.3`,
        env: Array.from({ length: 10 }, (_, i) => ({ name: `SETTING_${i}`, value: `value ${i} of ${workload}` })),
        resources: { requests: { cpu: `${100 + workload}m`, memory: '256Mi' }, limits: { memory: '512Mi' } },
        volumeMounts: [{ name: `kube-api-access-${id}`, mountPath: '/var/run/secrets' }],
      })),
      nodeName: node,
      nodeSelector: { 'kubernetes.io/arch': 'amd64' },
      tolerations: [
        { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 },
      ],
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey: 'topology.kubernetes.io/zone',
          whenUnsatisfiable: 'DoNotSchedule',
          labelSelector: { matchLabels: { app: `workload-${workload}` } },
        },
      ],
      schedulerName: 'default-scheduler',
      priority: 0,
    },
    status: {
      phase: 'Running',
      startTime: '2026-01-01T00:00:00Z',
      conditions: ['PodScheduled', 'Initialized', 'ContainersReady', 'Ready'].map((type) => ({
        type,
        status: 'True',
        lastProbeTime: null,
        lastTransitionTime: `2026-01-01T00:${String(index % 60).padStart(2, '0')}:00Z`,
      })),
      containerStatuses: ['main', 'sidecar'].map((container) => ({
        name: container,
        ready: true,
        imageID: `registry.example@sha256:${id.repeat(8)}`,
        containerID: `containerd://${id.repeat(8)}`,
      })),
    },
  });
}

function nodeJson(index: number): string {
  const name = nodeName(index);
  return JSON.stringify({
    metadata: {
      name,
      uid: `node-${index}`,
      resourceVersion: String(index + 1),
      creationTimestamp: '2026-01-01T00:00:00Z',
      labels: {
        'kubernetes.io/hostname': name,
        'node.kubernetes.io/instance-type': `m${5 + (index % 3)}.xlarge`,
        'topology.kubernetes.io/zone': `us-west-2${'abc'[index % 3] ?? ''}`,
        'karpenter.sh/nodepool': 'default',
        'karpenter.sh/capacity-type': 'spot',
      },
      managedFields: [{ fieldsV1: { padding: 'f:status '.repeat(100) } }],
    },
    spec: { providerID: `aws:///us-west-2a/i-${index}` },
    status: {
      capacity: { cpu: '4', memory: '16Gi', pods: '58' },
      allocatable: { cpu: '3920m', memory: '15Gi', pods: '58' },
      conditions: ['MemoryPressure', 'DiskPressure', 'PIDPressure', 'Ready'].map((type) => ({
        type,
        status: type === 'Ready' ? 'True' : 'False',
        lastHeartbeatTime: '2026-01-01T00:00:00Z',
        lastTransitionTime: '2026-01-01T00:00:00Z',
      })),
      images: Array.from({ length: 50 }, (_, i) => ({
        names: [`registry.example/image-${i}@sha256:${'0'.repeat(64)}`],
        sizeBytes: i,
      })),
    },
  });
}

let server: http.Server;
const stop = new AbortController();
beforeAll(async () => {
  server = http.createServer((request, response) => {
    const url = new URL(request.url!, 'http://x');
    if (url.searchParams.has('watch')) {
      response.writeHead(200).flushHeaders();
      return;
    }
    const [json, total] = url.pathname.endsWith('/pods') ? [podJson, pods] : [nodeJson, nodes];
    const start = Number(url.searchParams.get('continue') ?? 0);
    const end = Math.min(total, start + Number(url.searchParams.get('limit')));
    const items = Array.from({ length: end - start }, (_, i) => json(start + i));
    const token = end < total ? `,"continue":"${end}"` : '';
    response.end(`{"metadata":{"resourceVersion":"9999999"${token}},"items":[${items.join(',')}]}`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  stop.abort();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
const heap = (): number => {
  collectGarbage();
  return process.memoryUsage().heapUsed / megabytes;
};

test('the cache holds 100,000 pods and 5,000 nodes in 256 MiB', async () => {
  const { port } = server.address() as AddressInfo;
  const transport = createTransport(
    { server: `http://127.0.0.1:${port}`, credentials: () => Promise.resolve({ headers: {}, tls: {} }) },
    { userAgent: 'test', requestTimeoutMs: 30_000, idleTimeoutMs: 150_000 },
  );
  const limiter = createRateLimiter(0, 0, limiterClock);
  const client = createApi({ transport, limiter, clock: limiterClock, random: () => 0, pageSize: 500 });
  const before = heap();
  const cache = createClusterCache({ client, kinds: ['Pod', 'Node'] });
  await cache.start(stop.signal);
  expect([cache.all('Pod').length, cache.all('Node').length]).toEqual([pods, nodes]);
  expect(cache.podsOnNode(cache.all('Node')[0]!.metadata.name!).length).toBe(pods / nodes);
  expect(new Set(cache.all('Pod').map(({ spec }) => spec.containers)).size).toBe(workloads);
  const used = heap() - before;
  process.stderr.write(`the cache holds ${pods} pods and ${nodes} nodes in ${used.toFixed(0)} MiB\n`);
  expect(used).toBeLessThan(256);
  transport.close();
});
