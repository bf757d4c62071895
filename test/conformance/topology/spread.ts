import type { KubernetesObject, Pod, Taint } from '../../../api/kubernetes.js';
import { labels } from '../../../api/labels.js';
import { plans, type Expected } from '../plans.js';
import { about, notApplicable, same, type Check, type ConformanceCase } from '../conformance-case.js';
import { spread } from '../topology-terms.js';
import {
  all,
  node,
  oneOf,
  pod,
  pods,
  pool,
  poolOf,
  unlabelled,
  zone1,
  zone2,
  zone3,
  type PodOptions,
} from '../world.js';

const app = { labels: { app: 'x' } };
const zone = labels.zone;
const host = labels.hostname;
const capacity = labels.capacityType;
const big = { cpu: '1.1' };
const spreading = (count: number, options: PodOptions = {}, ...terms: Parameters<typeof spread>): Pod[] =>
  pods(count, { ...app, ...spread(...terms), ...options });
const zones = (...counts: number[]): Expected => ({
  by: { [zone]: Object.fromEntries(counts.flatMap((count, i) => (count > 0 ? [[all[i]!, count] as const] : []))) },
});
const run = (objects: readonly (KubernetesObject | KubernetesObject[])[], expected: Expected): Check =>
  plans({ objects }, expected);
/** A node with no room and the pods that run there. */
const taken = (name: string, options: Parameters<typeof node>[1], ...running: PodOptions[]): KubernetesObject[] => [
  ...node(name, { ...options, allocatable: { cpu: '100m', ...options?.allocatable } }),
  ...running.map((each, i) => pod(`${name}-r${i}`, { ...app, ...each, nodeName: name })),
];
/** Of equal pods it does not matter which are left, but how many. */
function leaves(count: number, check: Check): Check {
  const length = (value: unknown): unknown => {
    const { left, ...rest } = value as { left: string[] };
    return { ...rest, left: left.length };
  };
  return { outcome: () => length(check.outcome()), expected: { ...(length(check.expected) as object), left: count } };
}

/** Pods that are not counted: without the label, pending, of another namespace, ended, on their way out, on a node without the key. */
const uncounted = (key: string): KubernetesObject[] => [
  pod('other', { nodeName: 'a' }),
  ...node('none', { allocatable: { cpu: '100m' } }).map((each) => unlabelled(each, key)),
  pod('nowhere', { ...app, nodeName: 'none' }),
  pod('elsewhere', { ...app, namespace: 'other', nodeName: 'a' }),
  ...['Failed', 'Succeeded'].map((phase) => ({ ...pod(phase, { ...app, nodeName: 'a' }), status: { phase } })),
  pod('leaving', {
    ...app,
    nodeName: 'a',
    metadata: { name: 'leaving', namespace: 'default', deletionTimestamp: '2026-01-01T12:00:00Z', labels: app.labels },
  }),
];

const perHost = { topologyKey: host };
const perCapacity = { topologyKey: capacity };
const spot = poolOf(oneOf(capacity, 'spot'));
const onDemand = poolOf(oneOf(capacity, 'on-demand'));

export const zonalCases: readonly ConformanceCase[] = about('spread over zones', [
  same(
    61,
    'a key that no node has',
    run([pod('p', { ...app, ...spread({ topologyKey: 'unknown' }) }), pod('q')], { left: ['p'], nodes: 1 }),
  ),
  notApplicable(
    79,
    'a selector that is not valid',
    'the API server refuses it; the test of Karpenter is skipped for that',
  ),
  same(95, 'without a selector nothing is spread', run(spreading(2, {}, { labelSelector: undefined }), { nodes: 1 })),
  same(111, 'zones are balanced', run(spreading(4), zones(2, 1, 1))),
  same(
    124,
    'zones are balanced, by an expression',
    run(
      spreading(4, {}, { labelSelector: { matchExpressions: [{ key: 'app', operator: 'In', values: ['x'] }] } }),
      zones(2, 1, 1),
    ),
  ),
  same(145, 'zones that the pool names', run([poolOf(oneOf(zone, ...all)), ...spreading(4)], zones(2, 1, 1))),
  same(160, 'two zones of the pool', run([poolOf(oneOf(zone, zone1, zone2)), ...spreading(4)], zones(2, 2))),
  same(176, 'a zone as a label of the pool', run([pool({ labels: { [zone]: zone1 } }), ...spreading(4)], zones(4))),
  same(
    191,
    'a zone as a label, within those required',
    run([pool({ labels: { [zone]: zone1 }, requirements: [oneOf(zone, zone1, zone2)] }), ...spreading(4)], zones(4)),
  ),
  same(
    207,
    'zones of two pools',
    run(
      [
        pool({ labels: { [zone]: zone1 }, requirements: [oneOf(zone, zone1, zone2)] }),
        pool({ labels: { [zone]: zone2 } }, 'second'),
        ...spreading(4),
      ],
      zones(2, 2),
    ),
  ),
  same(
    235,
    'a zone with a pod that the pool cannot buy in holds the others back',
    leaves(
      2,
      run([poolOf(oneOf(zone, zone1, zone2)), ...taken('c', { zone: zone3 }, {}), ...spreading(6, big)], zones(2, 2)),
    ),
  ),
  same(
    269,
    'a zone that is not the emptiest is taken up to the skew',
    leaves(
      4,
      run(
        [
          poolOf(oneOf(zone, zone3)),
          ...taken('a', { zone: zone1 }, {}),
          ...taken('b', { zone: zone2 }, {}),
          ...spreading(10, big, { maxSkew: 5 }),
        ],
        zones(0, 0, 6),
      ),
    ),
  ),
  same(
    311,
    'where the skew is broken already, pods go to the emptiest zones',
    run([...taken('a', { zone: zone1 }, {}, {}, {}), ...spreading(3, big)], zones(0, 2, 1)),
  ),
  same(
    [350, 383],
    'the skew holds over zones that the pool cannot buy in',
    leaves(
      6,
      run(
        [poolOf(oneOf(zone, zone2, zone3)), ...taken('a', { zone: zone1 }, {}), ...spreading(10, big)],
        zones(0, 2, 2),
      ),
    ),
  ),
  same(
    415,
    'only pods that run, match, and are on a node with a zone count',
    run(
      [
        ...taken('a', { zone: zone1 }, {}, {}),
        ...taken('b', { zone: zone2 }, {}),
        ...uncounted(zone),
        ...spreading(3, { cpu: '1' }),
      ],
      zones(0, 1, 2),
    ),
  ),
  same(448, 'without a selector one pod is planned', run(spreading(1, {}, { labelSelector: undefined }), { nodes: 1 })),
  same(
    [460, 795],
    'pods that their own rule does not select share a node',
    run(pods(5, spread(perHost)), { nodes: 1 }),
  ),
  same(
    485,
    'with fewer zones than minDomains each takes one pod',
    leaves(1, run([poolOf(oneOf(zone, zone1, zone2)), ...spreading(3, {}, { minDomains: 3 })], zones(1, 1))),
  ),
  same(505, 'as many zones as minDomains', run(spreading(11, {}, { minDomains: 3 }), zones(4, 4, 3))),
  same(525, 'more zones than minDomains', run(spreading(11, {}, { minDomains: 2 }), zones(4, 4, 3))),
]);

const twoApps = (arch: readonly [string, string]): Pod[] =>
  ['one', 'two'].flatMap((name, i) =>
    pods(
      2,
      {
        labels: { app: name },
        nodeSelector: { [labels.arch]: arch[i]! },
        ...spread({ ...perHost, labelSelector: { matchLabels: { app: name } } }),
      },
      name,
    ),
  );

export const hostCases: readonly ConformanceCase[] = about('spread over hosts', [
  same(548, 'a node each', run(spreading(4, {}, perHost), { sizes: [1, 1, 1, 1] })),
  same(561, 'as many on a node as the skew allows', run(spreading(4, {}, { ...perHost, maxSkew: 4 }), { sizes: [4] })),
  same(574, 'two apps share two nodes', run(twoApps(['amd64', 'amd64']), { sizes: [2, 2] })),
  same(610, 'two apps of two architectures need four', run(twoApps(['amd64', 'arm64']), { sizes: [1, 1, 1, 1] })),
]);

const capacities = (onSpot: number, demanded: number): Expected => ({
  by: { [capacity]: { ...(onSpot > 0 && { spot: onSpot }), ...(demanded > 0 && { 'on-demand': demanded }) } },
});
const archOf = (arch: string): Expected => ({ by: { [labels.arch]: { [arch]: 2 } } });

export const capacityTypeCases: readonly ConformanceCase[] = about('spread over capacity types', [
  same(
    [656, 669],
    'capacity types are balanced',
    run([poolOf(oneOf(capacity, 'spot', 'on-demand')), ...spreading(4, {}, perCapacity)], capacities(2, 2)),
  ),
  same(
    684,
    'the skew holds over capacity types that the pool does not buy',
    leaves(
      3,
      run([onDemand, ...taken('a', { capacityType: 'spot' }, {}), ...spreading(5, big, perCapacity)], capacities(0, 2)),
    ),
  ),
  same(
    719,
    'ScheduleAnyway goes beyond it',
    run(
      [
        onDemand,
        ...taken('a', { capacityType: 'spot' }, {}),
        ...spreading(5, big, { ...perCapacity, whenUnsatisfiable: 'ScheduleAnyway' }),
      ],
      capacities(0, 5),
    ),
  ),
  same(
    750,
    'only pods that run, match, and are on a node with a capacity type count',
    run(
      [
        poolOf(oneOf(capacity, 'spot', 'on-demand')),
        ...taken('a', { capacityType: 'spot' }, {}, {}),
        ...taken('b', { capacityType: 'on-demand' }, {}),
        ...uncounted(capacity),
        ...spreading(2, { cpu: '1' }, perCapacity),
      ],
      capacities(0, 2),
    ),
  ),
  same(
    783,
    'without a selector one pod is planned',
    run(spreading(1, {}, { ...perCapacity, labelSelector: undefined }), { nodes: 1 }),
  ),
  same(
    818,
    'nodes that a pod cannot go to do not count for it',
    run(
      [
        ...taken('a', { zone: zone1, capacityType: 'on-demand' }, {}),
        ...spreading(5, { needs: [oneOf(zone, zone2), oneOf(capacity, 'spot')] }, perCapacity),
      ],
      { ...capacities(5, 0), nodes: 1 },
    ),
  ),
  same(
    855,
    'nodes that it may go to count, wherever the pool buys',
    leaves(
      3,
      run(
        [spot, ...taken('a', { capacityType: 'on-demand' }, {}), ...spreading(5, { cpu: '2' }, perCapacity)],
        capacities(2, 0),
      ),
    ),
  ),
  same(
    898,
    'so it is with architectures',
    leaves(
      3,
      run(
        [
          poolOf(oneOf(labels.arch, 'arm64')),
          ...taken('a', {}, {}),
          ...spreading(5, { cpu: '2' }, { topologyKey: labels.arch }),
        ],
        archOf('arm64'),
      ),
    ),
  ),
]);

const share = 'example.com/share';
const mixed = (count: number, ...terms: Parameters<typeof spread>) => spreading(count, {}, ...terms);
const steps = [2, 5, 10, 21];

export const combinedCases: readonly ConformanceCase[] = about('several spreads together', [
  ...steps.map((count, i) =>
    same(
      i === 0 ? 944 : [],
      `${count} pods over zones and hosts`,
      run(
        mixed(count, {}, { ...perHost, maxSkew: 3 }),
        zones(Math.ceil(count / 3), Math.ceil((count - 1) / 3), Math.floor(count / 3)),
      ),
    ),
  ),
  same(
    984,
    'a made-up label spreads pods over two pools, four to one',
    run(
      [
        pool({ requirements: [oneOf(capacity, 'spot'), oneOf(share, '2', '3', '4', '5')] }, 'spot'),
        pool({ requirements: [oneOf(capacity, 'on-demand'), oneOf(share, '1')] }, 'on-demand'),
        ...spreading(20, {}, { topologyKey: share }),
      ],
      { by: { [share]: { 1: 4, 2: 4, 3: 4, 4: 4, 5: 4 }, [capacity]: { spot: 16, 'on-demand': 4 } } },
    ),
  ),
  same(
    1052,
    'a pool whose limits allow no node still has its zone',
    leaves(
      8,
      run(
        [
          poolOf(oneOf(zone, zone1, zone2)),
          pool({ requirements: [oneOf(zone, zone3)], limits: { cpu: '0' } }, 'closed'),
          ...mixed(10, {}, { ...perHost, whenUnsatisfiable: 'ScheduleAnyway' }),
        ],
        { ...zones(1, 1), sizes: [1, 1] },
      ),
    ),
  ),
  ...steps.map((count, i) =>
    same(
      i === 0 ? 1093 : [],
      `${count} pods over capacity types and hosts`,
      // Which type has one more is a matter of price alone, and they cost the same.
      balanced(
        capacity,
        [Math.floor(count / 2), Math.ceil(count / 2)],
        [poolOf(oneOf(capacity, 'spot', 'on-demand')), ...mixed(count, perCapacity, { ...perHost, maxSkew: 3 })],
      ),
    ),
  ),
  same(
    1142,
    'matchLabelKeys keeps revisions apart',
    run(
      ['a', 'b'].flatMap((revision) =>
        pods(2, { labels: { app: 'x', revision }, ...spread({ ...perHost, matchLabelKeys: ['revision'] }) }, revision),
      ),
      { sizes: [2, 2] },
    ),
  ),
  same(
    1171,
    'a key of matchLabelKeys that pods do not have says nothing',
    run(spreading(4, {}, { ...perHost, matchLabelKeys: ['revision'] }), { sizes: [1, 1, 1, 1] }),
  ),
  same(
    1665,
    'zones and capacity types at once',
    balanced(capacity, [9, 10], [poolOf(oneOf(capacity, 'spot', 'on-demand')), ...mixed(19, perCapacity, {})]),
  ),
  same(
    1705,
    'zones, capacity types and hosts at once',
    balanced(
      capacity,
      [7, 7],
      [
        poolOf(oneOf(capacity, 'spot', 'on-demand')),
        ...mixed(14, perCapacity, { maxSkew: 2 }, { ...perHost, maxSkew: 3 }),
      ],
    ),
  ),
]);

/** How many pods there are to each value, whichever it is. */
function balanced(
  key: string,
  counts: readonly number[],
  objects: readonly (KubernetesObject | KubernetesObject[])[],
): Check {
  const check = run(objects, { by: { [key]: {} } });
  const sorted = (value: unknown): unknown => {
    const { by, ...rest } = value as { by: Record<string, Record<string, number>> };
    return { ...rest, by: Object.values(by[key] ?? {}).sort((a, b) => a - b) };
  };
  return { outcome: () => sorted(check.outcome()), expected: { violations: [], left: [], by: [...counts] } };
}

const kind = 'example.com/kind';
const taint: Taint = { key: 'example.com/t', value: 'v', effect: 'NoSchedule' };
const ofKind = (name: string, value: string, more: object = {}) => taken(name, { labels: { [kind]: value }, ...more });
const perKind = { topologyKey: kind };
const kinds = (counts: Record<string, number>): Expected => ({ by: { [kind]: counts } });
const tainted = (value: string, ...domains: string[]) =>
  pool({ requirements: [oneOf(kind, ...domains)], taints: [{ ...taint, value }] }, value);
const mine = 'example.com/mine';

export const policyCases: readonly ConformanceCase[] = about('node policies of a spread', [
  same(
    1199,
    'nodes whose taints are not tolerated count under Ignore',
    leaves(
      4,
      run(
        [
          pool({ labels: { [kind]: 'c' } }),
          ...ofKind('a', 'a', { taints: [taint] }),
          ...ofKind('b', 'b', { taints: [taint] }),
          ...spreading(5, { cpu: '1', requests: { memory: '1Mi' } }, { ...perKind, nodeTaintsPolicy: 'Ignore' }),
        ],
        kinds({ c: 1 }),
      ),
    ),
  ),
  same(
    1270,
    'and do not under Honor',
    run(
      [
        pool({ labels: { [kind]: 'c' } }),
        ...ofKind('a', 'a', { taints: [taint] }),
        ...ofKind('b', 'b', { taints: [taint] }),
        ...spreading(5, { cpu: '500m' }, { ...perKind, nodeTaintsPolicy: 'Honor' }),
      ],
      kinds({ c: 5 }),
    ),
  ),
  same(
    1339,
    'pools whose taints are not tolerated count under Ignore',
    leaves(
      1,
      run(
        [poolOf(oneOf(kind, 'a')), tainted('t', 'b'), ...spreading(2, {}, { ...perKind, nodeTaintsPolicy: 'Ignore' })],
        kinds({ a: 1 }),
      ),
    ),
  ),
  same(
    1395,
    'and do not under Honor, of pools',
    run(
      [poolOf(oneOf(kind, 'a')), tainted('t', 'b'), ...spreading(2, {}, { ...perKind, nodeTaintsPolicy: 'Honor' })],
      kinds({ a: 2 }),
    ),
  ),
  same(
    1451,
    'pools that pods share in part count for each by its own',
    balanced(
      kind,
      [1, 2, 3],
      [
        tainted('t0', 'a', 'b'),
        tainted('t1', 'a', 'c'),
        ...[0, 1].flatMap((i) =>
          pods(
            (i + 1) * 2,
            {
              ...app,
              ...spread({ ...perKind, nodeTaintsPolicy: 'Honor' }),
              tolerations: [{ key: taint.key, operator: 'Equal', value: `t${i}`, effect: 'NoSchedule' }],
            },
            `p${i}`,
          ),
        ),
      ],
    ),
  ),
  same(
    1532,
    'nodes that the node selector leaves out count under Ignore',
    leaves(4, run(selected('Ignore'), kinds({ c: 1 }))),
  ),
  same(1599, 'and do not under Honor, by node selector', run(selected('Honor'), kinds({ c: 5 }))),
]);

function selected(nodeAffinityPolicy: 'Ignore' | 'Honor'): KubernetesObject[] {
  return [
    pool({ labels: { [kind]: 'c', [mine]: 'yes' } }),
    ...ofKind('a', 'a', { labels: { [kind]: 'a', [mine]: 'no' } }),
    ...ofKind('b', 'b', { labels: { [kind]: 'b', [mine]: 'no' } }),
    ...spreading(5, { cpu: '500m', nodeSelector: { [mine]: 'yes' } }, { ...perKind, nodeAffinityPolicy }),
  ];
}

const inZones = (...names: string[]) => ({ needs: [oneOf(zone, ...names)] });
const spotOnly = { nodeSelector: { [capacity]: 'spot' } };

export const affinityCases: readonly ConformanceCase[] = about('spread limited by node affinity', [
  same(
    1743,
    'each node selector has its own zones to balance',
    run(
      [
        ...pods(5, { ...app, ...spread(), nodeSelector: { [zone]: zone1 } }, 'a'),
        ...pods(10, { ...app, ...spread(), nodeSelector: { [zone]: zone2 } }, 'b'),
      ],
      zones(5, 10),
    ),
  ),
  same([1769], 'required zones are those to balance', run(spreading(10, inZones(zone1, zone2)), zones(5, 5))),
  same(
    1791,
    'an empty zone that a pod may go to is taken, although another is beyond the skew',
    run(
      [
        ...taken('a', { zone: zone1 }, {}, {}, {}),
        ...taken('b', { zone: zone2 }, {}, {}, {}),
        ...spreading(1, { cpu: '1', ...inZones(zone2, zone3) }),
      ],
      zones(0, 0, 1),
    ),
  ),
  same(
    1835,
    'preferred zones do not limit it',
    run(spreading(6, { likes: [oneOf(zone, zone1, zone2)] }), zones(2, 2, 2)),
  ),
  same(
    1860,
    'each node selector has its own capacity types to balance',
    run(
      [
        ...pods(5, { ...app, ...spread({ ...perCapacity, whenUnsatisfiable: 'ScheduleAnyway' }), ...spotOnly }, 'a'),
        ...pods(
          5,
          {
            ...app,
            ...spread({ ...perCapacity, whenUnsatisfiable: 'ScheduleAnyway' }),
            nodeSelector: { [capacity]: 'on-demand' },
          },
          'b',
        ),
      ],
      capacities(5, 5),
    ),
  ),
  same(
    1884,
    'an empty capacity type is taken, although another is beyond the skew',
    run(
      [
        poolOf(oneOf(capacity, 'spot', 'on-demand')),
        ...taken('a', { capacityType: 'spot' }, {}, {}, {}),
        ...spreading(1, { cpu: '1', needs: [oneOf(capacity, 'spot', 'on-demand')] }, perCapacity),
      ],
      capacities(0, 1),
    ),
  ),
]);

export { leaves, taken };
