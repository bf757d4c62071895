import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';
import { about, gives, same, type ConformanceCase } from '../conformance-case.js';
import { account, type Given } from './account.js';
import { custom } from './launch-templates.js';
import { machine } from './machines.js';

/** Whether a node class can be launched on a type. */
const suits = (at: number, title: string, info: InstanceTypeInfo, given: Given, expected: boolean): ConformanceCase =>
  same(
    at,
    title,
    gives(async () => {
      const name = info.InstanceType ?? '';
      return (await account({ types: [info], prices: { [name]: 0.1 }, ...given }).types()).length > 0;
    }, expected),
  );
const family = (at: number, name: string, spec: object, title: string, expected: boolean): ConformanceCase =>
  suits(at, `${name} on ${title}`, machine(name, name.startsWith('a1') ? { arm: true } : {}), { spec }, expected);
const of = (alias: string): object => ({ amiSelectorTerms: [{ alias: `${alias}@latest` }] });

const list = (...places: readonly (readonly [card: number, device: number, kind?: string])[]): Given => ({
  spec: {
    networkInterfaces: places.map(([networkCardIndex, deviceIndex, interfaceType = 'interface']) => ({
      ...{ networkCardIndex, deviceIndex, interfaceType },
    })),
  },
});
const cards = (count: number, each: number, efas?: number, EnaSupport = 'supported'): InstanceTypeInfo => ({
  ...machine('m5.large'),
  NetworkInfo: {
    ...{ MaximumNetworkInterfaces: each, Ipv4AddressesPerInterface: 10, DefaultNetworkCardIndex: 0 },
    EnaSupport: EnaSupport as 'supported',
    NetworkCards: Array.from({ length: count }, (_, i) => ({ NetworkCardIndex: i, MaximumNetworkInterfaces: each })),
    ...(efas !== undefined && { EfaSupported: true, EfaInfo: { MaximumEfaInterfaces: efas } }),
  },
});
const efa = 'efa-only';
const oneEfa = list([0, 0], [0, 1, efa]);
const twoEfas = list([0, 0], [0, 1, efa], [1, 0, efa]);

type Strategy = 'cluster' | 'partition' | 'spread';
const grouped = (
  at: number,
  title: string,
  supported: readonly Strategy[],
  strategy: Strategy,
  expected: boolean,
): ConformanceCase =>
  suits(
    at,
    `placement groups: ${title}`,
    { ...machine('m5.large'), PlacementGroupInfo: { SupportedStrategies: [...supported] } },
    {
      spec: { placementGroupSelector: { name: 'pg' } },
      calls: {
        describePlacementGroups: () =>
          Promise.resolve({
            PlacementGroups: [
              { GroupId: 'pg-1', GroupName: 'pg', State: 'available', Strategy: strategy, PartitionCount: 2 },
            ],
          }),
      },
    },
    expected,
  );
const every = ['cluster', 'partition', 'spread'] as const;

const nesting = (
  at: number,
  title: string,
  setting: string | undefined,
  isAble: boolean,
  expected: boolean,
): ConformanceCase =>
  suits(
    at,
    title,
    {
      ...machine('m5.large'),
      ProcessorInfo: {
        ...machine('m5.large').ProcessorInfo,
        ...(isAble && { SupportedFeatures: ['nested-virtualization'] as never }),
      },
    },
    setting === undefined ? {} : { spec: { cpuOptions: { nestedVirtualization: setting } } },
    expected,
  );
const tracking = (at: number, hypervisor: string, isTracked: boolean, expected: boolean): ConformanceCase =>
  suits(
    at,
    `${hypervisor} ${isTracked ? 'with' : 'without'} tracking of connections`,
    machine('m5.large', { hypervisor }),
    isTracked ? { spec: { connectionTracking: { tcpEstablishedTimeout: 300 } } } : {},
    expected,
  );

/** pkg/providers/instancetype/compatibility/suite_test.go */
export const compatibilityCases: readonly ConformanceCase[] = about('instance types compatible with a node class', [
  family(45, 'a1.medium', custom, 'Custom', true),
  family(46, 'a1.large', custom, 'Custom', true),
  family(47, 't3.medium', custom, 'Custom', true),
  family(48, 'a1.medium', of('al2023'), 'AL2023', false),
  family(49, 't3.medium', of('al2023'), 'AL2023', true),
  family(50, 'a1.large', of('bottlerocket'), 'Bottlerocket', true),
  suits(61, 'one EFA interface', cards(1, 2, 1), oneEfa, true),
  suits(69, 'several EFA interfaces', cards(2, 2, 2), twoEfas, true),
  suits(78, 'more EFA interfaces than the type has', cards(2, 2, 1), twoEfas, false),
  suits(87, 'EFA on a type without it', cards(1, 4), oneEfa, false),
  suits(95, 'EFA on a type without ENA', cards(1, 4, undefined, 'unsupported'), list([0, 0]), false),
  suits(103, 'a network card that the type does not have', cards(1, 4), list([0, 0], [1, 0]), false),
  suits(108, 'a device index that the card does not have', cards(1, 4), list([0, 0], [0, 5]), false),
  suits(
    126,
    'no placement group',
    { ...machine('m5.large'), PlacementGroupInfo: { SupportedStrategies: ['cluster'] } },
    {},
    true,
  ),
  grouped(129, 'cluster placement group', every, 'cluster', true),
  grouped(132, 'cluster placement group that the type does not support', ['partition', 'spread'], 'cluster', false),
  grouped(135, 'partition placement group', every, 'partition', true),
  grouped(138, 'partition placement group that the type does not support', ['spread'], 'partition', false),
  grouped(141, 'spread placement group', ['spread'], 'spread', true),
  grouped(144, 'spread placement group that the type does not support', ['cluster'], 'spread', false),
  nesting(161, 'no CPU options', undefined, false, true),
  nesting(162, 'nested virtualization', 'enabled', true, true),
  nesting(163, 'nested virtualization that the type does not support', 'enabled', false, false),
  nesting(164, 'nested virtualization disabled', 'disabled', false, true),
  tracking(178, 'nitro', true, true),
  tracking(180, 'xen', true, false),
  tracking(182, 'xen', false, true),
  tracking(184, 'nitro', false, true),
]);
