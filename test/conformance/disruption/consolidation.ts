import type { KubernetesObject } from '../../../api/kubernetes.js';
import { annotations, labels } from '../../../api/labels.js';
import { offering } from '../../cases/catalogues.js';
import type { CatalogueEntry } from '../../checker/types.js';
import { consolidates, type Fleet, type Outcome } from '../consolidations.js';
import { about, notApplicable, same, type Check, type ConformanceCase } from '../conformance-case.js';
import { antiAffinity, likesAntiAffinity, spread } from '../topology-terms.js';
import { oneOf, op, pod, unlabelled, zone1, zone2, zone3, type PodOptions } from '../world.js';
import { budget, cheap, claimed, dear, fleet, marked, of, on, onDemand, poolWith, sold } from './fleet.js';

const run = (objects: Fleet['objects'], expected: Outcome, more: Omit<Fleet, 'objects'> = {}): Check =>
  consolidates({ catalogue: fleet, objects, ...more }, expected);
const none: Outcome = { gone: [] };
const capacity = labels.capacityType;
const spot = { capacityType: 'spot' } as const;
const inSteps = { mostCommands: 1 };

const inAllZones = { offerings: [zone1, zone2, zone3].map((zone) => offering(zone, 'on-demand', 0.4)) };
const cheap3 = sold('cheap3', 4, 0.4, inAllZones);
const dear3 = sold('dear3', 32, 3.2, {
  offerings: [zone1, zone2, zone3].map((zone) => offering(zone, 'on-demand', 3.2)),
});

const eventsElsewhere =
  'events are in disruption/consolidation/rejections.ts and the events of docs/behaviour/events.md';
const metric = 'a metric; that commands are looked at again is tested in disruption/consolidation/rules.test.ts';
const looks = 'when the search looks again is the affair of workflows/consolidation (consolidation/when-it-searches)';

const without = (key: string): Check =>
  run([poolWith(), of('n', dear).map((each) => unlabelled(each, key)), on('n', 'p')], none);

export const watchedCases: readonly ConformanceCase[] = about('consolidation is skipped for', [
  notApplicable([104, 114, 125], 'events that say that a pool does not consolidate', eventsElsewhere),
  same(137, 'a node of an unknown type', run([poolWith(), of('n', sold('gone', 32, 3.2)), on('n', 'p')], none)),
  same(150, 'a node without a capacity type', without(capacity)),
  same(163, 'a node without a zone', without(labels.zone)),
  notApplicable(
    [181, 230, 231, 232, 288, 289, 290, 331, 332, 333],
    'how many nodes might go, and how many commands were dropped',
    metric,
  ),
]);

const empties = (count: number, pool = 'default', prefix = 'n'): KubernetesObject[] =>
  Array.from({ length: count }, (_, i) => of(`${prefix}-${i}`, cheap, { pool })).flat();
const busy = (count: number): KubernetesObject[] =>
  empties(count).concat(Array.from({ length: count }, (_, i) => on(`n-${i}`, `p-${i}`, { cpu: '10m' })));
const limit = (nodes: string): KubernetesObject => onDemand({ budgets: [{ nodes }] });
const manyPools = (nodes: string): KubernetesObject[] =>
  Array.from({ length: 10 }, (_, i) => [
    poolWith({ budgets: [{ nodes }] }, {}, `pool-${i}`),
    ...empties(3, `pool-${i}`, `pool-${i}`),
  ]).flat();
const eachOf = (count: number): Outcome =>
  count === 0 ? none : { byGroup: Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`pool-${i}`, count])) };

export const budgetCases: readonly ConformanceCase[] = about('consolidation under budgets', [
  same(366, 'three empty nodes of ten are removed', run([limit('3'), empties(10)], { count: 3 }, { more: inSteps })),
  same(388, 'all empty nodes are removed', run([limit('100%'), empties(10)], { count: 10 }, { more: inSteps })),
  same(411, 'no empty node is removed', run([limit('0'), empties(10)], none)),
  same(
    [433, 476],
    'three of ten underutilized nodes are removed',
    run([limit('3'), busy(10)], { count: 3 }, { more: inSteps }),
  ),
  same(522, 'two nodes of each pool are removed', run(manyPools('2'), eachOf(2), { more: inSteps })),
  same(588, 'all nodes of each pool are removed', run(manyPools('100%'), eachOf(3), { more: inSteps })),
  same(652, 'no node of either pool is removed', run(manyPools('0'), none)),
  notApplicable([714, 738, 802, 833, 903, 934], 'a look that budgets cut short is not the last', looks),
]);

const twice = (at: readonly [number, number], title: string, check: (options: object) => Check): ConformanceCase[] => [
  same(at[0], `${title}, on demand`, check({})),
  same(at[1], `${title}, on spot`, check(spot)),
];
/** Twenty types by size, so that spot may follow spot. */
const many: readonly CatalogueEntry[] = Array.from({ length: 20 }, (_, i) =>
  sold(`t${String(i).padStart(2, '0')}`, 4 + i, 0.4 + 0.1 * i),
);
const last = many[19]!;
const spotToSpot = { more: { spotToSpot: true }, catalogue: many };
/** A pool asks for the capacity type of its nodes. */
const kindOf = (options: object) => oneOf(capacity, options === spot ? 'spot' : 'on-demand');
const poolLike = (options: object): KubernetesObject => poolWith({}, { requirements: [kindOf(options)] });
const names = (count: number): string[] => many.slice(0, count).map(({ name }) => name);
const pair = (kept: readonly KubernetesObject[], other: readonly KubernetesObject[], ...rest: KubernetesObject[]) => [
  poolWith(),
  ...kept,
  ...other,
  ...rest,
];
/** Of two dear nodes, `n` is to stay, and `m` is replaced. */
const keeps = (options: object, n: readonly KubernetesObject[], ...rest: KubernetesObject[]): Check =>
  run(
    pair(n, of('m', last, options), on('m', 'q', { nodeSelector: { [labels.arch]: 'amd64' }, cpu: '3' }), ...rest),
    { gone: ['m'], count: 1 },
    {
      ...spotToSpot,
    },
  );
const large: PodOptions = { cpu: '22', labels: { app: 'kept' } };

export const replaceCases: readonly ConformanceCase[] = about('consolidation by replacement', [
  ...twice([1058, 1059], 'a dear node is replaced by a cheap one', (options) =>
    run([poolWith(), of('n', last, options), on('n', 'p')], { gone: ['n'], cheaper: true }, spotToSpot),
  ),
  same(
    1061,
    'spot is not replaced by spot with fewer than fifteen cheaper types',
    run([poolWith(), of('n', dear, spot), on('n', 'p')], none, { more: { spotToSpot: true } }),
  ),
  same(
    1136,
    'spot is not replaced by spot without the gate',
    run([poolWith(), of('n', last, spot), on('n', 'p')], none, { catalogue: many }),
  ),
  same(
    1177,
    'spot among the fifteen cheapest types stays',
    run([poolWith(), of('n', many[10], spot), on('n', 'p')], none, spotToSpot),
  ),
  same(
    1247,
    'a claim lists the fifteen cheapest types in order of price',
    run(
      [poolWith(), of('n', last, spot), on('n', 'p')],
      { gone: ['n'], listed: names(15) },
      { ...spotToSpot, catalogue: [...many].reverse() },
    ),
  ),
  same(
    1357,
    'a claim lists as many types as minValues needs, where that is more',
    run(
      [
        poolWith({}, { requirements: [{ ...op(labels.instanceType, 'Exists'), minValues: 17 }] }),
        of('n', last, spot),
        on('n', 'p'),
      ],
      { gone: ['n'], listed: names(17) },
      spotToSpot,
    ),
  ),
  same(
    1476,
    'fewer types than minValues refuse it',
    run(
      [
        poolWith({}, { requirements: [{ ...op(labels.instanceType, 'Exists'), minValues: 20 }] }),
        of('n', last, spot),
        on('n', 'p'),
      ],
      none,
      spotToSpot,
    ),
  ),
  same(
    1568,
    'a claim lists fifteen types where minValues needs fewer',
    run(
      [
        poolWith({}, { requirements: [{ ...op(labels.instanceType, 'Exists'), minValues: 10 }] }),
        of('n', last, spot),
        on('n', 'p'),
      ],
      { gone: ['n'], listed: names(15) },
      spotToSpot,
    ),
  ),
  ...twice([1777, 1778], 'types that are too dear leave too few for minValues', (options) =>
    run(
      [
        poolWith(
          {},
          {
            requirements: [{ ...op(labels.instanceType, 'Exists'), minValues: 20 }, kindOf(options)],
          },
        ),
        of('n', last, options),
        on('n', 'p'),
      ],
      none,
      spotToSpot,
    ),
  ),
  ...twice([1836, 1837], 'a pool without types does not affect the other', (options) =>
    run(
      [
        poolWith(),
        poolWith({}, { requirements: [oneOf(labels.instanceType, 'no-such-type')] }, 'empty'),
        of('n', last, options),
        on('n', 'p'),
      ],
      { gone: ['n'] },
      spotToSpot,
    ),
  ),
  ...twice([1890, 1891], 'a PodDisruptionBudget keeps its node', (options) =>
    keeps(options, of('n', last, options), on('n', 'p', large), budget({ maxUnavailable: 0 })),
  ),
  ...twice([1977, 1978], 'an unready pod under AlwaysAllow is evicted', (options) =>
    run(
      [
        poolWith(),
        of('n', last, options),
        unready('p', 'n'),
        budget({ maxUnavailable: 0, unhealthyPodEvictionPolicy: 'AlwaysAllow' }),
      ],
      { gone: ['n'] },
      spotToSpot,
    ),
  ),
  ...twice([2040, 2041], 'a PodDisruptionBudget of another namespace keeps no node', (options) =>
    run(
      [
        poolWith(),
        of('n', last, options),
        on('n', 'p', { labels: { app: 'kept' } }),
        budget({ maxUnavailable: 0 }, {}, 'other'),
      ],
      { gone: ['n'] },
      spotToSpot,
    ),
  ),
  ...twice([2130, 2131], 'a do-not-disrupt node stays', (options) =>
    keeps(options, marked(of('n', last, options), 'Node', protectedBy()), on('n', 'p', large)),
  ),
  ...twice([2219, 2220], 'a node with a do-not-disrupt pod stays', (options) =>
    keeps(options, of('n', last, options), ...marked([on('n', 'p', large)], 'Pod', protectedBy())),
  ),
  same(
    2222,
    'a spot launch that might be dearer is refused',
    run(
      [
        poolWith(),
        of('n', sold('current', 4, 0.5, { offerings: [offering(zone1, 'on-demand', 0.5, false)] })),
        on('n', 'p'),
      ],
      none,
      {
        catalogue: [
          sold('current', 4, 0.5, { offerings: [offering(zone1, 'on-demand', 0.5, false)] }),
          sold('next', 4, 1, {
            offerings: [offering(zone1, 'spot', 1), offering(zone2, 'spot', 0.2), offering(zone3, 'spot', 0.4)],
          }),
        ],
      },
    ),
  ),
  same(
    2301,
    'an on-demand launch that would be dearer is refused',
    run(
      [
        poolWith({}, { requirements: [oneOf(capacity, 'on-demand')] }),
        of('n', sold('current', 4, 0.5, { offerings: [offering(zone1, 'on-demand', 0.5, false)] })),
        on('n', 'p'),
      ],
      none,
      {
        catalogue: [
          sold('current', 4, 0.5, { offerings: [offering(zone1, 'on-demand', 0.5, false)] }),
          sold('next', 4, 0.6),
        ],
      },
    ),
  ),
]);

function protectedBy(value = 'true'): object {
  return { annotations: { [annotations.doNotDisrupt]: value } };
}

function unready(name: string, nodeName: string): KubernetesObject {
  const made = on(nodeName, name, { labels: { app: 'kept' } });
  const conditions = [{ type: 'Ready', status: 'False' }];
  return { ...made, status: { phase: 'Running', startTime: '2026-01-01T00:00:00Z', conditions } } as KubernetesObject;
}

const two = (first: readonly KubernetesObject[] = of('a'), second: readonly KubernetesObject[] = of('b')) => [
  ...first,
  ...second,
  on('a', 'p1'),
  on('a', 'p2'),
];
const onB = (options: PodOptions = {}, metadata: object = {}): KubernetesObject[] =>
  marked([on('b', 'p3', options)], 'Pod', metadata);
const deletes = (
  objects: Fleet['objects'],
  expected: Outcome = { gone: ['b'], launched: [] },
  more: Omit<Fleet, 'objects'> = {},
) => run([onDemand(), ...objects], expected, more);
const ago = (minutes: number): string => new Date(Date.parse('2026-01-02T00:00:00Z') - minutes * 60_000).toISOString();
const churned = { lastPodEventTime: ago(0) };
const graceful = (objects: readonly KubernetesObject[]): Fleet['objects'] => [withGrace(onDemand()), ...objects];

function withGrace(made: KubernetesObject): KubernetesObject {
  const { spec } = made as unknown as { spec: { template: { spec: object } } };
  const template = { ...spec.template, spec: { ...spec.template.spec, terminationGracePeriod: '5m' } };
  return { ...made, spec: { ...spec, template } } as KubernetesObject;
}

const kept = { labels: { app: 'kept' } };
const started = (minutes: number, value: string): KubernetesObject[] =>
  [on('b', 'p3')].map(
    (each) =>
      ({
        ...each,
        metadata: { ...each.metadata, annotations: { [annotations.doNotDisrupt]: value } },
        status: { phase: 'Running', startTime: ago(minutes) },
      }) as KubernetesObject,
  );

/** Of two cheap nodes, the second goes, and its pod moves to the first. */
export const deleteCases: readonly ConformanceCase[] = about('consolidation by deletion', [
  same(2421, 'a node whose pod fits elsewhere is removed', deletes([...two(), ...onB()])),
  same(
    2462,
    'a node with recent pod events stays, others are removed',
    run([onDemand({ consolidateAfter: '30s' }), two(claimed(of('a'), churned)), onB()].flat(), { gone: [] }),
  ),
  same(
    2496,
    'a pool with a missing node class does not affect the other',
    deletes([
      poolWith({}, { requirements: [oneOf(labels.instanceType, 'no-such-type')] }, 'empty'),
      ...two(),
      ...onB(),
    ]),
  ),
  same(
    2539,
    'room on nodes without a NodePool is used',
    deletes([unowned('own'), ...of('a'), on('a', 'p1'), on('a', 'p2')], { gone: ['a'], launched: [] }),
  ),
  same(
    2587,
    'a PodDisruptionBudget keeps its node',
    deletes([...two(), ...onB({ ...kept, cpu: '2' }), budget({ maxUnavailable: 0 })], { gone: ['a'], launched: [] }),
  ),
  same(
    2644,
    'a do-not-disrupt node stays',
    deletes([...two(of('a'), marked(of('b'), 'Node', protectedBy())), ...onB()], { gone: ['a'], launched: [] }),
  ),
  same(
    2686,
    'a node with a do-not-disrupt pod stays',
    deletes([...two(), ...onB({}, protectedBy())], { gone: ['a'], launched: [] }),
  ),
  same(
    2729,
    'a do-not-disrupt node stays although its pool has a terminationGracePeriod',
    run(graceful([...two(), ...onB({}, protectedBy())]), { gone: ['a'], launched: [] }),
  ),
  same(
    2776,
    'a PodDisruptionBudget keeps its node although the pool has a terminationGracePeriod',
    run(graceful([...two(), ...onB(kept), budget({ maxUnavailable: 0 })]), { gone: ['a'], launched: [] }),
  ),
  same(
    2824,
    'a do-not-disrupt duration that is not over keeps the node',
    deletes([...two(), ...started(10, '30m')], { gone: ['a'], launched: [] }),
  ),
  same(
    2867,
    'a do-not-disrupt duration that is over does not keep the node',
    deletes([...two(), ...started(40, '30m')]),
  ),
  same(
    2916,
    'an invalid do-not-disrupt value keeps no node',
    deletes([...two(), ...onB({}, protectedBy('no-duration'))]),
  ),
  same(
    2956,
    'pods without an owner are evicted',
    deletes([...two(), ...marked(onB(), 'Pod', { ownerReferences: [] })]),
  ),
  same(
    3004,
    'pods do not move to an uninitialized node',
    deletes([...two(of('a', cheap, { initialized: false }), of('b')), ...onB()], { gone: [] }),
  ),
  same(
    3050,
    'pods do not move to a node within its consolidateAfter',
    run([onDemand({ consolidateAfter: '1m' }), two(claimed(of('a'), churned)), onB()].flat(), { gone: [] }),
  ),
  same(
    [],
    'pods move to a node once its consolidateAfter is over',
    run([onDemand({ consolidateAfter: '1m' }), two(), onB()].flat(), { gone: ['b'], launched: [] }),
  ),
  same(
    3121,
    'pods move to a node of a pool with consolidateAfter Never',
    run(
      [
        onDemand(),
        onDemand({ consolidateAfter: 'Never' }, 'never'),
        ...claimed(of('a', cheap, { pool: 'never' }), churned),
        ...of('b'),
        ...onB(),
      ],
      { gone: ['b'], launched: [] },
    ),
  ),
  same(
    3192,
    'pods move to a replacement without waiting for consolidateAfter',
    run([onDemand({ consolidateAfter: '1m' }), of('n', dear), on('n', 'p')], { gone: ['n'], launched: ['cheap'] }),
  ),
  same(
    3390,
    'a pod that fits nowhere keeps no node',
    deletes([...two(), ...onB(), pod('q', { nodeSelector: { 'no-such': 'label' } })]),
  ),
  same(
    3442,
    'a pod that would become pending keeps its node',
    deletes(
      [
        ...of('a', cheap, { labels: { foo: '1' } }),
        ...of('b', cheap, { labels: { foo: '2' } }),
        on('a', 'p1', { nodeSelector: { foo: '1' } }),
        on('a', 'p2', { nodeSelector: { foo: '1' } }),
        on('b', 'p3', { nodeSelector: { foo: '2' } }),
      ],
      { gone: [] },
    ),
  ),
  same(
    3482,
    'a pool without types launches no replacement',
    deletes([poolWith({}, { requirements: [op(labels.instanceType, 'DoesNotExist')] }, 'invalid'), ...two(), ...onB()]),
  ),
]);

function unowned(name: string): KubernetesObject {
  const [own] = of(name, dear);
  return unlabelled(own!, labels.nodePool);
}

const waits = 'between a decision and its start it is looked at again; workflows/consolidation tests that';
const three = (options: object): KubernetesObject[] =>
  ['a', 'b', 'c'].flatMap((name) => [...of(name, last, options), on(name, `p-${name}`)]);

export const severalCases: readonly ConformanceCase[] = about('consolidation of several nodes', [
  notApplicable(
    [3570, 3657, 3741, 3785, 3820, 3857, 3895, 4235, 4236, 4396, 4397],
    'what changes while a command waits',
    waits,
  ),
  ...twice([4027, 4028], 'three nodes are replaced by one', (options) =>
    run([poolWith(), three(options)], { gone: ['a', 'b', 'c'], launched: ['t00'] }, spotToSpot),
  ),
  same(
    4030,
    'three nodes, one of them spot, are replaced by one',
    run(
      [
        poolWith(),
        ...of('a', last),
        ...of('b', last),
        ...of('c', last, spot),
        ...['a', 'b', 'c'].map((name) => on(name, `p-${name}`)),
      ],
      { gone: ['a', 'b', 'c'], launched: ['t00'] },
      spotToSpot,
    ),
  ),
  ...twice([4163, 4164], 'two nodes are not replaced by one of the same type', (options) =>
    run(
      [poolLike(options), ...of('a', cheap, options), ...of('b', cheap, options), on('a', 'p1'), on('b', 'p2')],
      { count: 1, launched: [] },
      { more: { spotToSpot: true } },
    ),
  ),
  ...twice([4298, 4299], 'several empty nodes are removed at once', (options) =>
    run(
      [poolWith(), ...of('a', cheap, options), ...of('b', cheap, options)],
      { gone: ['a', 'b'], launched: [] },
      { more: inSteps },
    ),
  ),
  same(
    4525,
    'a replacement keeps the spread over zones',
    run(
      [
        poolWith(),
        ...[zone1, zone2, zone3].flatMap((zone) => [
          ...of(zone, zone === zone1 ? dear3 : cheap3, { zone }),
          on(zone, `p-${zone}`, { cpu: '3', ...spread() }),
        ]),
      ],
      { gone: [zone1], launched: ['cheap3'] },
      { catalogue: [cheap3, dear3] },
    ),
  ),
  same(
    4599,
    'anti-affinity keeps nodes apart',
    run(
      [
        onDemand(),
        ...['a', 'b', 'c'].flatMap((name) => [...of(name), on(name, `p-${name}`, antiAffinity('x', labels.hostname))]),
      ],
      { gone: [] },
    ),
  ),
  same(
    4952,
    'a preferred anti-affinity keeps no node under Ignore',
    run(
      [onDemand(), ...two(of('a'), of('b')), on('b', 'p3', likesAntiAffinity('x', labels.hostname))],
      { gone: ['b'], launched: [] },
      { settings: { preferencePolicy: 'Ignore' } },
    ),
  ),
  same(
    5017,
    'a preferred type keeps no node under Ignore',
    run(
      [poolWith(), of('n', dear), on('n', 'p', { likes: [oneOf(labels.instanceType, 'dear')] })],
      { gone: ['n'], launched: ['cheap'] },
      { settings: { preferencePolicy: 'Ignore' } },
    ),
  ),
  same(
    5100,
    'minValues is not relaxed',
    run(
      [
        poolWith({}, { requirements: [{ ...op(labels.instanceType, 'Exists'), minValues: 3 }, kindOf({})] }),
        of('n', dear),
        on('n', 'p'),
      ],
      { gone: [] },
      { settings: { minValuesPolicy: 'BestEffort' } },
    ),
  ),
  same(
    5269,
    'nodes of a static pool stay',
    run([poolWith({}, { replicas: 1 }), of('n', dear), on('n', 'p')], { gone: [] }),
  ),
  ...twice([4947, 4948], 'reserved capacity of the same type is used', (options) =>
    run(
      [poolWith(), of('n', dear, options), on('n', 'p', { cpu: '30' })],
      { gone: ['n'], launched: ['dear'], capacityTypes: ['reserved'] },
      { catalogue: [cheap, withReserved(dear)] },
    ),
  ),
]);

function withReserved(entry: CatalogueEntry): CatalogueEntry {
  const made = offering(zone1, 'reserved', 0.000001);
  const id = oneOf('karpenter.k8s.aws/capacity-reservation-id', 'r-1');
  return {
    ...entry,
    offerings: [...entry.offerings, { ...made, ReservationCapacity: 10, Requirements: [...made.Requirements, id] }],
  };
}
