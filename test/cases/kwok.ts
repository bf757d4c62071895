import type { KubernetesObject, Pod } from '../../api/kubernetes.js';
import type { CatalogueEntry, PlanJson } from '../checker/types.js';
import type { Case } from './case.js';
import { offering } from './catalogues.js';
import { archKey, capacityTypeKey, inValues, nodePool, osKey, pod, requestsOf, runningNode } from './objects.js';
import { Random } from './random.js';
import { nodeLabels } from './realistic.js';

/** Where every type is offered. */
export const zones = ['test-zone-a', 'test-zone-b', 'test-zone-c', 'test-zone-d'];
const cpus = [1, 2, 4, 8, 16, 32, 48, 64, 96, 128, 192, 256];
const families = [
  { name: 'c', ratio: 2 },
  { name: 's', ratio: 4 },
  { name: 'm', ratio: 8 },
];

/** Types as Karpenter's KWOK provider has them: priced by their CPUs and bytes alike, spot at 70%. */
export function kwokCatalogue(): CatalogueEntry[] {
  return families.flatMap(({ name, ratio }) =>
    cpus.flatMap((cpu) =>
      ['amd64', 'arm64'].map((architecture) => {
        const price = 0.025 * cpu + (0.001 * cpu * ratio * 2 ** 30) / 1e9;
        return {
          name: `${name}-${cpu}x-${architecture}-linux`,
          architecture,
          operatingSystems: ['linux'],
          resources: {
            cpu: String(cpu),
            memory: `${cpu * ratio}Gi`,
            'ephemeral-storage': '20Gi',
            pods: String(Math.min(1024, cpu * 16)),
          },
          offerings: zones.flatMap((zone) => [offering(zone, 'spot', price * 0.7), offering(zone, 'on-demand', price)]),
        };
      }),
    ),
  );
}

/** Half of the pods each. */
export const deployments = [
  { name: 'small', requests: requestsOf('900m', '3100Mi') },
  { name: 'large', requests: requestsOf('3500m', '28Gi') },
];

const pool = (): KubernetesObject =>
  nodePool('default', {
    requirements: [inValues(osKey, 'linux'), inValues(archKey, 'amd64'), inValues(capacityTypeKey, 'on-demand')],
    disruption: { budgets: [{ nodes: '10%' }] },
  });

/** Pending pods of two Deployments, half of `size` each. */
export function kwokPods(size: number): Case {
  const pods = deployments.flatMap(({ name, requests }) =>
    Array.from({ length: size / deployments.length }, (_, i) => pod(`${name}-${i}`, { app: name }, requests)),
  );
  return { objects: [pool(), ...pods], catalogue: kwokCatalogue() };
}

/** The cluster that a plan for these pods makes, once both Deployments are scaled down to a share of their replicas. */
export function scaledDown({ objects, catalogue }: Case, plan: PlanJson, share: number, seed: number): Case {
  const random = new Random(seed);
  const types = new Map(catalogue.map((type) => [type.name, type]));
  const nodeOf = new Map<string, string>();
  const made: KubernetesObject[] = [];
  plan.newNodeClaims.forEach(({ nodePool: name, cheapest, pods }, i) => {
    const type = types.get(cheapest?.instanceType ?? '');
    if (type === undefined) throw new Error(`claim ${i} of the plan launches nothing that the catalogue has`);
    const offer = type.offerings.find(({ Requirements }) =>
      Requirements.every(({ values }) => [cheapest?.zone, cheapest?.capacityType].includes(values?.[0])),
    );
    const node = `node-${i}`;
    made.push(
      ...runningNode({
        name: node,
        pool: name,
        labels: nodeLabels(type, offer ?? type.offerings[0]!),
        allocatable: { ...type.resources },
      }),
    );
    for (const key of pods) nodeOf.set(key, node);
  });
  const running = deployments.flatMap(({ name }) => {
    const own = objects.filter(
      (object): object is Pod => object.kind === 'Pod' && object.metadata.labels?.['app'] === name,
    );
    const kept = shuffled(random, own).slice(0, Math.round(own.length * share));
    return kept.map((each): Pod => {
      const nodeName = nodeOf.get(`default/${each.metadata.name ?? ''}`);
      if (nodeName === undefined) throw new Error(`the plan places no pod ${each.metadata.name ?? ''}`);
      return { ...each, spec: { ...each.spec, nodeName }, status: { phase: 'Running' } };
    });
  });
  return { objects: [...objects.filter(({ kind }) => kind !== 'Pod'), ...made, ...running], catalogue };
}

function shuffled<T>(random: Random, from: readonly T[]): T[] {
  const keyed = from.map((each) => ({ each, key: random.next() }));
  return keyed.sort((a, b) => a.key - b.key).map(({ each }) => each);
}
