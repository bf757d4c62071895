import { expect, test } from '@jest/globals';
import type { Pod } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import { packingInput, pod } from '../../test/builders/packing-fixtures.js';
import { plan } from '../plan.js';

/** A Deployment that asks for an architecture and a capacity type, and spreads over zones and nodes. */
const deployment = (namespace: string, app: string, replicas: number): Pod[] =>
  Array.from({ length: replicas }, (_, n) => {
    const spread = (topologyKey: string) => ({
      maxSkew: 1,
      topologyKey,
      whenUnsatisfiable: 'DoNotSchedule' as const,
      labelSelector: { matchLabels: { app } },
    });
    const made = pod(`${app}-${n}`, {
      cpu: '500m',
      labels: { app },
      nodeSelector: { [labels.arch]: 'amd64', [labels.capacityType]: 'on-demand' },
      topologySpreadConstraints: [spread(labels.zone), spread(labels.hostname)],
    });
    return { ...made, metadata: { ...made.metadata, namespace } };
  });

test.each([
  [4, 4, 3, 7],
  [20, 12, 5, 25],
])(
  'pods of %d namespaces with %d ordinary Deployments of %d are planned together, on %d nodes at most',
  (namespaces, deployments, replicas, nodes) => {
    const pods = Array.from({ length: namespaces }, (_, n) =>
      Array.from({ length: deployments }, (__, d) => deployment(`team-${n}`, `app-${n}-${d}`, replicas)),
    ).flat(2);
    const result = plan(packingInput({ pods }));
    expect(result.deferred).toBeUndefined();
    expect(result.unschedulable).toEqual([]);
    expect(result.newNodeClaims.length).toBeLessThanOrEqual(nodes);
  },
);

test('a namespace with very many different pods has passes in turn with others, which wait for none of them', () => {
  const many = Array.from({ length: 600 }, (_, n) => deployment('tenant', `tenant-${n}`, 1)).flat();
  const others = deployment('team', 'app', 3);
  const result = plan(packingInput({ pods: [...many, ...others] }));
  expect(result.deferred).toHaveLength(600);
  expect(result.newNodeClaims.flatMap((claim) => claim.pods).sort()).toEqual([
    'team/app-0',
    'team/app-1',
    'team/app-2',
  ]);
});
