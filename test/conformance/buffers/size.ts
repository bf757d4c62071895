import type { PodSpec } from '../../../api/kubernetes.js';
import { withCondition } from '../../../core/conditions.js';
import { podRequests, QuantityReader } from '../../../packing/compile/pod-requests.js';
import { about, gives, same, type Check, type ConformanceCase } from '../conformance-case.js';
import { container, sidecar, cpu, running, after, one, limited, share } from './made.js';

const amounts = (expected: Readonly<Record<string, number>>, spec: PodSpec): Check =>
  gives(
    () => Object.fromEntries([...podRequests(spec, new QuantityReader())].filter(([name]) => name !== 'pods')),
    expected,
  );
const Mi = 2 ** 20;
const base = { type: 'A', status: 'True' as const, reason: 'r', message: 'm', lastTransitionTime: 't' };
const conditions = (expected: object, ...types: readonly string[]): Check =>
  gives(
    () =>
      withCondition(
        types.map((type) => ({ ...base, type })),
        { type: 'A', status: 'False', reason: 'changed' },
        { now: 0, generation: 5 },
      ).map(({ type, status, observedGeneration }) => [type, status, observedGeneration]),
    expected,
  );

/** pkg/controllers/capacitybuffer/helpers_test.go */
export const bufferSizeCases: readonly ConformanceCase[] = about('size of a capacity buffer', [
  same(32, 'as many as a limit of CPU allows', limited(4, { cpu: '4' }, one)),
  same(48, 'as many as a limit of memory allows', limited(4, { memory: '4Gi' }, running(container({ memory: '1Gi' })))),
  same(
    64,
    'the fewest of several limits',
    limited(2, { cpu: '10', memory: '4Gi' }, running(container({ cpu: '1', memory: '2Gi' }))),
  ),
  same(83, 'all containers together', limited(4, { cpu: '4' }, running(cpu('500m'), cpu('500m')))),
  same(101, 'a larger init container', limited(2, { cpu: '4' }, after([cpu('2')], cpu('1')))),
  same(122, 'containers that are larger together', limited(2, { cpu: '4' }, after([cpu('500m')], cpu('1'), cpu('1')))),
  same(143, 'a template that requests nothing', limited(0, { cpu: '4' }, running(container()))),
  same(153, 'limits of what is not requested', limited(0, { 'vendor.com/gpu': '4' }, one)),
  same(167, 'a part is not counted', limited(3, { cpu: '10' }, running(cpu('3')))),
  same(182, 'thousandths', limited(3, { cpu: '1' }, running(cpu('300m')))),
  same(197, 'a limit below one of them', limited(0, { cpu: '500m' }, one)),
  same(
    214,
    'requests of containers',
    amounts(
      { cpu: 1500, memory: 192 * Mi },
      running(container({ cpu: '1', memory: '128Mi' }), container({ cpu: '500m', memory: '64Mi' })),
    ),
  ),
  same(238, 'the larger of containers and init containers', amounts({ cpu: 2000 }, after([cpu('2')], cpu('1')))),
  same(259, 'no requests', amounts({}, running(container()))),
  same(
    267,
    'resources that only some request',
    amounts({ cpu: 1000, memory: 64 * Mi }, running(cpu('1'), container({ memory: '64Mi' }))),
  ),
  same(285, 'a sidecar counts beside containers', amounts({ cpu: 1500 }, after([sidecar({ cpu: '500m' })], cpu('1')))),
  same(
    308,
    'several sidecars',
    amounts({ cpu: 1750 }, after([sidecar({ cpu: '500m' }), sidecar({ cpu: '250m' })], cpu('1'))),
  ),
  same(
    337,
    'an init container beside the sidecars before it',
    amounts({ cpu: 2500 }, after([sidecar({ cpu: '500m' }), cpu('2')], cpu('1'))),
  ),
  same(
    368,
    'a sidecar after an init container',
    amounts({ cpu: 2000 }, after([cpu('2'), sidecar({ cpu: '500m' })], cpu('1'))),
  ),
  same(400, 'init containers one after the other', amounts({ cpu: 1000 }, after([cpu('500m'), cpu('1')], cpu('800m')))),
  same(424, 'a share', share(2, 20, 10)),
  same(429, 'a share that is rounded up', share(4, 33, 10)),
  same(434, 'a share of one at least', share(1, 1, 3)),
  same(439, 'a share of nothing', share(0, 50, 0)),
  same(443, 'no share', share(0, 0, 10)),
  same(447, 'as many again', share(10, 100, 10)),
  same(451, 'twice as many again', share(20, 200, 10)),
  same(456, 'a share of many', share(1000, 10, 10_000)),
  same(463, 'a condition that is new', conditions([['A', 'False', 5]])),
  same(474, 'a condition that changes', conditions([['A', 'False', 5]], 'A')),
  same(
    485,
    'a condition beside another',
    conditions(
      [
        ['B', 'True', undefined],
        ['A', 'False', 5],
      ],
      'B',
    ),
  ),
  same(493, 'the generation it was judged by', conditions([['A', 'False', 5]])),
]);
