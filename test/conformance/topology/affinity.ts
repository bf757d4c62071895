import type { KubernetesObject, Pod } from '../../../api/kubernetes.js';
import { labels } from '../../../api/labels.js';
import { plans, type Expected } from '../plans.js';
import { about, differs, same, type Check, type ConformanceCase } from '../conformance-case.js';
import { affinity, antiAffinity, likesAffinity, likesAntiAffinity, spread } from '../topology-terms.js';
import { all, oneOf, pod, pods, zone1, zone2, zone3, type PodOptions } from '../world.js';
import { leaves, taken } from './spread.js';

const zone = labels.zone;
const host = labels.hostname;
const x = { labels: { app: 'x' } };
const s2 = { labels: { app: 's2' } };
const run = (objects: readonly (KubernetesObject | KubernetesObject[])[], expected: Expected): Check =>
  plans({ objects }, expected);
/** Ten nodes' worth of others. */
const ten: readonly Pod[] = pods(10, { ...x, ...spread({ topologyKey: host }) }, 'x');
const arm = { nodeSelector: { [labels.arch]: 'arm64' } };
const oneAHost = spread({ topologyKey: host, labelSelector: { matchLabels: { app: 's2' } } });
const inZone = (name: string): PodOptions => ({ nodeSelector: { [zone]: name } });
const everyZone = (options: PodOptions): Pod[] =>
  all.map((name) => pod(name, { cpu: '2', ...options, ...inZone(name) }));
const onEveryZone = (options: PodOptions): KubernetesObject[] =>
  all.flatMap((name) => taken(name, { zone: name }, { labels: {}, ...options }));

/** Whether the named pods are on one node. */
const onOne = (objects: readonly KubernetesObject[], names: readonly string[]): Check => {
  const check = run(objects, { together: [] });
  const groups = (): readonly (readonly string[])[] => (check.outcome() as { together: string[][] }).together;
  return {
    outcome: () => {
      const { violations, left } = check.outcome() as { violations: unknown; left: unknown };
      return { violations, left, together: groups().some((group) => names.every((name) => group.includes(name))) };
    },
    expected: { violations: [], left: [], together: true },
  };
};
const chain = (...apps: string[]): Pod[] =>
  apps.map((name, i) => pod(name, { labels: { app: name }, ...(i > 0 && affinity(apps[i - 1]!, host)) }));
const namespaced = (more: object, expected: boolean): Check => {
  const objects = [...ten, pod('a', { ...s2, namespace: 'other' }), pod('b', affinity('s2', host, more))];
  return expected ? onOne(objects, ['a', 'b']) : run(objects, { left: ['b'] });
};

export const followingCases: readonly ConformanceCase[] = about('pod affinity', [
  same(1929, 'without terms', run([pod('p', { affinity: { podAffinity: {}, podAntiAffinity: {} } })], { nodes: 1 })),
  same(
    1939,
    'places a pod on the node of another',
    onOne([...ten, pod('a', s2), pod('b', affinity('s2', host))], ['a', 'b']),
  ),
  same(
    1973,
    'places a pod on the architecture of another',
    run(
      [
        pod('a', { ...s2, cpu: '2', ...oneAHost, ...arm }),
        pod('b', { ...s2, cpu: '1', ...oneAHost, ...affinity('s2', labels.arch) }),
      ],
      { sizes: [1, 1], by: { [labels.arch]: { arm64: 2 } } },
    ),
  ),
  same(
    2016,
    'puts pods with affinity to their like on one node',
    run(pods(3, { ...s2, ...affinity('s2', host) }), { nodes: 1 }),
  ),
  same(
    2040,
    'begins no second node when the first is full',
    leaves(5, run(pods(10, { ...s2, ...affinity('s2', host) }), { sizes: [5] })),
  ),
  same(
    2082,
    "begins nowhere else, although the first pod's zone is excluded",
    leaves(
      10,
      run(
        [
          ...taken('a', { zone: zone1 }, s2),
          ...pods(10, { ...s2, needs: [oneOf(zone, zone2, zone3)], ...affinity('s2', host) }),
        ],
        { nodes: 0 },
      ),
    ),
  ),
  same(
    2126,
    'puts pods with affinity to their like in one zone',
    run(pods(3, { ...s2, ...affinity('s2') }), { nodes: 1 }),
  ),
  same(
    2150,
    'puts them in the one allowed zone',
    run(pods(3, { ...s2, needs: [oneOf(zone, zone3)], ...affinity('s2') }), {
      nodes: 1,
      by: { [zone]: { [zone3]: 3 } },
    }),
  ),
  differs(
    2181,
    'of two pods whose zones exclude each other',
    'topology/affinity-begins',
    'a group begins in one zone; kube-scheduler would leave the second pod pending beside a node that Karpenter launches for it',
    leaves(
      1,
      run(
        [zone2, zone3].map((name, i) => pod(`p-${i}`, { ...s2, needs: [oneOf(zone, name)], ...affinity('s2') })),
        { nodes: 1 },
      ),
    ),
  ),
  same(2234, 'preferred to an absent pod', run([...ten, pod('p', likesAffinity('s2', host))], {})),
  same(
    2267,
    'preferred anti-affinity to pods in every zone',
    run([...pods(3, { ...x, ...spread() }, 'x'), ...pods(10, likesAntiAffinity('x'))], {}),
  ),
  same(
    2633,
    'preferred against a required rule',
    run([...pods(3, { ...x, ...spread({ topologyKey: host }), ...likesAffinity('s2', host) }), pod('a', s2)], {
      nodes: 3,
    }),
  ),
  same(2713, 'to an absent pod leaves pods pending', leaves(10, run(pods(10, affinity('s2')), { nodes: 0 }))),
  differs(
    2730,
    'to a pod whose zone is open',
    'topology/anti-affinity',
    'a new node is pinned to a zone, so that all are planned at once; under Karpenter the followers wait for the next pass',
    balancedIn(run([pod('a', s2), ...pods(10, affinity('s2'))], { by: { [zone]: {} } }), [11]),
  ),
  same(
    2763,
    'to a pod in its zone',
    run([pod('a', { ...s2, needs: [oneOf(zone, zone1)] }), ...pods(10, affinity('s2'))], {
      by: { [zone]: { [zone1]: 11 } },
    }),
  ),
  same(2792, 'in a chain of pods', run(chain('db', 'web', 'cache', 'ui'), { nodes: 1 })),
  same(2827, 'to a missing pod', run([pod('p', { labels: { app: 'db' }, ...affinity('web', host) })], { left: ['p'] })),
  same(2843, 'does not select pods of another namespace', namespaced({}, false)),
  same(2881, 'selects pods of a listed namespace', namespaced({ namespaces: ['other'] }, true)),
  same(
    2920,
    'selects pods of every namespace with an empty selector',
    namespaced({ namespaceSelector: { matchLabels: {} } }, true),
  ),
]);

function balancedIn(check: Check, counts: readonly number[]): Check {
  const sorted = (value: unknown): unknown => {
    const { by, ...rest } = value as { by: Record<string, Record<string, number>> };
    return { ...rest, by: Object.values(by).flatMap((each) => Object.values(each)) };
  };
  return { outcome: () => sorted(check.outcome()), expected: { violations: [], left: [], by: [...counts] } };
}

export const avoidingCases: readonly ConformanceCase[] = about('pod anti-affinity', [
  same(
    2300,
    'keeps a pod off the node of another',
    run([pod('a', s2), pod('b', antiAffinity('s2', host))], { nodes: 2 }),
  ),
  same(
    2322,
    'with pods in every zone leaves a pod pending',
    run([...everyZone(s2), pod('p', antiAffinity('s2'))], { left: ['p'], nodes: 3 }),
  ),
  differs(
    2361,
    'keeps a pod out of the zone of another in the same plan',
    'topology/anti-affinity',
    'the zone of the first is known, so that both are planned at once; under Karpenter the second waits for the next pass',
    balancedIn(run([pod('a', { ...s2, cpu: '2' }), pod('b', antiAffinity('s2'))], { by: { [zone]: {} } }), [1, 1]),
  ),
  same(
    2383,
    'keeps a pod off the architecture of another',
    run(
      [
        pod('a', { ...s2, cpu: '2', ...oneAHost, ...arm }),
        pod('b', { ...s2, cpu: '1', ...oneAHost, ...antiAffinity('s2', labels.arch) }),
      ],
      { sizes: [1, 1], by: { [labels.arch]: { arm64: 1, amd64: 1 } } },
    ),
  ),
  same(2426, 'preferred by other pods', run([...everyZone(likesAntiAffinity('s2')), pod('p', s2)], {})),
  same(
    2466,
    'of other pods in every zone leaves a pod pending',
    run([...everyZone(antiAffinity('s2')), pod('p', s2)], { left: ['p'], nodes: 3 }),
  ),
  differs(
    2502,
    'of another pod in the same plan keeps a pod out of its zone',
    'topology/anti-affinity',
    'the zone of the first is known, so that both are planned at once; under Karpenter the second waits for the next pass',
    balancedIn(run([pod('a', { cpu: '2', ...antiAffinity('s2') }), pod('b', s2)], { by: { [zone]: {} } }), [1, 1]),
  ),
  same(
    2533,
    'of running pods in every zone leaves a pod pending',
    run([...onEveryZone(antiAffinity('s2')), pod('p', s2)], { left: ['p'], nodes: 0 }),
  ),
  same(
    2583,
    'preferred by running pods',
    run([...onEveryZone(likesAntiAffinity('s2')), pod('p', { ...s2, cpu: '1' })], { nodes: 1 }),
  ),
  differs(
    2668,
    'by zone between pods of one app',
    'topology/anti-affinity',
    'all that there are zones for are planned at once; under Karpenter it takes a pass for each',
    balancedIn(run(pods(3, { ...s2, ...antiAffinity('s2') }), { by: { [zone]: {} } }), [1, 1, 1]),
  ),
]);
