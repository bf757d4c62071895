import type { KubernetesObject } from '../../../api/kubernetes.js';
import { labels } from '../../../api/labels.js';
import { plans, type Expected } from '../plans.js';
import { about, differs, notApplicable, same, type Check, type ConformanceCase } from '../conformance-case.js';
import { antiAffinity, affinity, constraint, spread } from '../topology-terms.js';
import { all, node, oneOf, pod, pods, pool, poolOf, type, zone1, zone2, zone3, type PodOptions } from '../world.js';
import { offering } from '../../cases/catalogues.js';
import type { CatalogueEntry } from '../../checker/types.js';

const since = '2026-01-01T12:00:00Z';
const zone = labels.zone;
const owner = (kind: string) => [{ apiVersion: 'apps/v1', kind, name: 'o', uid: 'o', controller: true }];
const leaving = (): KubernetesObject[] =>
  node('n').map((each) => ({ ...each, metadata: { ...each.metadata, deletionTimestamp: since } }));
const onIt = (kind: string, terminating: boolean) =>
  pod('p', {
    memory: '100M',
    labels: { app: 'x' },
    nodeName: 'n',
    metadata: { ownerReferences: owner(kind), ...(terminating && { deletionTimestamp: since }) },
  });
const moved = (kind: string, terminating: boolean, expected: Expected): Check =>
  plans({ objects: [leaving(), onIt(kind, terminating)] }, expected);
const again: Expected = { nodes: 1, by: { [labels.instanceType]: { small: 1 } } };
const budget = (name: string, spec: object) =>
  ({
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name, namespace: 'default' },
    spec: { selector: { matchLabels: { app: 'x' } }, ...spec },
    status: { disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1 },
  }) as KubernetesObject;
const held = (...specs: object[]): Check =>
  plans(
    { objects: [leaving(), onIt('ReplicaSet', false), ...specs.map((spec, i) => budget(`b${i}`, spec))] },
    { nodes: 0 },
  );

export const deletingCases: readonly ConformanceCase[] = about('pods of deleting nodes', [
  same(4061, 'are planned for', moved('ReplicaSet', false, again)),
  same([4087, 4171], 'that terminate are not planned for', moved('ReplicaSet', true, { nodes: 0 })),
  same(4114, 'of DaemonSets are not planned for', moved('DaemonSet', true, { nodes: 0 })),
  same(4215, 'of a StatefulSet that terminate are planned for', moved('StatefulSet', true, again)),
  same(4290, 'behind a PodDisruptionBudget with maxUnavailable 0 are not planned for', held({ maxUnavailable: 0 })),
  same(4294, 'behind a PodDisruptionBudget with maxUnavailable 0% are not planned for', held({ maxUnavailable: '0%' })),
  same(4298, 'behind a PodDisruptionBudget with minAvailable 100% are not planned for', held({ minAvailable: '100%' })),
  same(
    4302,
    'behind two such PodDisruptionBudgets are not planned for',
    held({ minAvailable: '100%' }, { minAvailable: '100%' }),
  ),
]);

const metric = 'docs/metrics.md says what is measured; the test looks at a metric of the controller alone';
const app = { labels: { app: 'x' } };
const ran = (name: string): KubernetesObject[] => [
  ...node(name, { zone: name, allocatable: { cpu: '100m' } }),
  pod(`on-${name}`, { ...app, nodeName: name }),
];
const oneIn = (options: PodOptions, where: string, ...running: string[]): Check =>
  plans({ objects: [...running.map(ran), pod('p', { cpu: '1', ...options })] }, { by: { [zone]: { [where]: 1 } } });
const nowhere = (options: PodOptions, ...running: string[]): Check =>
  plans({ objects: [...running.map(ran), pod('p', { cpu: '1', ...options })] }, { left: ['p'], nodes: 0 });

/** The zones of pods, which Karpenter has as a metric. */
export const zoneCases: readonly ConformanceCase[] = about('zones open to a pod', [
  notApplicable([4318, 4355, 4390, 4419], 'metrics of a pass', metric),
  same([4525, 4545], 'without requirements', plans({ objects: pods(2, { likes: [oneOf(zone, zone1)] }) })),
  same(
    4529,
    'with a zone',
    plans({ objects: pods(3, { nodeSelector: { [zone]: zone2 } }) }, { by: { [zone]: { [zone2]: 3 } } }),
  ),
  same(
    4534,
    'with a different zone each',
    plans(
      { objects: [zone1, zone2].map((name) => pod(name, { nodeSelector: { [zone]: name } })) },
      { by: { [zone]: { [zone1]: 1, [zone2]: 1 } } },
    ),
  ),
  same(4554, 'with affinity', oneIn(affinity('x'), zone1, zone1)),
  same(4568, 'with anti-affinity', oneIn(antiAffinity('x'), zone3, zone1, zone2)),
  same(4586, 'with a spread', oneIn({ ...app, ...spread() }, zone3, zone1, zone2)),
  same(
    4604,
    'with a spread that cannot be met',
    nowhere({ ...app, topologySpreadConstraints: [constraint({ minDomains: 4 })] }, ...all),
  ),
  same(4641, 'with affinity to an absent pod', nowhere(affinity('none'))),
  same(4650, 'with anti-affinity to a pod in every zone', nowhere(antiAffinity('x'), ...all)),
]);

const filtered = (...requirements: Parameters<typeof poolOf>): Check =>
  plans({ objects: [poolOf(...requirements), ...pods(3)] }, { left: ['p-0', 'p-1', 'p-2'], nodes: 0 });

export const filteredCases: readonly ConformanceCase[] = about('why a pod stays unschedulable', [
  same(5197, 'a NodePool that requires a missing type', filtered(oneOf(labels.instanceType, 'no-such-type'))),
  same(5242, 'a NodePool that requires a missing architecture', filtered(oneOf(labels.arch, 'no-such-arch'))),
  same(
    5273,
    'a NodePool with contradicting requirements',
    filtered(oneOf(labels.arch, 'amd64'), oneOf(labels.arch, 'arm64')),
  ),
  same(5302, 'a NodePool that requires missing zones', filtered(oneOf(zone, 'no-zone-1', 'no-zone-2'))),
  notApplicable([5361, 5382, 5414, 5449, 5469], 'resource claims', 'dynamic resource allocation is not modelled'),
  notApplicable(
    [5524, 5568],
    'capacity that one offering of a type has and another has not',
    'no cloud of Stowage sells that; a NodeOverlay adds capacity to a type',
  ),
]);

const reservation = 'karpenter.k8s.aws/capacity-reservation-id';
const reserve = (name: string, price: number, count = 1, id = `r-${name}`): CatalogueEntry['offerings'][number] => {
  const made = offering(zone1, 'reserved', price / 100_000);
  return {
    ...made,
    ReservationCapacity: count,
    Requirements: [...made.Requirements, oneOf(reservation, id)],
  };
};
const also = (entry: CatalogueEntry, ...offers: CatalogueEntry['offerings'][number][]): CatalogueEntry => ({
  ...entry,
  offerings: [...entry.offerings, ...offers],
});
const large = type('large', { cpu: 6, memory: 6 });
const medium = type('medium', { cpu: 3, memory: 3 });
const small = type('small', { cpu: 2, memory: 2 });
const reserved = [large, also(medium, reserve('medium', 0.6)), also(small, reserve('small', 0.4))];
const apartOn = (name: string): PodOptions => ({
  ...app,
  ...antiAffinity('x', labels.hostname),
  needs: [oneOf(labels.instanceType, name)],
});
const capacity = labels.capacityType;
const onePass =
  'what is reserved and what is bought is planned in one pass; under Karpenter pods that find no room in a reservation wait for the next';
const rule = 'reserved-capacity/overflow';
const counts = (kinds: Record<string, number>): Expected => ({ by: { [capacity]: kinds } });

export const reservedCases: readonly ConformanceCase[] = about('reserved capacity', [
  differs(
    4715,
    'is used before anything is bought',
    rule,
    onePass,
    onlyReserved(plans({ catalogue: reserved, objects: pods(3, { cpu: '1800m' }) }, { by: { [capacity]: {} } }), 2),
  ),
  differs(
    4767,
    'of one reservation is shared by two pools',
    rule,
    onePass,
    onlyReserved(
      plans(
        {
          catalogue: reserved,
          objects: [
            pool({}, 'one'),
            pool({}, 'two'),
            ...['one', 'two'].map((name) =>
              pod(name, { ...apartOn('small'), nodeSelector: { [labels.nodePool]: name } }),
            ),
          ],
        },
        { by: { [capacity]: {} } },
      ),
      1,
    ),
  ),
  notApplicable(
    4824,
    'two pools with catalogues of their own',
    'a file has one catalogue for all pools; packing/scenarios/capacity.test.ts has it',
  ),
  differs(
    4894,
    'several reservations of one type',
    rule,
    onePass,
    onlyReserved(
      plans(
        {
          catalogue: [also(small, reserve('small', 0.4), reserve('small', 0.4, 2, 'r-more'))],
          objects: pods(4, apartOn('small')),
        },
        { by: { [capacity]: {} } },
      ),
      3,
    ),
  ),
  notApplicable([4976, 5059], 'reservations by pool', 'a file has one catalogue for all pools'),
  same(
    5142,
    'two pods share a reserved node',
    plans(
      {
        catalogue: reserved,
        objects: pods(2, {
          ...app,
          ...affinity('x'),
          needs: [oneOf(labels.instanceType, 'small'), oneOf(capacity, 'reserved'), oneOf(zone, zone1)],
        }),
      },
      { nodes: 1, ...counts({ reserved: 2 }) },
    ),
  ),
]);

/** How many pods are on reserved nodes; the others may be on any. */
function onlyReserved(check: Check, count: number): Check {
  const read = (value: unknown): unknown => {
    const { by, ...rest } = value as { by: Record<string, Record<string, number>> };
    return { ...rest, reserved: by[capacity]?.['reserved'] };
  };
  return { outcome: () => read(check.outcome()), expected: { violations: [], left: [], reserved: count } };
}
