import type { KubernetesObject, PodSpec } from '../../api/kubernetes.js';
import type { Case } from '../cases/index.js';
import { offering } from '../cases/catalogues.js';
import {
  archKey,
  capacityTypeKey,
  hostnameKey,
  inValues,
  instanceTypeKey,
  nodePool,
  osKey,
  pod,
  requestsOf,
  runningNode,
  zoneKey,
} from '../cases/objects.js';
import type { Random } from '../cases/random.js';

/** A machine as labels have it. */
interface Site {
  readonly zone: string;
  readonly arch: string;
  readonly capacityType: string;
}

export interface SmallType {
  readonly name: string;
  readonly arch: string;
  /** Thousandths of a CPU, and MiB. */
  readonly cpu: number;
  readonly memory: number;
  readonly offers: readonly { readonly zone: string; readonly capacityType: string; readonly price: number }[];
}

export interface SmallPool {
  readonly name: string;
  /** Values that are allowed. */
  readonly requirements: { readonly [key in keyof Site]?: readonly string[] };
  readonly isTainted: boolean;
}

type Key = 'zone' | 'host';

/** Pods with the same labels. Rules are required, and select pods by their app. */
interface SmallApp {
  readonly name: string;
  readonly selector: Partial<Site>;
  readonly tolerates: boolean;
  readonly spread: readonly { readonly key: Key; readonly maxSkew: number }[];
  readonly apart: readonly { readonly key: Key; readonly app: string }[];
  readonly near: readonly { readonly key: Key; readonly app: string }[];
}

export interface SmallPod {
  readonly name: string;
  readonly app: SmallApp;
  readonly cpu: number;
  readonly memory: number;
}

export interface SmallNode extends Site {
  readonly name: string;
  readonly cpu: number;
  readonly memory: number;
  readonly running: readonly SmallPod[];
  /** By default a type that the catalogue lacks, of the first NodePool. */
  readonly type?: string;
  readonly pool?: string;
}

/** A few pods, and what there is for them: in numbers, for a judge that tries everything. */
export interface SmallCase {
  readonly types: readonly SmallType[];
  readonly pools: readonly SmallPool[];
  readonly nodes: readonly SmallNode[];
  readonly pods: readonly SmallPod[];
}

export const zones: readonly string[] = ['zone-a', 'zone-b', 'zone-c'];
const capacityTypes = ['on-demand', 'spot'] as const;
const kinds = ['plain', 'plain', 'zone-spread', 'host-spread', 'zone-apart', 'host-apart', 'zone-near', 'host-near'] as const; // prettier-ignore

export function smallCase(random: Random, most: number): SmallCase {
  const types = Array.from({ length: random.int(4, 12) }, (_, i) => typeOf(random, i));
  const pools = Array.from({ length: random.int(1, 3) }, (_, i) => poolOf(random, i));
  const apps: SmallApp[] = [];
  for (let i = random.int(1, 3); i > 0; i--) apps.push(appOf(random, apps));
  const sizesOf = new Map(apps.map((app) => [app, Array.from({ length: random.int(1, 2) }, () => sizeOf(random))]));
  const podOf = (name: string): SmallPod => {
    const app = random.pick(apps);
    return { name, app, ...random.pick(sizesOf.get(app)!) };
  };
  const nodes = random.chance(0.5) ? [] : Array.from({ length: random.int(1, 3) }, (_, i) => nodeOf(random, i, podOf));
  const pods = Array.from({ length: random.int(1, most) }, (_, i) => podOf(`pod-${String(i).padStart(2, '0')}`));
  return { types, pools, nodes, pods };
}

function typeOf(random: Random, index: number): SmallType {
  const cpu = random.pick([1, 2, 2, 4, 4, 8, 16]);
  const ratio = random.pick([2, 4, 8]);
  const arch = random.chance(0.75) ? 'amd64' : 'arm64';
  const price = (0.03 * cpu + 0.004 * cpu * ratio) * (0.9 + 0.2 * random.next());
  const rounded = (factor: number): number => Math.round(price * factor * 1e5) / 1e5;
  return {
    name: `t${index}-${cpu}x`,
    arch,
    cpu: cpu * 1000,
    memory: cpu * ratio * 1024,
    offers: zones.flatMap((zone) => [
      ...(random.chance(0.9) ? [{ zone, capacityType: 'on-demand', price: rounded(random.chance(0.5) ? 1 : 0.95 + 0.1 * random.next()) }] : []), // prettier-ignore
      ...(random.chance(0.6) ? [{ zone, capacityType: 'spot', price: rounded(0.3 + 0.5 * random.next()) }] : []),
    ]),
  };
}

function poolOf(random: Random, index: number): SmallPool {
  return {
    name: `pool-${index}`,
    requirements: {
      ...(random.chance(0.5) && { capacityType: [random.pick(capacityTypes)] }),
      ...(random.chance(0.3) && { arch: ['amd64'] }),
      ...(index > 0 && random.chance(0.3) && { zone: random.some(zones, 1) }),
    },
    isTainted: index > 0 && random.chance(0.3),
  };
}

function appOf(random: Random, earlier: readonly SmallApp[]): SmallApp {
  const name = `app-${earlier.length}`;
  const kind = random.pick(kinds);
  const [at, rule] = kind.split('-') as [Key | 'plain', string | undefined];
  const other = (): string => (earlier.length > 0 && random.chance(0.6) ? random.pick(earlier).name : name);
  const both = random.chance(0.2);
  return {
    name,
    selector: {
      ...(rule !== 'spread' && random.chance(0.15) && { zone: random.pick(zones) }),
      ...(random.chance(0.1) && { capacityType: random.pick(capacityTypes) }),
      ...(random.chance(0.1) && { arch: 'amd64' }),
    },
    tolerates: random.chance(0.4),
    spread:
      rule === 'spread'
        ? [
            { key: at as Key, maxSkew: random.int(1, 2) },
            ...(both && at === 'zone' ? [{ key: 'host' as const, maxSkew: random.int(1, 2) }] : []),
          ]
        : [],
    apart: rule === 'apart' ? [{ key: at as Key, app: other() }] : [],
    near: rule === 'near' ? [{ key: at as Key, app: other() }] : [],
  };
}

const sizeOf = (random: Random): { cpu: number; memory: number } => ({
  cpu: random.pick([100, 250, 500, 750, 1000, 1500, 1900, 2500, 3500]),
  memory: random.pick([128, 256, 512, 1024, 2048, 3072, 6144]),
});

function nodeOf(random: Random, index: number, podOf: (name: string) => SmallPod): SmallNode {
  const cpu = random.pick([2, 4, 8]);
  const site = { zone: random.pick(zones), arch: 'amd64', capacityType: random.pick(capacityTypes) };
  const running: SmallPod[] = [];
  let left = { cpu: cpu * 1000, memory: cpu * 4096 };
  for (let i = random.int(0, 3); i > 0; i--) {
    const next = podOf(`running-${index}-${i}`);
    const { app, ...rest } = next;
    if (next.cpu > left.cpu || next.memory > left.memory) continue;
    // Only pods that may be anywhere run already, so that no rule is broken before.
    if (app.spread.length + app.apart.length + app.near.length > 0 || Object.keys(app.selector).length > 0) continue;
    running.push({ app, ...rest });
    left = { cpu: left.cpu - next.cpu, memory: left.memory - next.memory };
  }
  return { name: `node-${index}`, ...site, cpu: cpu * 1000, memory: cpu * 4096, running };
}

/** The same as objects of Kubernetes and a catalogue. */
export function caseOf({ types, pools, nodes, pods }: SmallCase): Case {
  const objects: KubernetesObject[] = pools.map(({ name, requirements, isTainted }) =>
    nodePool(name, {
      requirements: Object.entries(requirements).map(([key, values]) =>
        inValues(labelOf[key as keyof Site], ...values),
      ),
      ...(isTainted && { taints: [taint] }),
      disruption: { budgets: [{ nodes: '100%' }] },
    }),
  );
  for (const { name, zone, arch, capacityType, cpu, memory, running, type = 'other', pool = pools[0]!.name } of nodes) {
    const labels = { [zoneKey]: zone, [archKey]: arch, [capacityTypeKey]: capacityType, [osKey]: 'linux', [instanceTypeKey]: type }; // prettier-ignore
    const allocatable = { cpu: `${cpu}m`, memory: `${memory}Mi`, pods: '110' };
    objects.push(...runningNode({ name, pool, labels, allocatable }));
    for (const each of running) objects.push(podObject(each, name));
  }
  for (const each of pods) objects.push(podObject(each));
  const catalogue = types.map(({ name, arch, cpu, memory, offers }) => ({
    name,
    architecture: arch,
    operatingSystems: ['linux'],
    resources: { cpu: `${cpu}m`, memory: `${memory}Mi`, pods: '110' },
    offerings: offers.map(({ zone, capacityType, price }) => offering(zone, capacityType, price)),
  }));
  return { objects, catalogue: catalogue.filter(({ offerings }) => offerings.length > 0) };
}

const taint = { key: 'example.com/dedicated', value: 'yes', effect: 'NoSchedule' as const };
const labelOf: Readonly<Record<keyof Site, string>> = { zone: zoneKey, arch: archKey, capacityType: capacityTypeKey };
const topologyKeys: Readonly<Record<Key, string>> = { zone: zoneKey, host: hostnameKey };

function podObject({ name, app, cpu, memory }: SmallPod, nodeName?: string): KubernetesObject {
  const term = ({ key, app: selected }: { key: Key; app: string }) => ({
    topologyKey: topologyKeys[key],
    labelSelector: { matchLabels: { app: selected } },
  });
  const required = (terms: readonly { key: Key; app: string }[]) => ({
    requiredDuringSchedulingIgnoredDuringExecution: terms.map(term),
  });
  const selector = Object.entries(app.selector).map(([key, value]) => [labelOf[key as keyof Site], value]);
  const spec: Omit<Partial<PodSpec>, 'containers'> = {
    ...(selector.length > 0 && { nodeSelector: Object.fromEntries(selector) as Record<string, string> }),
    ...(app.tolerates && { tolerations: [{ key: taint.key, operator: 'Exists' as const }] }),
    ...(app.spread.length > 0 && {
      topologySpreadConstraints: app.spread.map(({ key, maxSkew }) => ({
        maxSkew,
        whenUnsatisfiable: 'DoNotSchedule' as const,
        ...term({ key, app: app.name }),
      })),
    }),
    ...(app.apart.length + app.near.length > 0 && {
      affinity: {
        ...(app.apart.length > 0 && { podAntiAffinity: required(app.apart) }),
        ...(app.near.length > 0 && { podAffinity: required(app.near) }),
      },
    }),
    ...(nodeName !== undefined && { nodeName }),
  };
  return pod(name, { app: app.name }, requestsOf(`${cpu}m`, `${memory}Mi`), spec);
}
