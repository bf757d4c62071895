import type { Container, KubernetesObject, Pod } from '../../api/kubernetes.js';
import type { CatalogueEntry } from '../checker/types.js';
import type { Case } from './case.js';
import { ec2Catalogue, ec2Zones } from './catalogues.js';
import {
  type PartialSpec,
  archKey,
  capacityTypeKey,
  daemonSet,
  hostnameKey,
  inValues,
  instanceTypeKey,
  kwok,
  nodePool,
  osKey,
  pod,
  requestsOf,
  runningNode,
  storageClasses,
  zoneKey,
} from './objects.js';
import type { Random } from './random.js';

const gpuTaint = { key: 'nvidia.com/gpu', value: 'true', effect: 'NoSchedule' as const };
const batchTaint = { key: 'dedicated', value: 'batch', effect: 'NoSchedule' as const };

/** Eight pools, as an organisation with a few teams has them. */
function pools(): KubernetesObject[] {
  const linux = inValues(osKey, 'linux');
  const amd = inValues(archKey, 'amd64');
  const both = inValues(capacityTypeKey, 'spot', 'on-demand');
  const onDemand = inValues(capacityTypeKey, 'on-demand');
  const general = {
    key: kwok.family,
    operator: 'NotIn' as const,
    values: ['g4dn', 'g5', 'g6', 'p3', 'x1', 'x2idn', 'x2gd'],
  };
  return [
    nodePool('general', { requirements: [linux, amd, both, general] }),
    nodePool('general-arm', { requirements: [linux, inValues(archKey, 'arm64'), both, general], weight: 10 }),
    nodePool('on-demand', { requirements: [linux, amd, onDemand, general], labels: { tier: 'critical' } }),
    nodePool('team-a', { requirements: [linux, amd, both, general], labels: { team: 'a' } }),
    nodePool('team-b', { requirements: [linux, amd, both, general, inValues('team', 'b', 'b-test')] }),
    nodePool('batch', {
      requirements: [linux, inValues(capacityTypeKey, 'spot'), general],
      taints: [batchTaint],
      labels: { workload: 'batch' },
    }),
    nodePool('gpu', {
      requirements: [linux, amd, both, inValues(kwok.family, 'g4dn', 'g5', 'g6', 'p3')],
      taints: [gpuTaint],
    }),
    nodePool('memory', {
      requirements: [linux, both, inValues(kwok.family, 'x1', 'x2idn', 'x2gd')],
      labels: { workload: 'memory' },
      limits: { cpu: '100000' },
    }),
  ];
}

function daemons(): KubernetesObject[] {
  return [
    daemonSet('node-agent', requestsOf('100m', '200Mi'), { tolerations: [{ operator: 'Exists' }] }),
    daemonSet('log-shipper', requestsOf('50m', '100Mi'), { tolerations: [{ operator: 'Exists' }] }),
    daemonSet('gpu-plugin', requestsOf('50m', '64Mi'), {
      tolerations: [{ key: 'nvidia.com/gpu', operator: 'Exists' }],
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchExpressions: [inValues(kwok.family, 'g4dn', 'g5', 'g6', 'p3')] }],
          },
        },
      },
    }),
  ];
}

interface Deployment {
  readonly name: string;
  readonly replicas: number;
  readonly requests: Record<string, string>;
  readonly spec: PartialSpec;
  readonly volumes?: 'bound' | 'unbound';
}

const cpuChoices = ['50m', '100m', '200m', '250m', '500m', '750m', '1', '2', '4'];
const gibPerCpu = [0.5, 1, 2, 4, 8];

function requests(random: Random): Record<string, string> {
  const cpu = random.pick(cpuChoices);
  const cores = cpu.endsWith('m') ? Number(cpu.slice(0, -1)) / 1000 : Number(cpu);
  const mebibytes = Math.max(64, Math.round((cores * random.pick(gibPerCpu) * 1024) / 64) * 64);
  return requestsOf(cpu, `${mebibytes}Mi`);
}

/** What a Deployment asks of its nodes, by how common it is. */
function placementOf(random: Random, name: string): PartialSpec {
  const selector = { matchLabels: { app: name } };
  const draw = random.next();
  if (draw < 0.5) return {};
  if (draw < 0.62) {
    return {
      topologySpreadConstraints: [
        {
          maxSkew: random.int(1, 2),
          topologyKey: zoneKey,
          whenUnsatisfiable: 'DoNotSchedule',
          labelSelector: selector,
        },
      ],
    };
  }
  if (draw < 0.68) {
    return {
      affinity: {
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [{ labelSelector: selector, topologyKey: hostnameKey }],
        },
      },
    };
  }
  if (draw < 0.74) return { nodeSelector: { tier: 'critical' } };
  if (draw < 0.82) return { nodeSelector: { team: random.pick(['a', 'b', 'b-test']) } };
  if (draw < 0.9)
    return { nodeSelector: { workload: 'batch' }, tolerations: [{ key: 'dedicated', operator: 'Exists' }] };
  if (draw < 0.93) return { nodeSelector: { [archKey]: 'arm64' } };
  if (draw < 0.96) return { nodeSelector: { [zoneKey]: random.pick(ec2Zones) } };
  if (draw < 0.98) return { nodeSelector: { [capacityTypeKey]: 'on-demand' } };
  return {
    topologySpreadConstraints: [
      { maxSkew: 1, topologyKey: hostnameKey, whenUnsatisfiable: 'ScheduleAnyway', labelSelector: selector },
    ],
  };
}

function deployment(random: Random, index: number, left: number): Deployment {
  const name = `app-${index}`;
  // Most Deployments are small, a few are large.
  const replicas = Math.min(left, Math.max(1, Math.round(200 ** random.next())));
  if (random.chance(0.03)) {
    const gpus = { ...requests(random), 'nvidia.com/gpu': String(random.pick([1, 1, 1, 2, 4])) };
    const tolerations = [{ key: 'nvidia.com/gpu', operator: 'Exists' as const }];
    return { name, replicas: Math.min(replicas, 20), requests: gpus, spec: { tolerations } };
  }
  if (random.chance(0.02)) {
    return {
      name,
      replicas: Math.min(replicas, 10),
      requests: requestsOf('4', '56Gi'),
      spec: { nodeSelector: { workload: 'memory' } },
    };
  }
  if (random.chance(0.05)) {
    const volumes = random.pick(['bound', 'unbound'] as const);
    return { name, replicas: Math.min(replicas, 12), requests: requests(random), spec: {}, volumes };
  }
  const spec = placementOf(random, name);
  const fewer = spec.affinity?.podAntiAffinity === undefined ? replicas : Math.min(replicas, 30);
  return { name, replicas: fewer, requests: requests(random), spec };
}

/** A claim for one pod, bound to a volume in one zone or waiting for its first consumer. */
export function volumeFor(
  random: Random,
  claim: string,
  kind: 'bound' | 'unbound',
  zones = ec2Zones,
): KubernetesObject[] {
  const bound = kind === 'bound';
  const storageClassName = bound ? 'gp3' : random.pick(['gp3', 'gp3-two-zones']);
  const pvc = {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      name: claim,
      namespace: 'default',
      ...(bound && { annotations: { 'pv.kubernetes.io/bind-completed': 'yes' } }),
    },
    spec: {
      storageClassName,
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: '10Gi' } },
      ...(bound && { volumeName: `pv-${claim}` }),
    },
    status: { phase: bound ? 'Bound' : 'Pending' },
  } as KubernetesObject;
  if (!bound) return [pvc];
  return [pvc, volumeOf(claim, random.pick(zones))];
}

function volumeOf(claim: string, zone: string): KubernetesObject {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: `pv-${claim}` },
    spec: {
      capacity: { storage: '10Gi' },
      accessModes: ['ReadWriteOnce'],
      storageClassName: 'gp3',
      csi: { driver: 'ebs.csi.aws.com', volumeHandle: `vol-${claim}` },
      claimRef: { kind: 'PersistentVolumeClaim', namespace: 'default', name: claim },
      nodeAffinity: {
        required: { nodeSelectorTerms: [{ matchExpressions: [inValues(zoneKey, zone)] }] },
      },
    },
    status: { phase: 'Bound' },
  } as KubernetesObject;
}

function podsOf(random: Random, from: Deployment): { pods: Pod[]; others: KubernetesObject[] } {
  const pods: Pod[] = [];
  const others: KubernetesObject[] = [];
  for (let i = 0; i < from.replicas; i++) {
    const name = `${from.name}-${i}`;
    const spec: PartialSpec & { containers?: Container[] } = { ...from.spec };
    if (from.volumes !== undefined) {
      others.push(...volumeFor(random, `data-${name}`, from.volumes));
      spec.volumes = [{ name: 'data', persistentVolumeClaim: { claimName: `data-${name}` } }];
    }
    pods.push(pod(name, { app: from.name }, from.requests, spec));
  }
  return { pods, others };
}

/** Nodes that run pods of their own on about half of what they have. */
function halfFullNodes(
  random: Random,
  count: number,
  catalogue: readonly CatalogueEntry[],
  share = 0.5,
): KubernetesObject[] {
  const types = catalogue.filter((type) => {
    const cpus = Number(type.resources['cpu']);
    return (
      cpus >= 4 &&
      cpus <= 16 &&
      type.architecture === 'amd64' &&
      type.resources['nvidia.com/gpu'] === undefined &&
      !type.name.startsWith('x')
    );
  });
  const objects: KubernetesObject[] = [];
  for (let i = 0; i < count; i++) {
    const type = random.pick(types);
    const offer = random.pick(type.offerings);
    const name = `node-${i}`;
    const labels = nodeLabels(type, offer);
    objects.push(...runningNode({ name, pool: 'general', labels, allocatable: { ...type.resources } }));
    const cpus = Number(type.resources['cpu']);
    const mebibytes = parseInt(type.resources['memory'] ?? '0', 10);
    for (let k = 0; k < 4; k++) {
      const part = (share / 4) * (0.6 + 0.8 * random.next());
      const amounts = requestsOf(`${Math.floor(cpus * part * 1000)}m`, `${Math.floor(mebibytes * part)}Mi`);
      objects.push(pod(`running-${i}-${k}`, { app: `old-${random.int(0, 40)}` }, amounts, { nodeName: name }));
    }
  }
  return objects;
}

/** What a node of the type is labelled once an offering is chosen. */
export function nodeLabels(type: CatalogueEntry, offer: CatalogueEntry['offerings'][number]): Record<string, string> {
  const cpu = type.resources['cpu'] ?? '';
  const dot = type.name.search(/[.-]/);
  const labels: Record<string, string> = {
    [instanceTypeKey]: type.name,
    [archKey]: type.architecture,
    [osKey]: type.operatingSystems.includes('linux') ? 'linux' : (type.operatingSystems[0] ?? 'linux'),
    [kwok.cpu]: cpu,
    [kwok.memory]: type.resources['memory'] ?? '',
    [kwok.family]: dot >= 0 ? type.name.slice(0, dot) : type.name.slice(0, 1),
    [kwok.size]: /^\w+\.(nano|micro|small|medium|large|\d*xlarge|metal)$/.exec(type.name)?.[1] ?? cpu,
  };
  for (const requirement of offer.Requirements) labels[requirement.key] = requirement.values?.[0] ?? '';
  return labels;
}

/** An organisation's cluster: Deployments of 1 to 200 equal pods over 8 pools, onto `nodes` half-full nodes. */
export function realisticCase(random: Random, size: number, nodes: number): Case {
  const catalogue = ec2Catalogue(random);
  const pods: Pod[] = [];
  const others: KubernetesObject[] = [];
  for (let i = 0; pods.length < size; i++) {
    const made = podsOf(random, deployment(random, i, size - pods.length));
    pods.push(...made.pods);
    others.push(...made.others);
  }
  const running = nodes === 0 ? [] : halfFullNodes(random, nodes, catalogue);
  return {
    objects: [...pools(), ...daemons(), ...storageClasses(ec2Zones.slice(0, 2)), ...running, ...others, ...pods],
    catalogue,
  };
}
