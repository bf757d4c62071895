import { labels } from '../../../api/labels.js';
import { offering } from '../../cases/catalogues.js';
import { plans, type Expected } from '../plans.js';
import { about, differs, same, type Check, type ConformanceCase } from '../conformance-case.js';
import {
  growingTypes,
  oneOf,
  op,
  pod,
  pods,
  poolOf,
  size,
  special,
  type,
  zone1,
  zone2,
  type PodOptions,
} from '../world.js';

const amd = poolOf(oneOf(labels.arch, 'amd64'));
const both = poolOf(oneOf(labels.arch, 'arm64', 'amd64'));
const one = (options: PodOptions, expected: Expected, ...pools: ReturnType<typeof poolOf>[]): Check =>
  plans({ objects: [...pools, pod('p', options)] }, expected);
const left: Expected = { left: ['p'] };
const apart = (label: string, a: string, b: string): Check =>
  plans(
    { objects: [both, pod('a', { nodeSelector: { [label]: a } }), pod('b', { nodeSelector: { [label]: b } })] },
    { nodes: 2, by: { [label]: { [a]: 1, [b]: 1 } } },
  );
const gpu = (name: string) => `example.com/${name}`;
const twoGpus = growingTypes(5).map((each, i) =>
  i < 2 ? { ...each, resources: { ...each.resources, [gpu(i === 0 ? 'first' : 'second')]: '25' } } : each,
);
const amd64 = { nodeSelector: { [labels.arch]: 'amd64' } };

export const typeCases: readonly ConformanceCase[] = about('instance types for pods', [
  same(1248, 'a pod larger than every type', one({ cpu: '512' }, left)),
  same(1259, 'two architectures need two nodes', apart(labels.arch, 'amd64', 'arm64')),
  same(1284, 'a type of another architecture', one({ needs: [oneOf(labels.instanceType, 'arm')] }, left, amd)),
  same(
    1305,
    'an operating system that only another architecture has',
    one({ needs: [oneOf(labels.os, 'ios')] }, left, amd),
  ),
  same(1327, 'a size that only another architecture has', one({ cpu: '14' }, left, amd)),
  same(1342, 'two operating systems need two nodes', apart(labels.os, 'linux', 'windows')),
  same(1367, 'two types need two nodes', apart(labels.instanceType, 'small', 'default')),
  same(1392, 'two zones need two nodes', apart(labels.zone, zone1, zone2)),
  same(
    1417,
    'two devices that no type has together need two nodes',
    plans(
      {
        catalogue: twoGpus,
        objects: [pod('a', { requests: { [gpu('first')]: '1' } }), pod('b', { requests: { [gpu('second')]: '1' } })],
      },
      { nodes: 2, by: { [labels.instanceType]: { t0: 1, t1: 1 } } },
    ),
  ),
  same(
    1446,
    'one pod that requests two such devices',
    plans(
      { catalogue: twoGpus, objects: [pod('p', { requests: { [gpu('first')]: '1', [gpu('second')]: '1' } })] },
      left,
    ),
  ),
  same(
    1465,
    'labels of the provider select types',
    plans(
      {
        catalogue: growingTypes(5),
        objects: [pod('a', { nodeSelector: { [size]: 'large' } }), pod('b', { nodeSelector: { [size]: 'small' } })],
      },
      { by: { [labels.instanceType]: { t4: 1, t0: 1 } } },
    ),
  ),
  same(
    1478,
    'labels of the provider that exclude the type',
    plans(
      {
        catalogue: growingTypes(5),
        objects: [
          pod('a', { nodeSelector: { [size]: 'large', [labels.instanceType]: 't0' } }),
          pod('b', { nodeSelector: { [size]: 'small', [labels.instanceType]: 't4' } }),
        ],
      },
      { left: ['a', 'b'] },
    ),
  ),
  same(
    1495,
    'Exists on a label that few types have',
    plans(
      { catalogue: growingTypes(5), objects: [pod('p', { needs: [op(special, 'Exists')] })] },
      { by: { [labels.instanceType]: { t4: 1 } } },
    ),
  ),
  same(
    1507,
    'DoesNotExist on a label that few types have',
    plans(
      { catalogue: growingTypes(5), objects: [pod('p', { needs: [op(special, 'DoesNotExist')] })] },
      { nodes: 1, by: { [special]: { '': 1 } } },
    ),
  ),
]);

/** How pods are packed; how many nodes that takes is the engine's own affair, as long as it costs no more. */
export const packingCases: readonly ConformanceCase[] = about('packing pods onto types', [
  same(
    1522,
    'a small pod gets the smallest type',
    one({ memory: '100M' }, { by: { [labels.instanceType]: { small: 1 } } }),
  ),
  same(
    1534,
    'a pod that nearly fills the smallest type gets it',
    one({ memory: '2000M' }, { by: { [labels.instanceType]: { small: 1 } } }),
  ),
  same(
    1546,
    'the overhead of a RuntimeClass, which admission writes into the pod, counts',
    one({ cpu: '1', overhead: { cpu: '2' } }, { by: { [labels.instanceType]: { default: 1 } } }),
  ),
  same(
    1574,
    'five small pods share the smallest type',
    plans({ objects: pods(5, { memory: '10M' }) }, { nodes: 1, by: { [labels.instanceType]: { small: 5 } } }),
  ),
  differs(
    1593,
    'forty pods, of which two fill the largest type',
    'scheduling/pure-plan',
    'the types are the cheapest, so that there may be more nodes',
    plans({ objects: pods(40, { memory: '1.8G', ...amd64 }) }, { price: 20 * 0.8 }),
  ),
  differs(
    1613,
    'small pods use the room beside large ones',
    'scheduling/pure-plan',
    'the types are the cheapest, so that there may be more nodes',
    plans(
      { objects: [...pods(40, { memory: '1.8G', ...amd64 }), ...pods(20, { memory: '400M', ...amd64 }, 's')] },
      { price: 20 * 0.8 },
    ),
  ),
  same(
    1645,
    'a small pod that does not fit beside a large one gets a smaller node',
    plans(
      { catalogue: growingTypes(5), objects: [pod('a', { cpu: '4.5' }), pod('b', { cpu: '1' })] },
      { nodes: 2, by: { [labels.instanceType]: { t4: 1, t0: 1 } } },
    ),
  ),
  same(
    1671,
    'a request of 0 for a resource that no type has',
    one({ requests: { 'example.com/odd': '0' } }, { nodes: 1 }),
  ),
  same(1683, 'more memory than every type has', one({ memory: '2Ti' }, left)),
  same(
    1694,
    'types that hold five pods each',
    plans(
      { objects: pods(25, { cpu: '1m', memory: '1', ...amd64 }) },
      { nodes: 5, by: { [labels.instanceType]: { small: 25 } } },
    ),
  ),
  same(
    1716,
    'a large init container counts',
    one(
      { cpu: '1', memory: '1Gi', initContainers: [init('3', '1Gi')] },
      { by: { [labels.instanceType]: { default: 1 } } },
    ),
  ),
  same(
    1741,
    'an init container larger than every type',
    one({ cpu: '1', memory: '1Gi', initContainers: [init('2', '1Ti')] }, left),
  ),
  same(
    1763,
    'where the largest type is the cheapest, it is taken',
    plans(
      {
        catalogue: [
          type('medium', { cpu: 2, memory: 2, offerings: [offering(zone1, 'on-demand', 3)] }),
          type('little', { cpu: 1, memory: 1, offerings: [offering(zone1, 'on-demand', 2)] }),
          type('large', { cpu: 4, memory: 4, offerings: [offering(zone1, 'on-demand', 1)] }),
        ],
        objects: [pod('p', { cpu: '1m', memory: '1Mi' })],
      },
      { nodes: 1, price: 1, by: { [labels.instanceType]: { large: 1 } } },
    ),
  ),
]);

function init(cpu: string, memory: string) {
  return { name: 'init', image: 'registry.k8s.io/pause:3.10', resources: { requests: { cpu, memory } } };
}
