import type { KubernetesObject } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import { offering } from '../cases/catalogues.js';
import type { CatalogueEntry } from '../checker/types.js';
import { plans, type Expected } from './plans.js';
import { claim, ephemeral, inTerms, named, storage, using, volume } from './scheduling/volumes.js';
import { about, differs, same, type Check, type ConformanceCase } from './conformance-case.js';
import type { op } from './world.js';
import { oneOf, pod, pool, type, zone1, zone2, zone3, type PodOptions } from './world.js';

const { zone, hostname, instanceType, capacityType } = labels;
const zonal = storage('s', { terms: [{ [zone]: zone2 }, { [zone]: zone3 }] });
const in3 = inTerms([{ [zone]: zone3 }]);
const away = { needs: [oneOf(zone, zone1)] };
const left: Expected = { left: ['p'], nodes: 0 };
const one: Expected = { nodes: 1 };
const inZone3: Expected = { by: { [zone]: { [zone3]: 1 } } };
const run = (objects: readonly KubernetesObject[], options: PodOptions, expected: Expected): Check =>
  plans({ objects: [zonal, ...objects, pod('p', options)] }, expected);
const bound = (className: string, spec: object = {}): KubernetesObject[] => [
  volume('v', spec),
  claim('c', { ...named(className), volumeName: 'v' }),
];
/** A pod that cannot be planned beside one that can. */
const beside = (objects: readonly KubernetesObject[]): Check =>
  plans({ objects: [...objects, pod('p', using('c')), pod('q')] }, { left: ['p'], nodes: 1 });
const local = (spec: object): object => ({
  csi: undefined,
  ...spec,
  ...inTerms([{ [hostname]: 'gone', [zone]: zone3 }]),
});
const hostOnly = { csi: undefined, ...inTerms([{ [hostname]: 'gone' }]) };
const tmp = ephemeral(named('s'));

export const provisionedVolumeCases: readonly ConformanceCase[] = about('provisioning pods with volumes', [
  same(1995, 'a missing claim leaves the pod unplaced', run([], using('c'), left)),
  same(2004, 'a bound claim without a class', run(bound(''), using('c'), one)),
  same(
    2024,
    'an unbound claim without a class leaves the pod unplaced',
    run([claim('c', named(''))], using('c'), left),
  ),
  same(2034, 'a bound claim of a missing class', run(bound('none'), using('c'), one)),
  same(
    2054,
    'an unbound claim of a missing class leaves the pod unplaced',
    run([claim('c', named('none'))], using('c'), left),
  ),
  same(2066, 'a missing claim does not affect other pods', beside([])),
  same(2077, 'a missing class does not affect other pods', beside([claim('c', named('none'))])),
  same(
    2090,
    'a missing volume does not affect other pods',
    beside([claim('c', { ...named('none'), volumeName: 'v' })]),
  ),
  same(
    2103,
    'zones of the class apply',
    run([claim('c', named('s'))], { ...using('c'), needs: [oneOf(zone, zone1, zone3)] }, inZone3),
  ),
  same(
    2116,
    'zones of the class apply to an ephemeral volume',
    run([claim('p-tmp', named('s'))], { ...tmp, needs: [oneOf(zone, zone1, zone3)] }, inZone3),
  ),
  same(
    2138,
    'zones of the class that exclude those of the pod',
    run([claim('c', named('s'))], { ...using('c'), ...away }, left),
  ),
  same(
    2150,
    "zones of an ephemeral volume's class that exclude those of the pod",
    run([claim('p-tmp', named('s'))], { ...tmp, ...away }, left),
  ),
  same(2171, 'the zone of a bound volume applies', run(bound('s', in3), using('c'), inZone3)),
  same(
    2182,
    'the zone of a bound ephemeral volume applies',
    run([volume('v', in3), claim('p-tmp', { ...named('s'), volumeName: 'v' })], tmp, inZone3),
  ),
  same(
    2241,
    'the zone of a local volume applies, its host does not',
    run(bound('s', local({ local: { path: '/d' } })), using('c'), inZone3),
  ),
  same(
    2242,
    'the zone of a hostPath volume applies, its host does not',
    run(bound('s', local({ hostPath: { path: '/d' } })), using('c'), inZone3),
  ),
  ...(
    [
      [2287, { local: { path: '/d' } }],
      [2288, { hostPath: { path: '/d' } }],
    ] as const
  ).map(([line, spec]) =>
    same(
      line,
      `an ephemeral volume that is ${Object.keys(spec)[0]!}`,
      run([volume('v', local(spec)), claim('p-tmp', { ...named('s'), volumeName: 'v' })], tmp, inZone3),
    ),
  ),
  same(2290, 'the host of any other volume applies', run(bound('s', hostOnly), using('c'), left)),
  same(2317, "a volume's zone that excludes that of the pod", run(bound('s', in3), { ...using('c'), ...away }, left)),
  same(
    2330,
    "an ephemeral volume's zone that excludes that of the pod",
    run([volume('v', in3), claim('p-tmp', { ...named('s'), volumeName: 'v' })], { ...tmp, ...away }, left),
  ),
  same(
    2353,
    'the zone of a volume is never relaxed',
    run(
      bound('s', in3),
      { ...using('c'), either: [[oneOf('example.com/label', 'unsupported')], [oneOf(capacityType, 'on-demand')]] },
      inZone3,
    ),
  ),
]);

const sold = (name: string, cpu: number, price: number): CatalogueEntry =>
  type(name, {
    cpu,
    memory: cpu,
    offerings: [zone1, zone2].map((where) => offering(where, 'spot', price)),
  });
const two = [sold('t1', 1, 0.5), sold('t2', 4, 1)];
type Requirement = ReturnType<typeof op> & { minValues?: number };
const types: Requirement = { ...oneOf(instanceType, 't1', 't2', 't3'), minValues: 3 };
const zones: Requirement = { ...oneOf(zone, zone1, zone2, zone3), minValues: 3 };
const small = pod('p', { cpu: '900m', memory: '900Mi' });
const policy = (
  minValuesPolicy: 'Strict' | 'BestEffort',
  pools: readonly KubernetesObject[],
  expected: Expected,
): Check => plans({ catalogue: two, objects: [...pools, small], settings: { minValuesPolicy } }, expected);
const heavy = (...requirements: Requirement[]): KubernetesObject => pool({ requirements, weight: 100 });
const relaxed: Expected = { relaxed: 1, by: { [instanceType]: { t1: 1 }, [labels.nodePool]: { default: 1 } } };

export const minValuesPolicyCases: readonly ConformanceCase[] = about('minValues policy', [
  same(2911, 'too few types under Strict', policy('Strict', [heavy(types)], left)),
  same(2962, 'too few types under BestEffort', policy('BestEffort', [heavy(types)], relaxed)),
  differs(
    3024,
    'BestEffort, with a lighter pool without minValues',
    'min-values/strict-and-best-effort',
    'the pod is offered to the other pool first, which needs no relaxing; under Karpenter the heavier pool is relaxed',
    policy('BestEffort', [heavy(types), pool({ weight: 10 }, 'light')], one),
  ),
  same(
    3100,
    'BestEffort, with a lighter pool with the same minValues',
    policy('BestEffort', [heavy(types), pool({ requirements: [types], weight: 10 }, 'light')], relaxed),
  ),
  same(3216, 'too few zones under Strict', policy('Strict', [heavy(zones)], left)),
  same(3259, 'too few zones under BestEffort', policy('BestEffort', [heavy(zones)], relaxed)),
  same(3353, 'too few types and zones under BestEffort', policy('BestEffort', [heavy(types, zones)], relaxed)),
]);
