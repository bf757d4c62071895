import type { NodePool } from '../api/karpenter/node-pool.js';
import type { Pod } from '../api/kubernetes.js';
import { labels } from '../api/labels.js';
import type { InstanceType, Offering } from '../core/instance-type.js';
import { plan } from '../packing/plan.js';
import type { PackingInput } from '../packing/types.js';

/** After so many solves most of what every pass runs is compiled. */
const solves = 20;

/** Plans a small made-up cluster again and again, so that the first pass over the real one finds the code compiled. */
export function* warmUp(): Generator<void> {
  const input = smallCluster();
  for (let n = 0; n < solves; n++) {
    plan(input);
    yield;
  }
}

const zones = ['a', 'b', 'c'];
const sizes = [1, 2, 4, 8, 16, 32];

function smallCluster(): PackingInput {
  const types = sizes.flatMap((cpu) => [2, 4, 8].map((ratio) => typeOf(cpu, ratio)));
  return {
    objects: { pods: Array.from({ length: 150 }, (_, n) => podOf(n)), nodePools: [pool] },
    catalogues: new Map([['warm', types]]),
    settings: { preferencePolicy: 'Respect', minValuesPolicy: 'Strict', wellKnownLabels: [], listedTypes: 60 },
    now: 0,
  };
}

const one = (key: string, value: string) => ({ key, operator: 'In' as const, values: [value] });

function typeOf(cpu: number, ratio: number): InstanceType {
  const name = `warm-${cpu}-${ratio}`;
  const price = cpu * (1 + ratio / 8) * 0.02;
  const offerings = zones.flatMap((zone): Offering[] => [
    { requirements: [one(labels.zone, zone), one(labels.capacityType, 'spot')], price: price * 0.4, available: true },
    { requirements: [one(labels.zone, zone), one(labels.capacityType, 'on-demand')], price, available: true },
  ]);
  return {
    name,
    requirements: [one(labels.instanceType, name), one(labels.arch, 'amd64'), one(labels.os, 'linux')],
    offerings,
    capacity: { cpu: cpu * 1000, memory: cpu * ratio * 2 ** 30, pods: 110 },
    overhead: { cpu: 100, memory: 2 ** 28 },
  };
}

const pool: NodePool = {
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodePool',
  metadata: { name: 'warm' },
  spec: {
    template: { spec: { nodeClassRef: { group: '', kind: '', name: '' }, requirements: [] } },
  },
} as unknown as NodePool;

/** A fifth each: plain, spread over zones, spread over nodes, together in a zone, apart on nodes. */
function podOf(n: number): Pod {
  const app = `app-${n % 10}`;
  const labelSelector = { matchLabels: { app } };
  const spread = (topologyKey: string) => ({
    topologySpreadConstraints: [
      { maxSkew: 1, topologyKey, whenUnsatisfiable: 'DoNotSchedule' as const, labelSelector },
    ],
  });
  const term = (topologyKey: string) => ({
    requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey, labelSelector }],
  });
  const rules: Partial<Pod['spec']>[] = [
    {},
    spread(labels.zone),
    spread(labels.hostname),
    { affinity: { podAffinity: term(labels.zone) } },
    { affinity: { podAntiAffinity: term(labels.hostname) } },
  ];
  const requests = { cpu: `${100 * (1 + (n % 7))}m`, memory: `${256 * (1 + (n % 4))}Mi` };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `warm-${n}`, namespace: 'warm', labels: { app } },
    spec: { containers: [{ name: 'main', resources: { requests } }], ...rules[n % rules.length] },
  };
}
