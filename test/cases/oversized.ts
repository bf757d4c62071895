import type { KubernetesObject } from '../../api/kubernetes.js';
import type { Case } from './case.js';
import { ec2Catalogue } from './catalogues.js';
import { inValues, nodePool, pod, requestsOf, type PartialSpec } from './objects.js';
import type { Random } from './random.js';

const team = 'example.com/team';
const counted = <T>(count: number, make: (n: number) => T): T[] => Array.from({ length: count }, (_, n) => make(n));
/** Each pod has another size, so that no two are alike. */
const odd = (random: Random, n: number, spec: PartialSpec = {}): KubernetesObject =>
  pod(`p-${n}`, { app: `app-${n}` }, requestsOf(`${random.int(100, 900)}m`, `${256 + n}Mi`), spec);

/** As many values of one label, which the NodePool leaves open, and a pod for each. */
export const labelValuesCase = (random: Random, size: number): Case => ({
  catalogue: ec2Catalogue(random),
  objects: [
    nodePool('default', { requirements: [{ key: team, operator: 'Exists' }] }),
    ...counted(size, (n) => odd(random, n, { nodeSelector: { [team]: `team-${n}` } })),
  ],
});

/** A sixth as many pods, spread over so many values of one label. */
export const spreadValuesCase = (random: Random, size: number): Case => {
  const spread = {
    maxSkew: 1,
    topologyKey: team,
    whenUnsatisfiable: 'DoNotSchedule' as const,
    labelSelector: { matchLabels: { app: 'web' } },
  };
  return {
    catalogue: ec2Catalogue(random),
    objects: [
      nodePool('default', { requirements: [inValues(team, ...counted(size, (n) => `team-${n}`))] }),
      ...counted(Math.ceil(size / 6), (n) =>
        pod(`p-${n}`, { app: 'web' }, requestsOf('500m', `${random.int(256, 1024)}Mi`), {
          topologySpreadConstraints: [spread],
        }),
      ),
    ],
  };
};

/** That many NodePools, each with its own kind of pods. */
export const manyPoolsCase = (random: Random, size: number): Case => poolsAndPods(random, size, (n) => `team-${n}`);

/** As many NodePools, and as many kinds of pods that none of them takes: all is to be explained. */
export const closedPoolsCase = (random: Random, size: number): Case => poolsAndPods(random, size, (n) => `other-${n}`);

function poolsAndPods(random: Random, size: number, asked: (n: number) => string): Case {
  return {
    catalogue: ec2Catalogue(random),
    objects: [
      ...counted(size, (n) => nodePool(`pool-${n}`, { labels: { [team]: `team-${n}` } })),
      ...counted(size, (n) => odd(random, n, { nodeSelector: { [team]: asked(n) } })),
    ],
  };
}
