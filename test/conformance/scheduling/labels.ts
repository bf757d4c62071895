import { labels } from '../../../api/labels.js';
import { plans, type Expected } from '../plans.js';
import { about, same, type Check, type ConformanceCase } from '../conformance-case.js';
import { all, integer, noneOf, oneOf, op, pod, pool, poolOf, zone1, zone2, zone3, type PodOptions } from '../world.js';

const key = 'example.com/team';
const labelled = pool({ labels: { [key]: 'blue' } });
const wanted = poolOf(oneOf(key, 'blue'));
const either = poolOf(oneOf(key, 'blue', 'red'));
const inZone = (...zones: string[]) => poolOf(oneOf(labels.zone, ...zones));
const one = (options: PodOptions, expected: Expected, ...pools: ReturnType<typeof pool>[]): Check =>
  plans({ objects: [...pools, pod('p', options)] }, expected);
const left: Expected = { left: ['p'] };
const of = (label: string, value: string): Expected => ({ by: { [label]: { [value]: 1 } } });
const everywhere = oneOf(labels.zone, ...all, 'unknown');

const restricted = ['karpenter.sh/nodepool-hash', 'kubernetes.io/hostname', 'kubernetes.io/cluster-service'];

/** Labels of NodePools and what pods ask of them; most are in the suite twice. */
export const labelCases: readonly ConformanceCase[] = about('labels and node affinity', [
  same(155, "a pod without requirements gets a node with the pool's labels", one({}, of(key, 'blue'), labelled)),
  same(
    163,
    "a node selector that excludes the pool's label",
    one({ nodeSelector: { [key]: 'green' } }, left, labelled),
  ),
  same(172, 'a node selector with an undefined label', one({ nodeSelector: { [key]: 'blue' } }, left)),
  same(
    180,
    "a requirement that the pool's label satisfies",
    one({ needs: [oneOf(key, 'blue', 'green')] }, of(key, 'blue'), labelled),
  ),
  same(
    192,
    "a requirement that the pool's label does not satisfy",
    one({ needs: [oneOf(key, 'green')] }, left, labelled),
  ),
  same([205, 679], "the pool's zone applies", one({}, of(labels.zone, zone2), inZone(zone2))),
  same(
    [214, 688],
    'a node selector picks one zone of the pool',
    one({ nodeSelector: { [labels.zone]: zone2 } }, of(labels.zone, zone2), inZone(zone1, zone2)),
  ),
  same([225, 699], 'a node selector with a host name', one({ nodeSelector: { [labels.hostname]: 'red-node' } }, left)),
  same(
    [233, 707],
    'a node selector with a missing zone',
    one({ nodeSelector: { [labels.zone]: 'unknown' } }, left, inZone(zone1)),
  ),
  same(
    [243, 717],
    'a node selector with a zone that the pool excludes',
    one({ nodeSelector: { [labels.zone]: zone2 } }, left, inZone(zone1)),
  ),
  same([253, 727], 'In', one({ needs: [oneOf(labels.zone, zone3)] }, of(labels.zone, zone3))),
  same([264, 738], 'Gt of a pool', one({}, of(integer, '16'), poolOf(op(integer, 'Gt', '8')))),
  same([273, 747], 'Lt of a pool', one({}, of(integer, '2'), poolOf(op(integer, 'Lt', '8')))),
  same(282, 'Gte of a pool', one({}, of(integer, '16'), poolOf(op(integer, 'Gte', '16')))),
  same(291, 'Lte of a pool', one({}, of(integer, '2'), poolOf(op(integer, 'Lte', '2')))),
  same([300, 756], 'In with a missing zone', one({ needs: [oneOf(labels.zone, 'unknown')] }, left)),
  same(
    [310, 766],
    'NotIn leaves one zone',
    one({ needs: [noneOf(labels.zone, zone1, zone2, 'unknown')] }, of(labels.zone, zone3)),
  ),
  same([321, 777], 'NotIn leaves no zone', one({ needs: [noneOf(labels.zone, ...all, 'unknown')] }, left)),
  same(
    [332, 788],
    'a preference within the requirement is kept',
    one({ needs: [everywhere], likes: [oneOf(labels.zone, zone2, 'unknown')] }, of(labels.zone, zone2)),
  ),
  same(
    [346, 802],
    'an unsatisfiable preference is relaxed',
    one({ needs: [everywhere], likes: [oneOf(labels.zone, 'unknown')] }, { nodes: 1 }),
  ),
  same(
    [359, 815],
    'a preference with NotIn is kept',
    one({ needs: [everywhere], likes: [noneOf(labels.zone, zone1, zone3)] }, of(labels.zone, zone2)),
  ),
  same(
    [373, 829],
    'a preference that excludes every zone is relaxed',
    one({ needs: [everywhere], likes: [noneOf(labels.zone, ...all)] }, { nodes: 1 }),
  ),
  same(
    [386, 842],
    'node selector, requirement and preference agree',
    one(
      {
        nodeSelector: { [labels.zone]: zone3 },
        needs: [oneOf(labels.zone, ...all)],
        likes: [oneOf(labels.zone, ...all)],
      },
      of(labels.zone, zone3),
    ),
  ),
  same(
    [401, 857],
    'selector, requirement and preference agree on two labels',
    one(
      {
        nodeSelector: { [labels.zone]: zone3, [labels.instanceType]: 'arm' },
        needs: [oneOf(labels.zone, zone1, zone3), oneOf(labels.instanceType, 'default', 'arm')],
        likes: [noneOf(labels.zone, 'unknown'), noneOf(labels.instanceType, 'unknown')],
      },
      { by: { [labels.zone]: { [zone3]: 1 }, [labels.instanceType]: { arm: 1 } } },
    ),
  ),
  ...restricted.map((label, i) =>
    same(i === 0 ? [426, 882] : [], `a restricted label: ${label}`, one({ needs: [oneOf(label, 'test')] }, left)),
  ),
  same(
    [442, 893],
    'a restricted domain that no pool defines',
    one({ needs: [oneOf('karpenter.sh/test', 'test')] }, left),
  ),
  same(
    [453, 904],
    "labels of a pool in Kubernetes' domains",
    one(
      {},
      { by: { 'kubernetes.io/test': { a: 1 }, 'k8s.io/test': { b: 1 } } },
      poolOf(oneOf('kubernetes.io/test', 'a'), oneOf('k8s.io/test', 'b')),
    ),
  ),
  same(
    [467, 918],
    "labels of a pool below Kubernetes' domains",
    one(
      {},
      { by: { 'sub.kubernetes.io/test': { a: 1 }, 'sub.k8s.io/test': { b: 1 } } },
      poolOf(oneOf('sub.kubernetes.io/test', 'a'), oneOf('sub.k8s.io/test', 'b')),
    ),
  ),
  same(
    [481, 932],
    'every well-known label can be selected',
    plans({
      objects: Object.entries({
        [labels.zone]: zone1,
        [labels.instanceType]: 'default',
        [labels.arch]: 'arm64',
        [labels.os]: 'linux',
        [labels.capacityType]: 'spot',
      }).map(([label, value], i) => pod(`p-${i}`, { nodeSelector: { [label]: value } })),
    }),
  ),
  same(502, 'a pool that is not Ready', one({}, left, notReady())),
  same([509, 953], 'In on an undefined label', one({ needs: [oneOf(key, 'blue')] }, left)),
  same([518, 962], 'NotIn on an undefined label', one({ needs: [noneOf(key, 'blue')] }, of(key, ''))),
  same([528, 972], 'Exists on an undefined label', one({ needs: [op(key, 'Exists')] }, left)),
  same([537, 981], 'DoesNotExist on an undefined label', one({ needs: [op(key, 'DoesNotExist')] }, of(key, ''))),
  same([547, 991], 'a pod without requirements, where the pool requires a label', one({}, of(key, 'blue'), wanted)),
  same([556, 1000], "In with the pool's value", one({ needs: [oneOf(key, 'blue')] }, of(key, 'blue'), wanted)),
  same([568, 1012], "NotIn with the pool's value", one({ needs: [noneOf(key, 'blue')] }, left, wanted)),
  same(
    [579, 1023],
    'Exists, where the pool requires the label',
    one({ needs: [op(key, 'Exists')] }, { nodes: 1 }, wanted),
  ),
  same(
    [591, 1035],
    'DoesNotExist, where the pool requires the label',
    one({ needs: [op(key, 'DoesNotExist')] }, left, wanted),
  ),
  same([603, 1047], 'In with another value', one({ needs: [oneOf(key, 'red')] }, left, wanted)),
  same([614, 1058], 'NotIn with another value', one({ needs: [noneOf(key, 'red')] }, of(key, 'blue'), wanted)),
  same(
    [626, 1070],
    'pods with a common value share a node',
    plans(
      { objects: [either, pod('a', { needs: [oneOf(key, 'blue')] }), pod('b', { needs: [noneOf(key, 'red')] })] },
      { nodes: 1, by: { [key]: { blue: 2 } } },
    ),
  ),
  same(
    [646, 1090],
    'pods without a common value share no node',
    plans(
      { objects: [either, pod('a', { needs: [oneOf(key, 'blue')] }), pod('b', { needs: [oneOf(key, 'red')] })] },
      { nodes: 2, by: { [key]: { blue: 1, red: 1 } } },
    ),
  ),
  same(
    [666, 1111],
    'Exists beside In widens nothing',
    one({ needs: [oneOf(labels.zone, 'no-such-zone'), op(labels.zone, 'Exists')] }, left),
  ),
]);

function notReady(): ReturnType<typeof pool> {
  const made = pool() as ReturnType<typeof pool> & { status: { conditions: { type: string; status: string }[] } };
  const conditions = made.status.conditions.map((each) =>
    each.type === 'Ready' ? { ...each, status: 'False' } : each,
  );
  return { ...made, status: { ...made.status, conditions } } as ReturnType<typeof pool>;
}
