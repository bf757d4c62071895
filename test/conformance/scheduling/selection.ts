import { labels } from '../../../api/labels.js';
import { offering } from '../../cases/catalogues.js';
import type { CatalogueEntry } from '../../checker/types.js';
import { plans, type Expected, type Situation } from '../plans.js';
import { about, differs, same, type Check, type ConformanceCase } from '../conformance-case.js';
import { oneOf, op, pod, pods, pool, poolOf, type, zone1, zone2, zone3, type PodOptions } from '../world.js';

const { arch, os, zone, capacityType: capacity, instanceType } = labels;

/** A type for each size, zone, capacity type, operating system and architecture, as dear as it is large. */
const assorted: readonly CatalogueEntry[] = [1, 2, 4, 8, 16, 32].flatMap((cpu) =>
  [cpu, 2 * cpu, 4 * cpu].flatMap((memory) =>
    [zone1, zone2, zone3].flatMap((where) =>
      ['spot', 'on-demand'].flatMap((kind) =>
        ['linux', 'windows'].flatMap((system) =>
          ['amd64', 'arm64'].map((made) =>
            type(`${cpu}-${memory}-${where}-${kind}-${system}-${made}`, {
              cpu,
              memory,
              arch: made,
              systems: [system],
              offerings: [offering(where, kind, 0.1 * cpu + 0.1 * memory)],
            }),
          ),
        ),
      ),
    ),
  ),
);
const cheapest = 0.2;
type Asked = Readonly<Record<string, string>>;
const asked = (wanted: Asked) => Object.entries(wanted).map(([key, value]) => oneOf(key, value));
/** A term without expressions would match nothing. */
const needing = (wanted: Asked): PodOptions => (Object.keys(wanted).length > 0 ? { needs: asked(wanted) } : {});

/** The cheapest type that has these labels, asked for by the pool, by the pod, or in part by both. */
function buys(ofPool: Asked, ofPod: Asked): Check {
  const by = Object.fromEntries(Object.entries({ ...ofPool, ...ofPod }).map(([key, value]) => [key, { [value]: 1 }]));
  const objects = [poolOf(...asked(ofPool)), pod('p', needing(ofPod))];
  return plans({ catalogue: assorted, objects }, { nodes: 1, price: cheapest, by });
}
const without = (...parts: string[]): readonly CatalogueEntry[] =>
  assorted.filter(({ name }) => !parts.every((part) => name.includes(part)));
const none = (catalogue: readonly CatalogueEntry[], ofPool: Asked, ofPod: Asked): Check =>
  plans({ catalogue, objects: [poolOf(...asked(ofPool)), pod('p', needing(ofPod))] }, { left: ['p'] });
const loads = [0.1, 1, 2, 2.5, 4, 8, 16].flatMap((cpu) => [0.1, 1, 2, 4, 8, 16, 32].map((memory) => ({ cpu, memory })));

export const cheapestCases: readonly ConformanceCase[] = about('cheapest instance type', [
  same(82, 'of all', buys({}, {})),
  same(89, 'of an architecture that the pod requires: amd64', buys({}, { [arch]: 'amd64' })),
  same(103, 'of an architecture that the pod requires: arm64', buys({}, { [arch]: 'arm64' })),
  same(116, "of the pool's architecture: amd64", buys({ [arch]: 'amd64' }, {})),
  same(131, "of the pool's architecture: arm64", buys({ [arch]: 'arm64' }, {})),
  same([146, 174], "of the pool's operating system", buys({ [os]: 'windows' }, {})),
  same(161, 'of an operating system: windows', buys({}, { [os]: 'windows' })),
  same([189, 202], 'of an operating system: linux', buys({}, { [os]: 'linux' })),
  same(215, "in the pool's zone", buys({ [zone]: zone2 }, {})),
  same(230, 'in a zone', buys({}, { [zone]: zone2 })),
  same(243, "of the pool's capacity type", buys({ [capacity]: 'spot' }, {})),
  same(258, 'of a capacity type', buys({}, { [capacity]: 'spot' })),
  same(271, "of the pool's capacity type and zone", buys({ [capacity]: 'on-demand', [zone]: zone1 }, {})),
  same(291, 'of a capacity type and zone', buys({}, { [capacity]: 'spot', [zone]: zone1 })),
  same(310, "of the pool's capacity type, in a zone", buys({ [capacity]: 'spot' }, { [zone]: zone2 })),
  same(
    330,
    'with all four requirements of the pool',
    buys({ [capacity]: 'on-demand', [zone]: zone1, [arch]: 'arm64', [os]: 'windows' }, {}),
  ),
  same(
    362,
    'with all four requirements, two of the pool',
    buys({ [arch]: 'amd64', [os]: 'linux' }, { [capacity]: 'spot', [zone]: zone2 }),
  ),
  same(
    396,
    'with all four requirements of the pod',
    buys({}, { [capacity]: 'spot', [zone]: zone2, [arch]: 'amd64', [os]: 'linux' }),
  ),
  same(428, 'no type of the architecture', none(without('arm64'), {}, { [arch]: 'arm64' })),
  same(
    448,
    'no type of the architecture in the zone',
    none(without('arm64', zone2), {}, { [arch]: 'arm64', [zone]: zone2 }),
  ),
  same(
    477,
    "no type of the pool's architecture in the zone",
    none(without('arm64', zone2), { [arch]: 'arm64' }, { [zone]: zone2 }),
  ),
  differs(
    509,
    'three pods of every size fit the listed types',
    'scheduling/pure-plan',
    'they may be on several nodes, where that is cheaper',
    {
      outcome: () => loads.map((load) => fits(load).outcome()),
      expected: loads.map((load) => fits(load).expected),
    },
  ),
  same(
    563,
    'by the price of the required capacity type',
    plans(
      {
        catalogue: [
          type('one', {
            cpu: 1,
            memory: 1,
            offerings: [offering(zone1, 'on-demand', 1), offering(zone1, 'spot', 0.2)],
          }),
          type('two', {
            cpu: 1,
            memory: 1,
            offerings: [offering(zone1, 'on-demand', 1.3), offering(zone1, 'spot', 0.1)],
          }),
        ],
        objects: [poolOf(oneOf(capacity, 'on-demand')), pod()],
      },
      { by: { [instanceType]: { one: 1 } } },
    ),
  ),
]);

function fits({ cpu, memory }: { cpu: number; memory: number }): Check {
  return plans({ catalogue: assorted, objects: pods(3, { cpu: String(cpu), memory: `${memory}Gi` }) });
}

/** Of a type called `3-t2` the family is 3. */
const generation = 'karpenter.kwok.sh/instance-family';
const sized = (name: string, cpu: number, price: number, family = 0, made = 'arm64'): CatalogueEntry =>
  type(family > 0 ? `${family}-${name}` : name, {
    cpu,
    memory: cpu,
    arch: made,
    systems: ['linux'],
    offerings: [offering(zone1, 'spot', price)],
  });
const two = [sized('t1', 1, 0.52), sized('t2', 4, 1)];
const pair: PodOptions = { cpu: '0.9', memory: '0.9Gi' };
type Requirement = ReturnType<typeof op> & { minValues?: number };
const least = (minValues: number, requirement: ReturnType<typeof op>): Requirement => ({ ...requirement, minValues });
const of = (
  catalogue: readonly CatalogueEntry[],
  requirements: readonly Requirement[],
  expected: Expected,
  more: PodOptions & { settings?: Situation['settings'] } = {},
): Check => {
  const { settings = {}, ...options } = more;
  const objects = [pool({ requirements: [...requirements] }), ...pods(2, { ...pair, ...options })];
  return plans({ catalogue, objects, settings }, expected);
};
const apart: Expected = { sizes: [1, 1] };
const both: Expected = { left: ['p-0', 'p-1'] };
const types = (...names: string[]) => oneOf(instanceType, ...names);

/** Two pods that fit one node together, where that node's claim could not list types enough. */
export const minValuesCases: readonly ConformanceCase[] = about('minValues with the operator', [
  same(621, 'In', of(two, [least(2, types('t1', 't2'))], apart)),
  same(
    693,
    'Gt',
    of(
      [sized('t1', 1, 0.52, 2), sized('t2', 1, 1, 3), sized('t3', 4, 1.2, 4)],
      [least(2, op(generation, 'Gt', '2'))],
      apart,
    ),
  ),
  same(
    784,
    'Gt, where the pod leaves fewer values',
    of([sized('t1', 1, 0.52, 2), sized('t2', 4, 1, 3)], [least(2, op(generation, 'Exists'))], both, {
      needs: [op(generation, 'Gt', '2')],
    }),
  ),
  same(
    870,
    'Lt',
    of(
      [sized('t1', 1, 0.52, 2), sized('t2', 2, 1, 3), sized('t3', 4, 1.2, 4)],
      [least(2, op(generation, 'Lt', '4'))],
      apart,
    ),
  ),
  same(
    961,
    'Lt, where the pod leaves fewer values',
    of([sized('t1', 2, 0.52, 2), sized('t2', 4, 1.2, 4)], [least(2, op(generation, 'Lt', '4'))], both),
  ),
  same(
    1029,
    'In and NotIn: the larger minValues applies',
    of(
      [sized('t1', 1, 0.52), sized('t2', 2, 1), sized('t3', 4, 1.2)],
      [least(1, types('t1', 't2', 't3')), least(2, op(instanceType, 'NotIn', 't3'))],
      apart,
    ),
  ),
  same(
    1121,
    'Gt and Lt: the larger minValues applies',
    of(
      [sized('t1', 1, 0.52, 2), sized('t2', 1, 1, 3), sized('t3', 4, 1.2, 4), sized('t4', 4, 1.2, 5)],
      [least(1, op(generation, 'Gt', '2')), least(2, op(generation, 'Lt', '5'))],
      apart,
    ),
  ),
  same(
    1234,
    'Exists, with more types than exist',
    of(
      Array.from({ length: 10 }, (_, i) => sized(`t${i}`, 2, 1)),
      [least(11, op(instanceType, 'Exists'))],
      both,
    ),
  ),
  same(
    1261,
    'Exists, with more types than a claim lists',
    of(two, [least(2, types('t1', 't2'))], both, { settings: { listedTypes: 1 } }),
  ),
  same(
    1331,
    'Exists and In: the larger minValues applies',
    of(two, [least(1, op(instanceType, 'Exists')), least(2, types('t1', 't2'))], apart),
  ),
  same(
    1410,
    'Exists, for two keys separately',
    of(
      [sized('t1', 1, 0.52), sized('t2', 4, 1, 0, 'amd64')],
      [least(2, op(arch, 'Exists')), least(1, types('t1', 't2'))],
      apart,
    ),
  ),
]);
