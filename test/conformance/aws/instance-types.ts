import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';
import type { AmiFamily } from '../../../api/aws/ec2-node-class.js';
import { machineResources, podsOf, type CapacitySettings } from '../../../cloud/aws/capacity.js';
import { families } from '../../../cloud/aws/families.js';
import { about, gives, same, type Check, type ConformanceCase } from '../conformance-case.js';
import { known, machines } from './machines.js';

const gib = 2 ** 30;
const mib = 2 ** 20;

/** Figures of a machine under settings of kubelet. */
interface Settings {
  readonly kubelet?: object;
  readonly family?: AmiFamily;
  readonly reservedEnis?: number;
  readonly spec?: object;
  readonly overhead?: number;
}
const settingsOf = ({
  kubelet = {},
  family = 'AL2023',
  reservedEnis = 0,
  spec,
  overhead = 0.075,
}: Settings): CapacitySettings => ({
  ...{ family, reservedEnis, vmMemoryOverheadPercent: overhead },
  spec: { kubelet, ...spec } as CapacitySettings['spec'],
});
const resourcesOf = (name: string, settings: Settings) => machineResources(known(name), settingsOf(settings));
/** What m5.xlarge keeps from pods beyond its defaults: 80m of CPU, 893 MiB for kubelet, 100 MiB before eviction, 1 GiB and a tenth of the disk. */
const kept = (
  at: number,
  title: string,
  kubelet: object,
  expected: { cpu?: number; memory?: number; storage?: number },
): ConformanceCase =>
  same(
    at,
    title,
    gives(() => {
      const { overhead } = resourcesOf('m5.xlarge', { kubelet, overhead: 0 });
      const figures = {
        cpu: overhead.cpu,
        memory: (overhead.memory ?? 0) / mib,
        storage: (overhead['ephemeral-storage'] ?? 0) / gib,
      };
      return Object.fromEntries(Object.keys(expected).map((key) => [key, figures[key as keyof typeof figures]]));
    }, expected),
  );
const both = { systemReserved: { memory: '20Gi' }, kubeReserved: { memory: '10Gi' } };
const thirty = 30 * 1024;
const whole = 16_384;
const soft = (value: string): object => ({
  evictionSoft: { 'memory.available': value },
  evictionSoftGracePeriod: { 'memory.available': '1m' },
});
const hard = (value: string): object => ({ evictionHard: { 'memory.available': value } });
/** MiB that hard thresholds of m5.xlarge come to. */
const percent = (share: number): number => Math.ceil((whole * mib * share) / 100) / mib;

const overheadCases: readonly ConformanceCase[] = about('memory that kubelet reserves', [
  kept(1088, 'systemReserved is 0 by default', {}, { cpu: 80 }),
  kept(
    1112,
    'systemReserved of the node class',
    { systemReserved: { cpu: '2', memory: '20Gi', 'ephemeral-storage': '10Gi' } },
    { cpu: 2080, memory: 20 * 1024 + 893 + 100, storage: 13 },
  ),
  kept(1144, 'kubeReserved by default', {}, { cpu: 80, memory: 893 + 100, storage: 3 }),
  kept(
    1168,
    'kubeReserved of the node class',
    {
      systemReserved: { cpu: '1', memory: '20Gi', 'ephemeral-storage': '1Gi' },
      kubeReserved: { cpu: '2', memory: '10Gi', 'ephemeral-storage': '2Gi' },
    },
    { cpu: 3000, memory: thirty + 100, storage: 5 },
  ),
  kept(1211, 'a hard eviction threshold', { ...both, ...hard('500Mi') }, { memory: thirty + 500 }),
  kept(1243, 'a hard threshold as a percentage', { ...both, ...hard('10%') }, { memory: thirty + percent(10) }),
  kept(1275, 'a hard threshold of 100% is switched off', { ...both, ...hard('100%') }, { memory: thirty }),
  kept(1307, 'a soft threshold keeps the hard default', { ...both, ...soft('50Mi') }, { memory: thirty + 100 }),
  kept(1341, 'a larger soft threshold keeps the hard default', { ...both, ...soft('500Mi') }, { memory: thirty + 100 }),
  kept(
    1373,
    'a hard percentage beside a soft threshold',
    { ...both, ...hard('5%'), ...soft('10%') },
    { memory: thirty + percent(5) },
  ),
  kept(1408, 'a soft threshold of 100%', { ...both, ...soft('100%') }, { memory: thirty + 100 }),
  same(
    1440,
    'a hard threshold on Bottlerocket',
    gives(
      () =>
        (resourcesOf('m5.xlarge', { family: 'Bottlerocket', kubelet: { ...both, ...hard('1Gi'), ...soft('10Gi') } })
          .overhead.memory ?? 0) / mib,
      thirty + 1024,
    ),
  ),
  kept(1477, 'no threshold', {}, { memory: 893 + 100, storage: 3 }),
  kept(1501, 'the hard one of two thresholds', { ...both, ...soft('3Gi'), ...hard('1Gi') }, { memory: thirty + 1024 }),
  kept(
    1537,
    'the hard one of two percentages',
    { ...both, ...soft('2%'), ...hard('5%') },
    { memory: thirty + percent(5) },
  ),
  kept(
    1573,
    'a hard amount, not the soft percentage',
    { ...both, ...soft('10%'), ...hard('1Gi') },
    { memory: thirty + 1024 },
  ),
]);

const pods = (name: string, settings: Settings): number => podsOf(known(name), settingsOf(settings));
const names = Object.keys(machines);
/** The pods of every machine. */
const everywhere = (
  at: number,
  title: string,
  settings: Settings,
  expected: (info: InstanceTypeInfo) => number,
): ConformanceCase =>
  same(
    at,
    title,
    gives(
      () => names.map((name) => pods(name, settings)),
      names.map((name) => expected(known(name))),
    ),
  );
const cpus = (info: InstanceTypeInfo): number => info.VCpuInfo?.DefaultVCpus ?? 0;
const byInterfaces = (info: InstanceTypeInfo): number => podsOf(info, settingsOf({}));
const two = (settings: Settings): Check =>
  gives(() => ['t3.large', 'm6idn.32xlarge'].map((name) => pods(name, settings)), [35, 394]);
const memoryFamilies: readonly (readonly [AmiFamily, boolean])[] = [
  ['AL2', true],
  ['AL2023', true],
  ['Bottlerocket', false],
  ['Windows2019', false],
  ['Windows2022', false],
  ['Windows2025', false],
  ['Custom', true],
];
/** Pods of t3.large, and MiB that kubelet keeps there for them. */
const density = (
  at: number,
  title: string,
  family: AmiFamily,
  settings: Settings,
  expected: readonly [pods: number, mib: number],
): ConformanceCase =>
  same(
    at,
    `${title}: ${family}`,
    gives(() => {
      const { overhead } = resourcesOf('t3.large', { ...settings, family });
      return [pods('t3.large', { ...settings, family }), (overhead.memory ?? 0) / mib - 100];
    }, expected),
  );
const memory = (count: number): number => 11 * count + 255;

const podCases: readonly ConformanceCase[] = about('number of pods of a type', [
  same(
    972,
    'is by network interfaces, not 110',
    gives(() => names.every((name) => pods(name, {}) !== 110), true),
  ),
  everywhere(998, 'is 110 on Windows', { family: 'Windows2022' }, () => 110),
  same(1610, 'is by network interfaces and addresses', two({})),
  everywhere(1658, 'is maxPods of the node class', { kubelet: { maxPods: 10 } }, () => 10),
  ...memoryFamilies.map(([family, byEnis], i) =>
    density(1727 + i, 'pods of the node class, and memory', family, { kubelet: { maxPods: 10 } }, [
      10,
      memory(byEnis ? 35 : 10),
    ]),
  ),
  everywhere(1735, 'is maxPods of the node class on every family', { kubelet: { maxPods: 10 } }, () => 10),
  ...memoryFamilies.map(([family, byEnis], i) => {
    const count = families[family].eniLimitsPods ? 24 : 110;
    return density(1806 + i, 'an interface that is kept back', family, { reservedEnis: 1 }, [
      count,
      memory(byEnis ? 35 : count),
    ]);
  }),
  same(
    1814,
    'is 0 where more interfaces are reserved than exist',
    gives(() => pods('t3.large', { reservedEnis: 1_000_000 }), 0),
  ),
  everywhere(1853, 'is podsPerCore times cores', { kubelet: { podsPerCore: 1 } }, (info) =>
    Math.min(cpus(info), byInterfaces(info)),
  ),
  everywhere(1883, 'is the lower of maxPods and podsPerCore', { kubelet: { podsPerCore: 4, maxPods: 20 } }, (info) =>
    Math.min(20, 4 * cpus(info)),
  ),
  everywhere(
    1912,
    'ignores podsPerCore on Bottlerocket',
    { kubelet: { podsPerCore: 1 }, family: 'Bottlerocket' },
    byInterfaces,
  ),
  same(1942, 'without podsPerCore', two({ kubelet: { podsPerCore: 0 } })),
]);

/** MiB and millicores that kubelet reports as allocatable on real nodes. */
const measured = [
  ['t4g.small', 2, 2048, 3, 4, true, 1_408_312, 1930],
  ['t4g.medium', 2, 4096, 3, 6, true, 3_377_496, 1930],
  ['t4g.xlarge', 4, 16_384, 4, 15, true, 15_136_012, 3920],
  ['m5.large', 2, 8192, 3, 10, false, 7_220_184, 1930],
] as const;

const measuredCase = same(
  1992,
  'no more than nodes really have',
  gives(
    () =>
      measured.map(([, vcpus, size, enis, addresses, arm, memoryKib, cpu]) => {
        const info: InstanceTypeInfo = {
          VCpuInfo: { DefaultVCpus: vcpus },
          MemoryInfo: { SizeInMiB: size },
          ProcessorInfo: { SupportedArchitectures: [arm ? 'arm64' : 'x86_64'] },
          NetworkInfo: { MaximumNetworkInterfaces: enis, Ipv4AddressesPerInterface: addresses },
        };
        const { capacity, overhead } = machineResources(info, settingsOf({}));
        return [
          (capacity.memory ?? 0) - (overhead.memory ?? 0) <= memoryKib * 1024,
          (capacity.cpu ?? 0) - (overhead.cpu ?? 0) <= cpu,
        ];
      }),
    measured.map(() => [true, true]),
  ),
);

/** pkg/providers/instancetype/suite_test.go, capacity and what is kept from pods. */
export const capacityCases: readonly ConformanceCase[] = [...overheadCases, ...podCases, measuredCase];
