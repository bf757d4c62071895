import type { KubernetesObject } from '../../api/kubernetes.js';
import type { CatalogueEntry } from '../checker/types.js';
import type { Case } from './case.js';
import { pickOffer } from './cluster.js';
import { kwokCatalogue } from './kwok.js';
import {
  archKey,
  capacityTypeKey,
  daemonSet,
  inValues,
  nodePool,
  osKey,
  pod,
  requestsOf,
  runningNode,
} from './objects.js';
import type { Random } from './random.js';
import { nodeLabels } from './realistic.js';

const leastCpus = 4;
const mostCpus = 32;

/**
 * A cluster at the KWOK provider's prices, which are in proportion to what types hold, so that every size costs the same for what
 * it holds: nodes of 4 to 32 CPUs filled to a tenth up to six tenths, by pods that nothing holds. `size` counts the nodes.
 */
export function kwokClusterCase(random: Random, size: number): Case {
  const catalogue = kwokCatalogue();
  const hasSpot = random.chance(0.5);
  const usable = catalogue
    .filter(({ architecture, resources }) => {
      const cpus = Number(resources['cpu']);
      return architecture === 'amd64' && cpus >= leastCpus && cpus <= mostCpus;
    })
    .map((type) => (hasSpot ? type : { ...type, offerings: type.offerings.filter(isOnDemand) }));
  const objects: KubernetesObject[] = [defaultPool(random, hasSpot)];
  if (random.chance(0.3)) objects.push(daemonSet('node-agent', requestsOf('100m', '128Mi')));
  const apps = appsFor(random, size);
  for (let i = 0; i < size; i++) {
    const name = `node-${i}`;
    const type = random.pick(usable);
    const offer = pickOffer(random, type);
    objects.push(
      ...runningNode({ name, pool: 'default', labels: nodeLabels(type, offer), allocatable: { ...type.resources } }),
    );
    const fill = 0.1 + 0.5 * random.next();
    let cpu = Number(type.resources['cpu']) * 1000 * fill;
    let memory = parseInt(type.resources['memory'] ?? '0', 10) * 1024 * fill;
    for (let tries = 0; tries < 15; tries++) {
      const app = random.pick(apps);
      if (app.cpu > cpu || app.memory > memory) continue;
      cpu -= app.cpu;
      memory -= app.memory;
      const requests = requestsOf(`${app.cpu}m`, `${app.memory}Mi`);
      objects.push(pod(`${app.name}-${objects.length}`, { app: app.name }, requests, { nodeName: name }));
    }
  }
  return { objects, catalogue };
}

const isOnDemand = ({ Requirements }: CatalogueEntry['offerings'][number]): boolean =>
  Requirements.some(({ values }) => values?.[0] === 'on-demand');

interface App {
  readonly name: string;
  /** In thousandths of a CPU. */
  readonly cpu: number;
  /** In MiB. */
  readonly memory: number;
}

function appsFor(random: Random, size: number): readonly App[] {
  return Array.from({ length: Math.max(4, Math.floor(size / 5)) }, (_, i) => ({
    name: `app-${i}`,
    cpu: random.pick([100, 250, 500, 900, 1000, 2000, 3500]),
    memory: random.pick([128, 512, 1024, 2048, 3100, 4096, 8192, 28 * 1024]),
  }));
}

function defaultPool(random: Random, hasSpot: boolean): KubernetesObject {
  return nodePool('default', {
    requirements: [
      inValues(osKey, 'linux'),
      inValues(archKey, 'amd64'),
      inValues(capacityTypeKey, 'on-demand', ...(hasSpot ? ['spot'] : [])),
    ],
    disruption: { budgets: [{ nodes: random.pick(['100%', '100%', '10%', '20%', '5']) }] },
  });
}
