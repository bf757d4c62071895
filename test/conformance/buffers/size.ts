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
  same(32, 'is limited by CPU', limited(4, { cpu: '4' }, one)),
  same(48, 'is limited by memory', limited(4, { memory: '4Gi' }, running(container({ memory: '1Gi' })))),
  same(
    64,
    'is the lowest of several limits',
    limited(2, { cpu: '10', memory: '4Gi' }, running(container({ cpu: '1', memory: '2Gi' }))),
  ),
  same(83, 'adds up all containers', limited(4, { cpu: '4' }, running(cpu('500m'), cpu('500m')))),
  same(101, 'uses a larger init container', limited(2, { cpu: '4' }, after([cpu('2')], cpu('1')))),
  same(122, 'uses larger containers', limited(2, { cpu: '4' }, after([cpu('500m')], cpu('1'), cpu('1')))),
  same(143, 'is unlimited for a template without requests', limited(0, { cpu: '4' }, running(container()))),
  same(153, 'ignores limits of resources that are not requested', limited(0, { 'vendor.com/gpu': '4' }, one)),
  same(167, 'is rounded down under limits', limited(3, { cpu: '10' }, running(cpu('3')))),
  same(182, 'counts millicores', limited(3, { cpu: '1' }, running(cpu('300m')))),
  same(197, 'is 0 under a limit below one pod', limited(0, { cpu: '500m' }, one)),
  same(
    214,
    'uses requests of containers',
    amounts(
      { cpu: 1500, memory: 192 * Mi },
      running(container({ cpu: '1', memory: '128Mi' }), container({ cpu: '500m', memory: '64Mi' })),
    ),
  ),
  same(238, 'uses the larger of containers and init containers', amounts({ cpu: 2000 }, after([cpu('2')], cpu('1')))),
  same(259, 'has no requests', amounts({}, running(container()))),
  same(
    267,
    'adds resources that only some containers request',
    amounts({ cpu: 1000, memory: 64 * Mi }, running(cpu('1'), container({ memory: '64Mi' }))),
  ),
  same(285, 'adds a sidecar to the containers', amounts({ cpu: 1500 }, after([sidecar({ cpu: '500m' })], cpu('1')))),
  same(
    308,
    'adds several sidecars',
    amounts({ cpu: 1750 }, after([sidecar({ cpu: '500m' }), sidecar({ cpu: '250m' })], cpu('1'))),
  ),
  same(
    337,
    'adds earlier sidecars to an init container',
    amounts({ cpu: 2500 }, after([sidecar({ cpu: '500m' }), cpu('2')], cpu('1'))),
  ),
  same(
    368,
    'adds a sidecar after an init container',
    amounts({ cpu: 2000 }, after([cpu('2'), sidecar({ cpu: '500m' })], cpu('1'))),
  ),
  same(
    400,
    'uses the largest of several init containers',
    amounts({ cpu: 1000 }, after([cpu('500m'), cpu('1')], cpu('800m'))),
  ),
  same(424, 'is a percentage of the workload', share(2, 20, 10)),
  same(429, 'is rounded up from a percentage', share(4, 33, 10)),
  same(434, 'is at least one for a percentage', share(1, 1, 3)),
  same(439, 'is 0 for a percentage of 0 replicas', share(0, 50, 0)),
  same(443, 'is 0 for 0%', share(0, 0, 10)),
  same(447, "is the workload's for 100%", share(10, 100, 10)),
  same(451, "is twice the workload's for 200%", share(20, 200, 10)),
  same(456, 'is a percentage of many replicas', share(1000, 10, 10_000)),
  same(463, 'a new condition', conditions([['A', 'False', 5]])),
  same(474, 'a changed condition', conditions([['A', 'False', 5]], 'A')),
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
  same(493, 'the observed generation', conditions([['A', 'False', 5]])),
]);
