import type { KubernetesObject, Pod } from '../../api/kubernetes.js';
import type { CatalogueEntry } from '../checker/types.js';
import type { Case } from './case.js';
import { ec2Catalogue, ec2Zones } from './catalogues.js';
import { disruptionBudget, pickOffer } from './cluster.js';
import {
  type PartialSpec,
  type PoolOptions,
  archKey,
  capacityTypeKey,
  container,
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
  zoneKey,
} from './objects.js';
import type { Random } from './random.js';
import { nodeLabels } from './realistic.js';

/** A NodePool while its nodes are made. */
interface Pool {
  readonly name: string;
  readonly options: PoolOptions & { replicas?: number };
  readonly capacityTypes: readonly string[];
  /** The taint that keeps others away. */
  readonly dedicated: boolean;
}

/** A node while pods are put on it. */
interface Host {
  readonly name: string;
  readonly pool: Pool;
  readonly zone: string;
  readonly capacityType: string;
  cpu: number;
  memory: number;
  readonly apps: Map<App, number>;
}

interface App {
  readonly name: string;
  readonly cpu: number;
  readonly memory: number;
  readonly spec: PartialSpec;
  readonly ports: boolean;
  /** Whether one more replica may run there, by the app's own rules. */
  readonly fits: (host: Host) => boolean;
  readonly byZone: Map<string, number>;
  readonly annotations: Record<string, string>;
  readonly budgets: readonly KubernetesObject[];
  readonly ready: boolean;
}

const taint = (name: string) => ({ key: 'dedicated', value: name, effect: 'NoSchedule' as const });

/** Always open, and never. */
const always = { schedule: '* * * * *', duration: '10m' };
const never = { schedule: '0 0 30 2 *', duration: '10m' };

const budgets: readonly (readonly Record<string, unknown>[])[] = [
  [{ nodes: '10%' }],
  [{ nodes: '25%' }],
  [{ nodes: '100%' }],
  [{ nodes: '3' }],
  [{ nodes: '100%' }, { nodes: '2', reasons: ['Underutilized'] }],
  [{ nodes: '0', reasons: ['Underutilized'] }, { nodes: '50%' }],
  [{ nodes: '0', ...never }, { nodes: '30%' }],
  [{ nodes: '50%' }, { nodes: '6', ...always }],
  [{ nodes: '0' }],
];

/** Between one and four NodePools, of which the first allows every pod. */
function drawPools(random: Random): Pool[] {
  return Array.from({ length: random.int(1, 4) }, (_, i) => {
    const first = i === 0;
    const name = first ? 'general' : `pool-${i}`;
    const dedicated = !first && random.chance(0.3);
    const capacityTypes = random.pick([['on-demand'], ['spot', 'on-demand'], ['spot', 'on-demand'], ['spot']]);
    const static_ = !first && random.chance(0.1);
    const disruption = {
      consolidationPolicy: random.pick([
        ...new Array<string>(4).fill('WhenEmptyOrUnderutilized'),
        'Balanced',
        first ? 'Balanced' : 'WhenEmpty',
      ]),
      consolidateAfter: random.pick(['0s', '0s', '0s', '30s', '5m', first ? '1m' : 'Never']),
      // A first pool that lets nothing go would leave little to look at.
      budgets: random.pick(first ? budgets.slice(0, -1) : budgets),
    };
    const options: Pool['options'] = {
      requirements: [
        inValues(osKey, 'linux'),
        inValues(archKey, 'amd64'),
        inValues(capacityTypeKey, ...capacityTypes),
        { key: kwok.family, operator: 'NotIn', values: ['g4dn', 'g5', 'g6', 'p3'] },
        ...(random.chance(0.15) ? [{ key: instanceTypeKey, operator: 'Exists' as const, minValues: 4 }] : []),
        ...(!first && random.chance(0.3) ? [inValues(zoneKey, ...random.some(ec2Zones, 1))] : []),
      ],
      labels: { team: name },
      disruption,
      ...(dedicated && { taints: [taint(name)] }),
      ...(!static_ && random.chance(0.3) && { weight: random.int(1, 100) }),
      ...(static_ && { replicas: 3 }),
    };
    return { name, options, capacityTypes, dedicated };
  });
}

const oneOf = (key: string, name: string, topologyKey: string, extra: object = {}) => ({
  labelSelector: { matchLabels: { [key]: name } },
  topologyKey,
  ...extra,
});

/** What an app asks of its nodes, and whether a replica may be on one. */
function drawRules(random: Random, name: string, byZone: Map<string, number>): Pick<App, 'spec' | 'fits'> {
  const self = (topologyKey: string) => oneOf('app', name, topologyKey);
  const hostTotal = (host: Host): number => [...host.apps].find(([each]) => each.name === name)?.[1] ?? 0;
  const spread = (topologyKey: string, maxSkew: number, whenUnsatisfiable: 'DoNotSchedule' | 'ScheduleAnyway') =>
    spreadOf({ maxSkew, whenUnsatisfiable, ...self(topologyKey) });
  const draw = random.next();
  if (draw < 0.45) return { spec: {}, fits: () => true };
  if (draw < 0.57) {
    const skew = random.int(1, 2);
    return { spec: spread(zoneKey, skew, 'DoNotSchedule'), fits: ({ zone }) => isWithinSkew(byZone, zone, skew) };
  }
  if (draw < 0.65) {
    const skew = random.int(1, 3);
    return { spec: spread(hostnameKey, skew, 'DoNotSchedule'), fits: (host) => hostTotal(host) < skew };
  }
  if (draw < 0.75) {
    const required = { requiredDuringSchedulingIgnoredDuringExecution: [self(hostnameKey)] };
    return { spec: { affinity: { podAntiAffinity: required } }, fits: (host) => hostTotal(host) === 0 };
  }
  if (draw < 0.79) {
    const required = { requiredDuringSchedulingIgnoredDuringExecution: [self(zoneKey)] };
    return {
      spec: { affinity: { podAffinity: required } },
      fits: ({ zone }) => byZone.size === 0 || byZone.has(zone),
    };
  }
  if (draw < 0.86) {
    const zone = random.pick(ec2Zones);
    return { spec: { nodeSelector: { [zoneKey]: zone } }, fits: (host) => host.zone === zone };
  }
  if (draw < 0.9) {
    const type = random.pick(['spot', 'on-demand']);
    return { spec: { nodeSelector: { [capacityTypeKey]: type } }, fits: (host) => host.capacityType === type };
  }
  if (draw < 0.95) return { spec: spread(zoneKey, 1, 'ScheduleAnyway'), fits: () => true };
  const weighted = { weight: 10, podAffinityTerm: self(hostnameKey) };
  const preferred = { preferredDuringSchedulingIgnoredDuringExecution: [weighted] };
  return { spec: { affinity: { podAntiAffinity: preferred } }, fits: () => true };
}

function drawApp(random: Random, number: number, pools: readonly Pool[]): App {
  const name = `app-${number}`;
  const byZone = new Map<string, number>();
  const { spec, fits } = drawRules(random, name, byZone);
  const annotations: Record<string, string> = {};
  if (random.chance(0.02)) annotations['karpenter.sh/do-not-disrupt'] = random.pick(['true', '1h', '999999h']);
  if (random.chance(0.06)) {
    annotations['controller.kubernetes.io/pod-deletion-cost'] = random.pick(['-2147483647', '2147483647', '-100']);
  }
  if (random.chance(0.06)) spec.priority = random.pick([1_000_000, -1_000_000, -(2 ** 31) + 1]);
  const home = random.chance(0.7) ? undefined : random.pick(pools);
  if (home !== undefined) spec.nodeSelector = { ...spec.nodeSelector, team: home.name };
  if (home?.dedicated === true || random.chance(0.2)) {
    spec.tolerations = [{ key: 'dedicated', operator: 'Exists' }];
  }
  const tolerant = spec.tolerations !== undefined;
  const draw = random.next();
  const guards = draw < 0.15 ? [false] : draw < 0.18 ? [true] : draw < 0.2 ? [false, false] : [];
  const lenient = draw >= 0.2 && draw < 0.25;
  return {
    name,
    cpu: random.pick([100, 250, 500, 1000, 2000]),
    memory: random.pick([128, 256, 512, 1024, 4096]),
    spec,
    ports: random.chance(0.03),
    fits: (host) => (home === undefined || host.pool === home) && (tolerant || !host.pool.dedicated) && fits(host),
    byZone,
    annotations,
    budgets: lenient
      ? [disruptionBudget(name, true, { unhealthyPodEvictionPolicy: 'AlwaysAllow' })]
      : guards.map((closed, i) => disruptionBudget(name, closed, {}, `${name}-${i}`)),
    ready: !lenient,
  };
}

function replica(app: App, index: number, nodeName: string | undefined): Pod {
  const { name, cpu, memory, spec, ports, annotations, ready } = app;
  const requests = requestsOf(`${cpu}m`, `${memory}Mi`);
  const own = nodeName === undefined ? spec : { ...spec, nodeName };
  const listening = container(requests, [{ containerPort: 80, hostPort: 9000 + Number(name.slice(4)) }]);
  const made = pod(`${name}-${index}`, { app: name }, requests, ports ? { ...own, containers: [listening] } : own);
  if (Object.keys(annotations).length > 0) made.metadata.annotations = annotations;
  if (nodeName !== undefined && made.status !== undefined) {
    made.status.conditions = [{ type: 'Ready', status: ready ? 'True' : 'False' }];
  }
  return made;
}

/** Nodes of a kind that a cluster has a few of: not ready, on their way out, of an unknown type, ... */
function oddities(random: Random, objects: readonly KubernetesObject[]): void {
  const [node, claim] = objects as [KubernetesObject & { status: object }, KubernetesObject];
  const draw = random.next();
  if (draw < 0.02) {
    const condition = { type: 'Ready', status: 'False', reason: 'KubeletNotReady', message: '' };
    node.status = { ...node.status, conditions: [condition] };
  } else if (draw < 0.04) {
    claim.metadata.deletionTimestamp = '2026-01-01T00:00:00Z';
    claim.metadata.finalizers = ['karpenter.sh/termination'];
  } else if (draw < 0.07) {
    for (const { metadata } of objects) metadata.labels = { ...metadata.labels, [instanceTypeKey]: 'gone.large' };
  } else if (draw < 0.09) {
    node.metadata.annotations = { 'karpenter.sh/do-not-disrupt': 'true' };
  }
}

/**
 * A cluster in which most of what Kubernetes and NodePools can ask for occurs: several NodePools with budgets, policies,
 * weights, taints and limits of their own; apps with spread, affinity, selectors, host ports, disruption budgets, deletion
 * costs and priorities; nodes that are odd in some way; pods that wait. `size` counts the nodes.
 */
export function variedClusterCase(random: Random, size: number): Case {
  const catalogue = ec2Catalogue(random, 300);
  const pools = drawPools(random);
  const apps = Array.from({ length: Math.max(5, Math.floor(size / 3)) }, (_, i) => drawApp(random, i, pools));
  const objects: KubernetesObject[] = apps.flatMap((app) => app.budgets);
  const daemons = random.chance(0.6);
  if (daemons) {
    objects.push(daemonSet('node-agent', requestsOf('100m', '128Mi'), { tolerations: [{ operator: 'Exists' }] }));
  }
  const running = daemons && random.chance(0.5);
  const sizes = new Map<Pool, { cpus: number; nodes: number }>();
  const pods: Pod[] = [];
  for (let i = 0; i < size; i++) {
    const pool = random.chance(0.5) ? pools[0]! : random.pick(pools);
    const { host, type, made } = drawNode(random, catalogue, pool, i);
    objects.push(...made);
    const { cpus, nodes } = sizes.get(pool) ?? { cpus: 0, nodes: 0 };
    sizes.set(pool, { cpus: cpus + Number(type.resources['cpu']), nodes: nodes + 1 });
    if (running) objects.push(daemonPod(host.name));
    fill(random, host, apps, pods);
  }
  const waiting = random.chance(0.3) ? random.int(1, 12) : 0;
  for (let i = 0; i < waiting; i++) pods.push(replica(random.pick(apps), pods.length, undefined));
  for (const pool of pools) {
    const { options } = pool;
    const { cpus, nodes } = sizes.get(pool) ?? { cpus: 0, nodes: 0 };
    if (options.replicas !== undefined) options.replicas = nodes;
    else if (random.chance(0.2)) options.limits = { cpu: String(Math.ceil(cpus * (1 + random.next()))) };
    objects.push(nodePool(pool.name, options));
  }
  return { objects: [...objects, ...pods], catalogue };
}

/** Puts replicas of some apps on the node. */
function fill(random: Random, host: Host, apps: readonly App[], pods: Pod[]): void {
  for (let tries = 0; tries < 14; tries++) {
    const app = random.pick(apps);
    if (app.cpu > host.cpu || app.memory > host.memory || !app.fits(host)) continue;
    if (app.ports && host.apps.has(app)) continue;
    host.cpu -= app.cpu;
    host.memory -= app.memory;
    host.apps.set(app, (host.apps.get(app) ?? 0) + 1);
    app.byZone.set(host.zone, (app.byZone.get(host.zone) ?? 0) + 1);
    pods.push(replica(app, pods.length, host.name));
  }
}

function drawNode(
  random: Random,
  catalogue: readonly CatalogueEntry[],
  pool: Pool,
  number: number,
): { host: Host; type: CatalogueEntry; made: KubernetesObject[] } {
  const usable = catalogue.filter((type) => {
    const cpus = Number(type.resources['cpu']);
    return cpus >= 2 && cpus <= 32 && type.resources['nvidia.com/gpu'] === undefined && type.architecture === 'amd64';
  });
  const type = random.pick(usable);
  const open = type.offerings.filter(({ Requirements }) =>
    Requirements.every(({ key, values }) => key !== capacityTypeKey || pool.capacityTypes.includes(values?.[0] ?? '')),
  );
  const offer = pickOffer(random, { ...type, offerings: open });
  const labels: Record<string, string> = { ...nodeLabels(type, offer), team: pool.name };
  const name = `node-${number}`;
  const taints = pool.dedicated ? [taint(pool.name)] : [];
  const made = runningNode({ name, pool: pool.name, labels, allocatable: { ...type.resources }, taints });
  oddities(random, made);
  const share = random.chance(0.1) ? 0 : 0.1 + 0.6 * random.next();
  const host: Host = {
    name,
    pool,
    zone: labels[zoneKey] ?? '',
    capacityType: labels[capacityTypeKey] ?? '',
    cpu: (Number(type.resources['cpu']) * 1000 - 100) * share,
    memory: (parseInt(type.resources['memory'] ?? '0', 10) - 128) * share,
    apps: new Map(),
  };
  return { host, type, made };
}

function daemonPod(nodeName: string): Pod {
  const made = pod(`node-agent-${nodeName}`, { app: 'node-agent' }, requestsOf('100m', '128Mi'), { nodeName });
  made.metadata.namespace = 'kube-system';
  made.metadata.ownerReferences = [
    { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'node-agent', uid: 'ds-node-agent', controller: true },
  ];
  return made;
}

const spreadOf = <T extends object>(constraint: T) => ({ topologySpreadConstraints: [constraint] });

function isWithinSkew(byZone: ReadonlyMap<string, number>, zone: string, skew: number): boolean {
  return (byZone.get(zone) ?? 0) < Math.min(...ec2Zones.map((each) => byZone.get(each) ?? 0)) + skew;
}
