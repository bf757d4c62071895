import { expect, test } from '@jest/globals';
import type { PodSpec } from '../../api/kubernetes.js';
import { offering } from '../cases/catalogues.js';
import { hostnameKey, inValues, nodePool, pod, requestsOf, zoneKey } from '../cases/objects.js';
import { checkPlan } from './check.js';
import type { PlanJson } from './types.js';

const catalogue = [
  {
    name: 'm-2x',
    architecture: 'amd64',
    operatingSystems: ['linux'],
    resources: { cpu: '2', memory: '8Gi' },
    offerings: [offering('a', 'spot', 0.1), offering('b', 'spot', 0.1)],
  },
];
const web = { matchLabels: { app: 'web' } };

function kept(
  spec: Partial<PodSpec>,
  nodes: readonly { zone: string; pods: string[] }[],
): { asked: number; kept: number } {
  const pods = nodes
    .flatMap((node) => node.pods)
    .map((name) => pod(name, { app: 'web' }, requestsOf('1', '1Gi'), spec));
  const plan: PlanJson = {
    engine: 'test',
    newNodeClaims: nodes.map(({ zone, pods: names }) => ({
      nodePool: 'default',
      pods: names.map((name) => `default/${name}`),
      instanceTypes: ['m-2x'],
      requirements: [inValues(zoneKey, zone)],
      cheapest: { instanceType: 'm-2x', zone, capacityType: 'spot', pricePerHour: 0.1 },
    })),
    existingNodes: [],
    unschedulable: [],
    pricePerHour: 0.1 * nodes.length,
  };
  const verdict = checkPlan({ items: [nodePool('default'), ...pods] }, catalogue, plan);
  expect(verdict.violations).toEqual([]);
  return verdict.preferences;
}

const together = [{ zone: 'a', pods: ['p1', 'p2'] }];
const apart = [
  { zone: 'a', pods: ['p1'] },
  { zone: 'b', pods: ['p2'] },
];

test('checkPreferences: preferred node affinity counts by its weight', () => {
  const spec: Partial<PodSpec> = {
    affinity: {
      nodeAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [
          { weight: 5, preference: { matchExpressions: [inValues(zoneKey, 'a')] } },
        ],
      },
    },
  };
  expect(kept(spec, together)).toEqual({ asked: 10, kept: 10 });
  expect(kept(spec, apart)).toEqual({ asked: 10, kept: 5 });
});

test('checkPreferences: preferred anti-affinity wants no selected pod in the domain, preferred affinity one', () => {
  const preferredDuringSchedulingIgnoredDuringExecution = [
    { weight: 3, podAffinityTerm: { labelSelector: web, topologyKey: hostnameKey } },
  ];
  const anti = { affinity: { podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution } } };
  const pro = { affinity: { podAffinity: { preferredDuringSchedulingIgnoredDuringExecution } } };
  expect(kept(anti, together)).toEqual({ asked: 6, kept: 0 });
  expect(kept(anti, apart)).toEqual({ asked: 6, kept: 6 });
  expect(kept(pro, together)).toEqual({ asked: 6, kept: 6 });
  expect(kept(pro, apart)).toEqual({ asked: 6, kept: 0 });
});

test('checkPreferences: a ScheduleAnyway spread has the weight of one', () => {
  const spec: Partial<PodSpec> = {
    topologySpreadConstraints: [
      { maxSkew: 1, topologyKey: zoneKey, whenUnsatisfiable: 'ScheduleAnyway', labelSelector: web },
    ],
  };
  const lopsided = [...together, { zone: 'b', pods: [] as string[] }];
  expect(kept(spec, apart)).toEqual({ asked: 2, kept: 2 });
  expect(kept(spec, lopsided)).toEqual({ asked: 2, kept: 0 });
});
