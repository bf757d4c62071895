import type { KubernetesObject } from '../../api/kubernetes.js';
import type { CatalogueEntry } from '../checker/types.js';
import type { Case } from './case.js';
import { ec2Catalogue } from './catalogues.js';
import {
  type PartialSpec,
  archKey,
  capacityTypeKey,
  daemonSet,
  hostnameKey,
  inValues,
  kwok,
  nodePool,
  osKey,
  pod,
  requestsOf,
  runningNode,
} from './objects.js';
import type { Random } from './random.js';
import { nodeLabels } from './realistic.js';

/**
 * A cluster that has seen better days: nodes of mixed sizes filled to a tenth up to two thirds, some empty; a few pods
 * that must not be disrupted, disruption budgets that allow nothing, spread Deployments. `size` counts the nodes.
 */
export function clusterCase(random: Random, size: number): Case {
  const catalogue = ec2Catalogue(random, 300);
  const usable = catalogue.filter((type) => {
    const cpus = Number(type.resources['cpu']);
    return cpus >= 2 && cpus <= 32 && type.resources['nvidia.com/gpu'] === undefined && type.architecture === 'amd64';
  });
  const objects: KubernetesObject[] = [
    nodePool('default', {
      requirements: [
        inValues(osKey, 'linux'),
        inValues(archKey, 'amd64'),
        inValues(capacityTypeKey, 'on-demand', ...(random.chance(0.5) ? ['spot'] : [])),
        { key: kwok.family, operator: 'NotIn', values: ['g4dn', 'g5', 'g6', 'p3'] },
      ],
      disruption: { budgets: [{ nodes: random.pick(['10%', '20%', '100%', '5']) }] },
    }),
  ];
  if (random.chance(0.5)) {
    objects.push(daemonSet('node-agent', requestsOf('100m', '128Mi'), { tolerations: [{ operator: 'Exists' }] }));
  }
  const apps = Array.from({ length: Math.max(4, Math.floor(size / 4)) }, (_, i) => app(random, i));
  objects.push(...apps.flatMap(({ budget }) => budget));
  let index = 0;
  for (let i = 0; i < size; i++) {
    const type = random.pick(usable);
    const offer = pickOffer(random, type);
    const name = `node-${i}`;
    objects.push(
      ...runningNode({ name, pool: 'default', labels: nodeLabels(type, offer), allocatable: { ...type.resources } }),
    );
    for (const chosen of fillNode(random, apps, { name, resources: type.resources })) {
      objects.push(chosen.replica(index++, name));
    }
  }
  return { objects, catalogue };
}

/** Mostly on-demand, where there is any. */
export function pickOffer(random: Random, type: CatalogueEntry): CatalogueEntry['offerings'][number] {
  const onDemand = type.offerings.filter((offer) => offer.Requirements.some((r) => r.values?.[0] === 'on-demand'));
  return random.pick(random.chance(0.8) && onDemand.length > 0 ? onDemand : type.offerings);
}

interface App {
  readonly cpu: number;
  readonly memory: number;
  /** At most one replica a node. */
  readonly alone: boolean;
  readonly on: Set<string>;
  readonly budget: readonly KubernetesObject[];
  readonly replica: (index: number, node: string) => KubernetesObject;
}

function app(random: Random, number: number): App {
  const name = `app-${number}`;
  const cpu = random.pick([100, 250, 500, 1000, 2000]);
  const memory = random.pick([128, 256, 512, 1024, 4096]);
  const alone = random.chance(0.15);
  const spec: PartialSpec = {};
  if (alone) {
    spec.affinity = {
      podAntiAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          { labelSelector: { matchLabels: { app: name } }, topologyKey: hostnameKey },
        ],
      },
    };
  }
  const guarded = random.chance(0.03);
  const budget: KubernetesObject[] = guarded || random.chance(0.2) ? [disruptionBudget(name, guarded)] : [];
  const pinned = random.chance(0.02);
  return {
    cpu,
    memory,
    alone,
    on: new Set(),
    budget,
    replica: (index, node) => {
      const made = pod(`${name}-${index}`, { app: name }, requestsOf(`${cpu}m`, `${memory}Mi`), {
        ...spec,
        nodeName: node,
      });
      if (pinned) made.metadata.annotations = { 'karpenter.sh/do-not-disrupt': 'true' };
      return made;
    },
  };
}

/** For the pods of an app; a closed one allows no eviction. */
export function disruptionBudget(app: string, closed: boolean, more: object = {}, name = app): KubernetesObject {
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name, namespace: 'default', generation: 1 },
    spec: { selector: { matchLabels: { app } }, maxUnavailable: closed ? 0 : 1, ...more },
    status: {
      observedGeneration: 1,
      disruptionsAllowed: closed ? 0 : 1,
      currentHealthy: 5,
      desiredHealthy: closed ? 5 : 4,
      expectedPods: 5,
      conditions: [],
    },
  } as KubernetesObject;
}

/** Applications with a pod on the node each, which is 10% to 65% full with them, or empty. */
function fillNode(
  random: Random,
  apps: readonly ReturnType<typeof app>[],
  { name, resources }: { readonly name: string; readonly resources: Readonly<Record<string, string>> },
): ReturnType<typeof app>[] {
  const fill = random.chance(0.1) ? 0 : 0.1 + 0.55 * random.next();
  let cpu = (Number(resources['cpu']) * 1000 - 100) * fill;
  let memory = (parseInt(resources['memory'] ?? '0', 10) - 128) * fill;
  const placed = [];
  for (let tries = 0; tries < 12; tries++) {
    const chosen = random.pick(apps);
    if (chosen.cpu > cpu || chosen.memory > memory || (chosen.alone && chosen.on.has(name))) continue;
    cpu -= chosen.cpu;
    memory -= chosen.memory;
    chosen.on.add(name);
    placed.push(chosen);
  }
  return placed;
}
